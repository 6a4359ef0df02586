/* Counting: every drop by its reason, and what the server sent, relayed and delivered. */
#ifndef CUBEYARD_ACCOUNTING_H
#define CUBEYARD_ACCOUNTING_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

#define UDP_HEADER_BYTES 8
#define TCP_WORDS_AT 12 /* the byte of TCP's header whose upper half has the header's length, in words */

static __always_inline int drop(enum cy_drop reason)
{
	__u32 index = reason;
	__u64 *count = bpf_map_lookup_elem(&drops, &index);

	if (count)
		*count += 1; /* its own on every CPU */
	return TC_ACT_SHOT;
}

static __always_inline struct cy_traffic *traffic_here(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&traffic, &first);
}

static __always_inline void count_sent(struct cy_traffic *here, __u32 port, __u32 packets)
{
	here->sent_packets[port & (CY_PORTS - 1)] += packets;
}

/* Packets in a super-packet whose transport header starts at `at`, `bytes` of it and of what follows. bpf_skb_adjust_room
 * clears gso_segs, so a relay has to work them out. Packets that are none of TCP's have the eight bytes of UDP's header. */
static __always_inline __u32 packets_in(struct __sk_buff *skb, __u32 at, __u8 protocol, __u32 bytes)
{
	__u32 size = skb->gso_size, header = UDP_HEADER_BYTES;

	if (!size)
		return 1;
	if (protocol == IPPROTO_TCP) {
		__u8 words;

		if (bpf_skb_load_bytes(skb, at + TCP_WORDS_AT, &words, sizeof(words)))
			return 1;
		header = (words >> 4) * 4;
	}
	return bytes <= header ? 1 : (bytes - header + size - 1) / size;
}

/* Packets in a super-packet whose IP header, of `header` bytes with its options, follows the Ethernet header. */
static __always_inline __u32 packets_behind(struct __sk_buff *skb, const struct iphdr *ip, __u32 header)
{
	return packets_in(skb, ETH_HLEN + header, ip->protocol, bpf_ntohs(ip->tot_len) - header);
}

#endif
