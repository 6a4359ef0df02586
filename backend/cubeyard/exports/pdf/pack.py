"""Puts the install pack together: decides every page, then has it typeset.

A pack is bounded, because nobody prints ten thousand pages: past the limits below it holds the first racks and switches
and says on its cover what is left out and where that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import orjson

from cubeyard.exports.formats import Progress
from cubeyard.exports.palette import LIGHT
from cubeyard.exports.pdf.drawings import MAX_ELEVATIONS, elevation_section, floor_section
from cubeyard.exports.pdf.sheets import A4, Section, label_sheets, materials, pull_order, rack_sheets, switch_sheets
from cubeyard.exports.pdf.typesetting import typeset
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.exports.workbook.racks import CablesByRack
from cubeyard.plans.site_limits import limit_words
from cubeyard.plans.view import PlanView

Json = dict[str, Any]
# About 10,000 cables with everything; typesetting takes about a second for 10,000 lines. [ours]
MAX_RACK_LINES = 24_000
MAX_SWITCH_LINES = 24_000
MAX_LABELS = 24_000
MAX_BUNDLES = 3_000
# Where typesetting begins and ends in the progress of a pack, and about how long it takes. [ours]
_TYPESETTING_FROM, _TYPESETTING_TO = 0.4, 0.98
_TYPESETTING_SECS_A_PAGE = 0.02


def install_pack(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The pack as PDF, in pieces once it is typeset."""
    tables = PlanTables(plan)
    files: dict[str, bytes] = {}
    document = pack_document(tables, files, progress)
    template = resources.files("cubeyard.exports.pdf").joinpath("pack.typ").read_bytes()
    sources = files | {"main.typ": template, "pack.json": orjson.dumps(document)}
    yield from typeset(sources, _typesetting_progress(document["total"], progress))
    progress(1.0, "install pack")


def _typesetting_progress(pages: int, progress: Progress) -> Callable[[float], None]:
    """The typesetter does not say how far it is: estimated from the seconds so far, always moving and never at the end."""
    doing = f"typesetting {pages:,} pages"
    progress(_TYPESETTING_FROM, doing)

    def waiting(secs: float) -> None:
        share = 1 - math.exp(-secs / (pages * _TYPESETTING_SECS_A_PAGE))
        progress(_TYPESETTING_FROM + (_TYPESETTING_TO - _TYPESETTING_FROM) * share, f"{doing}, {secs:.0f} s")

    return waiting


def pack_document(tables: PlanTables, files: dict[str, bytes], progress: Progress) -> Json:
    """Every page of the pack as plain data; pictures go into `files`."""
    plan = tables.plan
    limits = _Limits(tables)
    sections = [
        floor_section(tables, files),
        elevation_section(tables, files, lambda done: progress(0.05 + 0.1 * done, "elevations")),
        materials(tables),
        pull_order(tables, MAX_BUNDLES),
        rack_sheets(tables, limits.racks, lambda done: progress(0.15 + 0.1 * done, "cable sheets by rack")),
        switch_sheets(tables, limits.switches, lambda done: progress(0.25 + 0.1 * done, "cable sheets by switch"))
        if limits.switches
        else Section("Cable sheets by switch"),
        label_sheets(tables, limits.label_racks, lambda done: progress(0.35 + 0.05 * done, "label sheets")),
    ]
    sections = [section for section in sections if section.pages]
    contents: list[Json] = []
    pages: list[Json] = [{}]
    for section in sections:
        contents.append({"title": section.title, "page": len(pages) + 1})
        section.pages[0]["level"] = 1
        pages += section.pages
    pages[0] = _cover(tables, contents, limits.left_out)
    for number, page in enumerate(pages, 1):
        page["number"] = number
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
    }  # fmt: skip


class _Limits:
    """Which racks and switches get sheets, and what the cover says of the others."""

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
        self.left_out = _left_out(tables, self, racks, len(all_switches))


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


_MAX_FINDINGS = 10


def _cover(tables: PlanTables, contents: list[Json], left_out: list[str]) -> Json:
    summary = tables.plan.summary
    cost, weight, tray = summary["cost_usd"], summary["weight_kg"], summary["tray"]
    hours = (summary.get("labour_minutes") or 0) / 60
    facts = [
        ["Cables", f"{summary['counts']['cables']:,}", ""],
        ["Cable length", f"{summary['cable_metres'] / 1000:,.2f}", "km"],
        ["Longest cable", f"{summary['longest_cable_metres']:,.1f}", "m"],
        ["Bundles", f"{len(tables.bundle_names):,}", ""],
        ["Peak tray fill", f"{tray['peak_fill']:.0%}", f"{tray['peak_cables']:,} cables"],
        ["Power", f"{summary['power_watts']['total'] / 1000:,.1f}", "kW"],
        _weight(weight),
        ["Labour", f"{hours:,.0f}", "hours"]
        if hours
        else ["Cost", f"${cost['total']:,.0f}", "at least" if cost.get("at_least") else ""],
    ]
    findings = [
        {
            "severity": plain(finding["severity"]), "words": plain(finding["message"]), "hint": plain(finding.get("hint")),
        }
        for finding in summary["findings"]
    ]  # fmt: skip
    if len(findings) > _MAX_FINDINGS:
        more = len(findings) - _MAX_FINDINGS
        findings = [
            *findings[:_MAX_FINDINGS],
            {"severity": "info", "words": f"and {more:,} more, in the workbook.", "hint": ""},
        ]
    certificate = summary["certificate"]
    levels = [
        {"level": level, "words": f"L{level}  {plain(tables.level_labels.get(level, ''))}".rstrip()}
        for level in tables.cable_levels
    ]
    if any(kind == 0 for kind in tables.device_kind):
        levels.insert(0, {"level": -1, "words": "Server"})
    return {
        "kind": "cover", "width": A4[0], "height": A4[1], "title": "Cover", "subtitle": "", "level": 1, "bookmark": True,
        "facts": facts, "contents": contents, "left-out": left_out, "levels": levels,
        "reading": _reading(tables),
        "verdict": "passed" if certificate["passed"] else "FAILED",
        "checks": [
            {"passed": check["passed"], "words": plain(check["statement"]), "count": f"{check['checked']:,} checked"}
            for check in certificate["checks"][:14]
        ],
        "site-limits": [
            {"over": words.over, "words": f"{words.title}: {plain(words.value)}", "limit": words.limit}
            for words in map(limit_words, summary["site_limits"])
        ],
        "findings": findings,
    }  # fmt: skip


def _weight(weight: Json) -> list[str]:
    """A book without weights makes no claim of zero tonnes."""
    total = weight["total"] or 0
    if not total:
        return ["Weight", "not known", ""]
    return ["Weight", f"{total / 1000:,.1f}", "t, at least" if weight.get("at_least") else "t"]


def _reading(tables: PlanTables) -> list[str]:
    """A word on positions and labels, with a label of this plan as the example."""
    words = [
        "A position is rack, bottom unit, and a letter from the left where devices share the unit; then the port.",
        "Each cable carries a label at both ends: its own end first, the other end after the stroke.",
        "Tick the box when the cable is in, labelled and tested. Lengths are those to take from stock.",
    ]
    if tables.plan.cable_count:
        words.insert(1, f"Example: {plain(tables.plan.near_labels[0])}.")
    return words
