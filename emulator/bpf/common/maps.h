/* The maps that every forwarding has, by the names that the loader looks for. Each server loads its own copy of an
 * object: interface indices are unique only in a namespace. */
#ifndef CUBEYARD_MAPS_H
#define CUBEYARD_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "cubeyard.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CY_FLOWS);
	__type(key, struct cy_flow);
	__type(value, struct cy_flow_count);
} flow_counts SEC(".maps");

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
	__uint(max_entries, CY_NOTICE_BYTES);
} events SEC(".maps");

/* When the next notice of a kind is due, in nanoseconds: the state of the rate limit, which only events.h uses. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_NOTICE_KINDS);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps");

#endif
