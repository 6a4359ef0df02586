/* Telling user space: a ring of events, each kind limited to a rate that no flood of packets can raise. */
#ifndef CUBEYARD_EVENTS_H
#define CUBEYARD_EVENTS_H

#include "accounting.h"

/* Takes one event from what the limit allows: `due` is when the next would be due if all came evenly, and may run ahead
 * of the clock by a burst. CPUs may race here, and let a few more or fewer pass. */
static __always_inline int is_due(__u32 kind, __u64 now)
{
	__u64 *due = bpf_map_lookup_elem(&limits, &kind);

	if (!due || *due > now + (__u64)CY_EVENT_GAP_NANOS * (CY_EVENT_BURST - 1))
		return 0;
	*due = (*due > now ? *due : now) + CY_EVENT_GAP_NANOS;
	return 1;
}

/* Sends an event; 1 when user space will see it. */
static __always_inline int tell(struct cy_event *event)
{
	struct cy_traffic *here;

	event->at_nanos = bpf_ktime_get_ns();
	if (is_due(event->kind, event->at_nanos) && bpf_ringbuf_output(&events, event, sizeof(*event), 0) == 0)
		return 1;
	here = traffic_here();
	if (here)
		here->events_suppressed += 1;
	return 0;
}

#endif
