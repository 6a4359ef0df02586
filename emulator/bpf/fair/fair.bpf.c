/* Which of a link's end's queues a packet waits in: each flow has its own, until there are more flows than queues. A service
 * that routes its own packets is one flow, whatever it sends.
 *
 *   cubeyard_fair_server       the end at a server: indices of ports repeat in every namespace, the source's address does not
 *   cubeyard_fair_switch       the end at a switch, whose index is unique in a run
 *   cubeyard_services_server   the end at a server on which each service has its queue, applications' packets have one, and
 *                              control messages, which go first
 *   cubeyard_services_switch   the same at a switch
 *   cubeyard_fair_common       any end while a fault decides what happens to its packets: all wait in one queue
 */
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <stddef.h>

#include "../common/parsing.h"

/* crates/fabric/src/netlink/queue/fair.rs has the same. */
#define QUEUES 64
#define FIRST_QUEUE 2
#define COMMON_QUEUE 0x100
#define SERVICE_QUEUES 8
#define CONTROL_QUEUE 0x101

/* The dataplane's `control.rs`. */
#define SERVICE_PORT 4791

#define IPV4_WITHOUT_OPTIONS 0x45
#define NO_SERVICE -1
#define CONTROL -2

struct end {
	__u32 ifindex;
	__u8 source[ETH_ALEN]; /* of a server's port, 0 at a switch */
	__u8 reserved[2];
};

struct sender {
	struct end end;
	__u32 hash; /* of a flow, or a service's number */
	__u32 is_service;
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

/* What servers say to each other by their ports' own addresses. */
struct message {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	__u8 option[2]; /* a packet of a service begins with these, and its number */
	__be16 service;
} __attribute__((packed));

/* The number of the service that a packet is of; NO_SERVICE for applications' packets, which carry options or have addresses
 * of their own, and CONTROL for control messages. */
static __always_inline int service_of(struct __sk_buff *skb)
{
	struct message message;
	__u32 least = offsetof(struct message, option);

	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, 0, &message, least))
		return NO_SERVICE;
	if (*(__u8 *)&message.ip != IPV4_WITHOUT_OPTIONS || message.ip.protocol != IPPROTO_UDP ||
	    !is_control(message.ip.saddr) || !is_control(message.ip.daddr))
		return NO_SERVICE;
	if (message.udp.dest != bpf_htons(SERVICE_PORT))
		return CONTROL;
	if (bpf_skb_load_bytes(skb, least, message.option, sizeof(message) - least))
		return CONTROL;
	return bpf_ntohs(message.service);
}

static __always_inline __u32 next_queue(const struct end *end)
{
	__u32 *seen = bpf_map_lookup_elem(&flows_seen, end), none = 0;

	if (!seen) {
		bpf_map_update_elem(&flows_seen, end, &none, BPF_NOEXIST);
		seen = bpf_map_lookup_elem(&flows_seen, end);
	}
	return seen ? __sync_fetch_and_add(seen, 1) : 0;
}

/* Gives a sender one of the first queues, in turn. */
static __always_inline int give_queue(struct __sk_buff *skb, struct sender *sender, __u32 many)
{
	__u32 *known, queue;

	sender->end.ifindex = skb->ifindex;
	known = bpf_map_lookup_elem(&queues, sender);
	if (known) {
		queue = *known;
	} else {
		queue = next_queue(&sender->end);
		bpf_map_update_elem(&queues, sender, &queue, BPF_ANY);
	}
	skb->tc_classid = FIRST_QUEUE + queue % many;
	return TC_ACT_OK;
}

static __always_inline int classify(struct __sk_buff *skb, struct sender *sender)
{
	int service = service_of(skb);

	sender->is_service = service >= 0;
	sender->hash = service >= 0 ? (__u32)service : bpf_get_hash_recalc(skb);
	return give_queue(skb, sender, QUEUES);
}

static __always_inline int classify_service(struct __sk_buff *skb, struct sender *sender)
{
	int service = service_of(skb);

	if (service < 0) {
		skb->tc_classid = service == CONTROL ? CONTROL_QUEUE : COMMON_QUEUE;
		return TC_ACT_OK;
	}
	sender->is_service = 1;
	sender->hash = service;
	return give_queue(skb, sender, SERVICE_QUEUES);
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
int cubeyard_services_server(struct __sk_buff *skb)
{
	struct sender sender = {};

	bpf_skb_load_bytes(skb, ETH_ALEN, sender.end.source, ETH_ALEN);
	return classify_service(skb, &sender);
}

SEC("classifier")
int cubeyard_services_switch(struct __sk_buff *skb)
{
	struct sender sender = {};

	return classify_service(skb, &sender);
}

SEC("classifier")
int cubeyard_fair_common(struct __sk_buff *skb)
{
	skb->tc_classid = COMMON_QUEUE;
	return TC_ACT_OK;
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
