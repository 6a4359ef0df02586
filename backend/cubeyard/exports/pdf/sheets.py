"""The crew's sheets: cables by rack, cables by switch, pull order, bill of materials, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cubeyard.exports.pdf.metrics import clipped, fit
from cubeyard.exports.pdf.stocks import LabelStock, stock_of
from cubeyard.exports.pdf.strips import Field, Group, Layout, paginate
from cubeyard.exports.tables import CableRow, PlanTables, category_title
from cubeyard.exports.text import plain
from cubeyard.exports.workbook.racks import CablesByRack

Json = dict[str, Any]
A4 = (210.0, 297.0)
A3_LANDSCAPE = (420.0, 297.0)
_WIDTH_MM = 188.0
"""Between the margins of an A4 page."""
_BOX = "\u25a1"
"""The box a crew ticks."""


@dataclass(slots=True)
class Section:
    """Pages that belong together; the first carries the section's bookmark."""

    title: str
    pages: list[Json] = field(default_factory=list)


def strips_page(title: str, subtitle: str, layout: Layout, strips: list[Json], note: str = "", level: int = 2) -> Json:
    return {
        "kind": "strips", "width": A4[0], "height": A4[1], "title": title, "subtitle": subtitle, "note": note,
        "level": level, "bookmark": True, "pitch": layout.pitch, "size": layout.size, "drop": layout.drop, "strips": strips,
    }  # fmt: skip


def _numbered(pages: list[Json]) -> list[Json]:
    """Continuation pages say which sheet of how many they are and have no bookmark of their own."""
    for i, page in enumerate(pages):
        if len(pages) > 1:
            page["subtitle"] += f" \u00b7 sheet {i + 1} of {len(pages)}"
        page["bookmark"] = page["bookmark"] and i == 0
    return pages


_RACK_FIELDS = (
    Field("", 3), Field("Cable", 12), Field("Here", 16, bold=True), Field("Device", 14), Field("There", 22, bold=True),
    Field("Device there", 16), Field("Level", 8), Field("m", 7, right=True), Field("Colour", 14), Field("Route", 18, muted=True),
)  # fmt: skip


def rack_sheets(tables: PlanTables, racks: Sequence[int], step: Callable[[float], None]) -> Section:
    """Each rack's cables: those that stay in it, then bundle by bundle in pull order. Both ends' sheets list a cable."""
    section = Section("Cable sheets by rack")
    by_rack = CablesByRack(tables)
    scene = tables.plan.scene["racks"]
    for count, rack in enumerate(racks):
        groups = _rack_groups(tables, by_rack.of(rack), rack)
        lines = [line for group in groups for line in group.lines]
        fields, size = fit(_RACK_FIELDS, lines, _WIDTH_MM, 2.5, 7.2)
        layout = Layout(fields, pitch=3.9, size=size, lines=64, gutter=2.5)
        label = plain(scene["group_label"][rack]) if scene.get("group_label") else ""
        subtitle = " \u00b7 ".join(
            filter(None, [label, f"{len(lines):,} cables, {scene['cables_leaving'][rack]:,} leave the rack"])
        )
        title = f"Rack {tables.rack_names[rack]}"
        section.pages += _numbered([strips_page(title, subtitle, layout, page) for page in paginate(layout, groups)])
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
            _BOX, cable.name, f"{units[here]}:{port}", names[here], f"{places[there]}:{port_there}", names[there],
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
    Field("Device", 13),
    Field("Cable", 11, muted=True),
    Field("m", 6, right=True),
)


def switch_sheets(tables: PlanTables, switches: Sequence[int], step: Callable[[float], None]) -> Section:
    """Each switch with its ports in order: where the cable goes, which cable it is and how long."""
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
    size = 6.8
    strip_mm = (_WIDTH_MM - 2 * 6.0) / 3
    lines = [line for group in groups for line in group.lines]
    fields, fitted = fit(_SWITCH_FIELDS, lines, strip_mm, 1.2, size)
    layout = Layout(fields, pitch=3.6, size=fitted, lines=69, strips=3, gutter=1.2, whole=32)
    # A page is titled with the switches it begins with, so that a crew can leaf through.
    pages = list(paginate(layout, groups))
    for page in pages:
        heads = [head["left"].removesuffix(" (continued)") for strip in page for head in strip["heads"]]
        first, last = heads[0].split("  at ")[1], heads[-1].split("  at ")[1]
        span = first if first == last else f"{first} to {last}"
        section.pages.append(strips_page(f"Switches {span}", "ports in order", layout, page))
    for page in section.pages:
        page["bookmark"] = True
    return section


