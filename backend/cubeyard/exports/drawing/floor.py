"""The floor from above, to scale: enclosure, racks with their fronts, trays as stripes of cables by
level."""

from __future__ import annotations

import math
from typing import Any

from cubeyard.exports.drawing.scale import SMALLEST_TYPE, scale_bar, type_width, units_per_metre
from cubeyard.exports.drawing.svg import MAX_LEVELS, Picture, line, number, rect, text
from cubeyard.exports.palette import dash
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

MARGIN = 150.0
_WIDEST_TRAY_METRES, _WIDEST_TRAY_UNITS = 0.12, 14.0
"""The drawn width of the fullest tray: to scale, but at least wide enough to see; other trays are
in proportion. [ours]"""
_THINNEST_STRIPE = 1.6
_LEGEND_PITCH = 42.0
_RACK_TYPE = 29.0


def floor_picture(tables: PlanTables, denominator: int) -> Picture:
    """The floor at 1 : `denominator`; y grows upwards in the plan and downwards in the picture."""
    enclosure = tables.plan.scene["enclosure"]
    frame = _Frame(denominator, enclosure["width_metres"])
    length, width = enclosure["length_metres"] * frame.metre, enclosure["width_metres"] * frame.metre
    whole_width = max(length, 900.0) + 2 * MARGIN
    bottom = MARGIN + width + (40 if _named_in_rows(tables, frame) else 16)
    legend, legend_height = _legend(tables, MARGIN, bottom + 34, whole_width - 2 * MARGIN)
    body = [
        rect(frame.x(0), frame.top, length, width, "panel"),
        *_racks(tables, frame),
        *_trays(tables, frame),
        *_rack_labels(tables, frame),
        f'<rect x="{number(frame.x(0))}" y="{number(frame.top)}" width="{number(length)}" height="{number(width)}"'
        ' class="wall" stroke-width="6"/>',
        *_dimensions(enclosure, frame, length, width),
        *legend,
        scale_bar(whole_width - MARGIN, bottom + 26 + legend_height, denominator),
    ]
    return Picture(whole_width, bottom + legend_height + 84, "".join(body))


class _Frame:
    """Converts metres on the floor to user units in the picture."""

    def __init__(self, denominator: int, width_metres: float) -> None:
        self.metre = units_per_metre(denominator)
        self.left = self.top = MARGIN
        self._depth = width_metres * self.metre
        self.tray = max(_WIDEST_TRAY_METRES * self.metre, _WIDEST_TRAY_UNITS)

    def x(self, metres: float) -> float:
        return self.left + metres * self.metre

    def y(self, metres: float) -> float:
        return self.top + self._depth - metres * self.metre


def _racks(tables: PlanTables, frame: _Frame) -> list[str]:
    racks = tables.plan.scene["racks"]
    out: list[str] = ['<g id="racks">']
    for i, name in enumerate(tables.rack_names):
        width, depth = racks["width_metres"][i] * frame.metre, racks["depth_metres"][i] * frame.metre
        left, top = frame.x(racks["x_metres"][i]) - width / 2, frame.y(racks["y_metres"][i]) - depth / 2
        title = (
            f"{name}: {racks['servers'][i]} servers, {racks['switches'][i]} switches, "
            f"{racks['power_watts'][i] / 1000:.1f} kW, {racks['cables_leaving'][i]} cables leave it"
        )
        front = top + 3 if _faces_up(racks, i) else top + depth - 3
        out.append(rect(left, top, width, depth, "bay", title=title))
        out.append(line(left + 6, front, left + width - 6, front, "front", 4.8))
    out.append("</g>")
    return out


def _faces_up(racks: dict[str, Any], rack: int) -> bool:
    """North is up in the picture."""
    return racks["facing"][rack] == "north"


