"""What the emulation endpoints take and give, and what the frames of its runs hold."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from cubeyard.experiments.schemas import FaultRequest


class LiveFault(FaultRequest):
    """A fault for a run that is under way. Its times count from when the worker takes it up."""


class FaultTarget(BaseModel):
    kind: str = Field(description="How it breaks, one by one.", examples=["server-off"])
    name: str = Field(description="A server or switch, or a link by its two ends.")


class BlastRadius(BaseModel):
    """What a fault would cut, and what the flow engine expects of the rest."""

    targets: list[FaultTarget]
    flows: int
    lost_flows: int = Field(description="Flows that no path is left for, or whose end is gone.")
    abt_bits_per_sec: float = Field(description="Predicted, with everything broken that is broken now and this too.")
    abt_before_bits_per_sec: float = Field(description="Predicted, as it is now.")
    goodput_bits_per_sec: float = Field(description="Predicted sum of the fair rates.")
    goodput_before_bits_per_sec: float


class FaultState(BaseModel):
    """A fault of a run, scheduled or asked for."""

    id: str = Field(examples=["f1"])
    kind: str
    targets: list[str]
    at_secs: float | None = Field(description="When it was to strike, on the run's own clock; null: at once.")
    until_secs: float | None
    live: bool = Field(description="Asked for while the run was under way.")
    state: Literal["waiting", "injected", "recovered", "failed"]
    reason: str = ""


class FaultList(BaseModel):
    items: list[FaultState]


class Order(BaseModel):
    """What was asked of a running session."""

    id: int
    run_id: str
    kind: Literal["inject", "recover", "stop-all"]
    fault: str = Field(description="The fault's id in the run; empty for `stop-all`.")
    targets: list[FaultTarget] = []
    created_at: datetime


class NeighbourState(BaseModel):
    """A row of a server's neighbour status table. `[bcube §7.2]`"""

    server: str
    port: int
    up: bool
    silent_secs: float | None = Field(description="Since its last hello; null before the first.")


class CachedPath(BaseModel):
    """One of the paths that a flow's last probing found."""

    servers: list[str] = Field(description="Both ends included.")
    available_bits_per_sec: float | None = Field(description="As the probe brought it back.")
    used: bool


class FlowState(BaseModel):
    """A flow that begins at the server, and its paths."""

    flow: int | None = Field(description="Its row in the workload; null for another application's and for answers.")
    destination: str = Field(description="A server's name, or an address outside.")
    protocol: int = Field(description="As IP numbers them: 6 is TCP, 17 UDP.", examples=[6])
    source_port: int
    destination_port: int
    paths: list[CachedPath]
    probings: int
    switches: int


class FailedLink(BaseModel):
    """What a server has been told of a link that is down. It is forgotten after a time."""

    servers: list[str] = Field(description="The two that it joins.")
    expires_in_secs: float


class ServerState(BaseModel):
    """What one server of a run that is under way knows and has done."""

    run_id: str
    server: str
    id: int
    neighbours: list[NeighbourState]
    flows: list[FlowState] = Field(description="At most the first hundred.")
    failed_links: list[FailedLink]
    drops: dict[str, int] = Field(description="Packets dropped since it was wired, by reason.")
    own_bytes: int = Field(description="Sent by its own applications since it was wired.")
    relayed_bytes: int = Field(description="Passed on for others since it was wired.")
    refused: dict[str, int] = Field(description="Messages of others that its protocol did not accept, by reason.")


class Capability(BaseModel):
    """One thing that emulation needs or can use."""

    name: str = Field(examples=["docker"])
    title: str
    available: bool
    reason: str = Field(description="Why not, or what was found.")
    fix: str = Field(description="What to do about it; empty when there is nothing to do.")
    needed: bool = Field(description="Nothing runs without it.")


class HostState(BaseModel):
    """One of the machines that runs are spread over."""

    name: str
    ready: bool = Field(description="Its cubeyard-fabric answers, and nothing that it needs is missing.")
    reason: str = Field(description="Why not, or what was found.")
    docker: bool = Field(description="Its Docker engine answers.")
    docker_reason: str
    underlay: str = Field(description="Its address on the network between the hosts.")
    underlay_mtu: int | None = Field(
        description="What that network carries to the others, in bytes; packets of servers may be 50 smaller."
    )
    cores: int
    memory_free_bytes: int
    share: float = Field(description="How large a part of the servers it takes, beside the others' shares.")


class Machine(BaseModel):
    """Whether this machine emulates, alone or with others, and how."""

    ready: bool
    modes: list[Literal["containers", "namespaces"]]
    capabilities: list[Capability]
    fabric: dict[str, Any] | None = Field(description="What cubeyard-fabric says of the kernel.")
    cores: int
    memory_free_bytes: int
    max_servers: int
    hosts: list[HostState] = Field(
        default=[],
        description="The machines that runs are spread over; empty: this one alone. Cores and memory are all of theirs.",
    )
