/* What the chip's programs share with user space: tables compiled from a program of crates/chip.
 *
 * The Rust side is crates/dataplane/src/chip_tables/mod.rs; its tests read this file and fail where the two differ. Every table
 * holds two generations: packets read the one that `generation` names, a commit writes the other and then names it.
 * `generation` counts up by one before a commit writes and by one when it is done: half of it, by its lowest bit, is the
 * generation that packets read. */
#ifndef CUBEYARD_CHIP_H
#define CUBEYARD_CHIP_H

#include "../bcube/bcube.h"

/* ---- sizes [serverswitch §4.1] */
#define CHIP_PARSED_BYTES 128 /* of a packet, for keys */
#define CHIP_EXTERNAL_PORTS 4
#define CHIP_ALL_PORTS 8 /* ports 4 to 7 go to the CPU */
#define CHIP_TCAM_ENTRIES 2048
#define CHIP_EXACT_ENTRIES 45056 /* 32K MACs, 8K IPv4 destinations, 4K labels */
#define CHIP_PREFIX_ENTRIES 6144
#define CHIP_INTERFACES 4096
#define CHIP_KEY_ROOM 24 /* bytes of a key, in whole words */
#define CHIP_KEY_PLACES 48 /* of both keys */
/* ---- sizes [ours] */
#define CHIP_TUPLES 64 /* pairs of key and mask */
#define CHIP_CARES 34 /* bytes of both keys that a mask can ask about */
#define CHIP_PUNT_BYTES 128 /* of a copy for the CPU */
#define CHIP_PUNT_RING_BYTES 65536
#define CHIP_PUNT_GAP_NANOS 100000 /* copies for the CPU: 10,000 a second, */
#define CHIP_PUNT_BURST 256 /* and so many at once after silence */
#define CHIP_PACKET_BYTES 9234 /* longest packet that programs of users get: a jumbo frame with a tag */
#define CHIP_PACKET_RING_BYTES 262144
#define CHIP_PACKET_GAP_NANOS 20000 /* packets for programs: 50,000 a second, */
#define CHIP_PACKET_BURST 512 /* and so many at once after silence */
#define CHIP_HEADERS_MOST 170 /* Ethernet's, BCube's, and IPv4's and TCP's with all options */
#define CHIP_PARTS 64 /* packets of several in one that programs get at most */
#define CHIP_WHOLE 0
#define CHIP_PART 1 /* with the headers of all; the node makes them those of one packet */
#define CHIP_LAST_PART 2

/* ---- BCube's header [serverswitch Fig. 5], and the path's number behind it [ours] */
#define CHIP_PROTOCOL 253
#define CHIP_HEADER_BYTES 36

/* ---- where a byte of a key comes from, when not from the packet */
#define CHIP_SOURCE_ZERO 254
#define CHIP_SOURCE_IN_PORT 255

/* ---- what an entry does with a packet */
#define CHIP_REDIRECT_VIF 0
#define CHIP_REDIRECT_PORT 1
#define CHIP_TO_CPU 2
#define CHIP_DISCARD 3
#define CHIP_DUPLICATE 4
#define CHIP_MIRROR 5
/* ---- what it does with the label stack */
#define CHIP_LABEL_PUSH 1
#define CHIP_LABEL_POP 2
#define CHIP_LABEL_SWAP 3
/* ---- flag beside a label, of entries that calls of users' programs have set: what they send to the CPU is those programs' */
#define CHIP_OF_CALL 0x80000000

/* ---- flags of cy_chip: switches of the chip, and which tables have entries */
#define CHIP_MISS_TO_CPU 1
#define CHIP_L3 2
#define CHIP_MPLS 4
#define CHIP_HAS_MAC 8
#define CHIP_HAS_IPV4 16
#define CHIP_HAS_LABEL 32
#define CHIP_HAS_PREFIX 64

/* ---- tables of exact matches */
#define CHIP_TABLE_MAC 1
#define CHIP_TABLE_IPV4 2
#define CHIP_TABLE_LABEL 3

/* ---- registers: where the counters of ports and of reasons begin in each processor's part of the array `registers` */
#define CHIP_IN_PACKETS 0
#define CHIP_IN_BYTES 8
#define CHIP_OUT_PACKETS 16
#define CHIP_OUT_BYTES 24
#define CHIP_QUEUE_BYTES 32 /* filled in by who reads them */
#define CHIP_DISCARDS 40
#define CHIP_REGISTERS 46
/* Registers of one processor in that array, a multiple of its cache's lines; and processors of a host whose count nobody gave. */
#define CHIP_REGISTER_STRIDE 64
#define CHIP_PROCESSORS 64
/* ---- why a packet is discarded: crates/chip/src/pipeline.rs */
#define CHIP_MALFORMED 0
#define CHIP_IP_CHECKSUM 1
#define CHIP_NO_MATCH 2
#define CHIP_ACTION 3
#define CHIP_TTL 4
#define CHIP_NOT_APPLICABLE 5

/* A mark of the kernel's on a packet that the CPU got a copy of: whoever reads queues looks at the one that it joins.
 * bpf/queue/queue.bpf.c has the same. */
#define CHIP_QUERY_MARK 0xcb51

