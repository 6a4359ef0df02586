/* The modifiers of L3 and L2 [serverswitch §4.1, §7]. crates/chip/src/modify.rs does the same in user space, and says why.
 *
 * A packet grows by bpf_skb_change_head, which leaves super-packets alone. It shrinks by tags of VLANs, as the kernel takes bytes
 * away before what follows Ethernet only from packets that it knows: see `pop`. [ours] */
#ifndef CUBEYARD_CHIP_MODIFY_H
#define CUBEYARD_CHIP_MODIFY_H

#include "parser.h"

#define FIRST_TTL 64 /* of a label without one to inherit */
#define TTL_AT (ETH_HLEN + 8)
#define CHECKSUM_AT (ETH_HLEN + 10)
#define TYPE_AT (2 * ETH_ALEN)
#define IPV6_BYTES 40
#define TAG 0x8100
#define DONE -1 /* no reason to discard */

/* Sets a byte of an IPv4 header and mends the checksum (RFC 1624, equation 3). */
static __always_inline int set_ip_byte(struct __sk_buff *skb, __u32 at, __u8 value)
{
	__u16 before, after, check;
	__u32 sum;

	if (bpf_skb_load_bytes(skb, at & ~1U, &before, 2) || bpf_skb_load_bytes(skb, CHECKSUM_AT, &check, 2))
		return -1;
	/* In network order the byte at an even place is the first. */
	after = at & 1 ? (before & bpf_htons(0xff00)) | bpf_htons(value) : (before & bpf_htons(0x00ff)) | bpf_htons(value << 8);
	sum = (__u16)~check + (__u16)~before + after;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	check = ~sum;
	return bpf_skb_store_bytes(skb, at & ~1U, &after, 2, 0) || bpf_skb_store_bytes(skb, CHECKSUM_AT, &check, 2, 0);
}

/* TTL down by one, of an IPv4 packet or a label. */
static __always_inline int count_ttl(struct __sk_buff *skb, struct cy_seen *seen)
{
	struct iphdr *ip;
	__u32 sum;
	__u8 ttl;

	if (seen->kind == SEEN_ETHERNET)
		return DONE;
	if (seen->ttl <= 1)
		return CHIP_TTL;
	if (seen->kind == SEEN_MPLS) {
		ttl = seen->ttl - 1;
		return bpf_skb_store_bytes(skb, ETH_HLEN + 3, &ttl, 1, 0) ? CHIP_NOT_APPLICABLE : DONE;
	}
	make_linear(skb, ETH_HLEN + sizeof(*ip));
	ip = (void *)(long)skb->data + ETH_HLEN;
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return CHIP_MALFORMED;
	/* TTL is the high byte of its word: RFC 1624 with the difference of one. */
	sum = (__u32)ip->check + bpf_htons(0x0100);
	ip->check = sum + (sum >= 0xffff);
	ip->ttl -= 1;
	return DONE;
}

static __always_inline int set_dscp(struct __sk_buff *skb, struct cy_seen *seen, __u8 dscp)
{
	__u8 before;

	if (seen->kind != SEEN_IPV4 || bpf_skb_load_bytes(skb, ETH_HLEN + 1, &before, 1))
		return CHIP_NOT_APPLICABLE;
	return set_ip_byte(skb, ETH_HLEN + 1, dscp << 2 | (before & 3)) ? CHIP_NOT_APPLICABLE : DONE;
}

/* One more in a byte; an IPv4 header's checksum follows. */
static __always_inline int count_up(struct __sk_buff *skb, struct cy_seen *seen, __u32 at)
{
	__u8 byte, first = 0;
	int refused;

	if (bpf_skb_load_bytes(skb, at, &byte, 1))
		return CHIP_NOT_APPLICABLE;
	byte += 1;
	bpf_skb_load_bytes(skb, ETH_HLEN, &first, 1);
	if (seen->kind == SEEN_IPV4 && at < ETH_HLEN + (first & 15) * 4U && (at & ~1U) != CHECKSUM_AT)
		refused = set_ip_byte(skb, at, byte);
	else
		refused = bpf_skb_store_bytes(skb, at, &byte, 1, 0);
	return refused ? CHIP_NOT_APPLICABLE : DONE;
}

/* A label before what follows Ethernet. */
static __always_inline int push_label(struct __sk_buff *skb, __u32 entry)
{
	__u8 head[ETH_HLEN + LABEL_BYTES];
	__be32 label = bpf_htonl(entry);
	__be16 type = bpf_htons(ETH_P_MPLS_UC);

	if (bpf_skb_load_bytes(skb, 0, head, 2 * ETH_ALEN) || bpf_skb_change_head(skb, LABEL_BYTES, 0))
		return CHIP_NOT_APPLICABLE;
	__builtin_memcpy(head + TYPE_AT, &type, sizeof(type));
	__builtin_memcpy(head + ETH_HLEN, &label, sizeof(label));
	return bpf_skb_store_bytes(skb, 0, head, sizeof(head), 0) ? CHIP_NOT_APPLICABLE : DONE;
}

