/* The chip: one packet from the port that it comes in by to the port that it leaves by, with its copies [serverswitch §4.1, Fig. 4].
 * crates/chip/src/pipeline.rs does the same in user space. */
#ifndef CUBEYARD_CHIP_PIPELINE_H
#define CUBEYARD_CHIP_PIPELINE_H

#include "modify.h"
#include "tables.h"

/* The generation that a packet began with is written again only by the commit after the next one: that one has begun. */
#define OUTDATED 3
#define OVERTAKEN 0x100 /* not a reason of the chip's: two commits have overtaken the packet, or there are no tables yet */
#define SENT -1
#define NO_PORT 255

/* A program, the generation that it is in, and what `generation` said when the packet came. */
struct cy_current {
	volatile __u32 *generation;
	struct cy_chip *program;
	__u32 begun;
	__u32 now;
};

/* Where a packet leaves. */
struct cy_left {
	__u32 port; /* 4 to 7: to the CPU */
	__u32 through_interface; /* it has been changed */
	__u32 of_call; /* an entry that a call has set sends it there */
};

static __always_inline void add_to_register(__u32 number, __u64 more)
{
	__u32 index = bpf_get_smp_processor_id() * CHIP_REGISTER_STRIDE + number;
	__u64 *here = bpf_map_lookup_elem(&registers, &index);

	if (here)
		*here += more;
}

/* Counts a packet at a port, in or out. */
static __always_inline void count_at(__u32 packets_from, __u32 port, __u32 bytes)
{
	port &= CHIP_ALL_PORTS - 1;
	add_to_register(packets_from + port, 1);
	add_to_register(packets_from + CHIP_ALL_PORTS + port, bytes);
}

static __always_inline int discard(__u32 reason)
{
	if (reason <= CHIP_NOT_APPLICABLE)
		add_to_register(CHIP_DISCARDS + reason, 1);
	return reason;
}

static __always_inline __u32 cpu_port(__u32 in_port)
{
	return in_port < CHIP_EXTERNAL_PORTS ? in_port + CHIP_EXTERNAL_PORTS : in_port;
}

/* Whether the CPU may get another copy; CPUs may race here, and let a few more or fewer pass. Kind 0 of `limits` is no notice's. */
static __always_inline int punt_is_due(__u64 now)
{
	__u32 kind = 0;
	__u64 *due = bpf_map_lookup_elem(&limits, &kind);

	if (!due || *due > now + (__u64)CHIP_PUNT_GAP_NANOS * (CHIP_PUNT_BURST - 1))
		return 0;
	*due = (*due > now ? *due : now) + CHIP_PUNT_GAP_NANOS;
	return 1;
}

/* A copy for the CPU: the packet's first bytes. */
static __always_inline void punt(struct __sk_buff *skb, __u32 in_port, __u32 port, __u32 out_port)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 bytes = skb->len;
	struct cy_traffic *here;
	struct cy_punt *copy = punt_is_due(now) ? bpf_ringbuf_reserve(&punts, sizeof(*copy), 0) : 0;

	if (!copy) {
		here = traffic_here();
		if (here)
			here->notices_suppressed += 1;
		return;
	}
	copy->at_nanos = now;
	copy->bytes = bytes;
	copy->in_port = in_port;
	copy->port = port;
	copy->out_port = out_port;
	copy->processor = bpf_get_smp_processor_id();
	copy->reserved = 0;
	if (bytes > CHIP_PUNT_BYTES)
		bytes = CHIP_PUNT_BYTES;
	copy->taken = bytes;
	if (bytes == 0 || bpf_skb_load_bytes(skb, 0, copy->data, bytes)) {
		bpf_ringbuf_discard(copy, 0);
		return;
	}
	bpf_ringbuf_submit(copy, 0);
	skb->mark = CHIP_QUERY_MARK;
}

/* Whether programs may get another packet; CPUs may race here, as above. */
static __always_inline int packet_is_due(struct cy_cpu *side, __u64 now)
{
	if (side->due > now + (__u64)CHIP_PACKET_GAP_NANOS * (CHIP_PACKET_BURST - 1))
		return 0;
	side->due = (side->due > now ? side->due : now) + CHIP_PACKET_GAP_NANOS;
	return 1;
}

