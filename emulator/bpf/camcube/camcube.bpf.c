/* CamCube in the kernel: two TC programs of one server [camcube §2.1.2, §3.1]. crates/dataplane/src/camcube/forwarding.rs
 * does the same in user space; one set of test vectors holds both.
 *
 *   cubeyard_vnic   egress of the virtual NIC: puts the option into the applications' packets
 *   cubeyard_port   ingress of a port: delivers, relays, or leaves control traffic to the stack
 */
#include "../common/accounting.h"
#include "header.h"
#include "maps.h"

/* Packets in a super-packet keep their size, and their checksums. */
#define KEEP (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)
#define FIRST_SERVER 0x0a000001 /* the virtual address of server 0 */

/* Puts out a frame that is ready. */
static __always_inline int send(__u32 ifindex, __u64 flags)
{
	int action = bpf_redirect(ifindex, flags);

	return action == TC_ACT_REDIRECT ? action : drop(CY_DROP_REDIRECT_FAILED);
}

static __always_inline void address_frame(struct ethhdr *eth, const struct cy_next_hop *hop)
{
	__builtin_memcpy(eth->h_dest, hop->next_mac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, hop->own_mac, ETH_ALEN);
}

/* 1 for any number but 0. */
static __always_inline __u32 any(__u32 number)
{
	return (number | -number) >> 31;
}

/* All bits where a number is below 0, or none; the compiler is not told which, or it would make a branch of it. */
static __always_inline __u64 negative(__s64 number)
{
	__u64 mask = number >> 63;

	asm volatile("" : "+r"(mask));
	return mask;
}

/* Of these ports, the one with a living neighbour that is free first, or CY_NO_PORT; its clock counts the packet. Ties go
 * to the first from port `turn` modulo 6 on. CPUs may race for a clock, which then is a packet short.
 *
 * A global function, which the kernel verifies once and by itself, and without branches that are not needed: as a part of each
 * of its four callers, with branches, it made verifying the programs of a server nine times as long. */
__noinline __u32 first_free(__u32 ports, __u32 turn, __u32 wire_bytes, __u32 picos_per_byte)
{
	__u64 now = bpf_ktime_get_ns(), never = ~0ULL >> 1, earliest = never, *clock;
	__u32 found = CY_NO_PORT, port = turn % CY_SERVER_PORTS;

	for (int step = 0; step < CY_SERVER_PORTS; step++, port = (port + 1) % CY_SERVER_PORTS) {
		struct cy_next_hop *hop = bpf_map_lookup_elem(&nst, &port);
		__u64 free_at, better;

		clock = bpf_map_lookup_elem(&clocks, &port);
		if (!hop || !clock)
			return CY_NO_PORT;
		free_at = *clock - now;
		free_at = now + (free_at & ~negative(free_at));
		better = negative(free_at - earliest) & -(__u64)(ports >> port & any(hop->ifindex) & any(hop->up));
		earliest += (free_at - earliest) & better;
		found ^= (found ^ port) & (__u32)better;
	}
	clock = bpf_map_lookup_elem(&clocks, &found);
	if (clock)
		*clock = earliest + (__u64)wire_bytes * picos_per_byte / 1000;
	return found;
}

/* ---------------------------------------------------------------- sending */

static __always_inline void count_flow(struct cy_flow *flow, __u32 packets, __u32 bytes)
{
	struct cy_flow_count *count = bpf_map_lookup_elem(&flow_counts, flow), none = {};

	if (!count) {
		bpf_map_update_elem(&flow_counts, flow, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&flow_counts, flow);
	}
	if (count) {
		__sync_fetch_and_add(&count->packets, packets);
		__sync_fetch_and_add(&count->bytes, bytes);
	}
}

