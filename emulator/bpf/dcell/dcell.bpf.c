/* DCell in the kernel: two TC programs of one server [dcell §4.3, §7]. crates/dataplane/src/dcell/forwarding.rs does the same
 * in user space; one set of test vectors holds both.
 *
 *   cubeyard_vnic   egress of the virtual NIC: puts the option into the applications' packets
 *   cubeyard_port   ingress of a port: delivers, relays and reroutes, or leaves control traffic to the stack
 */
#include "../common/events.h"
#include "header.h"
#include "maps.h"

/* Packets in a super-packet keep their size, and their checksums. */
#define ROOM (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)

/* Sends a notice; 1 when user space will see it. */
static __always_inline int notify(struct cy_notice *notice)
{
	notice->at_nanos = bpf_ktime_get_ns();
	return tell(notice, sizeof(*notice), notice->kind, notice->at_nanos);
}

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

/* A living neighbour, or none. */
static __always_inline struct cy_next_hop *neighbour(__u32 hop)
{
	struct cy_next_hop *found = bpf_map_lookup_elem(&nst, &hop);

	return found && found->up ? found : 0;
}

/* ---------------------------------------------------------------- where a packet goes */

/* What of the header decides where a packet goes, and what comes of it. */
struct choice {
	struct cy_next_hop *hop;
	__u32 proxy;
	__u16 rerouted_in;
	__u8 retries;
	__u8 has_proxy;
	__u8 rerouted; /* here */
};

/* Route::choose: FINE, or why the packet goes nowhere. */
static __always_inline enum cy_drop choose(__u32 target, const struct cy_config *self, struct choice *choice)
{
	const struct cy_route *route = bpf_map_lookup_elem(&fib, &target);
	__u32 hop;

	if (!route)
		return CY_DROP_NO_PATH;
	if (route->flags & CY_HAS_HOP) {
		choice->hop = neighbour(route->hop);
		if (choice->hop)
			return FINE;
	}
	if (choice->rerouted_in && route->alternative_cells[0] == choice->rerouted_in &&
	    route->flags & (CY_HAS_ALTERNATIVE << 1)) {
		hop = route->alternative_hops[1];
		choice->proxy = route->proxies[1];
	} else if (route->flags & CY_HAS_ALTERNATIVE) {
		hop = route->alternative_hops[0];
		choice->proxy = route->proxies[0];
	} else {
		return route->flags & CY_HAS_HOP ? CY_DROP_NEXT_HOP_DEAD : CY_DROP_NO_PATH;
	}
	if (!choice->retries)
		return CY_DROP_RETRIES_USED;
	choice->hop = neighbour(hop);
	if (!choice->hop)
		return CY_DROP_NEXT_HOP_DEAD;
	choice->retries -= 1;
	choice->has_proxy = 1;
	choice->rerouted_in = self->cell;
	choice->rerouted = 1;
	return FINE;
}

static __always_inline void fill_option(struct cy_header *header, const struct choice *choice)
{
	header->retry = choice->retries << 4 | (choice->has_proxy ? CY_PROXY_FLAG : 0);
	header->proxy = choice->has_proxy ? bpf_htonl(choice->proxy) : 0;
	header->rerouted_in = bpf_htons(choice->rerouted_in);
}

/* ---------------------------------------------------------------- sending */

/* Has user space told of a flow that it has not heard of, and tries again with the flow's next packet when it cannot. */
static __always_inline struct cy_flow_count *count_of(struct cy_flow *flow)
{
	struct cy_flow_count *count = bpf_map_lookup_elem(&flow_counts, flow), none = {};
	struct cy_notice notice = { .kind = CY_NOTICE_NEW_FLOW, .flow = *flow };

	if (!count) {
		bpf_map_update_elem(&flow_counts, flow, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&flow_counts, flow);
	}
	if (count && !count->announced)
		count->announced = notify(&notice);
	return count;
}

SEC("classifier")
int cubeyard_vnic(struct __sk_buff *skb)
{
	__u32 first = 0, bytes = skb->len - ETH_HLEN, packets = skb->gso_segs ? skb->gso_segs : 1;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct choice choice = {};
	struct cy_flow flow = {};
	struct cy_flow_count *count;
	struct cy_header *header;
	struct cy_traffic *here;
	enum cy_drop verdict;
	struct ethhdr *eth;
	struct iphdr *ip;

	if (!self || !self->ip)
		return drop(CY_DROP_UNCONFIGURED);
	if (skb->protocol != bpf_htons(ETH_P_IP))
		return drop(CY_DROP_NOT_IP);
	make_linear(skb, ETH_HLEN + sizeof(*ip));
	eth = (void *)(long)skb->data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end || ip->version != 4 || ip->ihl < 5)
		return drop(CY_DROP_MALFORMED);
	if (bpf_ntohs(ip->tot_len) != bytes)
		return drop(CY_DROP_MALFORMED);
	if (ip->ihl != 5)
		return drop(CY_DROP_IP_OPTIONS);
	if (ip->saddr != self->ip)
		return drop(CY_DROP_FORGED);
	if (bytes + CY_HEADER_BYTES > (skb->gso_size ? 0xffff : self->mtu))
		return drop(CY_DROP_TOO_BIG);

	read_flow(skb, ip, ETH_HLEN, bytes, &flow);
	count = count_of(&flow);
	choice.retries = self->retries;
	verdict = choose(server_of(flow.dst), self, &choice);
	if (verdict != FINE || !choice.hop)
		return drop(verdict);
	if (bpf_skb_adjust_room(skb, CY_HEADER_BYTES, BPF_ADJ_ROOM_NET, ROOM))
		return drop(CY_DROP_ADJUST_FAILED);
	make_linear(skb, ETH_HLEN + sizeof(*header));
	eth = (void *)(long)skb->data;
	header = (void *)(eth + 1);
	if ((void *)(header + 1) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	header->ip.ihl = CY_WHOLE_BYTES / 4;
	header->ip.tot_len = bpf_htons(bytes + CY_HEADER_BYTES);
	header->type = CY_OPTION_TYPE;
	header->length = CY_HEADER_BYTES;
	header->hops = 1; /* taken by sending it */
	header->identification = bpf_htonl(bpf_ntohs(header->ip.id));
	header->zero = 0;
	fill_option(header, &choice);
	set_checksum(&header->ip, sizeof(*header));
	address_frame(eth, choice.hop);

	if (choice.rerouted) {
		struct cy_notice notice = { .kind = CY_NOTICE_REROUTED, .proxy = choice.proxy, .flow = flow };

		notify(&notice);
	}
	if (count) {
		__sync_fetch_and_add(&count->packets, packets);
		__sync_fetch_and_add(&count->bytes, bytes);
	}
	here = traffic_here();
	if (here) {
		here->own_packets += packets;
		here->own_bytes += bytes;
		count_sent(here, choice.hop->port, packets);
	}
	return send(choice.hop->ifindex, 0);
}

