/* What the fast path and user space share: limits, the header's shape, drop reasons and the structs of the maps.
 *
 * The Rust side is crates/dataplane/src/{header,drops,maps}.rs; its tests read this file and fail where the two differ.
 * Addresses and ports are in network order, everything else in the machine's. No struct has hidden padding. */
#ifndef CUBEYARD_H
#define CUBEYARD_H

#include <linux/types.h>

/* ---- the header: an IPv4 header with one 16-byte option [bcube §7.1], [serverswitch §5.1] */
#define CY_HEADER_BYTES 36
#define CY_OPTION_TYPE 0x9e
#define CY_OPTION_BYTES 16
#define CY_PATH_HOPS 8
#define CY_NHA_VALUES 256 /* DP in two bits, DV in six [bcube §7.1] */
#define CY_PORTS 8 /* of a server */
#define CY_TTL 64

/* ---- flags of cy_config */
#define CY_GATEWAY 1 /* carries packets from and to addresses outside 10.0.0.0/8 [bcube §5.3] */

/* ---- why a packet was dropped: indices of the map `drops`, never given to another reason */
enum cy_drop {
	CY_DROP_MALFORMED = 0,
	CY_DROP_BAD_CHECKSUM = 1,
	CY_DROP_BAD_INDEX = 2,
	CY_DROP_UNKNOWN_NEXT_HOP = 3,
	CY_DROP_NEXT_HOP_DEAD = 4,
	CY_DROP_TTL_EXPIRED = 5,
	CY_DROP_NOT_MINE = 6,
	CY_DROP_OWN_SOURCE = 7,
	CY_DROP_FORGED = 8,
	CY_DROP_FOREIGN = 9,
	CY_DROP_NOT_IP = 10,
	CY_DROP_NO_PATH = 11,
	CY_DROP_TOO_BIG = 12,
	CY_DROP_ADJUST_FAILED = 13,
	CY_DROP_REDIRECT_FAILED = 14,
	CY_DROP_UNCONFIGURED = 15,
	CY_DROP_OTHER_HOST = 16,
	CY_DROP_REASONS = 17,
};

/* ---- kinds of cy_event */
#define CY_EVENT_NEW_FLOW 1
#define CY_EVENT_NEXT_HOP_DEAD 2
/* Of each kind a thousand a second, and this many at once after silence. */
#define CY_EVENT_GAP_NANOS 1000000
#define CY_EVENT_BURST 256

/* ---- how much fits */
#define CY_FLOWS 4096
#define CY_ROUTES 8192
#define CY_EVENT_BYTES 65536 /* the ring of events: a power of two, and whole pages */

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

/* The five-tuple of a flow. Ports are 0 where the protocol has none, and in every fragment of a datagram. */
struct cy_flow {
	__be32 src;
	__be32 dst;
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 reserved[3];
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

/* What a flow has sent. LRU hash `flow_counts` by cy_flow; only the fast path writes it. */
struct cy_flow_count {
	__u64 packets;
	__u64 bytes; /* of packets without the BCube header */
	__u32 announced; /* 1 when user space has been told of the flow */
	__u32 path_id; /* the path of the latest packet */
};

/* What a server has carried. Per-CPU array `traffic`, one entry. Super-packets count as the packets in them. */
struct cy_traffic {
	__u64 own_packets;
	__u64 own_bytes;
	__u64 relayed_packets;
	__u64 relayed_bytes;
	__u64 delivered_packets;
	__u64 delivered_bytes;
	__u64 events_suppressed; /* by the rate limit, or because the ring was full */
	__u64 sent_packets[CY_PORTS]; /* own and relayed, by port; those that its queue then drops are among them */
};

/* A record of the ring `events`. */
struct cy_event {
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
_Static_assert(sizeof(struct cy_flow) == 16, "cy_flow");
_Static_assert(sizeof(struct cy_path) == 24, "cy_path");
_Static_assert(sizeof(struct cy_flow_count) == 24, "cy_flow_count");
_Static_assert(sizeof(struct cy_traffic) == 120, "cy_traffic");
_Static_assert(sizeof(struct cy_event) == 48, "cy_event");

#endif
