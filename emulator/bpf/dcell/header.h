/* DCell's header on the wire, whether one may go on, and what servers change in it. */
#ifndef CUBEYARD_DCELL_HEADER_H
#define CUBEYARD_DCELL_HEADER_H

#include "../common/parsing.h"
#include "dcell.h"

/* An IPv4 header with the one option of crates/dataplane/src/dcell/header.rs. */
struct cy_header {
	struct iphdr ip;
	__u8 type;
	__u8 length;
	__u8 retry; /* local reroutes left in the upper four bits, flags in the lower */
	__u8 hops; /* taken */
	__be32 identification;
	__be32 proxy;
	__be16 rerouted_in; /* 1 + the index of the DCell_b that rerouted it last; 0 for none */
	__be16 zero;
};
_Static_assert(sizeof(struct cy_header) == CY_WHOLE_BYTES, "cy_header");

/* Whether a frame is for one of the server's ports: a switch floods what it has not learnt. */
static __always_inline int is_for_port(const struct ethhdr *eth, const struct cy_config *config)
{
	const __u8 *to = eth->h_dest, *own = config->vnic_mac;

	return to[0] == own[0] && to[1] == own[1] && to[3] == own[3] && to[4] == own[4] && to[5] == own[5];
}

/* The one's complement sum, folded: 0xffff of a header with the right checksum in it. */
static __always_inline __u16 header_sum(void *header, __u32 bytes)
{
	__u64 sum = (__u32)bpf_csum_diff(0, 0, header, bytes, 0);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline void set_checksum(struct iphdr *ip, __u32 bytes)
{
	ip->check = 0;
	ip->check = ~header_sum(ip, bytes);
}

/* FINE, or why a header may not go on; in the order of HeaderView::parse. `bytes` follow the Ethernet header. */
#define FINE CY_DROP_REASONS
static __always_inline enum cy_drop check_header(struct cy_header *header, __u32 bytes)
{
	__u32 total = bpf_ntohs(header->ip.tot_len);

	if (header->length != CY_HEADER_BYTES || total < CY_WHOLE_BYTES || total > bytes)
		return CY_DROP_MALFORMED;
	if (header_sum(header, sizeof(*header)) != 0xffff)
		return CY_DROP_BAD_CHECKSUM;
	if (!is_virtual(header->ip.saddr) || !is_virtual(header->ip.daddr))
		return CY_DROP_FORGED;
	return FINE;
}

/* The server of a virtual address; of one that no server has, an id that no table holds. */
static __always_inline __u32 server_of(__be32 ip)
{
	return bpf_ntohl(ip) - 0x0a000001;
}

#endif
