/* Reading packets: addresses and the five-tuple of what applications send. */
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

static __always_inline int is_virtual(__be32 ip) /* 10.0.0.0/8 */
{
	return (ip & bpf_htonl(0xff000000)) == bpf_htonl(0x0a000000);
}

static __always_inline int is_control(__be32 ip) /* 100.64.0.0/10 */
{
	return (ip & bpf_htonl(0xffc00000)) == bpf_htonl(0x64400000);
}

/* Makes the first bytes of a packet readable directly, as far as there are any. */
static __always_inline void make_linear(struct __sk_buff *skb, __u32 bytes)
{
	if ((void *)(long)skb->data + bytes > (void *)(long)skb->data_end && skb->len >= bytes)
		bpf_skb_pull_data(skb, bytes);
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
