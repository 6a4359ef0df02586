/* The chip: keys of a packet, the entry that decides, and where the packet goes [serverswitch §4.1, Fig. 4].
 * crates/chip/src/{udlk,tcam,pipeline}.rs does the same in user space.
 *
 * Entries of one key and mask form a tuple: one look-up finds whether any of them matches. Before that, a bit vector over the
 * tuples is ANDed for every byte that a mask asks about, so that only tuples are looked up of which each byte can match: the cost
 * hardly grows with the number of entries. */
#ifndef CUBEYARD_TCAM_H
#define CUBEYARD_TCAM_H

#include "../common/accounting.h"
#include "../common/parsing.h"
#include "maps.h"

/* Where a packet leaves the chip: a port, through an interface or as it is. */
struct cy_left {
	__u32 port; /* 4 to 7: to the CPU */
	struct cy_interface interface; /* `set` is 0: as it is */
	__u32 discarded; /* by an entry */
	__u32 missed; /* no entry matches */
};

/* The words of one of the two keys. */
static __always_inline __u64 *key_words(struct cy_parsed *found, __u32 key)
{
	return (__u64 *)(found->keys + (key ? CHIP_KEY_ROOM : 0));
}

/* The programmable parser: both keys of a packet. Bytes past its end are zero. */
static __always_inline int parse_keys(struct __sk_buff *skb, struct cy_chip *program, struct cy_parsed *found, __u8 in_port)
{
	__u32 bytes = program->parsed;

	if (bytes > skb->len) {
		bytes = skb->len;
		__builtin_memset(found->packet, 0, CHIP_PARSED_BYTES);
	}
	if (bytes > CHIP_PARSED_BYTES)
		bytes = CHIP_PARSED_BYTES;
	if (bytes && bpf_skb_load_bytes(skb, 0, found->packet, bytes))
		return -1;
	found->packet[CHIP_SOURCE_ZERO] = 0;
	found->packet[CHIP_SOURCE_IN_PORT] = in_port;
#pragma unroll
	for (int place = 0; place < CHIP_KEY_PLACES; place++)
		found->keys[place] = found->packet[program->source[place]];
	return 0;
}

/* Tuples that every byte of the keys leaves possible. */
static __always_inline __u64 possible_tuples(struct cy_chip *program, struct cy_parsed *found, __u32 now)
{
	__u64 possible = ~0ULL;

	for (__u32 care = 0; care < CHIP_CARES && care < program->cares; care++) {
		__u32 at = now * CHIP_CARES + care, place = program->care[care];
		struct cy_prune *row = bpf_map_lookup_elem(&prune, &at);

		if (!row || place >= CHIP_KEY_PLACES)
			return 0;
		possible &= row->possible[found->keys[place]];
	}
	return program->tuples < CHIP_TUPLES ? possible & ((1ULL << program->tuples) - 1) : possible;
}

/* The entry with the highest index of those that match. */
static __always_inline struct cy_tcam_entry *tcam_entry(struct cy_chip *program, struct cy_parsed *found, __u32 now)
{
	__u64 candidates = possible_tuples(program, found, now);
	struct cy_tcam_entry *best = 0;

	for (__u32 turn = 0; turn < CHIP_TUPLES && candidates; turn++) {
		__u32 number = __builtin_ctzll(candidates), at = now * CHIP_TUPLES + number;
		struct cy_tuple *tuple = bpf_map_lookup_elem(&tuples, &at);
		struct cy_tcam_key key = { .tuple = number, .generation = now };
		struct cy_tcam_entry *entry;
		__u64 *words;

		candidates &= candidates - 1;
		/* Tuples are in order of their best entries. */
		if (!tuple || (best && best->index > tuple->best))
			break;
		words = key_words(found, tuple->key);
		key.masked[0] = words[0] & tuple->mask[0];
		key.masked[1] = words[1] & tuple->mask[1];
		key.masked[2] = words[2] & tuple->mask[2];
		entry = bpf_map_lookup_elem(&tcam, &key);
		if (entry && (!best || entry->index > best->index))
			best = entry;
	}
	return best;
}

/* The generation that a packet began with is written again only by the commit after the next one: that one has begun. */
#define OUTDATED 3

/* Where a packet that came in by a port leaves. -1: it cannot be read, or two commits have overtaken it. */
static __always_inline int look_up(struct __sk_buff *skb, __u8 in_port, struct cy_left *left)
{
	__u32 first = 0, begun, now, at;
	volatile __u32 *current = bpf_map_lookup_elem(&generation, &first);
	__u32 to_cpu = in_port < CHIP_EXTERNAL_PORTS ? in_port + CHIP_EXTERNAL_PORTS : in_port;
	struct cy_parsed *found = bpf_map_lookup_elem(&parsed, &first);
	struct cy_interface *interface;
	struct cy_tcam_entry *entry;
	struct cy_chip *program;

	if (!current)
		return -1;
	begun = *current & ~1U;
	now = begun >> 1 & 1;
	program = bpf_map_lookup_elem(&chip, &now);
	if (!found || !program || parse_keys(skb, program, found, in_port))
		return -1;
	entry = tcam_entry(program, found, now);
	left->port = to_cpu;
	if (!entry) {
		left->missed = !program->miss_to_cpu;
		return *current - begun < OUTDATED ? 0 : -1;
	}
	__sync_fetch_and_add(&entry->hits, 1);
	switch (entry->act) {
	case CHIP_REDIRECT_VIF:
		at = now * CHIP_INTERFACES + (entry->vif & (CHIP_INTERFACES - 1));
		interface = bpf_map_lookup_elem(&interfaces, &at);
		if (interface)
			left->interface = *interface;
		left->missed = !left->interface.set;
		left->port = left->interface.port;
		break;
	case CHIP_REDIRECT_PORT:
		left->port = entry->port;
		break;
	case CHIP_DISCARD:
		left->discarded = 1;
		break;
	}
	return *current - begun < OUTDATED ? 0 : -1;
}

/* The modifiers: TTL down by one, the checksum with it, and the interface's MACs. */
static __always_inline void modify(struct ethhdr *eth, struct iphdr *ip, const struct cy_interface *interface)
{
	/* TTL is the high byte of its word: RFC 1624 with the difference of one. */
	__u32 sum = (__u32)ip->check + bpf_htons(0x0100);

	ip->check = sum + (sum >= 0xffff);
	ip->ttl -= 1;
	if (interface->sets_dmac)
		__builtin_memcpy(eth->h_dest, interface->dmac, ETH_ALEN);
	if (interface->sets_smac)
		__builtin_memcpy(eth->h_source, interface->smac, ETH_ALEN);
}

#endif