/* ---------------------------------------------------------------- receiving */

static __always_inline int deliver(struct __sk_buff *skb, struct cy_header *header, struct cy_config *self)
{
	__u32 total = bpf_ntohs(header->ip.tot_len), bytes = total - CY_HEADER_BYTES;
	__u32 packets = packets_behind(skb, &header->ip, sizeof(*header));
	struct cy_traffic *here;
	struct iphdr *ip;
	struct ethhdr *eth;

	if (skb->len > ETH_HLEN + total && bpf_skb_change_tail(skb, ETH_HLEN + total, 0)) /* Ethernet's padding */
		return drop(CY_DROP_ADJUST_FAILED);
	if (bpf_skb_adjust_room(skb, -CY_HEADER_BYTES, BPF_ADJ_ROOM_NET, ROOM))
		return drop(CY_DROP_ADJUST_FAILED);
	make_linear(skb, ETH_HLEN + sizeof(*ip));
	eth = (void *)(long)skb->data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	ip->ihl = 5;
	ip->tot_len = bpf_htons(bytes);
	set_checksum(ip, sizeof(*ip));
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
				 struct cy_config *self)
{
	__u32 bytes = bpf_ntohs(header->ip.tot_len) - CY_HEADER_BYTES;
	struct choice choice = { .retries = header->retry >> 4, .proxy = bpf_ntohl(header->proxy),
		.has_proxy = (header->retry & CY_PROXY_FLAG) != 0, .rerouted_in = bpf_ntohs(header->rerouted_in) };
	struct cy_traffic *here;
	enum cy_drop verdict;
	int arrived;

	if (header->ip.ttl <= 1)
		return drop(CY_DROP_TTL_EXPIRED);
	arrived = choice.has_proxy && choice.proxy == self->server;
	if (arrived)
		choice.has_proxy = 0;
	verdict = choose(choice.has_proxy ? choice.proxy : server_of(header->ip.daddr), self, &choice);
	if (verdict != FINE || !choice.hop)
		return drop(verdict);

	header->ip.ttl -= 1;
	header->hops += 1;
	if (arrived || choice.rerouted)
		fill_option(header, &choice);
	set_checksum(&header->ip, sizeof(*header));
	address_frame(eth, choice.hop);
	if (choice.rerouted) {
		struct cy_notice notice = { .kind = CY_NOTICE_REROUTED, .proxy = choice.proxy,
			.flow = { .src = header->ip.saddr, .dst = header->ip.daddr, .proto = header->ip.protocol } };

		notify(&notice);
	}
	here = traffic_here();
	if (here) {
		__u32 packets = packets_behind(skb, &header->ip, sizeof(*header));

		here->relayed_packets += packets;
		here->relayed_bytes += bytes;
		count_sent(here, choice.hop->port, packets);
	}
	return send(choice.hop->ifindex, 0);
}

SEC("classifier")
int cubeyard_port(struct __sk_buff *skb)
{
	__u32 first = 0;
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
	make_linear(skb, ETH_HLEN + CY_WHOLE_BYTES);
	eth = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	header = (void *)(eth + 1);
	if ((void *)(&header->ip + 1) > end)
		return drop(CY_DROP_MALFORMED);
	if (!is_for_port(eth, self))
		return drop(CY_DROP_OTHER_HOST);
	if (header->ip.version != 4 || header->ip.ihl != CY_WHOLE_BYTES / 4 ||
	    (void *)(&header->type + 1) > end || header->type != CY_OPTION_TYPE)
		return is_control(header->ip.daddr) ? TC_ACT_OK : drop(CY_DROP_FOREIGN);

	if ((void *)(header + 1) > end)
		return drop(CY_DROP_MALFORMED);
	verdict = check_header(header, skb->len - ETH_HLEN);
	if (verdict != FINE)
		return drop(verdict);
	return header->ip.daddr == self->ip ? deliver(skb, header, self) : relay(skb, eth, header, self);
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
