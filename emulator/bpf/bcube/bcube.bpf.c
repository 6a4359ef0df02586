/* BCube in the kernel: two TC programs of one server [bcube §7.1, §7.2]. crates/dataplane/src/bcube/forwarding.rs does the
 * same in user space; one set of test vectors holds both.
 *
 *   cubeyard_vnic   egress of the virtual NIC: puts a header before the applications' packets
 *   cubeyard_port   ingress of a port: delivers, relays, or leaves control traffic to the stack
 */
#include "server.h"

/* The room is a header's that GSO knows, packets in a super-packet keep their size, and their checksums. */
#define GROW (BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | SHRINK)

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
	__u32 first = 0;
	struct cy_config *self = bpf_map_lookup_elem(&config, &first);
	struct cy_header header = {};
	struct cy_outgoing out = {};
	struct cy_next_hop *hop;
	struct ethhdr *eth;
	enum cy_drop verdict = check_outgoing(skb, self, &out);

	if (verdict != FINE)
		return drop(verdict);
	hop = neighbour(out.path->nha[0]);
	if (!hop)
		return drop(CY_DROP_UNKNOWN_NEXT_HOP);
	if (!hop->up)
		return drop_dead_first_hop(&out, self);

	fill_header(&header, self->ip, out.path, out.bytes);
	if (bpf_skb_adjust_room(skb, CY_HEADER_BYTES, BPF_ADJ_ROOM_MAC, GROW))
		return drop(CY_DROP_ADJUST_FAILED);
	eth = (void *)(long)skb->data;
	if ((void *)(eth + 1) + sizeof(header) > (void *)(long)skb->data_end)
		return drop(CY_DROP_ADJUST_FAILED);
	__builtin_memcpy(eth + 1, &header, sizeof(header));
	address_frame(eth, hop);
	count_own(&out, hop->port);
	return send(hop->ifindex, 0);
}

/* ---------------------------------------------------------------- receiving */

static __always_inline int relay(struct __sk_buff *skb, struct ethhdr *eth, struct cy_header *header)
{
	/* The verifier takes no index from a packet; a shift of all eight bytes is as good. */
	__u32 nha = *(__u64 *)header->nha >> 8 * (header->nhi & (CY_PATH_HOPS - 1)) & 0xff;
	__u32 bytes = bpf_ntohs(header->ip.tot_len) - CY_HEADER_BYTES;
	struct cy_next_hop *hop;

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
	count_relayed(skb, bytes, hop->port);
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
	int action = 0;

	if (!is_ours(skb, self, IPPROTO_IPIP, &action))
		return action;
	eth = (void *)(long)skb->data;
	header = (void *)(eth + 1);
	if (!self || (void *)(header + 1) + sizeof(struct iphdr) > (void *)(long)skb->data_end)
		return drop(CY_DROP_MALFORMED);
	verdict = check_header(header, skb->len - ETH_HLEN);
	if (verdict != FINE)
		return drop(verdict);
	if (header->ip.saddr == self->ip)
		return drop(CY_DROP_OWN_SOURCE);
	if (header->nhi == header->count)
		return deliver(skb, &header->ip, (void *)(header + 1), self);
	return relay(skb, eth, header);
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
