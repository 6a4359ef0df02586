/* Which of a link's end's queues a packet waits in: each flow has its own, until there are more flows than queues.
 *
 *   cubeyard_fair_server   the end at a server: indices of ports repeat in every namespace, the source's address does not
 *   cubeyard_fair_switch   the end at a switch, whose index is unique in a run
 *   cubeyard_fair_common   any end while a fault decides what happens to its packets: all wait in one queue
 */
#include <linux/pkt_cls.h>

#include "../common/parsing.h"

/* crates/fabric/src/netlink/queue/fair.rs has the same. */
#define QUEUES 64
#define FIRST_QUEUE 2
#define COMMON_QUEUE 0x100

struct end {
	__u32 ifindex;
	__u8 source[ETH_ALEN]; /* of a server's port, 0 at a switch */
	__u8 reserved[2];
};

struct sender {
	struct end end;
	__u32 hash;
};

/* The queue of a flow at an end. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct sender);
	__type(value, __u32);
} queues SEC(".maps");

/* How many flows an end has seen. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct end);
	__type(value, __u32);
} flows_seen SEC(".maps");

static __always_inline __u32 next_queue(const struct end *end)
{
	__u32 *seen = bpf_map_lookup_elem(&flows_seen, end), none = 0;

	if (!seen) {
		bpf_map_update_elem(&flows_seen, end, &none, BPF_NOEXIST);
		seen = bpf_map_lookup_elem(&flows_seen, end);
	}
	return seen ? __sync_fetch_and_add(seen, 1) % QUEUES : 0;
}

static __always_inline int classify(struct __sk_buff *skb, struct sender *sender)
{
	__u32 *known, queue;

	sender->end.ifindex = skb->ifindex;
	sender->hash = bpf_get_hash_recalc(skb);
	known = bpf_map_lookup_elem(&queues, sender);
	if (known) {
		queue = *known;
	} else {
		queue = next_queue(&sender->end);
		bpf_map_update_elem(&queues, sender, &queue, BPF_ANY);
	}
	skb->tc_classid = FIRST_QUEUE + queue % QUEUES;
	return TC_ACT_OK;
}

SEC("classifier")
int cubeyard_fair_server(struct __sk_buff *skb)
{
	struct sender sender = {};

	bpf_skb_load_bytes(skb, ETH_ALEN, sender.end.source, ETH_ALEN);
	return classify(skb, &sender);
}

SEC("classifier")
int cubeyard_fair_switch(struct __sk_buff *skb)
{
	struct sender sender = {};

	return classify(skb, &sender);
}

SEC("classifier")
int cubeyard_fair_common(struct __sk_buff *skb)
{
	skb->tc_classid = COMMON_QUEUE;
	return TC_ACT_OK;
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
