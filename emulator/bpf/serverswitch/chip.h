/* What the chip's programs share with user space: tables compiled from a program of crates/chip.
 *
 * The Rust side is crates/dataplane/src/bcube/chip_tables.rs; its tests read this file and fail where the two differ. Every table
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
#define CHIP_KEY_ROOM 24 /* bytes of a key, in whole words */
#define CHIP_KEY_PLACES 48 /* of both keys */
/* ---- sizes [ours] */
#define CHIP_TUPLES 64 /* pairs of key and mask */
#define CHIP_CARES 34 /* bytes of both keys that a mask can ask about */
#define CHIP_INTERFACES 256

/* ---- BCube's header [serverswitch Fig. 5], and the path's number behind it [ours] */
#define CHIP_PROTOCOL 253
#define CHIP_HEADER_BYTES 36

/* ---- where a byte of a key comes from, when not from the packet */
#define CHIP_SOURCE_ZERO 254
#define CHIP_SOURCE_IN_PORT 255

/* ---- what an entry does */
#define CHIP_REDIRECT_VIF 0
#define CHIP_REDIRECT_PORT 1
#define CHIP_TO_CPU 2
#define CHIP_DISCARD 3

/* A program's keys. Array `chip`, index generation. */
struct cy_chip {
	__u8 source[CHIP_KEY_PLACES]; /* of each byte of both keys: a byte of the packet, or CHIP_SOURCE_* */
	__u8 care[CHIP_CARES]; /* places that a mask asks about: those of the array `prune` */
	__u8 reserved[2];
	__u32 cares;
	__u32 tuples;
	__u32 parsed; /* bytes of the packet that the keys need */
	__u32 miss_to_cpu;
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

/* An entry of the TCAM. */
struct cy_tcam_entry {
	__u32 index; /* the highest matching one decides [serverswitch §5.1] */
	__u8 act;
	__u8 port;
	__u16 vif;
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

_Static_assert(sizeof(struct cy_chip) == 100, "cy_chip");
_Static_assert(sizeof(struct cy_prune) == 2048, "cy_prune");
_Static_assert(sizeof(struct cy_tuple) == 32, "cy_tuple");
_Static_assert(sizeof(struct cy_tcam_key) == 32, "cy_tcam_key");
_Static_assert(sizeof(struct cy_tcam_entry) == 16, "cy_tcam_entry");
_Static_assert(sizeof(struct cy_interface) == 16, "cy_interface");

#endif
