/* Reading packets: what is on the wire, and whether it may be. */
#ifndef CUBEYARD_PARSING_H
#define CUBEYARD_PARSING_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "cubeyard.h"

#define IP_FRAGMENT_BITS 0x3fff /* more fragments, and the offset */
#define IP_DONT_FRAGMENT 0x4000

/* An IPv4 header with the one option of crates/dataplane/src/header.rs. */
struct cy_header {
	struct iphdr ip;
	__u8 type;
	__u8 length;
	__u8 nhi; /* index of the hop to take next */
	__u8 count;
	__u8 nha[CY_PATH_HOPS];
	__be32 path_id;
};
_Static_assert(sizeof(struct cy_header) == CY_HEADER_BYTES, "cy_header");

static __always_inline int is_virtual(__be32 ip) /* 10.0.0.0/8 */
{
	return (ip & bpf_htonl(0xff000000)) == bpf_htonl(0x0a000000);
}

static __always_inline int is_control(__be32 ip) /* 100.64.0.0/10 */
{
	return (ip & bpf_htonl(0xffc00000)) == bpf_htonl(0x64400000);
}

/* Whether a frame is for one of the server's ports: a switch floods what it has not learnt. */
static __always_inline int is_for_port(const struct ethhdr *eth, const struct cy_config *config)
{
	const __u8 *to = eth->h_dest, *own = config->vnic_mac;

	return to[0] == own[0] && to[1] == own[1] && to[3] == own[3] && to[4] == own[4] && to[5] == own[5];
}

/* Sees to it that the first bytes of a packet can be read directly, as far as there are any. */
static __always_inline void make_linear(struct __sk_buff *skb, __u32 bytes)
{
	if ((void *)(long)skb->data + bytes > (void *)(long)skb->data_end && skb->len >= bytes)
		bpf_skb_pull_data(skb, bytes);
}

/* The one's complement sum, folded: 0xffff of a header with the right checksum in it. */
static __always_inline __u16 header_sum(struct cy_header *header)
{
	__u64 sum = (__u32)bpf_csum_diff(0, 0, (__be32 *)header, sizeof(*header), 0);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* FINE, or why a header may not go on; in the order of HeaderView::parse. `bytes` follow the Ethernet header. */
#define FINE CY_DROP_REASONS
static __always_inline enum cy_drop check_header(struct cy_header *header, __u32 bytes)
{
	__u32 total = bpf_ntohs(header->ip.tot_len);

	if (header->ip.version != 4 || header->ip.ihl != CY_HEADER_BYTES / 4 || header->ip.protocol != IPPROTO_IPIP)
		return CY_DROP_MALFORMED;
	if (total < CY_HEADER_BYTES + sizeof(struct iphdr) || total > bytes)
		return CY_DROP_MALFORMED;
	if (header->ip.frag_off & bpf_htons(IP_FRAGMENT_BITS))
		return CY_DROP_MALFORMED;
	if (header->type != CY_OPTION_TYPE || header->length != CY_OPTION_BYTES)
		return CY_DROP_MALFORMED;
	if (header_sum(header) != 0xffff)
		return CY_DROP_BAD_CHECKSUM;
	if (header->nhi == 0 || header->nhi > header->count || header->count > CY_PATH_HOPS)
		return CY_DROP_BAD_INDEX;
	if (!is_virtual(header->ip.saddr) || !is_virtual(header->ip.daddr))
		return CY_DROP_FORGED;
	return FINE;
}

/* The five-tuple of an IPv4 packet of `bytes`, at least 20, whose header starts at `offset`. Ports stay 0 in protocols
 * that have none, in packets too short for them, and in all fragments of a datagram, so that they take one path. */
static __always_inline void read_flow(struct __sk_buff *skb, const struct iphdr *ip, __u32 offset, __u32 bytes,
				      struct cy_flow *flow)
{
	__u32 at = ip->ihl * 4;

	flow->src = ip->saddr;
	flow->dst = ip->daddr;
	flow->proto = ip->protocol;
	if (ip->frag_off & bpf_htons(IP_FRAGMENT_BITS) || at + 4 > bytes)
		return;
	switch (ip->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
	case IPPROTO_UDPLITE: /* all of them begin with the two ports */
		bpf_skb_load_bytes(skb, offset + at, &flow->sport, 4);
	}
}

#endif
