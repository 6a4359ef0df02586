/* Counting: every drop by its reason, and what the server sent, relayed and delivered. */
#ifndef CUBEYARD_ACCOUNTING_H
#define CUBEYARD_ACCOUNTING_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

/* The shortest headers of TCP over IPv4, and the longest options of TCP. */
#define TCP_IP_BYTES 40
#define TCP_OPTION_BYTES 40

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

/* Packets in a super-packet of `bytes` from the inner IP header on. bpf_skb_adjust_room clears gso_segs, so a relay has
 * to work them out; options of TCP are taken for no packet of their own. */
static __always_inline __u32 packets_in(struct __sk_buff *skb, __u32 bytes)
{
	__u32 size = skb->gso_size;

	if (!size || bytes <= TCP_IP_BYTES)
		return 1;
	bytes -= TCP_IP_BYTES;
	return bytes < size ? 1 : bytes / size + (bytes % size > TCP_OPTION_BYTES);
}

#endif