def _lettering(tables: PlanTables, frame: _Frame) -> str:
    """The lettering of racks at this scale: `across` them, `along` them, or in `rows` if no type
    fits."""
    racks = tables.plan.scene["racks"]
    longest = max(tables.rack_names, key=len, default="")
    width = min(racks["width_metres"], default=1.0) * frame.metre
    depth = min(racks["depth_metres"], default=1.0) * frame.metre
    if type_width(longest, SMALLEST_TYPE) <= width * 0.95 and depth >= 2.6 * SMALLEST_TYPE:
        return "across"
    if type_width(longest, SMALLEST_TYPE) <= depth * 0.9 and width >= 0.9 * SMALLEST_TYPE:
        return "along"
    return "rows"


def _named_in_rows(tables: PlanTables, frame: _Frame) -> bool:
    return _lettering(tables, frame) == "rows"


def _rack_labels(tables: PlanTables, frame: _Frame) -> list[str]:
    """Name and power in the front half of each rack, because column trays run over the middle;
    drawn over crossing trays."""
    how = _lettering(tables, frame)
    if how == "rows":
        return _row_labels(tables, frame)
    racks = tables.plan.scene["racks"]
    out: list[str] = ['<g id="rack-labels">']
    for i, name in enumerate(tables.rack_names):
        width, depth = racks["width_metres"][i] * frame.metre, racks["depth_metres"][i] * frame.metre
        x, y = frame.x(racks["x_metres"][i]), frame.y(racks["y_metres"][i])
        if how == "along":
            size = SMALLEST_TYPE
            out.append(
                f'<text transform="translate({number(x + size * 0.36)} {number(y)}) rotate(-90)"'
                f' font-size="{number(size)}" class="ink halo" text-anchor="middle" font-weight="600">{name}</text>'
            )
            continue
        size = max(SMALLEST_TYPE, min(_RACK_TYPE, width * 0.95 / max(type_width(name, 1.0), 1.0)))
        kilowatts = f"{racks['power_watts'][i] / 1000:.1f} kW"
        room = depth / 2 - 9 - frame.tray / 2
        powered = room >= size + SMALLEST_TYPE and type_width(kilowatts, SMALLEST_TYPE) <= width
        below = SMALLEST_TYPE * 1.1 if powered else 0.0
        first = y - depth / 2 + 9 + size if _faces_up(racks, i) else y + depth / 2 - 12 - below
        out.append(text(x, first, name, size, "ink halo", anchor="middle", bold=True))
        if powered:
            out.append(text(x, first + below, kilowatts, SMALLEST_TYPE, "muted halo", anchor="middle"))
    out.append("</g>")
    return out


def _row_labels(tables: PlanTables, frame: _Frame) -> list[str]:
    """`R001 to R040` under the left end of each row, for racks that are too small for lettering."""
    racks = tables.plan.scene["racks"]
    rows: dict[float, list[int]] = {}
    for i, y in enumerate(racks["y_metres"]):
        rows.setdefault(round(y, 2), []).append(i)
    out: list[str] = ['<g id="rack-labels">']
    for members in rows.values():
        members.sort(key=lambda i: racks["x_metres"][i])
        first, last = members[0], members[-1]
        x = frame.x(racks["x_metres"][first] - racks["width_metres"][first] / 2)
        y = frame.y(racks["y_metres"][first] - racks["depth_metres"][first] / 2) + SMALLEST_TYPE
        words = f"{tables.rack_names[first]} to {tables.rack_names[last]}, left to right"
        out.append(text(x, y, words, SMALLEST_TYPE, "ink halo", bold=True))
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
        # Keeps the label within the picture if the tray is near the edge.
        half = type_width(words, SMALLEST_TYPE) / 2
        x = min(max(x, frame.x(0) + half), max(frame.x(tables.plan.scene["enclosure"]["length_metres"]) - half, half))
        # On the side away from the rack fronts, where no rack has its name.
        below = _rear_is_below(tables, trays["y0_metres"][i])
        baseline = y + frame.tray / 2 + 26 if below else y - frame.tray / 2 - 10
        out.append(text(x, baseline, words, SMALLEST_TYPE, "ink halo", anchor="middle"))
    out.append("</g>")
    return out


