/* What every forwarding in the kernel shares with user space: drop reasons, limits, and the structs of common maps.
 *
 * The Rust side is crates/dataplane/src/{counts,drops,flow,rate_limit}.rs; its tests read this file and fail where the
 * two differ. Addresses and ports are in network order, everything else in the machine's. No struct has hidden padding. */
#ifndef CUBEYARD_H
#define CUBEYARD_H

#include <linux/types.h>

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
	CY_DROP_IP_OPTIONS = 17,
	CY_DROP_RETRIES_USED = 18,
	CY_DROP_REASONS = 19,
};

/* ---- notices to user space: of each kind a thousand a second, and this many at once after silence */
#define CY_NOTICE_KINDS 8 /* most kinds of one protocol, from 1 on */
#define CY_NOTICE_GAP_NANOS 1000000
#define CY_NOTICE_BURST 256

/* ---- how much fits */
#define CY_PORTS 8 /* of a server */
#define CY_FLOWS 4096
#define CY_NOTICE_BYTES 65536 /* the ring of notices: a power of two, and whole pages */

/* The five-tuple of a flow. Ports are 0 where the protocol has none, and in every fragment of a datagram. */
struct cy_flow {
	__be32 src;
	__be32 dst;
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 reserved[3];
};

/* What a flow has sent. LRU hash `flow_counts` by cy_flow; only the fast path writes it. */
struct cy_flow_count {
	__u64 packets;
	__u64 bytes; /* of packets without the protocol's header */
	__u32 announced; /* 1 when user space has been told of the flow */
	__u32 path_id; /* the path of the latest packet; 0 where paths have no numbers */
};

/* What a server has carried. Per-CPU array `traffic`, one entry. Super-packets count as the packets in them. */
struct cy_traffic {
	__u64 own_packets;
	__u64 own_bytes;
	__u64 relayed_packets;
	__u64 relayed_bytes;
	__u64 delivered_packets;
	__u64 delivered_bytes;
	__u64 notices_suppressed; /* by the rate limit, or because the ring was full */
	__u64 sent_packets[CY_PORTS]; /* own and relayed, by port; those that its queue then drops are among them */
};

_Static_assert(sizeof(struct cy_flow) == 16, "cy_flow");
_Static_assert(sizeof(struct cy_flow_count) == 24, "cy_flow_count");
_Static_assert(sizeof(struct cy_traffic) == 120, "cy_traffic");

#endif
