/* BCube in the kernel: two TC programs of one server [bcube §7.1, §7.2]. crates/dataplane/src/bcube/forwarding.rs does the
 * same in user space; one set of test vectors holds both.
 *
 *   cubeyard_vnic   egress of the virtual NIC: puts a header before the applications' packets
 *   cubeyard_port   ingress of a port: delivers, relays, or leaves control traffic to the stack
 */
#include "../common/events.h"
#include "header.h"
#include "maps.h"

/* The room is a header's that GSO knows, packets in a super-packet keep their size, and their checksums. */
#define GROW (BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)
#define SHRINK (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)

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

/* The neighbour of an NHA: one lookup decides [bcube §7.2]. */
static __always_inline struct cy_next_hop *neighbour(__u32 nha)
{
	struct cy_next_hop *hop = bpf_map_lookup_elem(&nst, &nha);

	return hop && hop->ifindex ? hop : 0;
}

/* ---------------------------------------------------------------- sending */

/* The path of a packet: its flow's own, else its destination's, else that to a gateway for what is outside. */
static __always_inline struct cy_path *find_path(struct cy_flow *flow)
{
	__be32 outside = 0;
	struct cy_path *path = bpf_map_lookup_elem(&flows, flow);

	if (!path)
		path = bpf_map_lookup_elem(&routes, &flow->dst);
	if (!path && !is_virtual(flow->dst))
		path = bpf_map_lookup_elem(&routes, &outside);
	return path;
}

/* Has user space told of a flow that it has not heard of, and tries again with the flow's next packet when it cannot. */
static __always_inline struct cy_flow_count *count_of(struct cy_flow *flow)
{
	struct cy_flow_count *count = bpf_map_lookup_elem(&flow_counts, flow), none = {};
	struct cy_notice notice = { .kind = CY_NOTICE_NEW_FLOW, .src = flow->src, .dst = flow->dst, .flow = *flow };

	if (!count) {
		bpf_map_update_elem(&flow_counts, flow, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&flow_counts, flow);
	}
	if (count && !count->announced)
		count->announced = notify(&notice);
	return count;
}

static __always_inline void fill_header(struct cy_header *header, __be32 source, struct cy_path *path, __u32 bytes)
{
	header->ip.version = 4;
	header->ip.ihl = CY_HEADER_BYTES / 4;
	header->ip.tot_len = bpf_htons(CY_HEADER_BYTES + bytes);
	header->ip.frag_off = bpf_htons(IP_DONT_FRAGMENT);
	header->ip.ttl = CY_TTL;
	header->ip.protocol = IPPROTO_IPIP;
	header->ip.saddr = source;
	header->ip.daddr = path->dst;
	header->type = CY_OPTION_TYPE;
	header->length = CY_OPTION_BYTES;
	header->nhi = 1; /* hop 0 is taken by sending it */
	header->count = path->count;
	__builtin_memcpy(header->nha, path->nha, CY_PATH_HOPS);
	header->path_id = bpf_htonl(path->id);
	header->ip.check = ~header_sum(header);
}

