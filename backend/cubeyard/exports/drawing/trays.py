"""How full each column tray is along its run: one bar per segment, by level, with the limit as a
line. Aligned with the floor plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cubeyard.exports.drawing.floor import MARGIN
from cubeyard.exports.drawing.scale import SMALLEST_TYPE, type_width, units_per_metre
from cubeyard.exports.drawing.svg import MAX_LEVELS, Picture, line, rect, text
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

MAX_RUNS = 4
"""For a hall with more rows, tray loads are only in the titles of the floor plan. [ours]"""
_CHART_HEIGHT, _HEAD, _FOOT = 192.0, 52.0, 44.0


def column_runs(trays: dict[str, Any]) -> list[list[int]]:
    """Segments of each straight column with cables in it, from left to right; runs from the top of
    the picture down."""
    runs: dict[float, list[int]] = {}
    for i, kind in enumerate(trays["kind"]):
        if kind == "column":
            runs.setdefault(round(trays["y0_metres"][i], 2), []).append(i)
    used = {y: run for y, run in runs.items() if any(trays["cables"][i] for i in run)}
    return [sorted(run, key=lambda i: (trays["x0_metres"][i], i)) for _, run in sorted(used.items(), reverse=True)]


def tray_picture(tables: PlanTables, denominator: int) -> Picture | None:
    """One chart per run; None without column trays or with too many runs."""
    scene = tables.plan.scene
    runs = column_runs(scene["trays"])
    if not runs or len(runs) > MAX_RUNS:
        return None
    limit = float(tables.plan.spec.get("cabling", {}).get("tray_fill_limit", 0.5))
    top_fill = max(limit * 1.15, *(scene["trays"]["fill"][i] for run in runs for i in run))
    metre = units_per_metre(denominator)
    body: list[str] = []
    y = 0.0
    for run in runs:
        body += _chart(tables, run, y + _HEAD, top_fill, limit, metre)
        y += _HEAD + _CHART_HEIGHT + _FOOT
    return Picture(max(scene["enclosure"]["length_metres"] * metre, 900.0) + 2 * MARGIN, y, "".join(body))


def _chart(
    tables: PlanTables, run: Sequence[int], top: float, top_fill: float, limit: float, metre: float
) -> list[str]:
    trays = tables.plan.scene["trays"]
    floor = top + _CHART_HEIGHT

    def at(metres: float) -> float:
        return MARGIN + metres * metre

    def height(fill: float) -> float:
        return fill / top_fill * _CHART_HEIGHT

    left, right = at(trays["x0_metres"][run[0]]), at(max(trays["x1_metres"][i] for i in run))
    names = f"{plain(trays['name'][run[0]])} to {plain(trays['name'][run[-1]])}"
    words = f"Fill of column tray {names}, {trays['y0_metres'][run[0]]:.2f} m from the lower wall"
    out = [text(left, top - 20, words, 26, "ink", bold=True), line(left, floor, right, floor, "dim", 2)]
    for i in run:
        x0, x1 = at(trays["x0_metres"][i]), at(trays["x1_metres"][i])
        cables, fill = trays["cables"][i], trays["fill"][i]
        base = floor
        for level, count in enumerate(trays["cables_by_level"][i]):
            if count and cables:
                tall = height(fill) * count / cables
                title = f"{plain(trays['name'][i])}, level {level}: {count:,} cables"
                out.append(rect(x0 + 4, base - tall, x1 - x0 - 8, tall, f"f-{level % MAX_LEVELS}", title=title))
                base -= tall
        middle = (x0 + x1) / 2
        # A segment too short for a number shows it only in its title.
        if type_width(f"{fill:.0%}", SMALLEST_TYPE) <= x1 - x0:
            out.append(text(middle, base - 6, f"{fill:.0%}", SMALLEST_TYPE, "ink halo", anchor="middle"))
        if type_width(f"{cables:,}", SMALLEST_TYPE) <= x1 - x0:
            out.append(text(middle, floor + 28, f"{cables:,}", SMALLEST_TYPE, "muted", anchor="middle"))
    y = floor - height(limit)
    out.append(line(left, y, right, y, "wall", 2, dashes="12 8"))
    out.append(text(right + 8, y + 8, f"limit {limit:.0%}", SMALLEST_TYPE, "ink"))
    out.append(text(right + 8, floor + 28, "cables", SMALLEST_TYPE, "muted"))
    return out
