/* ServerSwitch's chip in the kernel: BCube on it as TC programs of one server [serverswitch §5.1], and the chip alone.
 * crates/dataplane/src/bcube/chip.rs does the same in user space; a property test holds both to each other.
 *
 *   serverswitch_vnic   egress of the virtual NIC: the CPU hands the chip a packet with a header
 *   serverswitch_port   ingress of a port: the chip forwards, or hands the CPU what is its own
 *   serverswitch_cpu    egress of the virtual NIC's other end: packets that users' programs hand to the chip, by one socket
 *   serverswitch_chip   ingress of a port of a chip that any packet goes through; the CPU is the kernel's own stack
 */
#include <stddef.h>

#include "../bcube/server.h"
#include "pipeline.h"

#define CHIP_TTL_LAST 1 /* of a packet at the end of its path */

/* The header of the paper's Fig. 5, and the path's number behind it. */
struct cy_chip_header {
	struct iphdr ip;
	__u8 nha[CY_PATH_HOPS]; /* the last hop's first */
	__u8 protocol; /* BCube's: 0 is data */
	__u8 count;
	__u8 marked; /* by its source: the CPU of each chip on the way is to look at its queue [serverswitch §5.2] */
	__u8 reserved;
	__be32 path_id;
};
_Static_assert(sizeof(struct cy_chip_header) == CHIP_HEADER_BYTES, "cy_chip_header");
_Static_assert(CHIP_HEADER_BYTES == CY_HEADER_BYTES, "both headers of BCube have one length");