SEC("classifier")
int cubeyard_vnic(struct __sk_buff *skb)
{
	__u32 first = 0, bytes = skb->len - ETH_HLEN, packets = skb->gso_segs ? skb->gso_segs : 1;
	__u32 home, port = CY_NO_PORT, wire_bytes = skb->len + CY_OPTION_BYTES, turn, planes, rows;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct cy_header *header;
	struct cy_next_hop *hop;
	struct cy_traffic *here;
	struct cy_flow flow = {};
	struct cy_way *way;
	struct ethhdr *eth;
	struct iphdr *ip;
	__u32 *sequence;
	__u8 flags = 0;

	if (!self || !self->ip)
		return drop(CY_DROP_UNCONFIGURED);
	if (skb->protocol != bpf_htons(ETH_P_IP))
		return drop(CY_DROP_NOT_IP);
	make_linear(skb, ETH_HLEN + sizeof(*ip));
	eth = (void *)(long)skb->data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end || ip->version != 4 || ip->ihl < 5)
		return drop(CY_DROP_MALFORMED);
	if (ip->ihl != 5)
		return drop(CY_DROP_IP_OPTIONS);
	if (ip->saddr != self->ip)
		return drop(CY_DROP_FORGED);
	if (bytes + CY_OPTION_BYTES > (skb->gso_size ? 0xffff : self->mtu))
		return drop(CY_DROP_TOO_BIG);

	read_flow(skb, ip, ETH_HLEN, bytes, &flow);
	home = bpf_ntohl(flow.dst) - FIRST_SERVER;
	way = bpf_map_lookup_elem(&ways, &home);
	sequence = bpf_map_lookup_elem(&sequences, &home);
	if (!way || !sequence || !way->shortest)
		return drop(CY_DROP_NO_PATH);
	turn = __sync_fetch_and_add(sequence, 1);
	if (self->flags & CY_DISJOINT_PATHS)
		port = first_free(way->disjoint, turn, wire_bytes, self->picos_per_byte);
	if (port != CY_NO_PORT)
		flags = CY_DISJOINT;
	else
		port = first_free(way->shortest, turn, wire_bytes, self->picos_per_byte);
	hop = bpf_map_lookup_elem(&nst, &port);
	if (!hop)
		return drop(CY_DROP_NEXT_HOP_DEAD);

	if (bpf_skb_adjust_room(skb, CY_OPTION_BYTES, BPF_ADJ_ROOM_NET, KEEP))
		return drop(CY_DROP_ADJUST_FAILED);
	eth = (void *)(long)skb->data;
	header = (void *)(eth + 1);
	if ((void *)(header + 1) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	rows = self->sizes[2] ? self->sizes[2] : 1;
	planes = self->sizes[1] ? self->sizes[1] : 1;
	*(__u8 *)header = IP_WITH_OPTION;
	header->ip.tot_len = bpf_htons(bpf_ntohs(header->ip.tot_len) + CY_OPTION_BYTES);
	header->type = CY_OPTION_TYPE;
	header->length = CY_OPTION_BYTES;
	header->service = bpf_htons(CY_TCP_IP);
	header->key[0] = home / rows / planes;
	header->key[1] = home / rows % planes;
	header->key[2] = home % rows;
	header->flags = flags;
	header->sequence = bpf_htonl(turn);
	header->hops = 1;
	header->queue = 0;
	header->colour = 0;
	write_checksum(&header->ip, sizeof(*header));
	address_frame(eth, hop);

	count_flow(&flow, packets, bytes);
	here = traffic_here();
	if (here) {
		here->own_packets += packets;
		here->own_bytes += bytes;
		count_sent(here, port, packets);
	}
	return send(hop->ifindex, 0);
}

/* ---------------------------------------------------------------- receiving */

static __always_inline int deliver(struct __sk_buff *skb, struct cy_header *header, struct cy_config *self)
{
	__u32 total = bpf_ntohs(header->ip.tot_len), bytes = total - CY_OPTION_BYTES;
	__u32 packets = packets_behind(skb, &header->ip, sizeof(*header));
	struct cy_traffic *here;
	struct ethhdr *eth;
	struct iphdr *ip;

	/* Applications' packets that reach the heir of a dead server's key are dropped [camcube §7]. */
	if (header->ip.daddr != self->ip)
		return drop(CY_DROP_NOT_MINE);
	if (skb->len > ETH_HLEN + total && bpf_skb_change_tail(skb, ETH_HLEN + total, 0)) /* Ethernet's padding */
		return drop(CY_DROP_ADJUST_FAILED);
	if (bpf_skb_adjust_room(skb, -CY_OPTION_BYTES, BPF_ADJ_ROOM_NET, KEEP))
		return drop(CY_DROP_ADJUST_FAILED);
	eth = (void *)(long)skb->data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	*(__u8 *)ip = IP_PLAIN;
	ip->tot_len = bpf_htons(bytes);
	write_checksum(ip, sizeof(*ip));
	/* The stack ignores what is not for the virtual NIC's own address. */
	__builtin_memcpy(eth->h_dest, self->vnic_mac, ETH_ALEN);
	here = traffic_here();
	if (here) {
		here->delivered_packets += packets;
		here->delivered_bytes += bytes;
	}
	return send(self->vnic_ifindex, BPF_F_INGRESS);
}

