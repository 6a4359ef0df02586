"""Requests and responses for a server's chip in a live run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cubeyard.chip.schemas import LookupKey
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText
from cubeyard.plans.schemas import Request

MAX_CALLS_CHARS = 16 * 1024
MAX_PACKET_CHARS = 3 * 9216

TableName = Literal["TCAM", "EM_MAC", "EM_IPV4", "EM_MPLS", "LPM_IPV4"]
Hex = Annotated[PlainText, Field(max_length=128, pattern=r"^[0-9A-Fa-f:.\- ]*$")]
Packet = Annotated[
    PlainText,
    Field(
        min_length=28,
        max_length=MAX_PACKET_CHARS,
        pattern=r"^[0-9A-Fa-f:\-\s]*$",
        description="From its Ethernet header on, in hexadecimal digits; spaces, colons and hyphens are passed over.",
    ),
]


class ChipAction(Request):
    """The action of an entry on a packet, in the syntax of programs."""

    act: Literal["REDIRECT_VIF", "REDIRECT_PORT", "DISCARD", "DUPLICATE", "MIRROR", "TO_CPU"]
    vif: int | None = Field(default=None, ge=0, le=4095)
    port: int | None = Field(default=None, ge=0, le=7)
    ports: list[Annotated[int, Field(ge=0, le=7)]] | None = Field(default=None, max_length=8)
    mirror: int | None = Field(default=None, ge=0, le=7)
    dscp: int | None = Field(default=None, ge=0, le=63)
    mpls: Literal["PUSH", "POP", "SWAP"] | None = None
    label: int | None = Field(default=None, ge=0, lt=1 << 20)
    tunnel: Literal["PUSH", "POP"] | None = None
    src: Annotated[PlainText, Field(max_length=15, pattern=r"^[0-9.]*$")] | None = None
    dst: Annotated[PlainText, Field(max_length=15, pattern=r"^[0-9.]*$")] | None = None
    count: Annotated[PlainText, Field(max_length=4, pattern=r"^B[0-9]+$")] | None = None


class ChipEntryChange(Request):
    """An entry of a lookup table."""

    value: Hex = Field(description="Every byte of the key, in hexadecimal digits, or an IPv4 address.")
    mask: Hex | None = Field(default=None, description="Which bits count; of the TCAM and LPM alone.")
    iudlk: int = Field(default=0, ge=0, le=2, description="Of the TCAM: the key that it looks at.")
    action: ChipAction


class ChipVifChange(Request):
    """An entry of the interface table; a MAC that is null keeps the packet's."""

    dmac: Hex | None = None
    smac: Hex | None = None
    oport: int = Field(ge=0, le=7)


class ChipCalls(Request):
    """Calls as text, all in effect at once or none of them."""

    calls: PlainText = Field(
        min_length=1,
        max_length=MAX_CALLS_CHARS,
        examples=['SetLookupTable(TCAM, 2000, 2, "00", "00", {act=TO_CPU});'],
    )


class ChipPacket(Request):
    """A packet, and the port: from 0 to 3 straight out, from 4 to 7 into the chip."""

    port: int = Field(ge=0, le=7)
    packet: Packet


class ChipEntry(Model):
    """An entry of a lookup table, and how many packets it has decided about."""

    table: TableName
    i: int
    iudlk: int
    value: str
    mask: str = Field(description="Empty in tables of exact matches.")
    action: dict[str, object]
    hits: int
    own: bool = Field(description="Whether a call has set it, and not the server's program.")


class ChipVif(Model):
    """An entry of the interface table."""

    i: int
    dmac: str | None
    smac: str | None
    oport: int
    own: bool


class ChipState(Model):
    """The present content of a server's chip."""

    run_id: str
    server: str
    profile: str
    udlks: list[LookupKey]
    vifs: list[ChipVif]
    entries: list[ChipEntry]
    registers: dict[str, int]
    punts_lost: int = Field(description="Packets for users' programs that found too many waiting.")


class ChipText(Model):
    """The program in a server's chip, what calls have set included."""

    program: str


class ChipRegisterValue(Request):
    """A value to write into a register."""

    value: int = Field(ge=0, le=MAX_INTEGER, description="0 clears a counter; 0 and 1 turn a switch off and on.")


class ChipRegister(Model):
    """One register of the chip of a server."""

    server: str
    name: str = Field(description="As the paper names them, like OUTPUT_QUEUE_BYTES_PORT0.")
    value: int


class ChipRegisters(Model):
    """All registers of the chip of a server."""

    server: str
    registers: dict[str, int] = Field(description="By name: counters of ports, queues, discards and switches.")


class ChipSent(Model):
    """The result of sending a packet."""

    sent: bool
    reason: str | None = Field(description="Why the chip has discarded it.")


class ChipPunt(Model):
    """A packet that an entry set by calls has sent to the CPU: an event `packet` of the stream."""

    port: int = Field(description="The CPU port that it came by: 4 for external port 0, and so on.")
    packet: str
