"""The crew's cable sheets: by rack and by switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cubeyard.exports.pdf.forms import Section, form, numbered, strips_page
from cubeyard.exports.pdf.page import Paper
from cubeyard.exports.pdf.strips import Field, Group, paginate
from cubeyard.exports.tables import CableRow, PlanTables
from cubeyard.exports.text import plain
from cubeyard.exports.workbook.racks import CablesByRack

Json = dict[str, Any]
BOX = "\u25a1"
"""The box that a crew ticks."""


_RACK_FIELDS = (
    Field("", 3), Field("Cable", 12), Field("Here", 16, bold=True), Field("Host name", 14), Field("There", 22, bold=True),
    Field("Host name there", 16), Field("Level", 8), Field("m", 7, right=True), Field("Colour", 14), Field("Route", 18, muted=True),
)  # fmt: skip


def rack_sheets(tables: PlanTables, paper: Paper, racks: Sequence[int], step: Callable[[float], None]) -> Section:
    """Each rack's cables: cables within the rack, then bundle by bundle in pull order. A cable is
    on the sheets of both its ends."""
    section = Section("Cable sheets by rack")
    by_rack = CablesByRack(tables)
    scene = tables.plan.scene["racks"]
    for count, rack in enumerate(racks):
        groups = _rack_groups(tables, by_rack.of(rack), rack)
        used = form(paper, _RACK_FIELDS, groups, pitch=3.9, size=7.2, gutter=2.5)
        label = plain(scene["group_label"][rack]) if scene.get("group_label") else ""
        subtitle = " \u00b7 ".join(
            filter(
                None,
                [
                    label,
                    f"{sum(len(group.lines) for group in groups):,} cables, {scene['cables_leaving'][rack]:,} leave the rack",
                ],
            )
        )
        title = f"Rack {tables.rack_names[rack]}"
        pages = paginate(used.layout, used.ready(groups))
        section.pages += numbered([strips_page(used, title, subtitle, page) for page in pages])
        step(count / len(racks))
    return section


def _rack_groups(tables: PlanTables, ends: list[tuple[int, bool]], rack: int) -> list[Group]:
    bundles = tables.plan.scene["bundles"]
    units, places, names = tables.unit_slots, tables.locations, tables.hosts
    groups: list[Group] = []
    current: int | None = None
    cables = tables.rows_at(np.asarray([index for index, _ in ends], dtype=np.int64))
    for cable, (_, far) in zip(cables, ends, strict=True):
        if cable.bundle != current or not groups:
            current = cable.bundle
            groups.append(_rack_group(tables, bundles, cable, rack))
        here, there = (cable.b_device, cable.a_device) if far else (cable.a_device, cable.b_device)
        port, port_there = (cable.b_port, cable.a_port) if far else (cable.a_port, cable.b_port)
        groups[-1].lines.append((
            BOX, cable.name, f"{units[here]}:{port}", names[here], f"{places[there]}:{port_there}", names[there],
            f"L{cable.level}", f"{cable.stock_metres:g}", cable.colour, cable.route,
        ))  # fmt: skip
        levels = groups[-1].levels
        if levels is not None:
            levels.append(cable.level)
    return groups


def _rack_group(tables: PlanTables, bundles: Json, cable: CableRow, rack: int) -> Group:
    if cable.bundle < 0:
        return Group("In the rack", "", [], [])
    a, b = bundles["rack_a"][cable.bundle], bundles["rack_b"][cable.bundle]
    other = tables.rack_names[b if a == rack else a]
    right = (
        f"{bundles['cables'][cable.bundle]:,} cables \u00b7 about {bundles['diameter_mm'][cable.bundle]:.0f} mm thick"
    )
    return Group(f"Bundle {tables.bundle_names[cable.bundle]} to {other}", right, [], [])


_SWITCH_FIELDS = (
    Field("Port", 8, bold=True),
    Field("To", 20),
    Field("Host name", 13),
    Field("Cable", 11, muted=True),
    Field("m", 6, right=True),
)


def switch_sheets(tables: PlanTables, paper: Paper, switches: Sequence[int], step: Callable[[float], None]) -> Section:
    """Each switch with its ports in order: destination, name and length of the cable."""
    section = Section("Cable sheets by switch")
    ports = _ports_of(tables, switches)
    groups: list[Group] = []
    for count, switch in enumerate(switches):
        lines = ports.get(switch, [])
        sku = tables.part_sku(tables.device_part[switch])
        left = f"{tables.hosts[switch]}  at {tables.locations[switch]}"
        right = " \u00b7 ".join(filter(None, [tables.device_names[switch], f"L{tables.device_level[switch]}", sku]))
        groups.append(Group(left, right, lines, [tables.device_level[switch]] * len(lines)))
        step(count / len(switches))
    used = form(paper, _SWITCH_FIELDS, groups, pitch=3.6, size=7.0, gutter=1.2, strips=3, whole=32)
    # A page's title names its first switches, so that a crew can find a switch.
    pages = list(paginate(used.layout, used.ready(groups)))
    for page in pages:
        heads = [head["left"].removesuffix(" (continued)") for strip in page for head in strip["heads"]]
        first, last = heads[0].split("  at ")[1], heads[-1].split("  at ")[1]
        span = first if first == last else f"{first} to {last}"
        section.pages.append(strips_page(used, f"Switches {span}", "ports in order", page))
    return section


def _ports_of(tables: PlanTables, switches: Sequence[int]) -> dict[int, list[tuple[str, ...]]]:
    """Each switch's lines in port order."""
    columns = tables.plan.cables
    wanted = np.zeros(len(tables.hosts), dtype=bool)
    wanted[np.asarray(switches, dtype=np.int64)] = True
    matches: list[tuple[int, int, int, bool]] = []
    for side, port in (("a_device", "a_port"), ("b_device", "b_port")):
        hits = np.flatnonzero(wanted[columns[side]])
        triples = zip(columns[side][hits].tolist(), columns[port][hits].tolist(), hits.tolist(), strict=True)
        matches += [(device, number, index, side == "b_device") for device, number, index in triples]
    matches.sort()
    rows = tables.rows_at(np.asarray([item[2] for item in matches], dtype=np.int64))
    out: dict[int, list[tuple[str, ...]]] = {}
    for cable, (device, _, _, at_b) in zip(rows, matches, strict=True):
        there = cable.a_device if at_b else cable.b_device
        port, port_there = (cable.b_port, cable.a_port) if at_b else (cable.a_port, cable.b_port)
        out.setdefault(device, []).append((
            port, f"{tables.locations[there]}:{port_there}", tables.hosts[there], cable.name, f"{cable.stock_metres:g}",
        ))  # fmt: skip
    return out
