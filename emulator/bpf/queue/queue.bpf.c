/* How much waits at a port: read at the egress of the port, when the packet that leaves carries a question.
 *
 *   cubeyard_queue   egress of a port: a program that asked for the queue has marked the packet
 *
 * Reading the kernel's own memory asks for the GPL, so this is an object with a licence of its own. Where fields are the loader finds
 * out from the kernel's types (CO-RE). */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* bpf/serverswitch/chip.h has the same. */
#define QUERY_MARK 0xcb51
#define PORTS 8

#define barrier() asm volatile("" ::: "memory")

/* The fields that are read, of the kernel's types. */
struct gnet_stats_queue {
	__u32 backlog;
} __attribute__((preserve_access_index));

struct Qdisc {
	struct gnet_stats_queue qstats;
} __attribute__((preserve_access_index));

struct net_device {
	struct Qdisc *qdisc;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
} __attribute__((preserve_access_index));

/* The interface of each port; 0: there is no such port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, __u32);
} interfaces SEC(".maps");

/* What waited at a port when it was asked last. */
struct waiting {
	__u64 bytes;
	__u64 at_nanos; /* CLOCK_MONOTONIC: written last */
};

/* Whoever answers maps its memory: a call of the kernel's would take longer than the rest of an answer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, struct waiting);
} queues SEC(".maps");

SEC("classifier")
int cubeyard_queue(struct __sk_buff *skb)
{
	struct sk_buff *packet = (void *)skb;
	struct net_device *dev = 0;
	struct Qdisc *queue = 0;
	__u32 backlog = 0;

	if (skb->mark != QUERY_MARK)
		return TC_ACT_UNSPEC;
	skb->mark = 0;
	bpf_core_read(&dev, sizeof(dev), &packet->dev);
	bpf_core_read(&queue, sizeof(queue), &dev->qdisc);
	bpf_core_read(&backlog, sizeof(backlog), &queue->qstats.backlog);
#pragma unroll
	for (__u32 port = 0; port < PORTS; port++) {
		__u32 at = port, *index = bpf_map_lookup_elem(&interfaces, &at);
		struct waiting *waits = bpf_map_lookup_elem(&queues, &at);

		if (index && waits && *index && *index == skb->ifindex) {
			waits->bytes = backlog;
			barrier();
			waits->at_nanos = bpf_ktime_get_ns();
		}
	}
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