/* Where the data of TCP or UDP begins behind BCube's header; 0 of any other packet. */
static __always_inline __u32 data_at(struct __sk_buff *skb)
{
	const __u32 inner = ETH_HLEN + CHIP_HEADER_BYTES;
	__u8 ether[2], outer, first, protocol, offset;
	__u32 transport;

	if (bpf_skb_load_bytes(skb, 12, ether, sizeof(ether)) || ether[0] != ETH_P_IP >> 8 || ether[1] != (ETH_P_IP & 0xff) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + 9, &outer, 1) || outer != CHIP_PROTOCOL ||
	    bpf_skb_load_bytes(skb, inner, &first, 1) || bpf_skb_load_bytes(skb, inner + 9, &protocol, 1))
		return 0;
	transport = inner + (first & 15) * 4U;
	if (protocol == IPPROTO_UDP)
		return transport + 8;
	if (protocol != IPPROTO_TCP || bpf_skb_load_bytes(skb, transport + 12, &offset, 1))
		return 0;
	return transport + (offset >> 4) * 4U;
}

/* Writes a record with the first `head` bytes and `bytes` from `at` on; 0: done. */
static __always_inline int write_record(struct __sk_buff *skb, struct cy_cpu *side, struct cy_record *made, __u32 head, __u32 at,
					__u32 bytes)
{
	asm volatile("" : "+r"(head), "+r"(bytes)); /* each is checked and used in one register */
	if (head > CHIP_HEADERS_MOST || bytes == 0 || bytes > CHIP_PACKET_BYTES ||
	    !packet_is_due(side, bpf_ktime_get_ns()) || (head && bpf_skb_load_bytes(skb, 0, made->data, head)) ||
	    bpf_skb_load_bytes(skb, at, made->data + head, bytes))
		return -1;
	made->head.lost = side->lost;
	made->head.bytes = head + bytes;
	return bpf_ringbuf_output(&packets, made, sizeof(made->head) + head + bytes, 0);
}

/* Of several packets in one: how far they have been given. */
struct cy_parts {
	struct __sk_buff *skb;
	struct cy_cpu *side;
	struct cy_record *made;
	__u32 head;
	__u32 at;
	__u32 left;
};

static long give_part(__u64 number, struct cy_parts *parts)
{
	__u32 bytes = parts->skb->len - parts->at, most = parts->skb->gso_size;

	if (parts->at >= parts->skb->len)
		return 1;
	if (bytes > most)
		bytes = most;
	parts->made->head.part = parts->at + bytes >= parts->skb->len ? CHIP_LAST_PART : CHIP_PART;
	parts->made->head.number = number;
	parts->made->head.offset = parts->at - parts->head;
	if (write_record(parts->skb, parts->side, parts->made, parts->head, parts->at, bytes))
		__sync_fetch_and_add(&parts->side->lost, 1);
	parts->at += bytes;
	parts->left -= parts->left > 0;
	return 0;
}

/* Several packets in one, which only the kernel takes for one: each with the headers of all, which the node makes its own. */
static __always_inline void give_parts(struct __sk_buff *skb, struct cy_cpu *side, struct cy_record *made)
{
	__u32 head = data_at(skb);
	struct cy_parts parts = { .skb = skb, .side = side, .made = made, .head = head, .at = head, .left = skb->gso_segs };

	if (head)
		bpf_loop(CHIP_PARTS, give_part, &parts, 0);
	if (parts.left)
		__sync_fetch_and_add(&side->lost, parts.left);
}

/* The packet whole, for programs of users. The verifier looks at this and the next one by itself: in each place that calls it, it would
 * have too much to look at. */
