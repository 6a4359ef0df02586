/* What CamCube's programs share with user space: the option's shape and the tables.
 *
 * The Rust side is crates/dataplane/src/camcube/{header,tables}.rs; its tests read this file and fail where the two
 * differ. */
#ifndef CUBEYARD_CAMCUBE_H
#define CUBEYARD_CAMCUBE_H

#include "../common/cubeyard.h"

/* ---- the header: one option of 16 bytes in the packet's own IPv4 header */
#define CY_HEADER_BYTES 36 /* with the option */
#define CY_OPTION_TYPE 0x5e
#define CY_OPTION_BYTES 16
#define CY_TCP_IP 1 /* the service of unmodified applications' packets [camcube §3.1] */
#define CY_DISJOINT 1 /* flag: on one of its disjoint paths */
#define CY_MAX_HOPS 254

/* ---- how much fits */
#define CY_SERVERS 1024
#define CY_SERVER_PORTS 6
#define CY_NO_PORT 255

/* ---- flags of cy_config */
#define CY_DISJOINT_PATHS 1 /* packets of applications take disjoint paths */

/* What one server is. Array `config`, one entry. */
struct cy_config {
	__be32 ip; /* its virtual address; 0 until the fabric has configured it */
	__u32 vnic_ifindex;
	__u8 vnic_mac[6]; /* 02:cb:ff:<id>; that of port p is 02:cb:p:<id> */
	__u16 flags;
	__u32 mtu; /* of the ports, in bytes */
	__u32 sizes[3]; /* servers along each axis */
	__u32 picos_per_byte; /* that a link takes */
};

/* The neighbour at a port. Array `nst`, index port. */
struct cy_next_hop {
	__u32 ifindex; /* of the port; 0: no such port */
	__u8 next_mac[6];
	__u8 own_mac[6];
	__u8 up;
	__u8 reserved[3];
};

/* How packets to a key go on from here. Array `ways`, index the key's home server. */
struct cy_way {
	__u8 shortest; /* ports on shortest live paths, a bit each */
	__u8 disjoint; /* ports by which live disjoint paths leave their source */
	__u8 onward[CY_SERVER_PORTS]; /* by port of arrival: the next of a disjoint path, or CY_NO_PORT */
};

_Static_assert(sizeof(struct cy_config) == 36, "cy_config");
_Static_assert(sizeof(struct cy_next_hop) == 20, "cy_next_hop");
_Static_assert(sizeof(struct cy_way) == 8, "cy_way");

#endif