static __always_inline int relay(struct __sk_buff *skb, struct ethhdr *eth, struct cy_header *header,
				 struct cy_config *self, __u32 home, __u32 arrival)
{
	__u32 total = bpf_ntohs(header->ip.tot_len), turn = bpf_ntohl(header->sequence), port = CY_NO_PORT, allowed;
	struct cy_way *way = bpf_map_lookup_elem(&ways, &home);
	int disjoint = header->flags & CY_DISJOINT, left;
	struct cy_next_hop *hop;
	struct cy_traffic *here;

	if (header->ip.ttl <= 1)
		return drop(CY_DROP_TTL_EXPIRED);
	if (!way || arrival >= CY_SERVER_PORTS)
		return drop(CY_DROP_BAD_INDEX);
	if (disjoint) {
		__u32 onward = way->onward[arrival];

		if (onward < CY_SERVER_PORTS)
			port = first_free(1 << onward, turn, ETH_HLEN + total, self->picos_per_byte);
	}
	left = disjoint && port == CY_NO_PORT;
	if (port == CY_NO_PORT) {
		/* Never back to where it came from, but to leave a disjoint path. */
		allowed = left ? way->shortest : way->shortest & ~(1 << arrival);
		if (!allowed)
			return drop(CY_DROP_NO_PATH);
		port = first_free(allowed, turn, ETH_HLEN + total, self->picos_per_byte);
	}
	hop = bpf_map_lookup_elem(&nst, &port);
	if (!hop)
		return drop(CY_DROP_NEXT_HOP_DEAD);

	/* Both are the high byte of their 16-bit word: one up, one down, and the checksum stays as it is. */
	header->hops += 1;
	header->ip.ttl -= 1;
	if (left) {
		header->flags &= ~CY_DISJOINT;
		write_checksum(&header->ip, sizeof(*header));
	}
	address_frame(eth, hop);
	here = traffic_here();
	if (here) {
		__u32 packets = packets_behind(skb, &header->ip, sizeof(*header));

		here->relayed_packets += packets;
		here->relayed_bytes += total - CY_OPTION_BYTES;
		count_sent(here, port, packets);
	}
	return send(hop->ifindex, 0);
}

SEC("classifier")
int cubeyard_port(struct __sk_buff *skb)
{
	__u32 first = 0, home, arrival;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct cy_header *header;
	enum cy_drop verdict;
	struct ethhdr *eth;
	void *end;

	if (skb->protocol == bpf_htons(ETH_P_ARP))
		return TC_ACT_OK;
	if (skb->protocol != bpf_htons(ETH_P_IP) || skb->vlan_present)
		return drop(CY_DROP_NOT_IP);
	if (!self || !self->ip)
		return drop(CY_DROP_UNCONFIGURED);
	make_linear(skb, ETH_HLEN + CY_HEADER_BYTES);
	eth = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	header = (void *)(eth + 1);
	if ((void *)(&header->ip + 1) > end)
		return drop(CY_DROP_MALFORMED);
	arrival = port_of(eth, self);
	if (arrival == CY_NO_PORT)
		return drop(CY_DROP_OTHER_HOST);
	if (is_control(header->ip.daddr))
		return TC_ACT_OK;
	if (*(__u8 *)header != IP_WITH_OPTION)
		return drop(CY_DROP_FOREIGN);
	if ((void *)(header + 1) > end)
		return drop(CY_DROP_MALFORMED);
	verdict = check_header(header, self, skb->len - ETH_HLEN);
	if (verdict != FINE)
		return drop(verdict);
	home = home_of(header, self);
	if (home == bpf_ntohl(self->ip) - FIRST_SERVER)
		return deliver(skb, header, self);
	return relay(skb, eth, header, self, home, arrival);
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
