/* One server of a BCube, whatever forwards its packets: which of its applications' packets may go and by which path, which of
 * its neighbours' frames it reads, and what it delivers [bcube §7.2]. */
#ifndef CUBEYARD_BCUBE_SERVER_H
#define CUBEYARD_BCUBE_SERVER_H

#include "../common/events.h"
#include "header.h"
#include "maps.h"

/* Packets in a super-packet keep their size and their checksums. */
#define SHRINK (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)

/* A packet of the server's own applications. */
struct cy_outgoing {
	struct cy_flow flow;
	struct cy_flow_count *count; /* 0 where there is no room for one */
	struct cy_path *path;
	__u32 bytes; /* from its IP header on */
	__u32 packets; /* in a super-packet */
};

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

/* FINE, with what a header needs to know, or why a packet of the applications may not go. */
static __always_inline enum cy_drop check_outgoing(struct __sk_buff *skb, struct cy_config *self, struct cy_outgoing *out)
{
	struct iphdr *ip;

	if (!self || !self->ip)
		return CY_DROP_UNCONFIGURED;
	if (skb->protocol != bpf_htons(ETH_P_IP))
		return CY_DROP_NOT_IP;
	make_linear(skb, ETH_HLEN + sizeof(*ip));
	ip = (void *)(long)skb->data + ETH_HLEN;
	if ((void *)(ip + 1) > (void *)(long)skb->data_end || ip->version != 4 || ip->ihl < 5)
		return CY_DROP_MALFORMED;
	/* Only a gateway speaks for others, and only for those outside [bcube §5.3]. */
	if (ip->saddr != self->ip && (!(self->flags & CY_GATEWAY) || is_virtual(ip->saddr)))
		return CY_DROP_FORGED;
	out->bytes = skb->len - ETH_HLEN;
	out->packets = skb->gso_segs ? skb->gso_segs : 1;
	if (out->bytes + CY_HEADER_BYTES > (skb->gso_size ? 0xffff : self->mtu))
		return CY_DROP_TOO_BIG;

	read_flow(skb, ip, ETH_HLEN, out->bytes, &out->flow);
	out->count = count_of(&out->flow);
	out->path = find_path(&out->flow);
	if (!out->path)
		return CY_DROP_NO_PATH;
	return out->path->count == 0 || out->path->count > CY_PATH_HOPS ? CY_DROP_BAD_INDEX : FINE;
}

/* Tells the protocol of a packet whose first hop is dead. */
static __always_inline int drop_dead_first_hop(struct cy_outgoing *out, struct cy_config *self)
{
	struct cy_notice notice = { .kind = CY_NOTICE_NEXT_HOP_DEAD, .path_id = out->path->id, .src = self->ip,
		.dst = out->path->dst, .flow = out->flow, .nha = out->path->nha[0] };

	notify(&notice);
	return drop(CY_DROP_NEXT_HOP_DEAD);
}

/* Counts a packet of the applications that goes out by a port. */
static __always_inline void count_own(struct cy_outgoing *out, __u32 port)
{
	struct cy_traffic *here = traffic_here();

	if (out->count) {
		__sync_fetch_and_add(&out->count->packets, out->packets);
		__sync_fetch_and_add(&out->count->bytes, out->bytes);
		out->count->path_id = out->path->id;
	}
	if (here) {
		here->own_packets += out->packets;
		here->own_bytes += out->bytes;
		count_sent(here, port, out->packets);
	}
}

/* Packets in a super-packet whose inner IP header follows BCube's, `bytes` from it on. */
static __always_inline __u32 packets_inside(struct __sk_buff *skb, __u32 bytes)
{
	__u32 inner = ETH_HLEN + CY_HEADER_BYTES, header;
	struct iphdr ip;

	if (!skb->gso_size || bpf_skb_load_bytes(skb, inner, &ip, sizeof(ip)))
		return 1;
	header = ip.ihl * 4;
	return bytes <= header ? 1 : packets_in(skb, inner + header, ip.protocol, bytes - header);
}

/* Counts a packet of others that goes out by a port; `bytes` follow BCube's header. */
static __always_inline void count_relayed(struct __sk_buff *skb, __u32 bytes, __u32 port)
{
	struct cy_traffic *here = traffic_here();

	if (here) {
		__u32 packets = packets_inside(skb, bytes);

		here->relayed_packets += packets;
		here->relayed_bytes += bytes;
		count_sent(here, port, packets);
	}
}

/* ---------------------------------------------------------------- receiving */

/* FINE for a frame of BCube's, with IP protocol `protocol` and so many bytes readable as there are, up to the inner IP header;
 * else what becomes of it: `*action`. */
static __always_inline int is_ours(struct __sk_buff *skb, struct cy_config *self, __u8 protocol, int *action)
{
	struct ethhdr *eth;
	struct iphdr *ip;

	if (skb->protocol == bpf_htons(ETH_P_ARP)) {
		*action = TC_ACT_OK;
		return 0;
	}
	if (skb->protocol != bpf_htons(ETH_P_IP) || skb->vlan_present) {
		*action = drop(CY_DROP_NOT_IP);
		return 0;
	}
	if (!self || !self->ip) {
		*action = drop(CY_DROP_UNCONFIGURED);
		return 0;
	}
	make_linear(skb, ETH_HLEN + CY_HEADER_BYTES + sizeof(*ip));
	eth = (void *)(long)skb->data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end) {
		*action = drop(CY_DROP_MALFORMED);
		return 0;
	}
	if (!is_for_port(eth, self)) {
		*action = drop(CY_DROP_OTHER_HOST);
		return 0;
	}
	if (ip->protocol == protocol)
		return 1;
	*action = is_control(ip->daddr) ? TC_ACT_OK : drop(CY_DROP_FOREIGN);
	return 0;
}

/* Takes the header of a packet at the end of its path away. `outer` and `inner` are its readable headers. */
static __always_inline int deliver(struct __sk_buff *skb, const struct iphdr *outer, const struct iphdr *inner,
				   struct cy_config *self)
{
	__u32 total = bpf_ntohs(outer->tot_len), bytes = total - CY_HEADER_BYTES, packets = packets_inside(skb, bytes);
	struct cy_traffic *here;

	if (outer->daddr != self->ip)
		return drop(CY_DROP_NOT_MINE);
	if (inner->version != 4 || inner->ihl < 5)
		return drop(CY_DROP_MALFORMED);
	/* Inside, virtual addresses are those of the path's ends; others come from, or go to, a gateway's outside. */
	if (is_virtual(inner->saddr) && inner->saddr != outer->saddr)
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

#endif
