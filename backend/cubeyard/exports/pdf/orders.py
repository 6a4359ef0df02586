"""The lead's sheets: pull order, contents of each tray, bill of materials."""

from __future__ import annotations

from typing import Any

from cubeyard.exports.pdf.forms import Section, form, numbered, strips_page
from cubeyard.exports.pdf.metrics import clipped
from cubeyard.exports.pdf.page import Paper
from cubeyard.exports.pdf.sheets import BOX
from cubeyard.exports.pdf.strips import Field, Group, paginate
from cubeyard.exports.tables import PlanTables, category_title
from cubeyard.exports.text import plain
from cubeyard.kit.money import money

Json = dict[str, Any]


def pull_order(tables: PlanTables, paper: Paper, limit: int) -> Section:
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
            BOX, tables.bundle_names[i], tables.rack_names[bundles["rack_a"][i]], tables.rack_names[bundles["rack_b"][i]],
            f"{bundles['cables'][i]:,}", *(f"{counts[level]:,}" if level < len(counts) and counts[level] else "" for level in levels),
            f"{bundles['diameter_mm'][i]:.0f}", f"{bundles['length_metres'][i]:.1f}",
        ))  # fmt: skip
    note = (
        "One bundle is all cables between two racks. mm: thickness of the bundle; m: its longest run between the racks."
    )
    # Ten lines per group with a rule between groups, to help a crew keep its place.
    groups = [
        Group(f"{lines[start][1]} to {lines[min(start + 20, len(lines)) - 1][1]}", "", lines[start : start + 20])
        for start in range(0, len(lines), 20)
    ]
    used = form(
        paper, [*head, *by_level, *tail], groups, pitch=3.9, size=7.2, gutter=1.5, strips=2, strip_gap=8.0, drop=3.0
    )
    pages = paginate(used.layout, used.ready(groups))
    section.pages = numbered([strips_page(used, "Pull order", f"{len(order):,} bundles", page, note) for page in pages])
    return section


_TRAY_FIELDS = (
    Field("", 3), Field("Bundle", 12, bold=True), Field("From", 9), Field("To", 9), Field("Cables", 9, right=True),
    Field("mm", 7, right=True),
)  # fmt: skip


def bundles_by_tray(tables: PlanTables) -> list[list[int]]:
    """The bundles in each row of the scene's trays, in pull order."""
    held: list[list[int]] = [[] for _ in tables.plan.scene["trays"]["name"]]
    pull = tables.plan.scene["bundles"]["pull_order"]
    for bundle in sorted(range(len(pull)), key=pull.__getitem__):
        for tray in tables.bundle_trays(bundle):
            held[tray].append(bundle)
    return held


def tray_sheets(tables: PlanTables, paper: Paper, limit: int) -> tuple[Section, int, int]:
    """The contents of each tray with cables; the number of trays with a sheet, and the total. At
    most `limit` lines."""
    section = Section("Tray sheets")
    trays, bundles = tables.plan.scene["trays"], tables.plan.scene["bundles"]
    groups: list[Group] = []
    used_trays = lines = 0
    for tray, members in enumerate(bundles_by_tray(tables)):
        if not members:
            continue
        used_trays += 1
        lines += len(members)
        if lines > limit:
            continue
        rows = [
            (
                BOX, tables.bundle_names[i], tables.rack_names[bundles["rack_a"][i]], tables.rack_names[bundles["rack_b"][i]],
                f"{bundles['cables'][i]:,}", f"{bundles['diameter_mm'][i]:.0f}",
            )
            for i in members
        ]  # fmt: skip
        right = f"{trays['cables'][tray]:,} cables \u00b7 {trays['area_cm2'][tray]:.0f} cm\u00b2 \u00b7 {trays['fill'][tray]:.0%} full"
        groups.append(Group(f"Tray {plain(trays['name'][tray])}", right, rows))
    used = form(
        paper, _TRAY_FIELDS, groups, pitch=3.9, size=7.2, gutter=1.5, strips=2, strip_gap=8.0, drop=3.0, whole=40
    )
    note = "Each tray with the bundles that lie in it, in pull order. mm: thickness of the bundle."
    for page in paginate(used.layout, used.ready(groups)):
        heads = [head["left"] for strip in page for head in strip["heads"]]
        first, last = (head.removesuffix(" (continued)").removeprefix("Tray ") for head in (heads[0], heads[-1]))
        title = f"Tray {first}" if first == last else f"Trays {first} to {last}"
        made = strips_page(used, title, "bundles in each tray", page, note)
        made["marks"] = [[1, head] for head in heads if not head.endswith(" (continued)")]
        section.pages.append(made)
    return section, len(groups), used_trays


LONGEST_NAME_MM = 100.0
"""A part's name is printed in full up to this width, in landscape if necessary; a longer name ends
in an ellipsis. [ours]"""
_BOM_FIELDS = (
    Field("Part", 22, bold=True), Field("Name", 60), Field("m", 8, right=True), Field("Colour", 12), Field("Quantity", 12, right=True),
    Field("Spares", 9, right=True), Field("Unit", 8), Field("Unit price", 16, right=True), Field("Total", 20, right=True),
)  # fmt: skip


def materials(tables: PlanTables, paper: Paper) -> Section:
    """The bill of materials by category."""
    section = Section("Bill of materials")
    currency = tables.plan.bom["currency"]
    groups: dict[str, Group] = {}
    for line in tables.plan.bom["lines"]:
        category = plain(line["category"])
        group = groups.setdefault(category, Group(category_title(category), "", []))
        price, total, length = line.get("unit_price_usd"), line.get("total_usd"), line.get("length_metres")
        group.lines.append((
            clipped(plain(line.get("sku")), 30, 7.2), clipped(plain(line.get("name")), LONGEST_NAME_MM, 7.2), "" if length is None else f"{length:g}",
            plain(line.get("colour")), _count(line["quantity"]), _count(line["spares"]) if line.get("spares") else "",
            plain(line.get("unit")),
            "no price" if price is None else money(price, currency), "" if total is None else money(total, currency),
        ))  # fmt: skip
    used = form(paper, _BOM_FIELDS, list(groups.values()), pitch=4.4, size=7.2, gutter=2.0)
    pages = list(paginate(used.layout, used.ready(list(groups.values()))))
    cost = tables.plan.summary["cost_usd"]
    total = f"{'at least ' if cost.get('at_least') else ''}{money(cost['total'], currency)}"
    section.pages = numbered([strips_page(used, "Bill of materials", f"total {total}", page) for page in pages])
    return section


def _count(value: float) -> str:
    """Whole pieces, or hours with one decimal."""
    return f"{value:,.1f}".removesuffix(".0")
