/* What DCell's programs share with user space: the header's shape, the tables and the records for the protocol.
 *
 * The Rust side is crates/dataplane/src/dcell/{header,tables}.rs; its tests read this file and fail where the two
 * differ. */
#ifndef CUBEYARD_DCELL_H
#define CUBEYARD_DCELL_H

#include "../common/cubeyard.h"

/* ---- the header: one option of 16 bytes in the packet's own IPv4 header [dcell §7.1] */
#define CY_HEADER_BYTES 16
#define CY_WHOLE_BYTES 36
#define CY_OPTION_TYPE 0xde
#define CY_PROXY_FLAG 8 /* PF: the proxy is valid */

#define CY_HOPS 256 /* neighbours of a server */
#define CY_DESTINATIONS 1024

/* ---- flags of cy_route */
#define CY_HAS_HOP 1
#define CY_HAS_ALTERNATIVE 2 /* of the second one, twice that */

/* ---- kinds of cy_notice */
#define CY_NOTICE_NEW_FLOW 1
#define CY_NOTICE_REROUTED 2

/* What one server is. Array `config`, one entry. */
struct cy_config {
	__be32 ip; /* its virtual address; 0 until the fabric has configured it */
	__u32 vnic_ifindex;
	__u8 vnic_mac[6]; /* 02:cb:ff:<id>; that of port p is 02:cb:p:<id> */
	__u16 cell; /* 1 + the index of its DCell_b */
	__u32 mtu; /* of the ports, in bytes */
	__u32 server; /* its id */
	__u8 retries; /* local reroutes of a new packet */
	__u8 reserved[3];
};

/* One neighbour: an entry of the neighbour status table. Array `nst`, index hop. */
struct cy_next_hop {
	__u32 ifindex; /* of the port it is reached by; 0: no such neighbour */
	__u8 next_mac[6];
	__u8 own_mac[6];
	__u8 up;
	__u8 port; /* its number, below CY_PORTS */
	__u8 reserved[2];
};

/* Where packets to a destination go [dcell §7.2]. Hash `fib` by the destination's id. An alternative is taken where there is
 * no hop, or the hop is down: the first one, unless it leads into the DCell_b that rerouted the packet last and there is
 * a second. Only user space writes it. */
struct cy_route {
	__u8 hop;
	__u8 flags;
	__u8 alternative_hops[2];
	__u16 alternative_cells[2]; /* 1 + the index of the DCell_b that it leads into; 0: it stays in this one */
	__u32 proxies[2];
};

/* A record of the ring `events`, for the protocol. */
struct cy_notice {
	__u64 at_nanos; /* CLOCK_MONOTONIC */
	__u32 kind;
	__u32 proxy; /* of a packet that was rerouted */
	struct cy_flow flow; /* its ports are 0 where a relay rerouted it */
};

_Static_assert(sizeof(struct cy_config) == 28, "cy_config");
_Static_assert(sizeof(struct cy_next_hop) == 20, "cy_next_hop");
_Static_assert(sizeof(struct cy_route) == 16, "cy_route");
_Static_assert(sizeof(struct cy_notice) == 32, "cy_notice");

#endif
