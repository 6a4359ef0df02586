"""Ports and cables, planned and found: what matching and the work order are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LENGTH_TOLERANCE_MM = 10
"""Two lengths that differ by less are one: lists round to the centimetre, and feet to metres.
[ours]"""


class Port(NamedTuple):
    device: str
    """The host name in the plan; for a device that the plan does not have, the name in the list."""
    name: str


@dataclass(frozen=True, slots=True)
class Leg:
    """Which breakout cable a planned cable is a leg of. All of its legs share one plug at the
    trunk."""

    cable: int
    """The number of its first leg, by which the cable is named."""
    legs: int
    trunk_at_a: bool


@dataclass(frozen=True, slots=True)
class PlannedCable:
    number: int
    """12 is the cable C00012."""
    a: Port
    b: Port
    length_mm: int
    """As ordered."""
    leg: Leg | None = None
    """None for a cable of its own."""

    @property
    def ends(self) -> tuple[Port, Port]:
        return self.a, self.b

    @property
    def trunk(self) -> Port | None:
        """Its port at the plug that it shares with other legs."""
        return None if self.leg is None else self.a if self.leg.trunk_at_a else self.b


@dataclass(frozen=True, slots=True)
class FoundCable:
    a: Port
    b: Port
    length_mm: int | None
    """None where the list does not tell it; such a cable is taken to be as long as it has to be."""
    where: str
    """Where the list has it, like `line 12`."""
    written: tuple[str, str] = ("", "")
    """How the list writes each end, where that is not as the plan does."""
    rounding_mm: int = 0
    """How far the length may be from the cable's, because of the list's unit."""

    @property
    def ends(self) -> tuple[Port, Port]:
        return self.a, self.b


def fits(found: FoundCable, planned: PlannedCable) -> bool:
    """Whether the found cable is as long as the planned one was ordered, as far as the list
    tells."""
    length_mm, rounding_mm = found.length_mm, found.rounding_mm
    return length_mm is None or abs(length_mm - planned.length_mm) < LENGTH_TOLERANCE_MM + rounding_mm


def other(cable: PlannedCable | FoundCable, port: Port) -> Port:
    """The end that is not at `port`."""
    return cable.b if cable.a == port else cable.a
