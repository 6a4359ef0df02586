"""The first frame of an emulation: the columns of its ticks, and the predicted values."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from cubeyard.frames.faults import Predicted, ScheduledFault

Digits = Annotated[list[list[int]], Field(description="Each one's address in its topology, for pictures.")]

HostNames = Annotated[
    list[str],
    Field(description="Each one's host name in the plan's tables, labels and exports; absent in runs from before it."),
]

Picture = Literal["rows", "rings", "planes", "tiers"]


class FrameServers(TypedDict):
    id: list[int]
    name: list[str]
    host_name: NotRequired[HostNames]
    digits: NotRequired[Digits]


class FrameSwitches(TypedDict):
    id: list[int]
    name: list[str]
    host_name: NotRequired[HostNames]
    level: NotRequired[list[int]]
    digits: NotRequired[Digits]


class FrameLinks(TypedDict):
    """From port `a_port` of device `a` to port `b_port` of device `b`, by id."""

    id: list[int]
    a: list[int]
    b: list[int]
    a_port: list[int]
    b_port: list[int]
    level: list[int]
    rate_bits_per_sec: Annotated[
        NotRequired[list[float]], Field(description="Each way; absent where all have the network's rate.")
    ]


class FrameFlows(TypedDict):
    """The connections of the workload: ids of their servers, and the predicted rate with
    headers."""

    source: list[int]
    destination: list[int]
    ideal_bits_per_sec: list[float]
    path: Annotated[
        NotRequired[list[list[int]]],
        Field(
            description="Ids of the devices of the path that each is predicted to take, where that is known beforehand."
        ),
    ]


class UpgradeStep(TypedDict):
    """The part of an upgrade that is done at one switch at a time."""

    switch: str
    links: Annotated[list[int], Field(description="Ids of those that are plugged in.")]
    removed: Annotated[NotRequired[list[int]], Field(description="Ids of those that are taken out.")]
    faster: Annotated[NotRequired[list[int]], Field(description="Ids of those whose ports get faster.")]
    former_bits_per_sec: Annotated[NotRequired[list[float]], Field(description="Of each of `faster`, its rate before.")]


class FrameUpgrade(TypedDict):
    """The planner's work order as steps. Cables carry no traffic before they are plugged in and
    after they are removed."""

    title: str
    at_secs: Annotated[float | None, Field(description="Of the measured time; null: when it is ordered.")]
    steps: list[UpgradeStep]


class UpgradeFrame(UpgradeStep):
    """A step was carried out."""

    step: Annotated[int, Field(description="From 1.")]
    steps: int
    at_secs: float


class EmulationEstimate(TypedDict):
    """The estimated load of the run on this machine."""

    servers: int
    links: int
    flows: int
    memory_bytes: int
    memory_free_bytes: int
    cpu: Annotated[float, Field(description="Share of all cores at the ideal rate; above 1 it is out of reach.")]
    start_secs: float


class FrameImage(TypedDict):
    """A user's program on servers."""

    image: str
    command: Annotated[list[str], Field(description="Empty: what the image says.")]
    servers: Annotated[list[int], Field(description="Ids of those that have it.")]


class FrameHosts(TypedDict):
    name: list[str]
    of_server: Annotated[list[int], Field(description="The row of each server's host in `name`.")]


class NetworkFrame(TypedDict):
    """The first frame of an attempt at an emulation."""

    family: str
    picture: Annotated[
        NotRequired[Picture],
        Field(
            description="How a diagram arranges devices by their digits: servers in a row with level 0 below and other levels above "
            "(rows), in rings of groups (rings), in planes by the last digit (planes), or in a row under their switches "
            "(tiers); absent in runs from before it."
        ),
    ]
    spec: dict[str, Any]
    whole: Annotated[bool, Field(description="False for a slice of a larger plan.")]
    gateways: Annotated[NotRequired[list[int]], Field(description="Ids of servers.")]
    mode: Literal["containers", "namespaces"]
    dataplane: Literal["kernel", "software", "serverswitch", "serverswitch-software"]
    programmable: Annotated[
        NotRequired[bool], Field(description="Whether users can program the servers' chips; false if absent.")
    ]
    rate_bits_per_sec: Annotated[float, Field(description="Of the slowest link, each way.")]
    mtu: int
    seed: int
    settle_secs: float
    seconds: float
    header_efficiency: Annotated[float, Field(description="The share of a link's rate that is payload.")]
    servers: FrameServers
    switches: FrameSwitches
    links: FrameLinks
    flows: FrameFlows
    predicted: Annotated[Predicted, Field(description="Before any fault.")]
    schedule: list[ScheduledFault]
    estimate: EmulationEstimate
    images: Annotated[NotRequired[list[FrameImage]], Field(description="Programs of users, in second containers.")]
    upgrade: Annotated[NotRequired[FrameUpgrade], Field(description="What changes while it runs.")]
    unit_bytes: Annotated[NotRequired[int], Field(description="What ticks count bytes in; 1 if absent.")]
    hosts: Annotated[NotRequired[FrameHosts], Field(description="Where servers are spread over several machines.")]