def _ports_of(tables: PlanTables, switches: Sequence[int]) -> dict[int, list[tuple[str, ...]]]:
    """Each switch's lines in port order."""
    columns = tables.plan.cables
    wanted = np.zeros(len(tables.hosts), dtype=bool)
    wanted[np.asarray(switches, dtype=np.int64)] = True
    found: list[tuple[int, int, int, bool]] = []
    for side, port in (("a_device", "a_port"), ("b_device", "b_port")):
        hits = np.flatnonzero(wanted[columns[side]])
        triples = zip(columns[side][hits].tolist(), columns[port][hits].tolist(), hits.tolist(), strict=True)
        found += [(device, number, index, side == "b_device") for device, number, index in triples]
    found.sort()
    rows = tables.rows_at(np.asarray([item[2] for item in found], dtype=np.int64))
    out: dict[int, list[tuple[str, ...]]] = {}
    for cable, (device, _, _, at_b) in zip(rows, found, strict=True):
        there = cable.a_device if at_b else cable.b_device
        port, port_there = (cable.b_port, cable.a_port) if at_b else (cable.a_port, cable.b_port)
        out.setdefault(device, []).append((
            port, f"{tables.locations[there]}:{port_there}", tables.hosts[there], cable.name, f"{cable.stock_metres:g}",
        ))  # fmt: skip
    return out


def pull_order(tables: PlanTables, limit: int) -> Section:
    """Bundles in the order to pull them."""
    section = Section("Pull order")
    bundles = tables.plan.scene["bundles"]
    order = sorted(range(len(bundles["pull_order"])), key=bundles["pull_order"].__getitem__)[:limit]
    levels = tables.cable_levels
    head = [
        Field("", 3),
        Field("Bundle", 12, bold=True),
        Field("From", 9),
        Field("To", 9),
        Field("Cables", 9, right=True),
    ]
    by_level = [Field(f"L{level}", 7, right=True, muted=True) for level in levels]
    tail = [Field("mm", 7, right=True), Field("m", 8, right=True)]
    lines: list[tuple[str, ...]] = []
    for i in order:
        counts = bundles["by_level"][i]
        lines.append((
            _BOX, tables.bundle_names[i], tables.rack_names[bundles["rack_a"][i]], tables.rack_names[bundles["rack_b"][i]],
            f"{bundles['cables'][i]:,}", *(f"{counts[level]:,}" if level < len(counts) and counts[level] else "" for level in levels),
            f"{bundles['diameter_mm'][i]:.0f}", f"{bundles['length_metres'][i]:.1f}",
        ))  # fmt: skip
    fields, size = fit([*head, *by_level, *tail], lines, (_WIDTH_MM - 8.0) / 2, 1.5, 7.2)
    layout = Layout(fields, pitch=3.9, size=size, lines=62, strips=2, strip_gap=8.0, drop=3.0)
    note = (
        "One bundle is all cables between two racks. mm: thickness of the bundle; m: its longest run between the racks."
    )
    # Ten to a group, with a rule between: a crew keeps its place.
    groups = [
        Group(f"{lines[start][1]} to {lines[min(start + 20, len(lines)) - 1][1]}", "", lines[start : start + 20])
        for start in range(0, len(lines), 20)
    ]
    pages = [
        strips_page("Pull order", f"{len(order):,} bundles", layout, page, note) for page in paginate(layout, groups)
    ]
    section.pages = _numbered(pages)
    return section


_BOM_FIELDS = (
    Field("Part", 22, bold=True), Field("Name", 60), Field("m", 8, right=True), Field("Colour", 12), Field("Quantity", 12, right=True),
    Field("Spares", 9, right=True), Field("Unit", 8), Field("Unit price", 16, right=True), Field("Total", 20, right=True),
)  # fmt: skip


