/* The classifier and the parsers of Ethernet, IPv4 and MPLS [serverswitch §4.1, Fig. 4]. crates/chip/src/parser.rs does the same in
 * user space. */
#ifndef CUBEYARD_CHIP_PARSER_H
#define CUBEYARD_CHIP_PARSER_H

#include "../common/parsing.h"
#include "chip.h"

#define LABEL_BYTES 4
#define LABEL_BOTTOM 0x100 /* the stack's last entry */
#define LONGEST_IP_HEADER 60
#define FINE_HEADER -1

/* What the classifier takes a packet for. */
enum cy_kind { SEEN_ETHERNET, SEEN_IPV4, SEEN_MPLS };

/* What the parsers read. */
struct cy_seen {
	__u32 kind;
	__be32 destination; /* of an IPv4 packet */
	__u8 label[3]; /* the outermost one's 20 bits */
	__u8 ttl;
	__u8 dmac[ETH_ALEN];
};

/* Checks an IPv4 header at a byte of the packet. FINE_HEADER with its length, or why the packet is discarded. */
static __always_inline int check_ipv4(struct __sk_buff *skb, __u32 at, __u8 *length)
{
	__u8 header[LONGEST_IP_HEADER] = {};
	struct iphdr *ip = (void *)header;
	__u32 bytes, total;
	__u64 sum;

	if (at >= skb->len || bpf_skb_load_bytes(skb, at, header, sizeof(*ip)))
		return CHIP_MALFORMED;
	bytes = ip->ihl * 4;
	if (ip->version != 4 || bytes < sizeof(*ip) || bytes > LONGEST_IP_HEADER || at + bytes > skb->len)
		return CHIP_MALFORMED;
	if (bytes > sizeof(*ip) && bpf_skb_load_bytes(skb, at, header, bytes))
		return CHIP_MALFORMED;
	total = bpf_ntohs(ip->tot_len);
	if (total < bytes || total > skb->len - at)
		return CHIP_MALFORMED;
	/* What is behind the header is zero. */
	sum = (__u32)bpf_csum_diff(0, 0, (__be32 *)header, sizeof(header), 0);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	*length = bytes;
	return sum == 0xffff ? FINE_HEADER : CHIP_IP_CHECKSUM;
}

/* Reads a packet. FINE_HEADER, or why it is discarded. */
static __always_inline int parse(struct __sk_buff *skb, __u32 flags, struct cy_seen *seen)
{
	struct ethhdr eth;
	__be32 entry;
	__u8 length;
	int reason;

	if (bpf_skb_load_bytes(skb, 0, &eth, sizeof(eth)))
		return CHIP_MALFORMED;
	__builtin_memcpy(seen->dmac, eth.h_dest, ETH_ALEN);
	seen->kind = SEEN_ETHERNET;
	if (eth.h_proto == bpf_htons(ETH_P_IP) && flags & CHIP_L3) {
		reason = check_ipv4(skb, ETH_HLEN, &length);
		if (reason != FINE_HEADER)
			return reason;
		seen->kind = SEEN_IPV4;
		bpf_skb_load_bytes(skb, ETH_HLEN + 8, &seen->ttl, 1);
		bpf_skb_load_bytes(skb, ETH_HLEN + 16, &seen->destination, 4);
	} else if (eth.h_proto == bpf_htons(ETH_P_MPLS_UC) && flags & CHIP_MPLS) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &entry, sizeof(entry)))
			return CHIP_MALFORMED;
		seen->kind = SEEN_MPLS;
		entry = bpf_ntohl(entry);
		seen->label[0] = entry >> 28;
		seen->label[1] = entry >> 20;
		seen->label[2] = entry >> 12;
		seen->ttl = entry;
	}
	return FINE_HEADER;
}

#endif
