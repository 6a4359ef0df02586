"""Assigns devices to outlets of PDUs and computes their loads, for the power schedule and NetBox.

A rack has the number of PDUs in the bill: the fewest that supply the rack's power and have an
outlet for every cord. Each cord goes to the PDU of its rack with the least load, so that the PDUs
share the load. `[ours]`
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from cubeyard.exports.csv_files import encode
from cubeyard.exports.formats import Progress
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import cell, plain
from cubeyard.plans.view import PlanView

CORDS_PER_DEVICE = 1
"""Default for a part without `power_cords`, as in the bill."""
COLUMNS = (
    "rack", "pdu", "outlet", "host_name", "unit", "slot", "part_sku", "cord", "cords", "watts", "device_watts", "pdu_watts",
    "pdu_limit_watts", "rack_watts", "paper_name",
)  # fmt: skip


class Cord(NamedTuple):
    """One power cord: from an inlet of a device to an outlet of a PDU of its rack."""

    device: int
    inlet: int
    """1 is a device's first power supply."""
    pdu: int
    """1 is a rack's first PDU."""
    outlet: int
    """1 is a PDU's first outlet."""
    watts: float | None
    """The device's power divided by its cords; None if the book does not state the device's
    power."""


class Pdu(NamedTuple):
    rack: int
    number: int
    cords: list[Cord]

    @property
    def watts(self) -> float:
        """The load of the devices with a known power."""
        return sum(cord.watts or 0.0 for cord in self.cords)


class Power:
    """Outlets and loads of a plan. Watts are from the book, including network cards."""

    def __init__(self, tables: PlanTables) -> None:
        self._tables = tables
        attributes = (tables.plan.pdu or {}).get("attributes") or {}
        self.limit_watts: float | None = attributes.get("power_limit_watts")
        """The power limit of one PDU; None if the book does not state it."""
        self.outlets: int | None = attributes.get("outlets")
        """Number of outlets of one PDU; None if the book does not state it."""

    def pdu_name(self, rack: int, number: int) -> str:
        """Such as `R07-PDU1`."""
        return f"{self._tables.rack_names[rack]}-PDU{number}"

    def cords_of(self, device: int) -> int:
        part = self._part(device)
        return int(((part or {}).get("attributes") or {}).get("power_cords") or CORDS_PER_DEVICE)

    def watts_of(self, device: int) -> float | None:
        """A device's power, including network cards; None if the book does not state it."""
        own = (self._part(device) or {}).get("power_watts")
        if own is None:
            return None
        return float(own) + (0.0 if self._tables.device_kind[device] else self._card_watts)

    @cached_property
    def _card_watts(self) -> float:
        """The network cards of one server."""
        tables = self._tables
        servers = max(sum(kind == 0 for kind in tables.device_kind), 1)
        watts = {part["sku"]: part.get("power_watts") or 0.0 for part in tables.parts}
        lines = (line for line in tables.plan.bom["lines"] if line["category"] == "nic")
        return sum(round(line["quantity"] / servers) * watts.get(line["sku"], 0.0) for line in lines)

    def _part(self, device: int) -> dict[str, Any] | None:
        part, parts = self._tables.device_part[device], self._tables.parts
        return parts[part] if part is not None and 0 <= part < len(parts) else None

    @cached_property
    def pdus(self) -> list[Pdu]:
        """Every PDU with its cords, rack by rack."""
        return [pdu for rack in range(len(self._tables.rack_names)) for pdu in self._rack(rack)]

    @cached_property
    def _members(self) -> list[list[int]]:
        return self._tables.devices_by_rack()

    def _rack(self, rack: int) -> list[Pdu]:
        """The PDUs of a rack, cords from the top unit down."""
        members = self._members[rack]
        count = self._count(rack, sum(self.cords_of(device) for device in members))
        pdus = [Pdu(rack, number + 1, []) for number in range(count)]
        loads = [0.0] * count
        for device in members:
            cords, watts = self.cords_of(device), self.watts_of(device)
            share = None if watts is None else watts / cords
            for inlet in range(1, cords + 1):
                free = [i for i in range(count) if self.outlets is None or len(pdus[i].cords) < self.outlets]
                # Among PDUs with equal load, choose the one with fewer cords: devices without a
                # stated power are spread too.
                at = min(free, key=lambda i: (loads[i], len(pdus[i].cords), i))
                pdus[at].cords.append(Cord(device, inlet, at + 1, len(pdus[at].cords) + 1, share))
                loads[at] += share or 0.0
        return pdus

    def _count(self, rack: int, cords: int) -> int:
        if not cords:
            return 0
        watts = self._tables.plan.scene["racks"]["power_watts"][rack]
        by_power = max(1, math.ceil(watts / self.limit_watts - 1e-9)) if self.limit_watts else 1
        by_outlets = -(-cords // max(self.outlets, 1)) if self.outlets else 1
        return max(by_power, by_outlets)


def power_schedule(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One CSV row per power cord, PDU by PDU, with the power of the cord, its device, the PDU and
    the rack."""
    tables = PlanTables(plan)
    power = Power(tables)
    racks = [cell(name) for name in tables.rack_names]
    drawn = plan.scene["racks"]["power_watts"]

    def rows() -> Iterator[tuple[object, ...]]:
        for count, pdu in enumerate(power.pdus):
            progress(count / len(power.pdus), "power schedule")
            for cord in pdu.cords:
                device = cord.device
                yield (
                    racks[pdu.rack], cell(power.pdu_name(pdu.rack, pdu.number)), cord.outlet, tables.hosts[device],
                    tables.device_unit[device], tables.letters[device], cell(tables.part_sku(tables.device_part[device])),
                    cord.inlet, power.cords_of(device), _watts(cord.watts), _watts(power.watts_of(device)), _watts(pdu.watts),
                    _watts(power.limit_watts), _watts(drawn[pdu.rack]), cell(plain(tables.paper_names[device])),
                )  # fmt: skip

    yield from encode(COLUMNS, rows())
    progress(1.0, "power schedule")


def _watts(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
