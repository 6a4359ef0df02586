"""Requests and responses of the emulation endpoints, and models of the frames of its runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from cubeyard.experiments.emulation import ChipProgram
from cubeyard.experiments.faults import FaultRequest
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.frames.events import CellKind
from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText
from cubeyard.plans.schemas import Request

Short = Annotated[str, Field(max_length=300)]


class LiveFault(FaultRequest):
    """A fault for a run that is under way. Its times count from when the worker takes it up."""


class FitRequest(Request):
    """An experiment whose plan may be too large to be emulated."""

    experiment: ExperimentCreate = Field(description='With engine "emulation".')
    servers: int | None = Field(
        default=None,
        ge=2,
        le=1024,
        description="The most servers; if left out, the plan as it is, or else 16 to 64.",
        examples=[32],
    )


class OutsideOfFit(Model):
    """A setting of the experiment that names a device outside the emulated part."""

    field: str = Field(examples=["faults.0"])
    value: Any = Field(description="What it holds, shortened.")
    message: str


class FittedEmulation(Model):
    """An experiment that this machine can run, and what it takes of the plan."""

    kind: Literal["whole", "slice", "smaller", "part"] = Field(
        description="`smaller`: another plan of the same family; `part`: of a custom network."
    )
    servers: int
    of_servers: int = Field(description="Servers of the plan that was asked for.")
    sentence: str = Field(description="What was taken, and how to take another; empty for the whole plan.")
    outside: list[OutsideOfFit] = Field(
        description="What was left out, because it names devices that were not taken. Ask whoever wrote it before it is run so."
    )
    experiment: dict[str, Any] = Field(description="For `POST /experiments`, with the fields that were given.")
    command: str | None = Field(
        description="The same on the command line; null where only a scenario file says it (hypotheses)."
    )


class FaultTarget(Model):
    kind: str = Field(description="How it breaks, one by one.", examples=["server-off"])
    name: str = Field(description="A server or switch, or a link by its two ends.")


class BlastRadius(Model):
    """The parts that a fault would cut, and the flow engine's prediction for the rest."""

    targets: list[FaultTarget]
    flows: int
    lost_flows: int = Field(description="Flows that no path is left for, or whose end is gone.")
    abt_bits_per_sec: float = Field(description="Predicted, with everything broken that is broken now and this too.")
    abt_before_bits_per_sec: float = Field(description="Predicted, as it is now.")
    goodput_bits_per_sec: float = Field(description="Predicted sum of the fair rates.")
    goodput_before_bits_per_sec: float


class FaultState(Model):
    """A fault of a run, scheduled or requested."""

    id: str = Field(examples=["f1"])
    kind: str
    targets: list[str]
    at_secs: float | None = Field(description="When it was to strike, on the run's own clock; null: at once.")
    until_secs: float | None
    live: bool = Field(description="Asked for while the run was under way.")
    state: Literal["waiting", "injected", "recovered", "failed"]
    reason: str = ""


class FaultList(Model):
    items: list[FaultState]


class Order(Model):
    """An order to a running session."""

    id: int
    run_id: str
    kind: Literal["inject", "recover", "stop-all", "upgrade"]
    fault: str = Field(description="The fault's id in the run; empty for `stop-all` and `upgrade`.")
    targets: list[FaultTarget] = []  # noqa: RUF012 - pydantic copies it
    created_at: datetime


class CaptureLimits(Request):
    """When a capture ends, and how much of each packet it keeps."""

    max_bytes: int = Field(default=4 * 2**20, ge=1024, le=16 * 2**20, description="Of the file.")
    max_secs: float = Field(default=10.0, ge=0.1, le=60, allow_inf_nan=False)
    packet_bytes: int = Field(default=65_535, ge=14, le=65_535, description="Kept of each packet.")

    def for_fabric(self) -> dict[str, float]:
        return {"max_bytes": self.max_bytes, "max_secs": self.max_secs, "packet_bytes": self.packet_bytes}


class CaptureTarget(Request):
    """A link, or a port of a server."""

    link: Annotated[PlainText, Field(min_length=1, max_length=140)] | None = Field(
        default=None, description="By its two ends.", examples=["00/<0,0>"]
    )
    server: Annotated[PlainText, Field(min_length=1, max_length=64)] | None = Field(default=None, examples=["00"])
    port: int | None = Field(default=None, ge=0, le=255, description="Of the server, from 0.")

    @model_validator(mode="after")
    def _one_target(self) -> CaptureTarget:
        if (self.link is None) == (self.server is None):
            raise ValueError("give either link, or server and port")
        if (self.server is None) != (self.port is None):
            raise ValueError("server and port belong together")
        return self


class CaptureRequest(CaptureTarget, CaptureLimits):
    """What to capture, and when the capture ends."""


