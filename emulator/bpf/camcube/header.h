/* CamCube's option on the wire, and whether a packet with one may go on. */
#ifndef CUBEYARD_CAMCUBE_HEADER_H
#define CUBEYARD_CAMCUBE_HEADER_H

#include "../common/parsing.h"
#include "camcube.h"

#define IP_PLAIN 0x45 /* version and length, in the first byte */
#define IP_WITH_OPTION 0x49

/* An IPv4 header with the one option of crates/dataplane/src/camcube/header.rs. */
struct cy_header {
	struct iphdr ip;
	__u8 type;
	__u8 length;
	__be16 service;
	__u8 key[3];
	__u8 flags;
	__be32 sequence;
	__u8 hops;
	__u8 queue;
	__be16 colour;
};
_Static_assert(sizeof(struct cy_header) == CY_HEADER_BYTES, "cy_header");

/* The port of this server that a frame is for, or CY_NO_PORT. */
static __always_inline __u32 port_of(const struct ethhdr *eth, const struct cy_config *config)
{
	const __u8 *to = eth->h_dest, *own = config->vnic_mac;

	if (to[0] != own[0] || to[1] != own[1] || to[3] != own[3] || to[4] != own[4] || to[5] != own[5])
		return CY_NO_PORT;
	return to[2] < CY_SERVER_PORTS ? to[2] : CY_NO_PORT;
}

/* The one's complement sum, folded: 0xffff of a header with the right checksum in it. */
static __always_inline __u16 header_sum(void *header, __u32 bytes)
{
	__u64 sum = (__u32)bpf_csum_diff(0, 0, header, bytes, 0);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline void write_checksum(struct iphdr *ip, __u32 bytes)
{
	ip->check = 0;
	ip->check = ~header_sum(ip, bytes);
}

/* The home server of a header's key, which is inside the torus. */
static __always_inline __u32 home_of(const struct cy_header *header, const struct cy_config *config)
{
	return (header->key[0] * config->sizes[1] + header->key[1]) * config->sizes[2] + header->key[2];
}

/* FINE, or why a packet may not go on; in the order of `check` in header.rs. `bytes` follow the Ethernet header. */
#define FINE CY_DROP_REASONS
static __always_inline enum cy_drop check_header(struct cy_header *header, const struct cy_config *config, __u32 bytes)
{
	__u32 total = bpf_ntohs(header->ip.tot_len);

	if (header->type != CY_OPTION_TYPE || header->length != CY_OPTION_BYTES)
		return CY_DROP_FOREIGN;
	if (total < CY_HEADER_BYTES || total > bytes)
		return CY_DROP_MALFORMED;
	if (header_sum(header, sizeof(*header)) != 0xffff)
		return CY_DROP_BAD_CHECKSUM;
	if (header->key[0] >= config->sizes[0] || header->key[1] >= config->sizes[1] || header->key[2] >= config->sizes[2])
		return CY_DROP_BAD_INDEX;
	if (header->hops == 0 || header->hops > CY_MAX_HOPS || header->flags & ~CY_DISJOINT)
		return CY_DROP_BAD_INDEX;
	if (header->service != bpf_htons(CY_TCP_IP))
		return CY_DROP_BAD_INDEX;
	if (!is_virtual(header->ip.saddr) || !is_virtual(header->ip.daddr))
		return CY_DROP_FORGED;
	return FINE;
}

#endif
