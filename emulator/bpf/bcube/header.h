/* BCube's header on the wire, and whether one may go on. */
#ifndef CUBEYARD_BCUBE_HEADER_H
#define CUBEYARD_BCUBE_HEADER_H

#include "../common/parsing.h"
#include "bcube.h"

#define IP_DONT_FRAGMENT 0x4000

/* An IPv4 header with the one option of crates/dataplane/src/bcube/header.rs. */
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

/* Whether a frame is for one of the server's ports: a switch floods what it has not learnt. */
static __always_inline int is_for_port(const struct ethhdr *eth, const struct cy_config *config)
{
	const __u8 *to = eth->h_dest, *own = config->vnic_mac;

	return to[0] == own[0] && to[1] == own[1] && to[3] == own[3] && to[4] == own[4] && to[5] == own[5];
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

#endif
