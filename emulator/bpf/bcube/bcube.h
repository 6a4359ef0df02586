/* What BCube's programs share with user space: the header's shape, the tables and the records for the protocol.
 *
 * The Rust side is crates/dataplane/src/bcube/{header,nha,route,tables}.rs; its tests read this file and fail where the
 * two differ. */
#ifndef CUBEYARD_BCUBE_H
#define CUBEYARD_BCUBE_H

#include "../common/cubeyard.h"

/* ---- the header: an IPv4 header with one 16-byte option [bcube §7.1], [serverswitch §5.1] */
#define CY_HEADER_BYTES 36
#define CY_OPTION_TYPE 0x9e
#define CY_OPTION_BYTES 16
#define CY_PATH_HOPS 8
#define CY_NHA_VALUES 256 /* DP in two bits, DV in six [bcube §7.1] */
#define CY_TTL 64

#define CY_ROUTES 8192 /* destinations with a default path */

/* ---- flags of cy_config */
#define CY_GATEWAY 1 /* carries packets from and to addresses outside 10.0.0.0/8 [bcube §5.3] */

/* ---- kinds of cy_notice */
#define CY_NOTICE_NEW_FLOW 1
#define CY_NOTICE_NEXT_HOP_DEAD 2

/* What one server is. Array `config`, one entry. */
struct cy_config {
	__be32 ip; /* its virtual address; 0 until the fabric has configured it */
	__u32 vnic_ifindex;
	__u8 vnic_mac[6]; /* 02:cb:ff:<id>; that of port p is 02:cb:p:<id> */
	__u16 flags;
	__u32 mtu; /* of the ports, in bytes */
};

/* One neighbour: an entry of the neighbour status table [bcube §7.2]. Array `nst`, index NHA. */
struct cy_next_hop {
	__u32 ifindex; /* of the port it is reached by; 0: no such neighbour */
	__u8 next_mac[6];
	__u8 own_mac[6];
	__u8 up;
	__u8 port; /* its number, below CY_PORTS */
	__u8 reserved[2];
};

/* A source route. LRU hash `flows` by cy_flow, and hash `routes` by virtual address, where 0 is the way to everywhere
 * else: a gateway. Only user space writes them. */
struct cy_path {
	__be32 dst; /* the server at its end */
	__u32 id;
	__u8 count; /* hops */
	__u8 reserved[7];
	__u8 nha[CY_PATH_HOPS];
};

/* A record of the ring `events`, for the protocol. */
struct cy_notice {
	__u64 at_nanos; /* CLOCK_MONOTONIC */
	__u32 kind;
	__u32 path_id;
	__be32 src; /* the servers at the ends of the path; of a new flow, those of its five-tuple */
	__be32 dst;
	struct cy_flow flow;
	__u32 nha; /* of a dead next hop */
	__u32 reserved;
};

_Static_assert(sizeof(struct cy_config) == 20, "cy_config");
_Static_assert(sizeof(struct cy_next_hop) == 20, "cy_next_hop");
_Static_assert(sizeof(struct cy_path) == 24, "cy_path");
_Static_assert(sizeof(struct cy_notice) == 48, "cy_notice");

#endif
