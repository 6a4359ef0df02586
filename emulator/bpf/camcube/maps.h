/* CamCube's tables, by the names of their schemas in crates/dataplane/src/camcube/tables.rs, and its programs' own state. */
#ifndef CUBEYARD_CAMCUBE_MAPS_H
#define CUBEYARD_CAMCUBE_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "camcube.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cy_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_SERVER_PORTS);
	__type(key, __u32);
	__type(value, struct cy_next_hop);
} nst SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_SERVERS);
	__type(key, __u32);
	__type(value, struct cy_way);
} ways SEC(".maps");

/* When all that was sent by each port has left it at its rate, in nanoseconds: the programs' own state. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_SERVER_PORTS);
	__type(key, __u32);
	__type(value, __u64);
} clocks SEC(".maps");

/* Packets sent to each key so far: the programs' own state. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CY_SERVERS);
	__type(key, __u32);
	__type(value, __u32);
} sequences SEC(".maps");

#endif
