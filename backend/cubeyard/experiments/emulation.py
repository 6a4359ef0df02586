"""The settings of an experiment that apply only to real packets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from cubeyard.experiments.hypotheses import Hypothesis
from cubeyard.experiments.user_images import MAX_USER_IMAGES, UserImage
from cubeyard.kit.text import PlainText
from cubeyard.plans.schemas import Request

MAX_MODULE_TEXT = 2_800_000
"""Characters of a base64 module in the text format, which is longer than the 128 KiB limit of a
binary module."""
MAX_SERVICES = 4
MAX_SUBFLOWS = 9
"""Linux adds at most eight to a connection's first."""
MAX_CHIP_PROGRAM = 16 * 1024
"""Characters of a program for the servers' chips: it goes to each server in one message."""

Mode = Literal["containers", "namespaces"]
Dataplane = Literal["kernel", "software", "serverswitch", "serverswitch-software"]
Delivery = Literal["unicast", "complete-graph", "spanning-trees", "pipeline"]
Queues = Literal["shared", "fair"]
Balance = Literal["ecmp", "wcmp", "lb", "detour"]
Transport = Literal["tcp", "udp", "mptcp"]
Secs = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]
ChipProgram = Annotated[PlainText, Field(min_length=1, max_length=MAX_CHIP_PROGRAM)]
ServerName = Annotated[PlainText, Field(min_length=1, max_length=64)]

DEFAULT_LINK_GBPS = 0.1
MTUS = (9000, 6000, 3000, 1500)
"""MTUs to choose from, by the link's rate, if the request has none."""
PACKET_SECS = 0.002
"""The longest time that a full packet may take on a link. With longer ones a dozen flows fill a
link's queue with two packets each, and TCP, which cannot send less, loses packets. With much
shorter ones flows of one hop leave too little bandwidth to relayed flows: between 0.7 and 2 ms per
packet, an all-to-all's ABT is at 0.83 to 0.89 of the prediction; at 3.6 or 0.4 ms it is below 0.65.
`[ours, measured]`"""


class Slice(Request):
    """A part of a plan that is too large to emulate whole: servers with the links and switches
    between them."""

    servers: list[ServerName] | None = Field(
        default=None, min_length=2, max_length=1024, description="Servers by name.", examples=[["0000", "0001"]]
    )
    within: ServerName | None = Field(
        default=None, description="Of a BCube: the smaller BCube around this server.", examples=["0000"]
    )
    k: int = Field(default=1, ge=0, le=3, description="With `within`: the level of that smaller BCube.")

    @model_validator(mode="after")
    def _one_way(self) -> Slice:
        if (self.servers is None) == (self.within is None):
            raise ValueError("give either servers or within")
        return self


class Upgrade(Request):
    """An upgrade while flows are running: cables that are added or moved, ports that get faster.
    `[subways §4.3]`"""

    to: dict[str, Any] = Field(
        description="The topology after it. The planner's work order from the plan to it may add cables and switches and, from type 1 to 2, "
        "move ToRs' uplinks; ports may get faster.",
        examples=[{"family": "subways", "type": 1, "p": 2, "q": 4, "l": 4, "clusters": 2}],
    )
    at_secs: float | None = Field(
        default=None,
        ge=0,
        le=3600,
        allow_inf_nan=False,
        description="Seconds after the start of the measurement; by default, the upgrade waits for a command.",
    )
    step_secs: float = Field(
        default=0.5, ge=0, le=60, allow_inf_nan=False, description="Seconds between the upgrades of two switches."
    )


class UserService(Request):
    """A user's service that every server hosts in addition to the services of its protocol."""

    name: str = Field(pattern="^[a-z][a-z0-9-]{0,31}$", description="What messages to it name.", examples=["greeting"])
    id: int = Field(
        default=256, ge=256, le=65_535, description="The `serviceId` in its packets; each service needs its own."
    )
    module: str = Field(
        min_length=1,
        max_length=MAX_MODULE_TEXT,
        description="Its WebAssembly module in base64: the binary format, at most 128 KiB, or the text format.",
    )


class Congestion(Request):
    """How queues signal congestion to sources: QCN by the CPU of each server's chip.
    `[serverswitch §5.2]`"""

    queue_kb: float = Field(
        default=50, ge=3, le=8000, allow_inf_nan=False, description="The queue that is aimed at, Q_EQ, in kilobytes."
    )
    answers: bool = Field(default=True, description="Whether the CPUs answer sources; if not, queues fill.")


