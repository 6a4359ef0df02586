/* DCell's tables, by the names of their schemas in crates/dataplane/src/dcell/tables.rs. */
#ifndef CUBEYARD_DCELL_MAPS_H
#define CUBEYARD_DCELL_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "dcell.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_HOPS);
	__type(key, __u32);
	__type(value, struct cy_next_hop);
} nst SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CY_DESTINATIONS);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* most networks are small, and there is one per server */
	__type(key, __u32);
	__type(value, struct cy_route);
} fib SEC(".maps");

#endif
