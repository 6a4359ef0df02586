"""The standalone drawing: heading, floor plan, elevations from the front and the rear, provenance."""

from __future__ import annotations

from collections.abc import Iterator

from cubeyard.exports.drawing.elevations import SCREEN, elevation_picture, rack_groups
from cubeyard.exports.drawing.floor import floor_picture
from cubeyard.exports.drawing.svg import Picture, document, moved, text
from cubeyard.exports.drawing.trays import tray_picture
from cubeyard.exports.formats import Progress
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

MAX_ELEVATIONS = 64
"""Past this many racks the elevations are left out and the drawing says so: a browser would not scroll them well. [ours]"""
RACKS_PER_ROW = 8
_MARGIN = 40.0


def drawing_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One SVG file that needs nothing else and follows the reader's light or dark theme."""
    tables = PlanTables(plan)
    counts = plan.summary["counts"]
    headline = (
        f"{plain(plan.summary.get('title'))}: {counts['servers']:,} servers, {counts['switches']:,} switches, "
        f"{counts['cables']:,} cables in {counts['racks']:,} racks"
    )
    progress(0.1, "floor plan")
    floor = floor_picture(tables)
    parts = [text(_MARGIN, 40, plan.name, 24, "ink", bold=True), text(_MARGIN, 62, headline, 13, "muted")]
    y, width = 74.0, floor.width
    parts.append(moved(floor.body, 0, y))
    y += floor.height + 14
    loads = tray_picture(tables)
    if loads is not None:
        parts.append(moved(loads.body, 0, y))
        y += loads.height + 10
    y += 20
    members = tables.devices_by_rack()
    shown = [(label, racks) for label, racks in rack_groups(tables, RACKS_PER_ROW) if racks[0] < MAX_ELEVATIONS]
    for i, (label, racks) in enumerate(shown):
        progress(0.2 + 0.8 * i / max(len(shown), 1), "elevations")
        for rear in (False, True):
            row = elevation_picture(tables, racks, members, SCREEN, rear=rear)
            span = tables.rack_names[racks[0]] + ("" if len(racks) == 1 else f"\u2013{tables.rack_names[racks[-1]]}")
            words = " \u00b7 ".join(filter(None, [f"Elevations {span}", plain(label), "rear" if rear else "front"]))
            parts.append(text(_MARGIN, y, words, 14, "ink", bold=True))
            parts.append(moved(row.body, _MARGIN, y + 8))
            width = max(width, row.width + 2 * _MARGIN)
            y += row.height + 34
    hidden = len(tables.rack_names) - sum(len(racks) for _, racks in shown)
    if hidden:
        words = (
            f"{hidden:,} of {len(tables.rack_names):,} racks have no elevation here; the workbook has a sheet a rack."
        )
        parts.append(text(_MARGIN, y, words, 13, "muted"))
        y += 26
    parts.append(text(_MARGIN, y, provenance(plan), 11, "muted"))
    picture = Picture(width, y + 20, "".join(parts))
    yield document(picture, f"{plain(plan.name)}: floor plan and elevations", headline).encode()
    progress(1.0, "drawing")