class Emulation(Request):
    """How the packets are sent. Everything has a default that this machine carries for sixteen
    servers."""

    mode: Mode = Field(default="containers", description="`namespaces` needs no Docker engine.")
    dataplane: Dataplane = Field(
        default="kernel",
        description=(
            "Where packets are forwarded: by eBPF in the kernel, in user space (software), or by the tables of a switching chip in "
            "the kernel (serverswitch) or in user space (serverswitch-software). Where servers forward nothing, serverswitch makes "
            "the switches chips; other values then say nothing."
        ),
    )
    seconds: Secs = Field(default=30.0, description="Seconds of measurement.")
    settle_secs: float = Field(default=3.0, ge=0, le=60, description="Sent before it, and not counted.")
    calibrate_secs: float = Field(
        default=2.0,
        ge=0,
        le=30,
        description="How long one pair is measured first, to tell the machine from the network; not at all if less than 0.3.",
    )
    mtu: int | None = Field(
        default=None,
        ge=1280,
        le=9000,
        description="Of the ports, in bytes. If left out, the largest of 9000, 6000, 3000 and 1500 of which a link carries a packet in "
        "2 ms: 9000 from 36 Mb/s on.",
    )
    protocol: Transport = Field(
        default="tcp",
        description="Of the flows. `mptcp`, where switches are routers: each connection takes several paths at once, uncoupled (the kernel "
        "has no LIA), between the addresses that servers have by port. `[subways §5.1]`",
    )
    subflows: int | None = Field(
        default=None,
        ge=1,
        le=MAX_SUBFLOWS,
        exclude_if=lambda subflows: subflows is None,
        description="With `mptcp`, the most subflows of a connection. If left out: one for each pair of its ends' ports, nine at most; four "
        "where servers have one port.",
    )
    flow_bits_per_sec: float | None = Field(
        default=None,
        gt=0,
        le=1e11,
        allow_inf_nan=False,
        description="Of each flow; UDP needs one, unless it carries requests.",
    )
    datagram_bytes: int | None = Field(
        default=None,
        ge=9,
        le=8972,
        exclude_if=lambda bytes_: bytes_ is None,
        description="Payload of each datagram of a UDP flow; as much as the MTU takes if left out.",
    )
    flow_bytes: int | None = Field(
        default=None, ge=1, le=10**13, description="What each flow sends; as much as it can if left out."
    )
    connections: int = Field(default=1, ge=1, le=16, description="TCP or MPTCP connections a flow is made of.")
    queues: Queues = Field(
        default="shared",
        description="At the ends of links: one queue for all flows, or a `fair` one for each (up to 64), which send in turn. Services of "
        "a torus always send in turn.",
    )
    balance: Balance = Field(
        default="ecmp",
        description="Where switches are routers: whether flows are spread over next hops equally (`ecmp`), over servers' links "
        "and ways up in proportion to rates (`wcmp`), or, with Subways of types 1 and 2, over ToRs by the load that controllers "
        "see (`lb`), and with loops of more ToRs than ports of a server by the ToRs of other racks too, relayed by servers (`detour`).",
    )
    delivery: Delivery = Field(
        default="unicast", description="How a one-to-several or one-to-all workload reaches its receivers."
    )
    timers: dict[Annotated[str, Field(pattern="^[a-z][a-z_]{0,63}$")], Annotated[float, Field(allow_inf_nan=False)]] = (
        Field(
            default_factory=dict,
            max_length=64,
            description="Settings of the servers' protocol, by name; the others have their defaults. `POST /emulation/profile` lists them "
            "with their limits.",
            examples=[{"hello_secs": 0.5}],
        )
    )
    slice: Slice | None = None
    upgrade: Upgrade | None = Field(
        default=None,
        exclude_if=lambda upgrade: upgrade is None,
        description="A plan that the run becomes under traffic, by `POST /runs/{id}/upgrade` or at a time.",
    )
    gateways: list[ServerName] = Field(
        default_factory=list,
        max_length=64,
        description="Servers that join the network to an external one, which is a namespace of the run's own; from the others "
        "each reaches it by its nearest gateway. `[bcube §5.3]`",
        examples=[["00", "11"]],
    )
    hypothesis: Hypothesis | None = None
    services: list[UserService] = Field(
        default_factory=list,
        max_length=MAX_SERVICES,
        exclude_if=lambda services: not services,
        description="Services that users wrote, on every server of a torus. `[camcube §5]`",
    )

    images: list[UserImage] = Field(
        default_factory=list,
        max_length=MAX_USER_IMAGES,
        exclude_if=lambda images: not images,
        description="Users' programs in images, as second containers of servers; at most one per server. Needs mode `containers`.",
    )

    chip_program: ChipProgram | None = Field(
        default=None,
        exclude_if=lambda program: program is None,
        description="What the switching chip of every server runs, with a dataplane that has one: text like the paper's Fig. 6, in "
        "which `my_bcube_id`, `nhas`, `dstmac[nha]`, `srcmac[nha]`, `oport[nha]` and `alive[nha]` are each server's own. The paper's "
        "program if left out. `[serverswitch §3.3.2, §5.1]`",
    )

    congestion: Congestion | None = Field(
        default=None,
        exclude_if=lambda congestion: congestion is None,
        description="Have queues tell sources of congestion, with the dataplane serverswitch and shared queues. `[serverswitch §5.2]`",
    )

    def mtu_at(self, rate_bits_per_sec: float) -> int:
        """The MTU of ports whose links have this rate."""
        if self.mtu is not None:
            return self.mtu
        fine = (mtu for mtu in MTUS if mtu * 8 / rate_bits_per_sec <= PACKET_SECS)
        return next(fine, MTUS[-1])

    @model_validator(mode="after")
    def _images_fit(self) -> Emulation:
        if self.images and self.mode != "containers":
            raise ValueError(
                "images: servers that are namespaces have no containers, so they cannot have a second one; "
                "take mode containers, or leave images out"
            )
        return self

    @model_validator(mode="after")
    def _congestion_fits(self) -> Emulation:
        if self.congestion is not None and (self.dataplane != "serverswitch" or self.queues != "shared"):
            raise ValueError("congestion: only the dataplane serverswitch has it, with shared queues; choose both")
        return self

    @model_validator(mode="after")
    def _datagrams_fit(self) -> Emulation:
        if self.datagram_bytes is not None and self.protocol != "udp":
            raise ValueError(f"datagram_bytes: {self.protocol} sends no datagrams; leave it out, or take udp")
        return self

    @model_validator(mode="after")
    def _subflows_fit(self) -> Emulation:
        if self.protocol == "mptcp" and self.flow_bits_per_sec is not None:
            raise ValueError("flow_bits_per_sec: MPTCP paces no connection; leave it out, or take tcp")
        if self.protocol != "mptcp" and self.subflows is not None:
            raise ValueError(f"subflows: {self.protocol} has one path a connection; leave it out, or take mptcp")
        return self
