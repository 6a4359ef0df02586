"""The plan's columns with names instead of indices, for all tabular exports.

All values are from the engine. Positions have the form of the engine's labels (`R07-12B`: rack,
bottom unit, and a letter where several devices share the unit).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView, breakout_name

if TYPE_CHECKING:
    import numpy as np

CHUNK_CABLES = 16_384


def slot_letter(slot: int, slots: int) -> str:
    """`A`, `B`, ... for a device that shares its unit, else empty; after `Z` the letters double as
    spreadsheet columns do."""
    if slots <= 1:
        return ""
    letters = ""
    slot += 1
    while slot:
        slot, rest = divmod(slot - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


@dataclass(frozen=True, slots=True)
class CableRow:
    """One cable with every index resolved; lengths in metres."""

    index: int
    name: str
    near_label: str
    far_label: str
    level: int
    a_device: int
    a_port: str
    b_device: int
    b_port: str
    route: str
    bundle: int
    length_metres: float
    stock_metres: float
    part: int
    colour: str
    breakout: str
    """`C00012 leg 2`; empty for a cable that is not a breakout."""
    labelled: tuple[bool, bool]
    """Whether the near and the far end get this row's label: a breakout's trunk gets one label,
    from its first leg."""


class PlanTables:
    """Look-ups in one plan. Construction takes one pass over the devices; cables are read in
    chunks."""

    def __init__(self, plan: PlanView) -> None:
        self.plan = plan
        devices = plan.scene["devices"]
        self.device_names: list[str] = [plain(name) for name in devices["name"]]
        """Names in the form of the papers: `0132`, `<3,001>`."""
        self.hosts: list[str] = devices["host"]
        """The name of each device in every file: `h0132`, `s3-001`. A DNS label that no spreadsheet
        reads as a number or a date."""
        self.device_kind: list[int] = devices["kind"]
        self.device_level: list[int] = devices["level"]
        self.device_rack: list[int] = devices["rack"]
        self.device_unit: list[int] = devices["unit"]
        self.device_height: list[int] = devices["height_units"]
        self.device_slot: list[int] = devices["slot"]
        self.device_slots: list[int] = devices["slots"]
        self.device_part: list[int] = devices["part"]
        self.rack_names: list[str] = [plain(name) for name in plan.scene["racks"]["name"]]
        self.parts: list[dict[str, Any]] = plan.parts

    @cached_property
    def addresses(self) -> list[IPv4Address]:
        """The address of each device in files that configure networks."""
        return [IPv4Address(address) for address in self.plan.addresses]

    @cached_property
    def letters(self) -> list[str]:
        """The slot letter of each device, empty if the device does not share its unit."""
        pairs = zip(self.device_slot, self.device_slots, strict=True)
        return [slot_letter(slot, slots) for slot, slots in pairs]

    @cached_property
    def unit_slots(self) -> list[str]:
        """`12` or `12B` for each device: unit and slot letter, at least two digits, as on the
        labels."""
        return [f"{unit:02d}{letter}" for unit, letter in zip(self.device_unit, self.letters, strict=True)]

    @cached_property
    def locations(self) -> list[str]:
        """`R07-12B` for each device."""
        pairs = zip(self.device_rack, self.unit_slots, strict=True)
        return [f"{self.rack_names[rack]}-{unit}" for rack, unit in pairs]

    @cached_property
    def paper_names(self) -> list[str]:
        """`server 0132` and `switch <3,001>`: the papers' names as text that no spreadsheet reads
        as a number or a date."""
        return [
            f"{'switch' if kind else 'server'} {name}"
            for name, kind in zip(self.device_names, self.device_kind, strict=True)
        ]

    @cached_property
    def level_labels(self) -> dict[int, str]:
        return {int(row["level"]): plain(row["label"]) for row in self.plan.scene["levels"]}

    @cached_property
    def cable_levels(self) -> list[int]:
        """The levels that have cables, ascending."""
        import numpy as np

        return [int(level) for level in np.unique(self.plan.cables["level"])]

    @cached_property
    def bundle_names(self) -> list[str]:
        """`B0001`, ... for each row of the scene's bundles, numbered in pull order."""
        order = self.plan.scene["bundles"]["pull_order"]
        # The engine's pull order can start at 0 or 1; a crew counts from 1.
        first = min(order, default=1)
        return [f"B{position - first + 1:04d}" for position in order]

    def bundle_trays(self, bundle: int) -> list[int]:
        """Rows of the scene's trays that a bundle uses, from its first rack to its second."""
        runs = self.plan.scene["bundles"]["tray_runs"][bundle]
        return [tray for first, past in runs for tray in range(first, past, 1 if past > first else -1)]

    def bundle_route(self, bundle: int) -> list[tuple[float, float]]:
        """Points (x, y in metres) of a bundle: its first rack, along its trays, its second rack."""
        bundles, racks, trays = (self.plan.scene[name] for name in ("bundles", "racks", "trays"))
        ends = [bundles["rack_a"][bundle], bundles["rack_b"][bundle]]
        taps = [(racks["tray_x_metres"][rack], racks["tray_y_metres"][rack]) for rack in ends]
        centres = [(racks["x_metres"][rack], racks["y_metres"][rack]) for rack in ends]
        points = [centres[0], taps[0]]
        for first, past in bundles["tray_runs"][bundle]:
            up = past > first
            for tray, start in ((first, up), (past - 1 if up else past + 1, not up)):
                end = "0" if start else "1"
                points.append((trays[f"x{end}_metres"][tray], trays[f"y{end}_metres"][tray]))
        points += [taps[1], centres[1]]
        return [point for i, point in enumerate(points) if i == 0 or point != points[i - 1]]

    def part_sku(self, part: int) -> str:
        return plain(self.parts[part]["sku"]) if 0 <= part < len(self.parts) else ""

    def part_name(self, part: int) -> str:
        return plain(self.parts[part]["name"]) if 0 <= part < len(self.parts) else ""

    def devices_by_rack(self) -> list[list[int]]:
        """Device indices of each rack, from the top unit down and from left to right in a unit."""
        racks: list[list[int]] = [[] for _ in self.rack_names]
        for device, rack in enumerate(self.device_rack):
            if 0 <= rack < len(racks):
                racks[rack].append(device)
        for members in racks:
            members.sort(key=lambda device: (-self.device_unit[device], self.device_slot[device], device))
        return racks

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[CableRow]:
        """Cables `start` to `stop`, in order, with at most one chunk of decoded columns in
        memory."""
        import numpy as np

        end = self.plan.cable_count if stop is None else stop
        for begin in range(start, end, CHUNK_CABLES):
            yield from self.rows_at(np.arange(begin, min(begin + CHUNK_CABLES, end)))

    def rows_at(self, indices: np.ndarray) -> Iterator[CableRow]:
        """The cables at `indices`, in that order."""
        plan = self.plan
        columns = plan.cables
        take = {
            name: columns[name][indices].tolist()
            for name in (
                "level",
                "a_device",
                "b_device",
                "route",
                "bundle",
                "length_mm",
                "stock_mm",
                "part",
                "colour",
                "lead",
                "leg",
                "trunk",
            )
        }
        for i, index in enumerate(indices.tolist()):
            colour = take["colour"][i]
            yield CableRow(
                index,
                plan.cable_name(index),
                plan.near_labels[index],
                plan.far_labels[index],
                take["level"][i],
                take["a_device"][i],
                plan.a_port_names[index],
                take["b_device"][i],
                plan.b_port_names[index],
                plan.routes[take["route"][i]] if take["route"][i] < len(plan.routes) else "",
                take["bundle"][i],
                take["length_mm"][i] / 1000,
                take["stock_mm"][i] / 1000,
                take["part"][i],
                plan.colours[colour] if colour < len(plan.colours) else "",
                breakout_name(plan, take["lead"][i], take["leg"][i]),
                (take["leg"][i] < 2 or take["trunk"][i] != 1, take["leg"][i] < 2 or take["trunk"][i] != 2),
            )


_ENCLOSURES = {
    "container-40ft": "40-ft container", "container-20ft": "20-ft container", "custom": "container", "rows": "open rows",
}  # fmt: skip


def enclosure_title(enclosure: dict[str, Any]) -> str:
    """`40-ft container`, `2 x 20-ft container`, `open rows`."""
    name = plain(enclosure["name"])
    count = enclosure.get("containers") or 1
    return (f"{count} x " if count > 1 else "") + _ENCLOSURES.get(name, name)


def provenance(plan: PlanView) -> str:
    """The line that states a sheet's origin: plan hash, engine version, and that it is modelled,
    not measured."""
    return f"plan {plan.plan_hash[:12]} \u00b7 engine {plan.engine_version} \u00b7 price book {book_title(plan)} \u00b7 modelled"


def category_title(category: str) -> str:
    """A bill's category as a heading."""
    acronyms = {"nic": "NIC", "pdu": "PDU"}
    return acronyms.get(category) or plain(category).capitalize()


def book_title(plan: PlanView) -> str:
    """The plan's pinned price book, by its identifier."""
    book = plan.spec.get("catalog")
    return plain(book) if isinstance(book, str) else plain((book or {}).get("book", "")) or "unnamed"