/* Takes the four bytes after Ethernet's away; what follows them has the type. The kernel moves a tag out of a packet whose type is
 * that of tags. Two tags more make it one: the first is put into the packet, before what was its type and its label. Those two are
 * written over by another tag and the new type, and both tags are taken off. [ours] */
static __always_inline int take_label(struct __sk_buff *skb, __be16 type)
{
	__be16 tags[5] = { bpf_htons(TAG), 0, bpf_htons(TAG), 0, type };

	if (bpf_skb_vlan_push(skb, bpf_htons(TAG), 1) || bpf_skb_vlan_push(skb, bpf_htons(TAG), 1) ||
	    bpf_skb_store_bytes(skb, TYPE_AT, tags, sizeof(tags), 0))
		return CHIP_NOT_APPLICABLE;
	return bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb) ? CHIP_NOT_APPLICABLE : DONE;
}

/* Takes the outermost label away. What is below gets its TTL, if that is lower. */
static __always_inline int pop(struct __sk_buff *skb, __u32 entry, __u8 ttl)
{
	__u32 below_at = ETH_HLEN + LABEL_BYTES;
	__u8 first = 0, lower, length;
	int reason;

	if (!(entry & LABEL_BOTTOM)) {
		if (bpf_skb_load_bytes(skb, below_at + 3, &lower, 1))
			return CHIP_NOT_APPLICABLE;
		lower = lower < ttl ? lower : ttl;
		reason = take_label(skb, bpf_htons(ETH_P_MPLS_UC));
		if (reason != DONE)
			return reason;
		return bpf_skb_store_bytes(skb, ETH_HLEN + 3, &lower, 1, 0) ? CHIP_NOT_APPLICABLE : DONE;
	}
	bpf_skb_load_bytes(skb, below_at, &first, 1);
	if (first >> 4 == 4) {
		reason = check_ipv4(skb, below_at, &length);
		if (reason != DONE)
			return reason;
		if (bpf_skb_load_bytes(skb, below_at + 8, &lower, 1))
			return CHIP_NOT_APPLICABLE;
		reason = take_label(skb, bpf_htons(ETH_P_IP));
		if (reason != DONE)
			return reason;
		return set_ip_byte(skb, TTL_AT, lower < ttl ? lower : ttl) ? CHIP_NOT_APPLICABLE : DONE;
	}
	if (first >> 4 == 6 && skb->len >= below_at + IPV6_BYTES) {
		if (bpf_skb_load_bytes(skb, below_at + 7, &lower, 1))
			return CHIP_NOT_APPLICABLE;
		lower = lower < ttl ? lower : ttl;
		reason = take_label(skb, bpf_htons(ETH_P_IPV6));
		if (reason != DONE)
			return reason;
		return bpf_skb_store_bytes(skb, ETH_HLEN + 7, &lower, 1, 0) ? CHIP_NOT_APPLICABLE : DONE;
	}
	return CHIP_NOT_APPLICABLE;
}

/* One change of the label stack. The packet's own TTL was counted down already. */
static __always_inline int change_labels(struct __sk_buff *skb, struct cy_seen *seen, __u8 change, __u32 label)
{
	__u8 ttl = seen->kind == SEEN_ETHERNET ? FIRST_TTL : seen->ttl - 1;
	__u32 entry = 0;

	if (change == CHIP_LABEL_PUSH)
		return push_label(skb, label << 12 | (seen->kind == SEEN_MPLS ? 0 : LABEL_BOTTOM) | ttl);
	if (seen->kind != SEEN_MPLS || bpf_skb_load_bytes(skb, ETH_HLEN, &entry, sizeof(entry)))
		return CHIP_NOT_APPLICABLE;
	entry = bpf_ntohl(entry);
	if (change == CHIP_LABEL_POP)
		return pop(skb, entry, ttl);
	entry = bpf_htonl(label << 12 | (entry & 0xfff));
	return bpf_skb_store_bytes(skb, ETH_HLEN, &entry, sizeof(entry), 0) ? CHIP_NOT_APPLICABLE : DONE;
}

/* Everything that an entry and its interface change in a packet. DONE, or why it is discarded. */
static __always_inline int modify(struct __sk_buff *skb, struct cy_seen *seen, const struct cy_entry *entry,
				  const struct cy_interface *interface)
{
	int reason = count_ttl(skb, seen);

	if (reason == DONE && entry->dscp)
		reason = set_dscp(skb, seen, entry->dscp - 1);
	if (reason == DONE && entry->count_up)
		reason = count_up(skb, seen, entry->count_up - 1);
	if (reason == DONE && entry->mpls)
		reason = change_labels(skb, seen, entry->mpls, entry->label & ~CHIP_OF_CALL);
	if (reason != DONE)
		return reason;
	if (interface->sets_dmac && bpf_skb_store_bytes(skb, 0, interface->dmac, ETH_ALEN, 0))
		return CHIP_NOT_APPLICABLE;
	if (interface->sets_smac && bpf_skb_store_bytes(skb, ETH_ALEN, interface->smac, ETH_ALEN, 0))
		return CHIP_NOT_APPLICABLE;
	return DONE;
}

#endif
