"""The standalone drawing: heading, floor plan, elevations from the front and the rear, provenance.
All to scale."""

from __future__ import annotations

from collections.abc import Iterator

from cubeyard.exports.drawing.elevations import ElevationStyle, elevation_picture, rack_groups
from cubeyard.exports.drawing.floor import floor_picture
from cubeyard.exports.drawing.scale import scale_bar
from cubeyard.exports.drawing.svg import Picture, document, moved, text
from cubeyard.exports.drawing.trays import tray_picture
from cubeyard.exports.formats import Progress
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

MAX_ELEVATIONS = 64
"""Drawings of more racks omit the elevations and state that: a browser would scroll them slowly.
[ours]"""
RACKS_PER_ROW = 8
FLOOR_SCALE, ELEVATION_SCALE = 50, 25
"""Denominators: printed at 100 %, the paper's container is 27 cm long and its racks 7 cm high."""
_SCREEN = ElevationStyle(ELEVATION_SCALE, named=False, titled=True)
_MARGIN = 80.0


def floor_file(plan: PlanView) -> str:
    """The floor plan alone, as a standalone SVG document at the same scale."""
    tables = PlanTables(plan)
    floor = floor_picture(tables, FLOOR_SCALE)
    where = text(_MARGIN, floor.height + 30, provenance(plan), 25, "muted")
    picture = Picture(floor.width, floor.height + 60, floor.body + where)
    return document(picture, f"{plain(plan.name)}: floor plan", f"Floor plan 1 : {FLOOR_SCALE}.")


def drawing_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One self-contained SVG file that has its size in millimetres and follows the reader's light
    or dark theme."""
    tables = PlanTables(plan)
    counts = plan.summary["counts"]
    headline = (
        f"{plain(plan.summary.get('title'))}: {counts['servers']:,} servers, {counts['switches']:,} switches, "
        f"{counts['cables']:,} cables in {counts['racks']:,} racks"
    )
    progress(0.1, "floor plan")
    floor = floor_picture(tables, FLOOR_SCALE)
    parts = [
        text(_MARGIN, 80, plan.name, 48, "ink", bold=True),
        text(_MARGIN, 124, f"{headline}. Floor plan 1 : {FLOOR_SCALE}, elevations 1 : {ELEVATION_SCALE}.", 27, "muted"),
    ]
    y, width = 148.0, floor.width
    parts.append(moved(floor.body, 0, y))
    y += floor.height + 28
    loads = tray_picture(tables, FLOOR_SCALE)
    if loads is not None:
        parts.append(moved(loads.body, 0, y))
        y += loads.height + 20
    y += 40
    members = tables.devices_by_rack()
    shown = [(label, racks) for label, racks in rack_groups(tables, RACKS_PER_ROW) if racks[0] < MAX_ELEVATIONS]
    for i, (label, racks) in enumerate(shown):
        progress(0.2 + 0.8 * i / max(len(shown), 1), "elevations")
        for rear in (False, True):
            row = elevation_picture(tables, racks, members, _SCREEN, rear=rear)
            span = tables.rack_names[racks[0]] + ("" if len(racks) == 1 else f"\u2013{tables.rack_names[racks[-1]]}")
            words = " \u00b7 ".join(filter(None, [f"Elevations {span}", plain(label), "rear" if rear else "front"]))
            parts.append(text(_MARGIN, y, words, 29, "ink", bold=True))
            parts.append(moved(row.body, _MARGIN, y + 16))
            width = max(width, row.width + 2 * _MARGIN)
            y += row.height + 68
    if shown:
        parts.append(scale_bar(_MARGIN + 1100, y - 30, ELEVATION_SCALE))
        y += 60
    hidden = len(tables.rack_names) - sum(len(racks) for _, racks in shown)
    if hidden:
        words = (
            f"{hidden:,} of {len(tables.rack_names):,} racks have no elevation here; the workbook has a sheet a rack."
        )
        parts.append(text(_MARGIN, y, words, 27, "muted"))
        y += 52
    parts.append(text(_MARGIN, y, provenance(plan), 25, "muted"))
    picture = Picture(max(width, 1260.0), y + 40, "".join(parts))
    yield document(picture, f"{plain(plan.name)}: floor plan and elevations", headline).encode()
    progress(1.0, "drawing")
