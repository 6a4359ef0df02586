"""A tick of an emulation (ten per second), and ten ticks merged into a second. Columns of rows are
the contract's (`cubeyard/contract/tick.py`), all others are defined here.

Columns have the order of the `network` frame: index 2 is its third server or link, not an id. Each
field states how ten ticks are merged into a second (`Over`).
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from cubeyard.contract.columns import Over, Rows
from cubeyard.contract.tick import RowColumns
from cubeyard.frames.events import SessionEvent

Bytes = Annotated[list[int], Field(description="In units of the `network` frame's `unit_bytes`."), Over.SUM]
Packets = Annotated[list[int], Field(description="Absent where a large network has no room."), Over.SUM]
TickPhase = Literal["settling", "before", "during", "after"]


class LinkColumns(TypedDict):
    """Traffic on each link since the previous tick."""

    ab: Bytes
    ba: Bytes
    ab_packets: NotRequired[Packets]
    ba_packets: NotRequired[Packets]


class ServerColumns(TypedDict):
    """Values of each server since the previous tick."""

    received: Annotated[Bytes, Field(description="Goodput of the flows that end here.")]
    relayed: Annotated[Bytes, Field(description="Passed on for others.")]
    cpu: Annotated[list[float], Field(description="Share of one core, of the server's process."), Over.MEAN]


class FlowColumns(TypedDict):
    bytes: Annotated[Bytes, Field(description="Received by each flow's destination.")]


class LatencyCounts(TypedDict):
    """Results of requests since the previous tick."""

    asked: Annotated[int, Over.SUM]
    answered: Annotated[int, Over.SUM]
    within_bound: Annotated[int, Over.SUM]
    timed_out: Annotated[int, Field(description="Given up without a response."), Over.SUM]
    sum_secs: Annotated[float, Field(description="The latencies of those answered, added up."), Over.SUM]
    max_secs: Annotated[float, Over.LONGEST]
    buckets: Annotated[
        Rows,
        Field(
            description="How many latencies are in each bucket: [number, count]. Bucket `i` below 32 is of `i` ns; others begin at "
            "`(16 + i % 16) * 2^(i // 16 - 1)` ns."
        ),
        Over.SUM,
    ]


class OwnColumns(TypedDict):
    """What the backend adds to the contract's rows."""

    tick: Annotated[int, Field(description="The fabric's number of it."), Over.LAST]
    at_secs: Annotated[float, Field(description="On the session's clock; negative while settling."), Over.LAST]
    phase: Annotated[TickPhase, Over.LAST]
    links: LinkColumns
    servers: ServerColumns
    goodput_bits_per_sec: Annotated[float, Field(description="Mean over the last second."), Over.LAST]
    abt_bits_per_sec: Annotated[float, Field(description="Mean over the last second."), Over.LAST]
    cpu: Annotated[float, Field(description="Share of all cores of the machine."), Over.MEAN]
    flows: Annotated[NotRequired[FlowColumns], Field(description="Absent where there are too many flows.")]
    latencies: NotRequired[LatencyCounts]
    subflows: Annotated[
        NotRequired[Rows],
        Field(
            description="Bytes that MPTCP's subflows carried since they were told last, by 9 times the row of the flow plus the subflow."
        ),
        Over.SUM,
    ]
    cut_off_flows: Annotated[
        NotRequired[int], Field(description="Flows that lost an end or every path; ABT is of the others."), Over.LAST
    ]
    drops: Annotated[NotRequired[dict[str, int]], Field(description="Packets servers dropped, by reason."), Over.SUM]
    events: Annotated[NotRequired[list[SessionEvent]], Over.ALL]
    routes: Annotated[
        NotRequired[list[tuple[int, list[int]]]],
        Field(description="Flows that have a new path: [row, ids of its servers]."),
        Over.ALL,
    ]
    counts: Annotated[
        NotRequired[dict[str, int]], Field(description="Events that are only counted, by kind."), Over.SUM
    ]


class TickFrame(OwnColumns, RowColumns):
    """Events and traffic since the previous tick."""


class SecondFrame(TickFrame):
    """Ten ticks merged into one."""

    secs: Annotated[float, Field(description="The time that it stands for.")]