/* A program's keys. Array `chip`, index generation. */
struct cy_chip {
	__u8 source[CHIP_KEY_PLACES]; /* of each byte of both keys: a byte of the packet, or CHIP_SOURCE_* */
	__u8 care[CHIP_CARES]; /* places that a mask asks about: those of the array `prune` */
	__u8 reserved[2];
	__u32 cares;
	__u32 tuples;
	__u32 parsed; /* bytes of the packet that the keys need */
	__u32 flags;
};

/* Which tuples a byte of a key leaves possible. Array `prune`, index generation * CHIP_CARES + care. */
struct cy_prune {
	__u64 possible[256];
};

/* Entries of one key and one mask. Array `tuples`, index generation * CHIP_TUPLES + tuple, by falling best index. */
struct cy_tuple {
	__u64 mask[3];
	__u32 key; /* 0 or 1 */
	__u32 best; /* the highest index of its entries */
};

/* Key of the hash `tcam`. */
struct cy_tcam_key {
	__u64 masked[3];
	__u32 tuple;
	__u32 generation;
};

/* Key of the hash `exact`: a MAC, an IPv4 destination or the three bytes of a label, and zeros. */
struct cy_exact_key {
	__u8 value[6];
	__u8 table; /* CHIP_TABLE_* */
	__u8 generation;
};

/* Key of the trie `prefixes`. */
struct cy_prefix_key {
	__u32 bits; /* of the generation, which all count, and of the prefix */
	__be32 generation;
	__be32 destination;
};

/* An entry of any table. */
struct cy_entry {
	__u32 index; /* in the TCAM the highest matching one decides [serverswitch §5.1] */
	__u8 act;
	__u8 port; /* of DUPLICATE a set of ports, one bit each */
	__u16 vif;
	__u8 mirror; /* the next four: 0 is none, and what is there is one more */
	__u8 dscp;
	__u8 count_up; /* a byte of the packet */
	__u8 mpls; /* CHIP_LABEL_* */
	__u32 label; /* 20 bits, and CHIP_OF_CALL */
	__u64 hits; /* packets that it decided about since it was committed */
};

/* An interface. Array `interfaces`, index generation * CHIP_INTERFACES + i. */
struct cy_interface {
	__u8 dmac[6];
	__u8 smac[6];
	__u8 sets_dmac;
	__u8 sets_smac;
	__u8 port;
	__u8 set; /* 0: there is no such interface */
};

/* A copy for the CPU. A record of the ring `punts`. */
struct cy_punt {
	__u64 at_nanos; /* CLOCK_MONOTONIC */
	__u32 bytes; /* of the whole packet */
	__u8 in_port;
	__u8 port; /* to the CPU */
	__u8 out_port; /* by which the packet itself leaves; 255: by none, or not known yet */
	__u8 taken; /* bytes of it that follow */
	__u32 processor; /* of this host, which forwarded it */
	__u32 reserved;
	__u8 data[CHIP_PUNT_BYTES];
};

/* How often a source marks what it sends by a port. Array `marking`, index port. [serverswitch §5.2] */
struct cy_marking {
	__s64 left; /* bytes before the next mark */
	__u32 period; /* bytes from one mark to the next, on average; 0: no packet is marked */
	__u32 reserved;
};

/* The CPU's side of a server's chip. Array `cpu`, one entry. */
struct cy_cpu {
	__u64 socket; /* the cookie of the one by which the CPU sends; 0: there is none */
	__u64 due; /* when the next packet for programs is due, in nanoseconds */
	__u64 lost; /* packets for programs that were too many, too long, or several in one */
};

/* A packet for programs of users, or what became of one of theirs. The beginning of a record of the ring `packets`; the packet's bytes
 * follow. */
struct cy_packet {
	__u64 lost; /* so far */
	__u32 bytes; /* 0: no packet, but one that came from the CPU was discarded */
	__u8 port; /* of the CPU, that it arrives at or came by */
	__u8 reason; /* why it was discarded: CHIP_MALFORMED and so on */
	__u8 part; /* CHIP_WHOLE, or of several packets that the kernel carries as one */
	__u8 number; /* of a part: parts before it */
	__u32 offset; /* bytes of data before it */
	__u32 reserved;
};

_Static_assert(sizeof(struct cy_chip) == 100, "cy_chip");
_Static_assert(sizeof(struct cy_prune) == 2048, "cy_prune");
_Static_assert(sizeof(struct cy_tuple) == 32, "cy_tuple");
_Static_assert(sizeof(struct cy_tcam_key) == 32, "cy_tcam_key");
_Static_assert(sizeof(struct cy_exact_key) == 8, "cy_exact_key");
_Static_assert(sizeof(struct cy_prefix_key) == 12, "cy_prefix_key");
_Static_assert(sizeof(struct cy_entry) == 24, "cy_entry");
_Static_assert(sizeof(struct cy_interface) == 16, "cy_interface");
_Static_assert(sizeof(struct cy_punt) == 152, "cy_punt");
_Static_assert(sizeof(struct cy_marking) == 16, "cy_marking");
_Static_assert(sizeof(struct cy_cpu) == 24, "cy_cpu");
_Static_assert(sizeof(struct cy_packet) == 24, "cy_packet");

#endif