def _rear_is_below(tables: PlanTables, y_metres: float) -> bool:
    """Whether the racks under a column tray have their rear below the tray in the picture; true
    without racks."""
    racks = tables.plan.scene["racks"]
    under = [i for i, y in enumerate(racks["y_metres"]) if abs(y - y_metres) < racks["depth_metres"][i] / 2]
    return not under or _faces_up(racks, under[0])


def _stripes(frame: _Frame, trays: dict[str, Any], i: int, name: str, most: int) -> list[str]:
    """One tray segment: one stripe per level, side by side, with widths by their shares of the
    cables."""
    x0, y0 = frame.x(trays["x0_metres"][i]), frame.y(trays["y0_metres"][i])
    x1, y1 = frame.x(trays["x1_metres"][i]), frame.y(trays["y1_metres"][i])
    span = math.hypot(x1 - x0, y1 - y0)
    if span == 0:
        return []
    across = (-(y1 - y0) / span, (x1 - x0) / span)
    by_level = trays["cables_by_level"][i]
    widths = [max(count / most * frame.tray, _THINNEST_STRIPE) if count else 0.0 for count in by_level]
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
    """The segments to label: the fullest one of each straight run of column trays, by y."""
    best: dict[float, int] = {}
    for i, kind in enumerate(trays["kind"]):
        if kind == "column" and trays["cables"][i]:
            key = round(trays["y0_metres"][i], 2)
            if key not in best or trays["cables"][i] > trays["cables"][best[key]]:
                best[key] = i
    # A hall with many rows would be covered in labels: there only the fullest tray gets one.
    if len(best) > 4:
        return [max(best.values(), key=lambda i: trays["cables"][i])]
    return list(best.values())


def _dimensions(enclosure: dict[str, Any], frame: _Frame, length: float, width: float) -> list[str]:
    x0, x1 = frame.x(0), frame.x(0) + length
    y0, y1 = frame.top, frame.top + width
    above, beside = y0 - 52, x0 - 52
    middle = (y0 + y1) / 2
    return [
        line(x0, above, x1, above, "dim", 2), line(x0, above - 10, x0, above + 10, "dim", 2),
        line(x1, above - 10, x1, above + 10, "dim", 2),
        text((x0 + x1) / 2, above - 16, f"{enclosure['length_metres']:g} m", 30, "ink", anchor="middle"),
        line(beside, y0, beside, y1, "dim", 2), line(beside - 10, y0, beside + 10, y0, "dim", 2),
        line(beside - 10, y1, beside + 10, y1, "dim", 2),
        f'<text transform="translate({number(beside - 16)} {number(middle)}) rotate(-90)" font-size="30" class="ink"'
        f' text-anchor="middle">{enclosure["width_metres"]:g} m</text>',
    ]  # fmt: skip


def _legend(tables: PlanTables, left: float, top: float, room: float) -> tuple[list[str], float]:
    """Levels by colour, dash and number, and the mark of a rack's front; wraps to the picture's
    width."""
    carried = tables.plan.scene["trays"]["cables_by_level"]
    in_trays = {level for row in carried for level, count in enumerate(row) if count}
    items: list[tuple[str, int | None]] = []
    for level in tables.cable_levels:
        words = f"L{level} {plain(tables.level_labels.get(level, ''))}".strip()
        items.append((words + ("" if level in in_trays else " (in racks)"), level))
    items.append(("front of a rack", None))
    out: list[str] = []
    x, y = left, top
    for words, level in items:
        width = 64 + type_width(words, 26)
        if x > left and x + width > left + room:
            x, y = left, y + _LEGEND_PITCH
        if level is None:
            out.append(line(x, y - 8, x + 52, y - 8, "front", 4.8))
        else:
            out.append(line(x, y - 8, x + 52, y - 8, f"s-{level % MAX_LEVELS}", 10, dashes=dash(level)))
        out.append(text(x + 64, y, words, 26, "ink"))
        x += width + 28
    return out, y - top + _LEGEND_PITCH
