"""Requests and responses of packet streams."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import models_json_schema

from cubeyard.emulation.live.packets.header_fields import HeaderValue
from cubeyard.emulation.live.schemas import CaptureTarget
from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText

Protocol = Literal["arp", "icmp", "tcp", "udp", "control", "service"]


class StreamRequest(CaptureTarget):
    """A link, or a port of a server; when the stream ends, and which packets are wanted."""

    of_query = True
    max_bytes: int = Field(default=256 * 2**20, ge=1024, le=2**30, description="Of what the kernel hands over.")
    max_secs: float = Field(default=3600.0, ge=0.1, le=3600, allow_inf_nan=False)
    packet_bytes: int = Field(default=65_535, ge=14, le=65_535, description="Kept of each packet.")
    match_protocol: Protocol | None = Field(
        default=None,
        description="Only these packets: `control` is what servers tell their neighbours, `service` packets of services.",
    )
    match_host: Annotated[PlainText, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="Only from or to this server, by its name, or this IPv4 address.", examples=["00"]
    )
    match_port: int | None = Field(default=None, ge=0, le=65_535, description="Only from or to this TCP or UDP port.")

    def for_fabric(self) -> dict[str, float]:
        return {"max_bytes": self.max_bytes, "max_secs": self.max_secs, "packet_bytes": self.packet_bytes}


class SeenPacket(Model):
    """A packet in words."""

    at_secs: float = Field(description="Since the first packet of the stream.")
    size_bytes: int = Field(description="On the link.")
    outgoing: bool = Field(description="Whether the end that is looked at sent it.")
    protocol: str = Field(description="`arp`, `icmp`, `tcp`, `udp`, `control`, `service` or `other`.")
    source: str
    destination: str
    text: str
    header: list[HeaderValue] = Field(description="Fields of the header that the servers relay by; empty without one.")


class PacketsEvent(Model):
    """One server-sent event of a watched link or port."""

    event: Literal["packets", "end"]
    data: str = Field(
        description="JSON. `packets`: `packets` (since the stream began), `size_bytes` (of these, on the link) and `items`, the last of "
        "those since the event before, at most 50: `at_secs`, `size_bytes`, `outgoing`, `protocol`, `source`, `destination`, "
        "`text` and `header`. `end`: `reason`, `packets` and `missed`, packets that came faster than they were read."
    )


class PacketNews(Model):
    """An event `packets`: how many there were, and the last of those since the event before."""

    packets: int = Field(description="Since the stream began.")
    size_bytes: int = Field(description="Of these packets, on the link.")
    items: list[SeenPacket] = Field(description="The latest last; at most 50.")


class PacketsEnd(Model):
    """An event `end`, the last one."""

    reason: str = Field(description="Why the stream ended.")
    packets: int
    missed: int = Field(description="Packets that came faster than they were read.")


def event_schemas(ref_template: str) -> dict[str, Any]:
    """The JSON schemas of what events hold, by name."""
    _, schema = models_json_schema(
        [(item, "serialization") for item in (PacketNews, PacketsEnd)], ref_template=ref_template
    )
    return schema["$defs"]
