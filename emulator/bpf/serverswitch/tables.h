/* The keys of a packet, and its entry in each of the chip's tables [serverswitch §4.1, Fig. 4]. crates/chip/src/{udlk,tcam,tables}.rs
 * does the same in user space.
 *
 * Entries of one key and mask form a tuple: one look-up finds whether any of them matches. Before that, a bit vector over the
 * tuples is ANDed for every byte that a mask asks about, so that only tuples are looked up of which each byte can match: the cost
 * hardly grows with the number of entries. */
#ifndef CUBEYARD_CHIP_TABLES_H
#define CUBEYARD_CHIP_TABLES_H

#include "../common/accounting.h"
#include "../common/parsing.h"
#include "maps.h"

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
static __always_inline struct cy_entry *tcam_entry(struct cy_chip *program, struct cy_parsed *found, __u32 now)
{
	__u64 candidates = possible_tuples(program, found, now);
	struct cy_entry *best = 0;

	for (__u32 turn = 0; turn < CHIP_TUPLES && candidates; turn++) {
		__u32 number = __builtin_ctzll(candidates), at = now * CHIP_TUPLES + number;
		struct cy_tuple *tuple = bpf_map_lookup_elem(&tuples, &at);
		struct cy_tcam_key key = { .tuple = number, .generation = now };
		struct cy_entry *entry;
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

/* The entry of an exact match: of the destination's MAC, of an IPv4 destination or of a label. */
static __always_inline struct cy_entry *exact_entry(const void *value, __u32 bytes, __u8 table, __u32 now)
{
	struct cy_exact_key key = { .table = table, .generation = now };

	__builtin_memcpy(key.value, value, bytes);
	return bpf_map_lookup_elem(&exact, &key);
}

/* The entry of the longest prefix of an IPv4 destination. */
static __always_inline struct cy_entry *prefix_entry(__be32 destination, __u32 now)
{
	struct cy_prefix_key key = { .bits = 64, .generation = bpf_htonl(now), .destination = destination };

	return bpf_map_lookup_elem(&prefixes, &key);
}

#endif
