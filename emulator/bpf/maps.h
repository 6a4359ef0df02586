/* The maps of one server. Each server loads its own copy of the object: interface indices are unique only in a
 * namespace. Names are what the loader looks for. */
#ifndef CUBEYARD_MAPS_H
#define CUBEYARD_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "cubeyard.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_NHA_VALUES);
	__type(key, __u32);
	__type(value, struct cy_next_hop);
} nst SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CY_FLOWS);
	__type(key, struct cy_flow);
	__type(value, struct cy_path);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CY_FLOWS);
	__type(key, struct cy_flow);
	__type(value, struct cy_flow_count);
} flow_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CY_ROUTES);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* most networks are small, and there is one per server */
	__type(key, __be32);
	__type(value, struct cy_path);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CY_DROP_REASONS);
	__type(key, __u32);
	__type(value, __u64);
} drops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_traffic);
} traffic SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CY_EVENT_BYTES);
} events SEC(".maps");

/* When the next event of a kind is due, in nanoseconds: the state of the rate limit, nobody else's business. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_EVENT_NEXT_HOP_DEAD + 1);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps");

#endif