/* The one's complement sum of an IPv4 header without options, folded: 0xffff of one with the right checksum in it. */
static __always_inline __u16 ip_sum(struct iphdr *ip)
{
	__u64 sum = (__u32)bpf_csum_diff(0, 0, (__be32 *)ip, sizeof(*ip), 0);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline void fill_header(struct cy_chip_header *header, __be32 source, struct cy_path *path, __u32 bytes)
{
	header->ip.version = 4;
	header->ip.ihl = sizeof(header->ip) / 4;
	header->ip.tot_len = bpf_htons(CHIP_HEADER_BYTES + bytes);
	header->ip.frag_off = bpf_htons(IP_DONT_FRAGMENT);
	header->ip.ttl = path->count + 1; /* the index: TTL t goes by NHA(t-1) [serverswitch §5.1] */
	header->ip.protocol = CHIP_PROTOCOL;
	header->ip.saddr = source;
	header->ip.daddr = path->dst;
#pragma unroll
	for (int hop = 0; hop < CY_PATH_HOPS; hop++) {
		int at = path->count - 1 - hop;

		header->nha[hop] = at >= 0 ? path->nha[at & (CY_PATH_HOPS - 1)] : 0;
	}
	header->count = path->count;
	header->path_id = bpf_htonl(path->id);
	header->ip.check = ~ip_sum(&header->ip);
}

/* Has the chip forward a packet whose header was checked. 1: it goes out by an external port, `*ifindex`; 0: it is the CPU's;
 * -1: it is dropped, for `*reason`. */
static __always_inline int through_chip(struct __sk_buff *skb, __u8 in_port, struct cy_left *left, __u32 *ifindex,
					enum cy_drop *reason)
{
	struct cy_seen seen = { .kind = SEEN_IPV4 };
	struct iphdr *ip = (void *)(long)skb->data + ETH_HLEN;
	__u32 *out, port;

	*reason = CY_DROP_MALFORMED;
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return -1;
	seen.ttl = ip->ttl;
	seen.destination = ip->daddr;
	__builtin_memcpy(seen.dmac, (void *)(long)skb->data, ETH_ALEN);
	switch (through(skb, in_port, &seen, 1, left)) {
	case SENT:
		break;
	case OVERTAKEN:
		*reason = CY_DROP_UNCONFIGURED;
		return -1;
	case CHIP_NO_MATCH:
		/* A packet at the end of its path is its destination's. */
		*reason = seen.ttl <= CHIP_TTL_LAST ? CY_DROP_NOT_MINE : CY_DROP_UNKNOWN_NEXT_HOP;
		return -1;
	case CHIP_TTL:
		*reason = CY_DROP_TTL_EXPIRED;
		return -1;
	default:
		return -1;
	}
	port = left->port;
	if (port >= CHIP_EXTERNAL_PORTS)
		return 0;
	out = bpf_map_lookup_elem(&ports, &port);
	if (!out || !*out) {
		*reason = CY_DROP_UNKNOWN_NEXT_HOP;
		return -1;
	}
	*ifindex = *out;
	return 1;
}

/* Whether the source marks this packet [serverswitch §5.2]. Periods are drawn within 15 % of their length. CPUs may race here, and
 * mark one packet more or fewer. */
static __always_inline int is_marked(__u32 port, __u32 bytes)
{
	struct cy_marking *at = bpf_map_lookup_elem(&marking, &port);

	if (!at || !at->period)
		return 0;
	at->left -= bytes;
	if (at->left >= 0)
		return 0;
	at->left = (__u64)at->period * (870 + bpf_get_prandom_u32() % 308) >> 10;
	return 1;
}

/* The external port of an interface; the CPU's where it is none. */
static __always_inline __u8 port_of(__u32 ifindex)
{
#pragma unroll
	for (__u32 port = 0; port < CHIP_EXTERNAL_PORTS; port++) {
		__u32 at = port, *found = bpf_map_lookup_elem(&ports, &at);

		if (found && *found == ifindex)
			return port;
	}
	return CHIP_EXTERNAL_PORTS;
}

SEC("classifier")
int serverswitch_vnic(struct __sk_buff *skb)
{
	__u32 first = 0, ifindex = 0;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct cy_chip_header header = {};
	struct cy_outgoing out = {};
	struct cy_left left = {};
	struct ethhdr *eth;
	enum cy_drop reason = check_outgoing(skb, self, &out);
	int forwarded;

	if (reason != FINE)
		return drop(reason);
	fill_header(&header, self->ip, out.path, out.bytes);
	/* bpf_skb_adjust_room would have super-packets checked by GSO, which knows no protocol 253. */
	if (bpf_skb_change_head(skb, CHIP_HEADER_BYTES, 0))
		return drop(CY_DROP_ADJUST_FAILED);
	make_linear(skb, ETH_HLEN + sizeof(header));
	eth = (void *)(long)skb->data;
	if ((void *)(eth + 1) + sizeof(header) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	__builtin_memset(eth->h_dest, 0, ETH_ALEN);
	__builtin_memset(eth->h_source, 0, ETH_ALEN);
	eth->h_proto = bpf_htons(ETH_P_IP);
	__builtin_memcpy(eth + 1, &header, sizeof(header));

	forwarded = through_chip(skb, CHIP_EXTERNAL_PORTS, &left, &ifindex, &reason);
	if (forwarded < 0)
		return drop(reason);
	if (!forwarded && left.of_call) {
		give_whole(skb, left.port);
		return TC_ACT_STOLEN;
	}
	if (!forwarded)
		return drop_dead_first_hop(&out, self);
	count_own(&out, left.port);
	if (is_marked(left.port, skb->len)) {
		__u8 marked = 1;

		bpf_skb_store_bytes(skb, ETH_HLEN + offsetof(struct cy_chip_header, marked), &marked, 1, 0);
	}
	return send(ifindex, 0);
}

SEC("classifier")
int serverswitch_port(struct __sk_buff *skb)
{
	__u32 first = 0, ifindex = 0, bytes, total, index;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct cy_notice notice = { .kind = CY_NOTICE_NEXT_HOP_DEAD };
	struct cy_chip_header *header;
	struct cy_left left = {};
	enum cy_drop reason = FINE;
	int action = 0, forwarded;

	if (!is_ours(skb, self, CHIP_PROTOCOL, &action))
		return action;
	header = (void *)(long)skb->data + ETH_HLEN;
	if (!self || (void *)(header + 1) + sizeof(struct iphdr) > (void *)(long)skb->data_end)
		return drop(CY_DROP_MALFORMED);
	total = bpf_ntohs(header->ip.tot_len);
	if (header->ip.version != 4 || header->ip.ihl != sizeof(header->ip) / 4 ||
	    total < CHIP_HEADER_BYTES + sizeof(struct iphdr) || total > skb->len - ETH_HLEN)
		return drop(CY_DROP_MALFORMED);
	if (ip_sum(&header->ip) != 0xffff)
		return drop(CY_DROP_BAD_CHECKSUM);
	bytes = total - CHIP_HEADER_BYTES;

	forwarded = through_chip(skb, port_of(skb->ifindex), &left, &ifindex, &reason);
	if (forwarded < 0)
		return drop(reason);
	if (forwarded) {
		count_relayed(skb, bytes, left.port);
		return send(ifindex, 0);
	}
	if (left.of_call) {
		give_whole(skb, left.port);
		return TC_ACT_STOLEN;
	}
	header = (void *)(long)skb->data + ETH_HLEN;
	if ((void *)(header + 1) + sizeof(struct iphdr) > (void *)(long)skb->data_end)
		return drop(CY_DROP_MALFORMED);
	if (header->ip.daddr == self->ip)
		return deliver(skb, &header->ip, (void *)(header + 1), self);
	/* What comes to the CPU and is for another server has a dead next hop. */
	index = header->ip.ttl - 2;
	notice.nha = index < CY_PATH_HOPS ? *(__u64 *)header->nha >> 8 * index & 0xff : 0;
	notice.path_id = bpf_ntohl(header->path_id);
	notice.src = header->ip.saddr;
	notice.dst = header->ip.daddr;
	read_flow(skb, (void *)(header + 1), ETH_HLEN + CHIP_HEADER_BYTES, bytes, &notice.flow);
	notify(&notice);
	return drop(CY_DROP_NEXT_HOP_DEAD);
}

/* Tells the CPU that its packet was discarded: it waits for the call that sent it. */
static __always_inline int refuse(__u32 in_port, __u32 reason)
{
	struct cy_packet told = { .port = in_port, .reason = reason };
	__u32 first = 0;
	struct cy_cpu *side = bpf_map_lookup_elem(&cpu, &first);

	if (side)
		told.lost = side->lost;
	bpf_ringbuf_output(&packets, &told, sizeof(told), 0);
	return TC_ACT_SHOT;
}

SEC("classifier")
int serverswitch_cpu(struct __sk_buff *skb)
{
	__u32 first = 0, in_port = CHIP_EXTERNAL_PORTS + (skb->priority & (CHIP_EXTERNAL_PORTS - 1)), port, *out;
	struct cy_cpu *side = bpf_map_lookup_elem(&cpu, &first);
	struct cy_seen seen = {};
	struct cy_left left = {};
	int verdict;

	/* Nobody else can have a socket with this number. */
	if (!side || !side->socket || bpf_get_socket_cookie(skb) != side->socket)
		return TC_ACT_OK;
	verdict = through(skb, in_port, &seen, 0, &left);
	if (verdict != SENT)
		return refuse(in_port, verdict == OVERTAKEN ? CHIP_NO_MATCH : verdict);
	port = left.port;
	if (port >= CHIP_EXTERNAL_PORTS) {
		give_whole(skb, port);
		return TC_ACT_STOLEN;
	}
	out = bpf_map_lookup_elem(&ports, &port);
	/* A port without an interface has nobody at its end. */
	return out && *out ? send(*out, 0) : TC_ACT_STOLEN;
}

SEC("classifier")
int serverswitch_chip(struct __sk_buff *skb)
{
	struct cy_seen seen = {};
	struct cy_left left = {};
	__u32 *out, port;
	int verdict = through(skb, port_of(skb->ifindex), &seen, 0, &left);

	switch (verdict) {
	case SENT:
		break;
	case OVERTAKEN:
		return drop(CY_DROP_UNCONFIGURED);
	case CHIP_IP_CHECKSUM:
		return drop(CY_DROP_BAD_CHECKSUM);
	case CHIP_NO_MATCH:
		return drop(CY_DROP_UNKNOWN_NEXT_HOP);
	case CHIP_TTL:
		return drop(CY_DROP_TTL_EXPIRED);
	default:
		return drop(CY_DROP_MALFORMED);
	}
	port = left.port;
	if (port >= CHIP_EXTERNAL_PORTS)
		return TC_ACT_OK;
	out = bpf_map_lookup_elem(&ports, &port);
	return out && *out ? send(*out, 0) : drop(CY_DROP_UNKNOWN_NEXT_HOP);
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
