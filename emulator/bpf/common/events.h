/* Notices to user space: a ring of records, each kind limited to a rate that no flood of packets can raise. */
#ifndef CUBEYARD_EVENTS_H
#define CUBEYARD_EVENTS_H

#include "accounting.h"

/* Takes one notice from what the limit allows: `due` is when the next would be due if all came evenly, and may run ahead
 * of the clock by a burst. CPUs may race here, and let a few more or fewer pass. */
static __always_inline int is_due(__u32 kind, __u64 now)
{
	__u64 *due = bpf_map_lookup_elem(&limits, &kind);

	if (!due || *due > now + (__u64)CY_NOTICE_GAP_NANOS * (CY_NOTICE_BURST - 1))
		return 0;
	*due = (*due > now ? *due : now) + CY_NOTICE_GAP_NANOS;
	return 1;
}

/* Sends a record of the protocol's own; 1 when user space will see it. */
static __always_inline int tell(void *record, __u32 bytes, __u32 kind, __u64 now)
{
	struct cy_traffic *here;

	if (is_due(kind, now) && bpf_ringbuf_output(&events, record, bytes, 0) == 0)
		return 1;
	here = traffic_here();
	if (here)
		here->notices_suppressed += 1;
	return 0;
}

#endif
