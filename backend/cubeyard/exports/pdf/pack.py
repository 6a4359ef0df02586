"""Puts the install pack together: decides the content of every page, then runs the typesetter.

The size of a pack is limited, because nobody prints ten thousand pages: beyond the limits below it
contains the first racks and switches, and its cover lists the omitted parts and where to find them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import orjson

from cubeyard.exports.formats import Progress
from cubeyard.exports.options import NO_OPTIONS, ExportOptions
from cubeyard.exports.palette import LIGHT
from cubeyard.exports.pdf.cover import cover
from cubeyard.exports.pdf.drawings import MAX_ELEVATIONS, elevation_section, floor_section
from cubeyard.exports.pdf.forms import Section
from cubeyard.exports.pdf.labels import LabelForm, label_form, label_sheets
from cubeyard.exports.pdf.orders import materials, pull_order, tray_sheets
from cubeyard.exports.pdf.page import paper_of_plan
from cubeyard.exports.pdf.sheets import rack_sheets, switch_sheets
from cubeyard.exports.pdf.typesetting import typeset_parts
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.exports.workbook.racks import CablesByRack
from cubeyard.plans.view import PlanView

Json = dict[str, Any]
# About 10,000 cables with all sheets; typesetting takes about a second per 10,000 lines. [ours]
MAX_RACK_LINES = 24_000
MAX_SWITCH_LINES = 24_000
MAX_TRAY_LINES = 12_000
MAX_LABELS = 24_000
MAX_BUNDLES = 3_000
PAGES_A_PART = 32
"""Pages per run of the typesetter, whose memory grows with the pages."""
# The fractions of progress where typesetting begins and ends, and the approximate time per page.
# [ours]
_TYPESETTING_FROM, _TYPESETTING_TO = 0.3, 0.96
_TYPESETTING_SECS_A_PAGE = 0.04


def install_pack(plan: PlanView, progress: Progress, options: ExportOptions = NO_OPTIONS) -> Iterator[bytes]:
    """The pack as PDF, in pieces after typesetting."""
    tables = PlanTables(plan)
    files: dict[str, bytes] = {}
    document, outline = pack_document(tables, files, progress, options)
    pages = document.pop("pages")
    starts = range(0, len(pages), PAGES_A_PART)
    parts = [part_of(document, pages[start : start + PAGES_A_PART]) for start in starts]
    binding = {"title": document["title"], "parts": len(parts), "outline": outline}
    sizes = [len(pages[start : start + PAGES_A_PART]) for start in starts]
    del pages
    waiting = _typesetting_progress(sizes, progress)
    yield from typeset_parts(files | {"main.typ": template()}, parts, orjson.dumps(binding), waiting)
    progress(1.0, "install pack")


def template() -> bytes:
    """The typesetter's template: the layout of each kind of page."""
    return resources.files("cubeyard.exports.pdf").joinpath("pack.typ").read_bytes()


def part_of(shared: Json, pages: list[Json]) -> dict[str, bytes]:
    """The sources of some pages. QR codes are drawn after typesetting, so the typesetter does not
    get them."""
    codes = [page.pop("codes", []) for page in pages]
    sources = {"pack.json": orjson.dumps(shared | {"pages": pages})}
    return sources | {"codes.json": orjson.dumps(codes)} if any(codes) else sources


def _typesetting_progress(sizes: list[int], progress: Progress) -> Callable[[int, float], None]:
    """Progress by pages of finished parts; within a part, which reports no progress, estimated from
    its seconds."""
    total = sum(sizes)

    def waiting(part: int, secs: float) -> None:
        if part >= len(sizes):
            progress(_TYPESETTING_TO, f"binding {total:,} pages")
            return
        before = sum(sizes[:part])
        share = before + sizes[part] * (1 - math.exp(-secs / (sizes[part] * _TYPESETTING_SECS_A_PAGE)))
        words = f"typesetting pages {before + 1:,} to {before + sizes[part]:,} of {total:,}"
        progress(_TYPESETTING_FROM + (_TYPESETTING_TO - _TYPESETTING_FROM) * share / total, words)

    return waiting


