"""The cables of a list, named as the file names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cubeyard.reading.problems import Skipped

Format = Literal["csv", "netbox", "lldp"]


@dataclass(frozen=True, slots=True)
class SeenEnd:
    """One end of a cable in the list. A device or port that is given by an address alone is
    unknown."""

    device: str
    """Empty where the list does not name it."""
    ports: tuple[str, ...]
    """Names of the port, the likeliest first: LLDP has an id and a description. Empty where it has
    no name."""
    address: str = ""
    """The address of a device without a name."""
    site: str = ""
    """Where the device is: devices of two sites may have one name."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What the list says about the device: role and tier."""

    @property
    def known(self) -> bool:
        return bool(self.device and self.ports)


@dataclass(frozen=True, slots=True)
class SeenCable:
    """A cable that the list names. With LLDP each device reports on its own, so that one cable may
    be seen twice."""

    a: SeenEnd
    b: SeenEnd
    length_mm: int | None
    """None where the list does not tell it."""
    where: str
    """`line 12`, or the device and port that reported."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The rates that the list has for it."""
    rounding_mm: int = 0
    """How far the length may be from the cable's, because of its unit."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All of a file."""

    format: Format
    cables: list[SeenCable]
    reporters: frozenset[str] | None = None
    """LLDP: the devices that reported. Nothing is known of a cable with neither end at one of them.
    None: the list is of all cables."""
    skipped: list[Skipped] = field(default_factory=list)
    """Rows that are no cables of the network, like power and console cables, or that cannot be
    read."""
    loose: list[SeenCable] = field(default_factory=list)
    """Skipped rows that name one end: something is plugged in there."""
    planned: list[str] = field(default_factory=list)
    """Where the list has a cable whose status is that nobody has plugged it in yet."""
    own: bool = False
    """Whether it is an export of Cubeyard's."""
    cut_off: int = 0
    """Cables of the whole list, where the file has a part of it."""