__attribute__((noinline)) int give_whole(struct __sk_buff *skb, __u32 port)
{
	__u32 first = 0;
	struct cy_cpu *side = bpf_map_lookup_elem(&cpu, &first);
	struct cy_record *made = bpf_map_lookup_elem(&record, &first);

	if (!side || !made)
		return 0;
	made->head.port = port;
	made->head.reason = 0;
	made->head.part = CHIP_WHOLE;
	made->head.number = 0;
	made->head.offset = 0;
	made->head.reserved = 0;
	if (skb->gso_size)
		give_parts(skb, side, made);
	else if (write_record(skb, side, made, 0, 0, skb->len))
		__sync_fetch_and_add(&side->lost, 1);
	return 0;
}

/* A copy for the CPU. */
__attribute__((noinline)) int copy_to_cpu(struct __sk_buff *skb, __u32 in_port, __u32 port, __u32 out_port, __u32 of_call)
{
	if (of_call)
		give_whole(skb, port);
	else
		punt(skb, in_port, port, out_port);
	return 0;
}

/* A copy of the packet as it is, out of a port. A port without an interface has nobody at its end. */
static __always_inline void emit_copy(struct __sk_buff *skb, __u32 in_port, __u32 port, __u32 out_port, __u32 of_call)
{
	__u32 *ifindex;

	count_at(CHIP_OUT_PACKETS, port, skb->len);
	if (port >= CHIP_EXTERNAL_PORTS) {
		copy_to_cpu(skb, in_port, port, out_port, of_call);
		return;
	}
	ifindex = bpf_map_lookup_elem(&ports, &port);
	if (ifindex && *ifindex)
		bpf_clone_redirect(skb, *ifindex, 0);
}

/* Copies out of all ports of a set but the last, by which the packet itself leaves. */
static __always_inline __u32 duplicate(struct __sk_buff *skb, __u32 in_port, __u32 set, __u32 of_call)
{
	__u32 last = 0;

#pragma unroll
	for (__u32 port = 0; port < CHIP_ALL_PORTS; port++)
		if (set >> port & 1)
			last = port;
	for (__u32 port = 0; port < CHIP_ALL_PORTS; port++)
		if (set >> port & 1 && port != last)
			emit_copy(skb, in_port, port, NO_PORT, of_call);
	return last;
}

/* The tables of now. 0: there are none. */
static __always_inline int current_tables(struct cy_current *at)
{
	__u32 first = 0;

	at->generation = bpf_map_lookup_elem(&generation, &first);
	if (!at->generation)
		return 0;
	at->begun = *at->generation & ~1U;
	at->now = at->begun >> 1 & 1;
	at->program = bpf_map_lookup_elem(&chip, &at->now);
	return at->program != 0;
}

/* The entry of the table with a priority, 0 the highest [serverswitch §4.1]: TCAM, exact matches, prefixes. */
static __always_inline struct cy_entry *entry_at(__u32 priority, struct cy_current *at, struct cy_seen *seen,
						 struct cy_parsed *found)
{
	__u32 flags = at->program->flags;

	if (priority == 0)
		return tcam_entry(at->program, found, at->now);
	if (priority == 1) {
		if (seen->kind == SEEN_ETHERNET && flags & CHIP_HAS_MAC)
			return exact_entry(seen->dmac, ETH_ALEN, CHIP_TABLE_MAC, at->now);
		if (seen->kind == SEEN_IPV4 && flags & CHIP_HAS_IPV4)
			return exact_entry(&seen->destination, sizeof(seen->destination), CHIP_TABLE_IPV4, at->now);
		if (seen->kind == SEEN_MPLS && flags & CHIP_HAS_LABEL)
			return exact_entry(seen->label, sizeof(seen->label), CHIP_TABLE_LABEL, at->now);
		return 0;
	}
	return seen->kind == SEEN_IPV4 && flags & CHIP_HAS_PREFIX ? prefix_entry(seen->destination, at->now) : 0;
}

/* Through the interface table and the modifiers. */
static __always_inline int redirect(struct __sk_buff *skb, struct cy_seen *seen, const struct cy_entry *entry,
				    const struct cy_interface *interface, struct cy_left *left)
{
	int reason;

	if (!interface || !interface->set)
		return CHIP_NO_MATCH;
	reason = modify(skb, seen, entry, interface);
	if (reason != DONE)
		return reason;
	left->port = interface->port;
	left->through_interface = 1;
	return SENT;
}