SEC("classifier")
int cubeyard_vnic(struct __sk_buff *skb)
{
	__u32 first = 0, bytes = skb->len - ETH_HLEN, packets = skb->gso_segs ? skb->gso_segs : 1;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct cy_header header = {};
	struct cy_flow flow = {};
	struct cy_flow_count *count;
	struct cy_next_hop *hop;
	struct cy_traffic *here;
	struct cy_path *path;
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
	/* Only a gateway speaks for others, and only for those outside [bcube §5.3]. */
	if (ip->saddr != self->ip && (!(self->flags & CY_GATEWAY) || is_virtual(ip->saddr)))
		return drop(CY_DROP_FORGED);
	if (bytes + CY_HEADER_BYTES > (skb->gso_size ? 0xffff : self->mtu))
		return drop(CY_DROP_TOO_BIG);

	read_flow(skb, ip, ETH_HLEN, bytes, &flow);
	count = count_of(&flow);
	path = find_path(&flow);
	if (!path)
		return drop(CY_DROP_NO_PATH);
	if (path->count == 0 || path->count > CY_PATH_HOPS)
		return drop(CY_DROP_BAD_INDEX);
	hop = neighbour(path->nha[0]);
	if (!hop)
		return drop(CY_DROP_UNKNOWN_NEXT_HOP);
	if (!hop->up) {
		struct cy_notice notice = { .kind = CY_NOTICE_NEXT_HOP_DEAD, .path_id = path->id, .src = self->ip,
			.dst = path->dst, .flow = flow, .nha = path->nha[0] };

		notify(&notice);
		return drop(CY_DROP_NEXT_HOP_DEAD);
	}

	fill_header(&header, self->ip, path, bytes);
	if (bpf_skb_adjust_room(skb, CY_HEADER_BYTES, BPF_ADJ_ROOM_MAC, GROW))
		return drop(CY_DROP_ADJUST_FAILED);
	eth = (void *)(long)skb->data;
	if ((void *)(eth + 1) + sizeof(header) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	__builtin_memcpy(eth + 1, &header, sizeof(header));
	address_frame(eth, hop);

	if (count) {
		__sync_fetch_and_add(&count->packets, packets);
		__sync_fetch_and_add(&count->bytes, bytes);
		count->path_id = path->id;
	}
	here = traffic_here();
	if (here) {
		here->own_packets += packets;
		here->own_bytes += bytes;
		count_sent(here, hop->port, packets);
	}
	return send(hop->ifindex, 0);
}

/* ---------------------------------------------------------------- receiving */

static __always_inline int deliver(struct __sk_buff *skb, struct cy_header *header, struct cy_config *self)
{
	const struct iphdr *inner = (void *)(header + 1);
	__u32 total = bpf_ntohs(header->ip.tot_len), bytes = total - CY_HEADER_BYTES, packets = packets_in(skb, bytes);
	struct cy_traffic *here;

	if (header->ip.daddr != self->ip)
		return drop(CY_DROP_NOT_MINE);
	if (inner->version != 4 || inner->ihl < 5)
		return drop(CY_DROP_MALFORMED);
	/* Inside, virtual addresses are those of the path's ends; others come from, or go to, a gateway's outside. */
	if (is_virtual(inner->saddr) && inner->saddr != header->ip.saddr)
		return drop(CY_DROP_FORGED);
	if (inner->daddr != self->ip && (!(self->flags & CY_GATEWAY) || is_virtual(inner->daddr)))
		return drop(CY_DROP_FORGED);

	if (skb->len > ETH_HLEN + total && bpf_skb_change_tail(skb, ETH_HLEN + total, 0)) /* Ethernet's padding */
		return drop(CY_DROP_ADJUST_FAILED);
	if (bpf_skb_adjust_room(skb, -CY_HEADER_BYTES, BPF_ADJ_ROOM_MAC, SHRINK))
		return drop(CY_DROP_ADJUST_FAILED);
	/* The stack ignores what is not for the virtual NIC's own address. */
	if (bpf_skb_store_bytes(skb, 0, self->vnic_mac, ETH_ALEN, 0))
		return drop(CY_DROP_ADJUST_FAILED);
	here = traffic_here();
	if (here) {
		here->delivered_packets += packets;
		here->delivered_bytes += bytes;
	}
	return send(self->vnic_ifindex, BPF_F_INGRESS);
}

static __always_inline int relay(struct __sk_buff *skb, struct ethhdr *eth, struct cy_header *header)
{
	/* The verifier takes no index from a packet; a shift of all eight bytes is as good. */
	__u32 nha = *(__u64 *)header->nha >> 8 * (header->nhi & (CY_PATH_HOPS - 1)) & 0xff;
	__u32 bytes = bpf_ntohs(header->ip.tot_len) - CY_HEADER_BYTES;
	struct cy_next_hop *hop;
	struct cy_traffic *here;

	if (header->ip.ttl <= 1)
		return drop(CY_DROP_TTL_EXPIRED);
	hop = neighbour(nha);
	if (!hop)
		return drop(CY_DROP_UNKNOWN_NEXT_HOP);
	if (!hop->up) {
		struct cy_notice notice = { .kind = CY_NOTICE_NEXT_HOP_DEAD, .path_id = bpf_ntohl(header->path_id),
			.src = header->ip.saddr, .dst = header->ip.daddr, .nha = nha };

		read_flow(skb, (void *)(header + 1), ETH_HLEN + CY_HEADER_BYTES, bytes, &notice.flow);
		notify(&notice);
		return drop(CY_DROP_NEXT_HOP_DEAD);
	}

	/* Both are the high byte of their 16-bit word: one up, one down, and the checksum stays as it is. */
	header->nhi += 1;
	header->ip.ttl -= 1;
	address_frame(eth, hop);
	here = traffic_here();
	if (here) {
		__u32 packets = packets_in(skb, bytes);

		here->relayed_packets += packets;
		here->relayed_bytes += bytes;
		count_sent(here, hop->port, packets);
	}
	return send(hop->ifindex, 0);
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
	make_linear(skb, ETH_HLEN + CY_HEADER_BYTES + sizeof(struct iphdr));
	eth = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	header = (void *)(eth + 1);
	if ((void *)(&header->ip + 1) > end)
		return drop(CY_DROP_MALFORMED);
	if (!is_for_port(eth, self))
		return drop(CY_DROP_OTHER_HOST);
	if (header->ip.protocol != IPPROTO_IPIP)
		return is_control(header->ip.daddr) ? TC_ACT_OK : drop(CY_DROP_FOREIGN);

	if ((void *)(header + 1) + sizeof(struct iphdr) > end)
		return drop(CY_DROP_MALFORMED);
	verdict = check_header(header, skb->len - ETH_HLEN);
	if (verdict != FINE)
		return drop(verdict);
	if (header->ip.saddr == self->ip)
		return drop(CY_DROP_OWN_SOURCE);
	return header->nhi == header->count ? deliver(skb, header, self) : relay(skb, eth, header);
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
