"""The cover of the install pack."""

from __future__ import annotations

from typing import Any

from cubeyard.exports.pdf.page import Paper
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain
from cubeyard.kit.money import money
from cubeyard.plans.site_limits import limit_words

Json = dict[str, Any]
_MAX_FINDINGS = 10


def cover(tables: PlanTables, paper: Paper, contents: list[Json], left_out: list[str], labels: list[str]) -> Json:
    """The pack's first page: key numbers, contents, reading instructions and checks."""
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
        else ["Cost", money(cost["total"], tables.plan.bom["currency"], 0), "at least" if cost.get("at_least") else ""],
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
        "kind": "cover", "width": paper.width, "height": paper.height, "title": "Cover", "subtitle": "", "level": 1,
        "facts": facts, "contents": contents, "left-out": left_out, "levels": levels,
        "reading": [*_reading(tables), *labels],
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
    """Empty for a book without weights, to avoid a claim of zero tonnes."""
    total = weight["total"] or 0
    if not total:
        return ["Weight", "not known", ""]
    return ["Weight", f"{total / 1000:,.1f}", "t, at least" if weight.get("at_least") else "t"]


def _reading(tables: PlanTables) -> list[str]:
    """Explains positions and labels, with a label of this plan as the example."""
    words = [
        "A position is rack, bottom unit, and a letter from the left where devices share the unit; then the port.",
        "Each cable carries a label at both ends: its own end first, the other end after the stroke.",
        "Tick the box when the cable is in, labelled and tested. Lengths are those to take from stock.",
    ]
    if tables.plan.cable_count:
        words.insert(1, f"Example: {plain(tables.plan.near_labels[0])}.")
    return words
