"""Requests and responses of the chip endpoints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText

MAX_PROGRAM_CHARS = 256 * 1024
MAX_PACKET_CHARS = 32 * 1024

EXAMPLE_PROGRAM = """SetVIfTable(0, "020000000100", "020000000000", 0);
SetLookupTable(LPM_IPV4, 0, 0, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=0});
"""
EXAMPLE_PACKET = "ffffffffffff0200000000aa08004500001400004000400626e20a0000010a000002"

Program = Annotated[
    PlainText,
    Field(
        max_length=MAX_PROGRAM_CHARS,
        description="The program as text, like the paper's Fig. 6, or as JSON.",
        examples=[EXAMPLE_PROGRAM],
    ),
]


class Request(Model):
    model_config = ConfigDict(extra="forbid")


class ServerPlace(Request):
    """A server of a BCube, whose address and neighbours a program asks for."""

    spec: dict[str, Any] = Field(examples=[{"family": "bcube", "n": 4, "k": 1}])
    server: Annotated[PlainText, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The first one if left out.", examples=["00"]
    )


class ProgramCheck(Request):
    program: Program
    at: ServerPlace | None = Field(
        default=None,
        description="The server that the program is executed for; none for a program that asks for nothing.",
    )


class PacketTrace(ProgramCheck):
    packet: PlainText = Field(
        max_length=MAX_PACKET_CHARS,
        description="The packet from its Ethernet header on, in hexadecimal digits; spaces, colons and hyphens are passed over.",
        examples=[EXAMPLE_PACKET],
    )
    in_port: int = Field(
        default=0, ge=0, le=7, description="The port that it comes in by: 0 to 3 external, 4 to 7 CPU."
    )


class LookupKey(Model):
    i: int
    fields: str = Field(description="Like `(INPORT, B30-33)`.")
    bytes: int


class TableUse(Model):
    entries: int
    size: int = Field(description="Entries that the table holds.")


class Shadowed(Model):
    """A TCAM entry that never matches, as one of a higher index has the same key, value and
    mask."""

    i: int
    above: int


class Checked(Model):
    """The content of a program."""

    profile: str
    udlks: list[LookupKey]
    tables: dict[str, TableUse]
    vifs: int
    never_matched: list[Shadowed]
    text: str = Field(description="The program as canonical text.")
    document: str = Field(description="The program as canonical JSON.")


class KeyPart(Model):
    field: str
    hex: str


class Matched(Model):
    """An entry that matched."""

    table: str
    i: int
    value: str
    mask: str = Field(description="Empty for exact matches.")
    action: str


Stage = Literal[
    "classifier",
    "ethernet-parser",
    "ip-parser",
    "mpls-parser",
    "prog-parser",
    "tcam",
    "em-mac",
    "em-ipv4",
    "em-mpls",
    "lpm",
    "priority",
    "interface-table",
    "l3-modifier",
    "l2-modifier",
    "output",
    "discard",
]


class ChipStep(Model):
    """The effect of one stage of the pipeline."""

    stage: Stage
    text: str
    key: list[KeyPart] = Field(default=[], description="The key looked for, or the fields that a parser read.")
    entry: Matched | None = None
    before: str | None = Field(default=None, description="The packet before a change, in hexadecimal digits.")
    after: str | None = None
    changed: list[int] = Field(default=[], description="Bytes of `after` that are other than before.")


class Sent(Model):
    """A packet that the chip sent."""

    port: int
    cpu: bool = Field(description="Whether the port goes to the CPU.")
    copy_: bool = Field(alias="copy", description="Whether it is a mirror's copy.")
    packet: str


class ChipHit(Model):
    table: str
    i: int
    packets: int


class ChipTrace(Model):
    """A packet's path through the chip."""

    in_port: int
    packet: str
    steps: list[ChipStep]
    sent: list[Sent]
    outcome: Literal["sent", "discarded"]
    reason: str | None = Field(default=None, description="Why it was discarded, like `ttl`.")
    summary: str
    hits: list[ChipHit] = Field(description="Entries that decided about it.")


NodeName = Annotated[PlainText, Field(min_length=1, max_length=64)]


class PortlandQuestion(Request):
    """A packet from one host to another of a fat-tree of four ports, before and after something
    fails."""

    source: NodeName = Field(default="000", description="A host.")
    destination: NodeName = Field(default="311", description="Another host.")
    source_port: int = Field(default=0, ge=0, le=65_535, description="The UDP port that chooses among equal ways.")
    failures: list[NodeName] = Field(
        default=[],
        max_length=16,
        description="Switches, or links as `A/B`, that fail after the first packet.",
    )


class PortlandVisit(Model):
    """A switch that a packet passed."""

    switch: str
    at_micros: int
    kind: Literal["arp", "packet"]
    trace: ChipTrace


class PortlandAttempt(Model):
    """A sent packet, and the ARP exchange before it."""

    state: Literal["nothing", "failed", "rerouted"] = Field(
        description="What had failed by then: nothing; something that neighbours had not found; something that all go around."
    )
    at_micros: int
    visits: list[PortlandVisit]
    arrived: bool


class PortlandHost(Model):
    address: str
    pmac: str = Field(description="Empty for a host that nobody knows.")


class PortlandTrial(Model):
    """The result, in virtual time."""

    source: PortlandHost
    destination: PortlandHost
    attempts: list[PortlandAttempt]
    pairs: int = Field(description="Pairs of hosts, of 240, that reach each other at the end.")