def materials(tables: PlanTables) -> Section:
    """The bill of materials by category."""
    section = Section("Bill of materials")
    groups: dict[str, Group] = {}
    for line in tables.plan.bom["lines"]:
        category = plain(line["category"])
        group = groups.setdefault(category, Group(category_title(category), "", []))
        price, total, length = line.get("unit_price_usd"), line.get("total_usd"), line.get("length_metres")
        group.lines.append((
            clipped(plain(line.get("sku")), 30, 7.2), clipped(plain(line.get("name")), 62, 7.2), "" if length is None else f"{length:g}",
            plain(line.get("colour")), _count(line["quantity"]), _count(line["spares"]) if line.get("spares") else "",
            plain(line.get("unit")),
            "no price" if price is None else f"${price:,.2f}", "" if total is None else f"${total:,.2f}",
        ))  # fmt: skip
    lines = [line for group in groups.values() for line in group.lines]
    fields, size = fit(_BOM_FIELDS, lines, _WIDTH_MM, 2.0, 7.2)
    layout = Layout(fields, pitch=4.4, size=size, lines=56, gutter=2.0)
    pages = list(paginate(layout, list(groups.values())))
    cost = tables.plan.summary["cost_usd"]
    total = f"{'at least ' if cost.get('at_least') else ''}${cost['total']:,.2f}"
    section.pages = _numbered([strips_page("Bill of materials", f"total {total}", layout, page) for page in pages])
    return section


def _count(value: float) -> str:
    """Whole pieces, and hours with their tenths."""
    return f"{value:,.1f}".removesuffix(".0")


def label_sheets(tables: PlanTables, racks: Sequence[int], step: Callable[[float], None]) -> Section:
    """Every label that is stuck on in a rack, in the order of its cable sheet; down the columns. A new rack starts a sheet."""
    section = Section("Label sheets")
    by_rack = CablesByRack(tables)
    stock = stock_of(tables.plan)
    for count, rack in enumerate(racks):
        labels = list(_labels(tables, by_rack.of(rack)))
        pages = [
            _label_page(stock, tables.rack_names[rack], labels[start : start + stock.labels])
            for start in range(0, len(labels), stock.labels)
        ]
        section.pages += _numbered(pages)
        step(count / len(racks))
    return section


def _labels(tables: PlanTables, ends: list[tuple[int, bool]]) -> Iterator[tuple[str, str, str]]:
    """(this end, the other end, cable, level and length) for each label. A cable within the rack has both its labels here."""
    rows = tables.rows_at(np.asarray([index for index, _ in ends], dtype=np.int64))
    for cable, (_, far) in zip(rows, ends, strict=True):
        small = f"{cable.name} L{cable.level} {cable.stock_metres:g} m"
        stays = cable.bundle < 0
        for label, wanted in ((cable.near_label, stays or not far), (cable.far_label, stays or far)):
            if wanted:
                here, _, there = label.partition("/")
                yield here, there, small


def _label_page(stock: LabelStock, rack: str, labels: list[tuple[str, str, str]]) -> Json:
    columns: list[Json] = []
    for place in range(0, len(labels), stock.rows):
        cut = labels[place : place + stock.rows]
        # Three lines a label, three layers of one weight each: bold near end, plain far end, muted facts.
        layers = [
            {"text": "\n".join(f"{here}\n\u00a0\n\u00a0" for here, _, _ in cut), "bold": True, "muted": False},
            {"text": "\n".join(f"\u00a0\n{there}\n\u00a0" for _, there, _ in cut), "bold": False, "muted": False},
            {"text": "\n".join(f"\u00a0\n\u00a0\n{small}" for _, _, small in cut), "bold": False, "muted": True},
        ]
        x = stock.left + len(columns) * stock.column_pitch
        columns.append({"x": x, "count": len(cut), "layers": layers})
    return {
        "kind": "labels", "width": stock.width, "height": stock.height, "title": f"Labels {rack}", "level": 2, "bookmark": True,
        "subtitle": f"{stock.name}: {stock.size}, {stock.columns} x {stock.rows}, print at 100 %",
        "left": stock.left, "top": stock.top, "cell-width": stock.cell_width, "cell-height": stock.cell_height, "columns": columns,
    }  # fmt: skip