class Capture(Model):
    """A packet capture of a run."""

    id: str
    run_id: str
    target: str = Field(description="The link, or the server and its port.")
    state: Literal["running", "done", "failed"]
    reason: str = Field(description="Why it failed; empty otherwise.")
    packets: int | None = Field(description="In the file; null before it is done.")
    missed: int | None = Field(description="Packets that arrived faster than they were read.")
    size_bytes: int | None
    end: Literal["bytes", "secs", "interface-down", "caller-gone"] | None = Field(description="What ended it.")
    max_bytes: int
    max_secs: float
    created_at: datetime


class CaptureList(Model):
    items: list[Capture]


class InspectionColumn(Model):
    """A column of a section, and what its cells are."""

    name: Short
    title: Short
    kind: CellKind = Field(
        description="`server`: a name; `servers`: names of a path's servers; `flow`: {src, dst, proto, sport, dport, flow}, its ends by "
        "name or address, `flow` its row in the workload or null; `paths`: list of {path_id, servers, available_bits_per_sec, ...}."
    )


class InspectionSection(Model):
    """A table of a server's state. Any cell can be null."""

    name: Short
    title: Short
    columns: list[InspectionColumn] = Field(max_length=32)
    rows: list[list[Any]] = Field(max_length=1000)
    omitted: int = Field(default=0, ge=0, description="Rows that the server did not send.")


class ServerState(Model):
    """The state and counters of one server of a live run, in sections that its protocol defines."""

    run_id: str
    server: str
    id: int
    shell: str = Field(description="A command that opens a shell in the server's network, on the machine that has it.")
    counts: dict[str, int] = Field(description="Since it was wired, by name.", max_length=256)
    sections: list[InspectionSection] = Field(max_length=32)


class ServiceList(Model):
    """The services of a run's servers."""

    items: list[ServiceOption]
    max_message_bytes: int = Field(description="Longest message to a service, in UTF-8.")


class ServiceMessage(Request):
    """A message to a service, and how long to wait for answers."""

    message: PlainText = Field(min_length=1, description="As the service understands it.", examples=["get colour"])
    server: Annotated[PlainText, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The server whose instance gets it; every server if left out.", examples=["(0,0,0)"]
    )
    wait_secs: float = Field(default=1.0, ge=0, le=10, allow_inf_nan=False, description="Longest wait for answers.")
    answers: int = Field(default=1, ge=1, le=1024, description="Stops waiting after this number of answers.")


class ChipProgramCommit(Request):
    """A program for the chips of all servers."""

    program: ChipProgram = Field(description="As `emulation.chip_program` of an experiment.")


class ChipProgramState(Model):
    """The program of the chips."""

    program: str | None = Field(description="Its text; null where users cannot program the servers.")


class ChipCommitted(Model):
    """A program that the chips run now."""

    servers: int = Field(description="That have it; servers without power get it when they start.")
    micros: int = Field(
        description="How long it took for all of them, in microseconds; at several hosts, on the slowest."
    )


class ServiceAnswer(Model):
    """A response of an instance of a service."""

    server: str
    at_secs: float = Field(description="On the run's own clock; negative before the measurement.")
    answer: str = Field(description="At most 4,000 characters of it.")


class ServiceExchange(Model):
    """A sent message, and the later responses of the service, from any server and to any
    receiver."""

    run_id: str
    service: str
    told: list[str] = Field(description="The servers that got the message.")
    silent: list[str] = Field(description="Servers that did not answer, of a message to every server.")
    answers: list[ServiceAnswer]


class SwitchState(Model):
    """The routes of one switch of a run that is under way, and the groups of weighted next hops
    that they share."""

    run_id: str
    switch: str
    id: int
    sections: list[InspectionSection] = Field(
        max_length=32,
        description="`routes` and `groups`, and where flows are spread by load `controllers`, `tor-uplinks` and `tor-weights`; "
        "empty where switches are bridges.",
    )


class ProfileRequest(Model):
    """A plan spec, or the topology alone."""

    model_config = ConfigDict(extra="forbid")

    spec: dict[str, Any] = Field(examples=[{"family": "torus3d", "x": 3, "y": 3, "z": 3}])


class UpgradeQuestion(Model):
    """A plan, and a topology that it may become."""

    model_config = ConfigDict(extra="forbid")

    spec: dict[str, Any] = Field(examples=[{"family": "subways", "type": 1, "p": 1, "q": 2, "l": 4, "clusters": 2}])
    to: dict[str, Any] | None = Field(default=None, description="One that is not among those that are offered anyway.")


class UpgradeWork(Model):
    """The part of an upgrade that is done at one switch at a time; links by their two ends."""

    switch: str
    plug_in: list[str]
    take_out: list[str]
    faster: list[str]
    gbps: list[float] = Field(description="What the ports of `faster` have in the plan after it.")


