"""The floor from above, to scale: enclosure, racks with their fronts, trays as stripes of cables by level."""

from __future__ import annotations

import math
from typing import Any

from cubeyard.exports.drawing.svg import MAX_LEVELS, Picture, line, number, rect, text
from cubeyard.exports.palette import dash
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

UNITS_PER_METRE = 100.0
MARGIN = 70.0
_WIDEST_TRAY = 12.0
"""User units for the fullest tray; the others in proportion. [ours]"""
_THINNEST_STRIPE = 0.8


def floor_picture(tables: PlanTables) -> Picture:
    """Scale 100 user units a metre; y grows upwards in the plan and downwards in the picture."""
    enclosure = tables.plan.scene["enclosure"]
    length, width = enclosure["length_metres"] * UNITS_PER_METRE, enclosure["width_metres"] * UNITS_PER_METRE
    frame = _Frame(MARGIN, MARGIN, width)
    body = [
        rect(frame.x(0), frame.top, length, width, "panel"),
        *_racks(tables, frame),
        *_trays(tables, frame),
        *_rack_labels(tables, frame),
        f'<rect x="{number(frame.x(0))}" y="{number(frame.top)}" width="{number(length)}" height="{number(width)}"'
        ' class="wall" stroke-width="3"/>',
        *_dimensions(enclosure, frame, length, width),
    ]
    height = width + 2 * MARGIN
    legend = _legend(tables, MARGIN, height - 22)
    scale = _scale_bar(MARGIN + length - 208, height - 22)
    return Picture(length + 2 * MARGIN, height + 12, "".join([*body, *legend, *scale]))


class _Frame:
    """From metres on the floor to user units in the picture."""

    def __init__(self, left: float, top: float, depth: float) -> None:
        self.left, self.top, self._depth = left, top, depth

    def x(self, metres: float) -> float:
        return self.left + metres * UNITS_PER_METRE

    def y(self, metres: float) -> float:
        return self.top + self._depth - metres * UNITS_PER_METRE


def _racks(tables: PlanTables, frame: _Frame) -> list[str]:
    racks = tables.plan.scene["racks"]
    out: list[str] = ['<g id="racks">']
    for i, name in enumerate(tables.rack_names):
        width, depth = racks["width_metres"][i] * UNITS_PER_METRE, racks["depth_metres"][i] * UNITS_PER_METRE
        left, top = frame.x(racks["x_metres"][i]) - width / 2, frame.y(racks["y_metres"][i]) - depth / 2
        title = (
            f"{name}: {racks['servers'][i]} servers, {racks['switches'][i]} switches, "
            f"{racks['power_watts'][i] / 1000:.1f} kW, {racks['cables_leaving'][i]} cables leave it"
        )
        front = top + 1.5 if _faces_up(racks, i) else top + depth - 1.5
        out.append(rect(left, top, width, depth, "bay", title=title))
        out.append(line(left + 3, front, left + width - 3, front, "front", 2.4))
    out.append("</g>")
    return out


def _faces_up(racks: dict[str, Any], rack: int) -> bool:
    """North is up in the picture."""
    return racks["facing"][rack] == "north"


def _rack_labels(tables: PlanTables, frame: _Frame) -> list[str]:
    """Name and power in the front half of each rack, because column trays run over the middle; over what crosses there."""
    racks = tables.plan.scene["racks"]
    out: list[str] = ['<g id="rack-labels">']
    for i, name in enumerate(tables.rack_names):
        width, depth = racks["width_metres"][i] * UNITS_PER_METRE, racks["depth_metres"][i] * UNITS_PER_METRE
        x, y = frame.x(racks["x_metres"][i]), frame.y(racks["y_metres"][i])
        size = min(width * 0.24, depth * 0.19, 14.0)
        first = y - depth / 2 + 4.5 + size if _faces_up(racks, i) else y + depth / 2 - 6 - size * 0.8
        out.append(text(x, first, name, size, "ink halo", anchor="middle", bold=True))
        kilowatts = f"{racks['power_watts'][i] / 1000:.1f} kW"
        out.append(text(x, first + size * 0.82, kilowatts, size * 0.68, "muted halo", anchor="middle"))
    out.append("</g>")
    return out


def _trays(tables: PlanTables, frame: _Frame) -> list[str]:
    trays = tables.plan.scene["trays"]
    most = max(trays["cables"], default=0)
    out: list[str] = ['<g id="trays" stroke-linecap="butt">']
    if most == 0:
        return [*out, "</g>"]
    for i, name in enumerate(trays["name"]):
        total = trays["cables"][i]
        if total:
            out += _stripes(frame, trays, i, plain(name), most)
    for i in _peaks(trays):
        x = (frame.x(trays["x0_metres"][i]) + frame.x(trays["x1_metres"][i])) / 2
        y = (frame.y(trays["y0_metres"][i]) + frame.y(trays["y1_metres"][i])) / 2
        words = f"{trays['cables'][i]:,} cables, {trays['fill'][i]:.0%} full"
        # On the side away from the fronts, where no rack has its name.
        baseline = (
            y + _WIDEST_TRAY / 2 + 13 if _rear_is_below(tables, trays["y0_metres"][i]) else y - _WIDEST_TRAY / 2 - 6
        )
        out.append(text(x, baseline, words, 11, "ink halo", anchor="middle"))
    out.append("</g>")
    return out


