"""Events that servers and the fabric report, as they appear in ticks.

The kinds that all protocols share have their own types. Other reports of a protocol are `protocol`
events with typed cells, which the page displays without protocol-specific code.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, NotRequired, get_args

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

Port = Annotated[int, Field(ge=0, le=65_535)]
ServerId = Annotated[int, Field(ge=0, le=2**32 - 1)]
Text = Annotated[str, Field(max_length=300)]

CellKind = Literal[
    "server", "servers", "flow", "paths", "port", "count", "bits-per-sec", "secs", "flag", "path-id", "text"
]


class FiveTuple(TypedDict):
    """A flow, given by its ends: names of servers, or addresses outside the network."""

    src: Text
    dst: Text
    proto: int
    sport: Port
    dport: Port


class _Event(TypedDict):
    server: Annotated[
        NotRequired[ServerId | None], Field(description="Id of the server, or of the switch, that reports it.")
    ]
    at_secs: Annotated[float, Field(description="On the session's clock; negative before the measurement.")]
    at_nanos: Annotated[int | None, Field(description="On the machine's monotonic clock; null: with its tick.")]


class _OfFlow(_Event):
    flow: Annotated[NotRequired[int], Field(description="The row of the workload's flow.")]
    answers: Annotated[
        NotRequired[int], Field(description="The row of the workload's flow whose return traffic it is.")
    ]
    tuple: Annotated[NotRequired[FiveTuple], Field(description="Of return traffic, or of another application's flow.")]


class NeighbourDead(_Event):
    kind: Literal["neighbour-dead"]
    neighbour: ServerId
    port: Port
    cause: Annotated[Text, Field(examples=["silence", "carrier", "report"])]


class NeighbourAlive(_Event):
    kind: Literal["neighbour-alive"]
    neighbour: ServerId
    port: Port


class PathSwitched(_OfFlow):
    kind: Literal["path-switched"]
    path: Annotated[list[ServerId], Field(description="Ids of its servers, both ends included.")]
    from_path_id: NotRequired[int]
    reason: Annotated[Text, Field(examples=["failure", "adaptation"])]


class PathFailed(_Event):
    kind: Literal["path-failed"]
    reporter: ServerId
    unreachable: list[ServerId]


class NoPath(_OfFlow):
    kind: Literal["no-path"]


class FlowDone(_OfFlow):
    kind: Literal["flow-done"]
    reason: Annotated[NotRequired[Text | None], Field(description="Null or absent if it carried everything.")]


Ports = Annotated[
    list[Port | None],
    Field(
        min_length=2,
        max_length=2,
        description="The ports of both ends whose addresses it is between; null: the server's own.",
    ),
]
Subflow = Annotated[int, Field(ge=0, le=8, description="Its number in the connection; 0 is the first one.")]


class SubflowUp(_OfFlow):
    """An MPTCP connection opened a subflow, or moved one to another path."""

    kind: Literal["subflow-up"]
    subflow: Subflow
    ports: Ports
    path: Annotated[NotRequired[list[ServerId]], Field(description="Ids of its nodes; absent where that is not known.")]


class SubflowDown(_OfFlow):
    """An MPTCP connection lost a subflow."""

    kind: Literal["subflow-down"]
    subflow: Subflow
    reason: Annotated[Text, Field(examples=["closed", "no-path"])]


class Carrier(_Event):
    kind: Literal["carrier"]
    port: Port
    up: bool


class NodeLost(_Event):
    kind: Literal["node-lost"]


class ProgramEnded(_Event):
    """A user's program on a server ended by itself."""

    kind: Literal["program-ended"]
    image: Text
    status: int
    message: Annotated[Text, Field(description="Its last words, or why it ended.")]


class NodeRefused(_Event):
    """A report or request of a server's node that was not accepted."""

    kind: Literal["node-refused"]
    message: str


class NodeError(_Event):
    """A message that a server's node did not accept."""

    kind: Literal["node-error"]
    message: str


class NodeFlooding(_Event):
    kind: Literal["node-flooding"]
    messages: int


class StrangersRefused(_Event):
    """Packets for the tunnels between hosts, dropped: none of the run's other hosts sent them."""

    kind: Literal["strangers-refused"]
    packets: int


class EventsLost(_Event):
    """Events that were lost because the fabric's buffer was full."""

    kind: Literal["events-lost"]
    count: int


class EventsLeftOut(_Event):
    """The number of one server's events so far that did not fit into ticks."""

    kind: Literal["events-left-out"]
    count: int


class FabricFailure(_Event):
    kind: Literal["fabric-error"]
    message: str


class FaultInEffect(_Event):
    """The fabric's report that a fault took effect; the `fault` frame has its targets."""

    kind: Literal["fault-injected", "fault-recovered"]
    fault: str
    what: Annotated[NotRequired[str], Field(description="The kind of the fault.")]


class ProgramCommitted(_Event):
    """A user's program took effect in the chips of one host's servers."""

    kind: Literal["program-committed"]
    servers: int
    micros: Annotated[int, Field(description="How long it took for all of them.")]


class Cell(TypedDict):
    """One value of a protocol's event, with its type."""

    name: Text
    title: NotRequired[Text]
    kind: CellKind
    value: Any


class ProtocolEvent(_Event):
    """An event that only one protocol has."""

    kind: Literal["protocol"]
    name: Annotated[Text, Field(description="Its kind, as the protocol calls it.", examples=["link-state-sent"])]
    cells: Annotated[list[Cell], Field(max_length=32)]


SessionEvent = Annotated[
    NeighbourDead
    | NeighbourAlive
    | PathSwitched
    | PathFailed
    | NoPath
    | FlowDone
    | SubflowUp
    | SubflowDown
    | Carrier
    | NodeLost
    | ProgramEnded
    | NodeRefused
    | NodeError
    | NodeFlooding
    | StrangersRefused
    | EventsLost
    | EventsLeftOut
    | FabricFailure
    | FaultInEffect
    | ProgramCommitted
    | ProtocolEvent,
    Field(discriminator="kind"),
]
CELL_KINDS: frozenset[str] = frozenset(get_args(CellKind))


@cache
def event() -> TypeAdapter[Any]:
    """Validates an event. Created only on hosts of an emulation, because other processes handle no
    events."""
    return TypeAdapter(SessionEvent)


@cache
def kinds() -> frozenset[str]:
    """The kinds that have their own type."""
    return frozenset(event().json_schema()["discriminator"]["mapping"]) - {"protocol"}