/* What an entry does with a packet; 0 where the table of the next lower priority decides, else 1 with the verdict. */
static __always_inline int act_on(struct __sk_buff *skb, __u32 in_port, struct cy_seen *seen, struct cy_current *at,
				  struct cy_entry *entry, struct cy_left *left, int *verdict)
{
	__u32 slot = at->now * CHIP_INTERFACES + (entry->vif & (CHIP_INTERFACES - 1)), out = NO_PORT;
	struct cy_interface *interface = 0;

	__sync_fetch_and_add(&entry->hits, 1);
	*verdict = SENT;
	left->of_call = entry->label & CHIP_OF_CALL;
	if (entry->act == CHIP_REDIRECT_VIF) {
		interface = bpf_map_lookup_elem(&interfaces, &slot);
		out = interface ? interface->port : NO_PORT;
	} else if (entry->act == CHIP_REDIRECT_PORT) {
		out = entry->port;
	}
	if (entry->mirror)
		emit_copy(skb, in_port, entry->mirror - 1, out, left->of_call);
	switch (entry->act) {
	case CHIP_REDIRECT_VIF:
		*verdict = redirect(skb, seen, entry, interface, left);
		return 1;
	case CHIP_REDIRECT_PORT:
		left->port = entry->port;
		return 1;
	case CHIP_TO_CPU:
		left->port = cpu_port(in_port);
		return 1;
	case CHIP_DUPLICATE:
		left->port = duplicate(skb, in_port, entry->port, left->of_call);
		return 1;
	case CHIP_MIRROR:
		emit_copy(skb, in_port, entry->port, NO_PORT, left->of_call);
		*verdict = CHIP_NO_MATCH; /* unless another table has an entry */
		return 0;
	}
	*verdict = CHIP_ACTION;
	return 1;
}

/* The tables and what they say, of a packet that was parsed. SENT with the port, or why it is discarded. */
static __always_inline int look_up(struct __sk_buff *skb, __u32 in_port, struct cy_seen *seen, struct cy_current *at,
				   struct cy_left *left)
{
	__u32 first = 0;
	struct cy_parsed *found = bpf_map_lookup_elem(&parsed, &first);
	int verdict = CHIP_NO_MATCH;

	if (!found || parse_keys(skb, at->program, found, in_port))
		return OVERTAKEN;
#pragma unroll
	for (__u32 priority = 0; priority < 3; priority++) {
		struct cy_entry *entry = entry_at(priority, at, seen, found);

		/* An entry of another program must not copy or change anything. */
		if (*at->generation - at->begun >= OUTDATED)
			return OVERTAKEN;
		if (entry && act_on(skb, in_port, seen, at, entry, left, &verdict))
			goto decided;
	}
	if (at->program->flags & CHIP_MISS_TO_CPU) {
		left->of_call = 0;
		left->port = cpu_port(in_port);
		verdict = SENT;
	}
decided:
	return *at->generation - at->begun < OUTDATED ? verdict : OVERTAKEN;
}

/* One packet. SENT with the port that it leaves by, or why it is discarded. `header_is_read` says that the caller has checked its
 * IPv4 header and filled `seen`. */
static __always_inline int through(struct __sk_buff *skb, __u32 in_port, struct cy_seen *seen, int header_is_read,
				   struct cy_left *left)
{
	struct cy_current at = {};
	int verdict;

	if (!current_tables(&at))
		return OVERTAKEN;
	count_at(CHIP_IN_PACKETS, in_port, skb->len);
	if (!header_is_read) {
		verdict = parse(skb, at.program->flags, seen);
		if (verdict != FINE_HEADER)
			return discard(verdict);
	} else if (!(at.program->flags & CHIP_L3)) {
		seen->kind = SEEN_ETHERNET;
	}
	verdict = look_up(skb, in_port, seen, &at, left);
	if (verdict != SENT)
		return discard(verdict);
	count_at(CHIP_OUT_PACKETS, left->port, skb->len);
	return SENT;
}

#endif