def _rear_is_below(tables: PlanTables, y_metres: float) -> bool:
    """Whether the racks under a column tray have their rear below the tray in the picture; true where there are none."""
    racks = tables.plan.scene["racks"]
    under = [i for i, y in enumerate(racks["y_metres"]) if abs(y - y_metres) < racks["depth_metres"][i] / 2]
    return not under or _faces_up(racks, under[0])


def _stripes(frame: _Frame, trays: dict[str, Any], i: int, name: str, most: int) -> list[str]:
    """One tray segment: a stripe a level, side by side, as wide as its share of the cables."""
    x0, y0 = frame.x(trays["x0_metres"][i]), frame.y(trays["y0_metres"][i])
    x1, y1 = frame.x(trays["x1_metres"][i]), frame.y(trays["y1_metres"][i])
    span = math.hypot(x1 - x0, y1 - y0)
    if span == 0:
        return []
    across = (-(y1 - y0) / span, (x1 - x0) / span)
    by_level = trays["cables_by_level"][i]
    widths = [max(count / most * _WIDEST_TRAY, _THINNEST_STRIPE) if count else 0.0 for count in by_level]
    offset = -sum(widths) / 2
    title = f"{name}: {trays['cables'][i]:,} cables, {trays['area_cm2'][i]:.0f} cm\u00b2, {trays['fill'][i]:.0%} full"
    out: list[str] = []
    for level, width in enumerate(widths):
        if not width:
            continue
        middle = offset + width / 2
        dx, dy = across[0] * middle, across[1] * middle
        words = f"{title}; level {level}: {by_level[level]:,}"
        out.append(line(x0 + dx, y0 + dy, x1 + dx, y1 + dy, f"s-{level % MAX_LEVELS}", width, title=words))
        offset += width
    return out


def _peaks(trays: dict[str, Any]) -> list[int]:
    """The fullest segment of each straight run of column trays, to be labelled: the fullest one of each y."""
    best: dict[float, int] = {}
    for i, kind in enumerate(trays["kind"]):
        if kind == "column" and trays["cables"][i]:
            key = round(trays["y0_metres"][i], 2)
            if key not in best or trays["cables"][i] > trays["cables"][best[key]]:
                best[key] = i
    # A hall with many rows would be covered in labels: there the single fullest tray says enough.
    if len(best) > 4:
        return [max(best.values(), key=lambda i: trays["cables"][i])]
    return list(best.values())


def _dimensions(enclosure: dict[str, Any], frame: _Frame, length: float, width: float) -> list[str]:
    x0, x1 = frame.x(0), frame.x(0) + length
    y0, y1 = frame.top, frame.top + width
    above, beside = y0 - 26, x0 - 26
    middle = (y0 + y1) / 2
    return [
        line(x0, above, x1, above, "dim", 1), line(x0, above - 5, x0, above + 5, "dim", 1),
        line(x1, above - 5, x1, above + 5, "dim", 1),
        text((x0 + x1) / 2, above - 8, f"{enclosure['length_metres']:g} m", 14, "ink", anchor="middle"),
        line(beside, y0, beside, y1, "dim", 1), line(beside - 5, y0, beside + 5, y0, "dim", 1),
        line(beside - 5, y1, beside + 5, y1, "dim", 1),
        f'<text transform="translate({number(beside - 8)} {number(middle)}) rotate(-90)" font-size="14" class="ink"'
        f' text-anchor="middle">{enclosure["width_metres"]:g} m</text>',
    ]  # fmt: skip


def _scale_bar(x: float, y: float) -> list[str]:
    """Two metres in four steps, so that a printed or scaled drawing can still be measured."""
    out = [rect(x + step * 50, y - 6, 50, 6, "ink" if step % 2 == 0 else "bay") for step in range(4)]
    return [
        *out,
        text(x, y + 8, "0", 11, "muted", anchor="middle"),
        text(x + 200, y + 8, "2 m", 11, "muted", anchor="middle"),
    ]


def _legend(tables: PlanTables, x: float, y: float) -> list[str]:
    """Levels by colour, dash and number, and the mark of a rack's front."""
    carried = tables.plan.scene["trays"]["cables_by_level"]
    in_trays = {level for row in carried for level, count in enumerate(row) if count}
    out: list[str] = []
    at = x
    for level in tables.cable_levels:
        words = f"L{level} {plain(tables.level_labels.get(level, ''))}".strip()
        out.append(line(at, y - 4, at + 26, y - 4, f"s-{level % MAX_LEVELS}", 5, dashes=dash(level)))
        out.append(text(at + 32, y, words + ("" if level in in_trays else " (in racks)"), 12, "ink"))
        at += 48 + len(words) * 6.6 + (0 if level in in_trays else 62)
    out.append(line(at, y - 4, at + 26, y - 4, "front", 2.4))
    out.append(text(at + 32, y, "front of a rack", 12, "ink"))
    return out
