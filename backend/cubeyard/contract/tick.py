"""The columns of a fabric's tick. Generated from `emulator/crates/contract/src/tick.rs`: after a
change there, run `cargo run -p cubeyard-contract` in `emulator/`.
"""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from cubeyard.contract.columns import Column, LinkRows, Merge, Over, Rows, Unit

# fmt: off
COLUMNS = (
    Column("links", "tx", Unit.BYTES, Merge.SUM, None, "Bytes from a to b, Ethernet headers included."),
    Column("links", "rx", Unit.BYTES, Merge.SUM, None, "Bytes from b to a."),
    Column("links", "packets", Unit.PACKETS, Merge.SUM, None, "Packets sent; each segment of a super-packet counts. First all links from a to b, then all links from b to a."),
    Column("links", "drops", Unit.PACKETS, Merge.SUM, "link_drops", "Packets dropped at full queues or by faults, in the same order."),
    Column("links", "queue", Unit.BYTES, Merge.LATEST, "queues", "Bytes waiting now, in the same order."),
    Column("servers", "relayed", Unit.BYTES, Merge.SUM, None, "Bytes relayed for other servers."),
    Column("servers", "own", Unit.BYTES, Merge.SUM, None, "Bytes that their own applications sent."),
    Column("servers", "cpu", Unit.SHARE, Merge.LATEST, None, "Share of one processor that their node used over the last second."),
    Column("flows", "bytes", Unit.BYTES, Merge.SUM, None, "Bytes received at the destination."),
    Column("flows", "retransmits", Unit.PACKETS, Merge.SUM, "retransmits", "Segments that were sent again."),
    Column("host", "cpu", Unit.SHARE, Merge.BUSIEST, None, "Share of all processors in use."),
    Column("host", "own_cpu", Unit.SHARE, Merge.BUSIEST, None, "Share of all processors that the run used over the last second, the kernel's networking included."),
    Column("host", "wait_secs", Unit.SECS, Merge.SUM, None, "How long the run's processes waited for a processor, in all; reported once a second."),
    Column("host", "waits", Unit.COUNT, Merge.SUM, None, "How often they waited."),
    Column("host", "backlog_drops", Unit.PACKETS, Merge.SUM, None, "Packets of any program that the kernel dropped because it was behind with its work."),
    Column("latencies", "asked", Unit.COUNT, Merge.SUM, None, "Requests sent, or due to be."),
    Column("latencies", "answered", Unit.COUNT, Merge.SUM, None, "Those with a whole response."),
    Column("latencies", "within_bound", Unit.COUNT, Merge.SUM, None, "Those whose response came within the bound."),
    Column("latencies", "timed_out", Unit.COUNT, Merge.SUM, None, "Number of requests that were given up."),
    Column("latencies", "sum_nanos", Unit.NANOS, Merge.SUM, None, "Sum of the latencies of the answered requests."),
    Column("latencies", "longest_nanos", Unit.NANOS, Merge.LONGEST, None, "The longest of those answered since the last report."),
    Column("latencies", "buckets", Unit.COUNT, Merge.BY_KEY, None, "How many latencies are in each bucket that has any, by number of the bucket."),
)
# fmt: on


class RowColumns(TypedDict):
    """Columns of a run's frames: the rows that have a value."""

    link_drops: Annotated[
        NotRequired[LinkRows], Field(description="Packets dropped by a full queue or a fault."), Over.SUM
    ]
    queues: Annotated[NotRequired[LinkRows], Field(description="Bytes that wait at a link's ends."), Over.LONGEST]
    retransmits: Annotated[
        NotRequired[Rows], Field(description="Segments that were sent again, by row of the flow."), Over.SUM
    ]
