"""Reads the header that a run's servers use for relaying, by its description in the engine's
catalogue of protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from cubeyard.kit.models import Model

Json = Mapping[str, Any]


class HeaderValue(Model):
    """A field of the header that servers relay by."""

    name: str = Field(examples=["hops"])
    title: str = Field(description="For people.", examples=["Hops"])
    value: str = Field(
        description="As people read it: numbers, servers by their names, flags by theirs.", examples=["2"]
    )
    unit: str = Field(description="Empty for none.")
    description: str


def stands_at(protocol: Json, place: str, value: int) -> bool:
    """Whether the protocol's header is at this IPv4 option (`option`) or Ethernet type
    (`ether_type`)."""
    header = protocol.get("header")
    return header is not None and header.get(place) == value


def header_values(protocol: Json, header: bytes, servers: Mapping[int, str]) -> list[HeaderValue]:
    """The header's fields in order, as far as the bytes contain them; ids of servers have names."""
    fields = protocol["header"]["fields"]
    numbers = {field["name"]: _numbers(field, header) for field in fields}
    values: list[HeaderValue] = []
    for field in fields:
        result = numbers[field["name"]]
        if not result:
            continue
        if field["used"]:
            result = result[: next(iter(numbers[field["used"]]), 0)]
        text = " ".join(_text(field, number, servers) for number in result) or "none"
        values.append(
            HeaderValue.model_construct(
                name=field["name"],
                title=field["title"],
                value=text,
                unit=field["unit"],
                description=field["description"],
            )
        )
    return values


def _numbers(header_field: Json, header: bytes) -> list[int]:
    """The numbers of a field that the bytes contain completely, in order."""
    bits, size = int.from_bytes(header), len(header) * 8
    starts = (header_field["offset_bits"] + nth * header_field["bits"] for nth in range(header_field["count"]))
    ends = (start + header_field["bits"] for start in starts)
    return [bits >> (size - end) & ((1 << header_field["bits"]) - 1) for end in ends if end <= size]


def _text(header_field: Json, number: int, servers: Mapping[int, str]) -> str:
    if header_field["kind"] == "server":
        return servers.get(number, f"server {number}")
    if header_field["kind"] == "flags":
        named = {flag["mask"]: flag["name"] for flag in header_field["flags"]}
        rest = number & ~sum(named)
        words = [name for mask, name in named.items() if number & mask] + ([f"0x{rest:x}"] if rest else [])
        return ", ".join(words) or "none"
    parts: list[str] = []
    left = sum(header_field["parts"])
    for width in header_field["parts"]:
        left -= width
        parts.append(str(number >> left & ((1 << width) - 1)))
    return ":".join(parts) or str(number)