def pack_document(
    tables: PlanTables, files: dict[str, bytes], progress: Progress, options: ExportOptions = NO_OPTIONS
) -> tuple[Json, list[tuple[str, int, int]]]:
    """Every page of the pack as plain data, and its outline (title, page, depth); pictures go into
    `files`."""
    plan, paper = tables.plan, paper_of_plan(tables.plan)
    labels = label_form(tables, options)
    limits = _Limits(tables)

    def step(first: float, span: float, doing: str) -> Callable[[float], None]:
        return lambda done: progress(first + span * done, doing)

    drawings = [
        floor_section(tables, paper, files),
        elevation_section(tables, paper, files, step(0.02, 0.08, "elevations")),
    ]
    trays, tray_count, all_trays = tray_sheets(tables, paper, MAX_TRAY_LINES)
    if tray_count < all_trays:
        limits.left_out.append(f"Tray sheets are given for the first {tray_count:,} of {all_trays:,} trays.")
    sections = [
        *drawings,
        materials(tables, paper),
        pull_order(tables, paper, MAX_BUNDLES),
        trays,
        rack_sheets(tables, paper, limits.racks, step(0.1, 0.08, "cable sheets by rack")),
        switch_sheets(tables, paper, limits.switches, step(0.18, 0.06, "cable sheets by switch"))
        if limits.switches
        else Section("Cable sheets by switch"),
        label_sheets(tables, limits.label_racks, options, labels, step(0.24, 0.06, "label sheets")),
    ]
    sections = [section for section in sections if section.pages]
    contents: list[Json] = []
    pages: list[Json] = [{}]
    for section in sections:
        contents.append({"title": section.title, "page": len(pages) + 1})
        section.pages[0]["level"] = 1
        pages += section.pages
    pages[0] = cover(tables, paper, contents, limits.left_out, _label_words(tables, labels, options))
    outline = _outline(plain(plan.name), sections)
    for number, page in enumerate(pages, 1):
        page["number"] = number
        page.pop("marks", None)
    counts = plan.summary["counts"]
    return {
        "name": plain(plan.name),
        "title": f"{plain(plan.name)}: install pack",
        "headline": f"{plain(plan.summary.get('title'))} \u00b7 {counts['servers']:,} servers, {counts['switches']:,} switches, "
        f"{counts['cables']:,} cables in {counts['racks']:,} racks",
        "provenance": provenance(plan),
        "hash": plan.plan_hash,
        "total": len(pages),
        "theme": {
            "ink": LIGHT.ink, "muted": LIGHT.muted, "line": LIGHT.line, "panel": LIGHT.panel, "server": LIGHT.server,
            "failed": LIGHT.failed, "levels": list(LIGHT.levels),
        },
        "pages": pages,
    }, outline  # fmt: skip


def _outline(name: str, sections: list[Section]) -> list[tuple[str, int, int]]:
    """The cover, each section, and below it the marks of its pages. No two bookmarks have the same
    name."""
    marks = [(name, 1, 0)]
    page_number = 1
    for section in sections:
        marks.append((section.title, page_number + 1, 0))
        for page in section.pages:
            page_number += 1
            # A section with a single item has no separate bookmark for the item.
            own = [(depth, title) for depth, title in page["marks"] if title != section.title]
            marks += [(title, page_number, depth) for depth, title in own]
    seen: Counter[str] = Counter()
    out: list[tuple[str, int, int]] = []
    for title, page, depth in marks:
        seen[title] += 1
        out.append((title if seen[title] == 1 else f"{title} ({seen[title]})", page, depth))
    return out


def _label_words(tables: PlanTables, labels: LabelForm, options: ExportOptions) -> list[str]:
    """The cover's text about the label sheets."""
    if not tables.plan.cable_count:
        return []
    stock = labels.stock
    words = [f"Labels are printed on {stock.name}, {stock.size}, {stock.labels} a sheet, at 100 %."]
    if options.first_label > 1:
        words.append(f"The first label sheet begins at label {options.first_label}, counted down its columns.")
    meaning = {"link": "opens the cable in crew mode", "cable": "is the cable's id"}.get(labels.codes)
    if meaning is not None:
        words.append(f"The QR code on a label {meaning}.")
    if labels.codes != options.codes:
        left_out = "a link to crew mode" if labels.codes == "cable" else "a QR code"
        words.append(f"The labels have no room for {left_out}: their type needs it.")
    return words


class _Limits:
    """The racks and switches that get sheets, and the cover's text about the others."""

    def __init__(self, tables: PlanTables) -> None:
        by_rack = CablesByRack(tables)
        racks = len(tables.rack_names)
        self.racks: list[int] = []
        self.label_racks: list[int] = []
        lines = labels = 0
        for rack in range(racks):
            count = by_rack.count(rack)
            lines += count
            labels += count + by_rack.staying(rack)
            if lines <= MAX_RACK_LINES:
                self.racks.append(rack)
            if labels <= MAX_LABELS:
                self.label_racks.append(rack)
        all_switches = [device for device in range(len(tables.hosts)) if tables.device_kind[device]]
        all_switches.sort(key=lambda i: (tables.device_rack[i], -tables.device_unit[i], tables.device_slot[i], i))
        ports = tables.plan.scene["devices"]["port_count"]
        self.switches: list[int] = []
        lines = 0
        for device in all_switches:
            lines += ports[device]
            if lines > MAX_SWITCH_LINES:
                break
            self.switches.append(device)
        self.left_out: list[str] = _left_out(tables, self, racks, len(all_switches))


def _left_out(tables: PlanTables, limits: _Limits, racks: int, switches: int) -> list[str]:
    names = tables.rack_names
    out: list[str] = []
    if racks > MAX_ELEVATIONS:
        out.append(f"Elevations are given for the first {MAX_ELEVATIONS:,} of {racks:,} racks.")
    if len(limits.racks) < racks:
        last = f" ({names[limits.racks[0]]} to {names[limits.racks[-1]]})" if limits.racks else ""
        out.append(
            f"Cable sheets are given for the first {len(limits.racks):,} of {racks:,} racks{last}. "
            "Every cable is in the CSV cable schedule and in the workbook."
        )
    if len(limits.switches) < switches:
        out.append(f"Switch sheets are given for the first {len(limits.switches):,} of {switches:,} switches.")
    if len(limits.label_racks) < racks:
        out.append(
            f"Label sheets are given for the first {len(limits.label_racks):,} of {racks:,} racks; all are in the label CSV."
        )
    if len(tables.bundle_names) > MAX_BUNDLES:
        out.append(f"Pull order: the first {MAX_BUNDLES:,} of {len(tables.bundle_names):,} bundles.")
    return out