class UpgradeOption(Model):
    """A topology that the plan can become under traffic, with the planner's work order, or the
    reason why it cannot."""

    name: Literal["ports", "type-2", "rates", "other"]
    title: str
    to: dict[str, Any] | None
    reason: str | None = Field(description="Why the plan cannot become that; null if it can.")
    steps: list[UpgradeWork]


class UpgradeList(Model):
    upgrades: list[UpgradeOption]


class Refusal(Model):
    """Why nothing of a topology can be emulated."""

    field: str
    value: str
    limit: str
    message: str
    hint: str


class ForwardingOption(Model):
    """Where packets are forwarded."""

    name: str
    title: str
    program: str | None = Field(
        description="What the servers' chips run if an experiment names no program; null where users cannot program them."
    )


class BalanceOption(Model):
    """A way in which routers spread flows."""

    name: str
    title: str


class ProtocolSetting(Model):
    """A setting of a protocol, from which a form can be made."""

    name: str
    title: str
    description: str
    type: Literal["number", "integer"]
    unit: str
    minimum: float
    maximum: float
    default: float
    source: str = Field(description="Where the default comes from, for example `[bcube §7.5]`.")


class ServiceMessageForm(Model):
    """A kind of message that a service understands."""

    title: str = Field(description="What it does.")
    example: str = Field(description="A message of this kind that can be sent as it is.", examples=["get colour"])
    to_every_server: bool = Field(description="Whether every server has to get one, rather than one server.")


class ServiceOption(Model):
    """A service: a program with an instance on every server, which routes its own packets."""

    name: str = Field(examples=["cache"])
    title: str
    description: str
    messages: list[ServiceMessageForm]


class HeaderFlag(Model):
    """A named bit of a header's field."""

    mask: int
    name: str


class HeaderField(Model):
    """A field of a protocol's header, the most significant bit first."""

    name: str
    title: str
    description: str
    offset_bits: int = Field(description="From the header's first bit.")
    bits: int = Field(description="Of one, where there are several.")
    unit: str = Field(description="Empty for none.")
    kind: Literal["number", "server", "flags"] = Field(description="`server`: the id of one.")
    flags: list[HeaderFlag]
    count: int = Field(description="How many follow one another.")
    used: str = Field(description="Of several, the field that says how many are used; empty where all are.")
    parts: list[int] = Field(description="Lengths in bits of the numbers that each consists of; empty for one number.")


class HeaderFormat(Model):
    """A protocol's header: where it begins and its fields."""

    place: Literal["ipv4_option", "ether_type"]
    option: int | None = Field(default=None, description="The IPv4 option's type, whose bytes the header is.")
    ether_type: int | None = Field(default=None, description="Ethernet's type, behind whose header it begins.")
    fields: list[HeaderField]


class ProtocolOption(Model):
    """A protocol that the servers can run."""

    name: str
    title: str
    description: str
    header_bytes: int
    header: HeaderFormat | None = Field(description="What the header's bytes mean; null where there is none.")
    max_ports: int
    addresses_per_server: int
    gateways: bool
    adapts: bool = Field(description="Whether it moves flows by load.")
    switches: Literal["bridges", "routers", "chips"] = Field(description="What its switches are made of.")
    switch_dataplane: str | None = Field(
        description="The dataplane that its switches are; null where servers or routers forward."
    )
    balances: list[BalanceOption] = Field(description="How flows can be spread; empty where switches are bridges.")
    routing: str = Field(description="The routing scheme that predicts it.")
    forwardings: list[ForwardingOption] = Field(description="Empty where servers forward nothing.")
    settings: list[ProtocolSetting]
    services: list[ServiceOption] = Field(description="That every server hosts.")
    max_message_bytes: int = Field(description="Longest message to a service, in UTF-8.")


class SliceOption(Model):
    """Slices that the topology has."""

    around_max_k: int | None = Field(description="Highest order of a slice around a server; null where there is none.")


class AddressRanges(Model):
    """Addresses that applications see."""

    applications: str
    outside: str


class NoChips(Model):
    """Why the switches of a topology cannot be switching chips."""

    title: str = Field(description="The protocol that chips would run.")
    message: str
    hint: str


class EmulationProfile(Model):
    """Whether and how a topology can be emulated."""

    family: str
    supported: bool
    refusal: Refusal | None
    default_protocol: str | None
    protocols: list[ProtocolOption]
    no_chips: NoChips | None = Field(
        description="Why the switches cannot be chips, in a family whose switches could; null where they can, and in other families."
    )
    transports: list[str]
    slice: SliceOption
    addresses: AddressRanges
    max_servers: int
