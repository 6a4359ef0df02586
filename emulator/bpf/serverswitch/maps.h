/* The chip's tables, by the names of their schemas in crates/dataplane/src/chip_tables/mod.rs. */
#ifndef CUBEYARD_CHIP_MAPS_H
#define CUBEYARD_CHIP_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "chip.h"

/* Twice the number of commits, and one more while one is written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} generation SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct cy_chip);
} chip SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * CHIP_CARES);
	__type(key, __u32);
	__type(value, struct cy_prune);
} prune SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * CHIP_TUPLES);
	__type(key, __u32);
	__type(value, struct cy_tuple);
} tuples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * CHIP_TCAM_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* most programs are small, and there is one per server */
	__type(key, struct cy_tcam_key);
	__type(value, struct cy_entry);
} tcam SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * CHIP_INTERFACES);
	__type(key, __u32);
	__type(value, struct cy_interface);
} interfaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * CHIP_EXACT_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct cy_exact_key);
	__type(value, struct cy_entry);
} exact SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 2 * CHIP_PREFIX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct cy_prefix_key);
	__type(value, struct cy_entry);
} prefixes SEC(".maps");

/* Interface index of each external port; 0: there is no such port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CHIP_EXTERNAL_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

/* Index processor * CHIP_REGISTER_STRIDE + register. Whoever reads them maps their memory: a call of the kernel's takes longer than
 * the rest. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CHIP_REGISTER_STRIDE * CHIP_PROCESSORS); /* of this host, set where the object is loaded */
	__type(key, __u32);
	__type(value, __u64);
} registers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CHIP_PUNT_RING_BYTES);
} punts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CHIP_EXTERNAL_PORTS);
	__type(key, __u32);
	__type(value, struct cy_marking);
} marking SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_cpu);
} cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CHIP_PACKET_RING_BYTES);
} packets SEC(".maps");

/* A record of that ring while it is made: the kernel reserves room of one size only. */
struct cy_record {
	struct cy_packet head;
	__u8 data[CHIP_HEADERS_MOST + CHIP_PACKET_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_record);
} record SEC(".maps");

/* What the parser has read of the packet of this CPU, and its keys. No other packet's program runs on this CPU meanwhile. */
struct cy_parsed {
	__u8 packet[256]; /* CHIP_PARSED_BYTES, and at the end zero and the port that the packet came in by */
	__u8 keys[CHIP_KEY_PLACES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_parsed);
} parsed SEC(".maps");

#endif
