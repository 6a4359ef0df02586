"""Racks from the front or the rear, to scale: every unit, the device in it, and the level of each
switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cubeyard.exports.drawing.scale import SMALLEST_TYPE, type_width, units_per_metre
from cubeyard.exports.drawing.svg import MAX_LEVELS, Picture, line, rect, text
from cubeyard.exports.tables import PlanTables

UNIT_METRES = 0.04445
PANEL_METRES = 0.4826
"""Width of a 19-inch panel; a panel fills the width of a narrower rack."""
GAP = 100.0
"""Space between two racks, for unit numbers on the left and levels on the right."""
_HEAD = 76.0
_FOOT = 14.0
_NAME_INDENT = 12.0


@dataclass(frozen=True, slots=True)
class ElevationStyle:
    """Scale and lettering: `named` writes each device's name into it, `titled` gives it a
    tooltip."""

    denominator: int
    named: bool
    titled: bool

    @property
    def metre(self) -> float:
        return units_per_metre(self.denominator)

    @property
    def unit(self) -> float:
        return UNIT_METRES * self.metre

    def rack_width(self, tables: PlanTables, rack: int) -> float:
        return tables.plan.scene["racks"]["width_metres"][rack] * self.metre

    def panel_width(self, tables: PlanTables, rack: int) -> float:
        return min(PANEL_METRES * self.metre, self.rack_width(tables, rack) - 8)


def names_fit(tables: PlanTables, style: ElevationStyle) -> bool:
    """Whether every device's name can be written into it in the smallest type."""
    panel = min((style.panel_width(tables, rack) for rack in range(len(tables.rack_names))), default=0.0)
    rows = zip(tables.hosts, tables.device_slots, strict=True)
    return all(type_width(name, SMALLEST_TYPE) + _NAME_INDENT + 2 <= panel / max(slots, 1) for name, slots in rows)


def pitch(tables: PlanTables, style: ElevationStyle) -> float:
    """Distance from the left edge of one rack to that of the next."""
    return max((style.rack_width(tables, rack) for rack in range(len(tables.rack_names))), default=0.0) + GAP


def elevation_picture(
    tables: PlanTables,
    racks: Sequence[int],
    members: Sequence[Sequence[int]],
    style: ElevationStyle,
    *,
    rear: bool = False,
) -> Picture:
    """The racks side by side, aligned at the floor. In the rear view, racks and slots are
    mirrored."""
    order = list(reversed(racks)) if rear else list(racks)
    units = tables.plan.scene["racks"]["units"]
    tallest = max((units[rack] for rack in racks), default=0) * style.unit
    step = pitch(tables, style)
    body: list[str] = []
    for place, rack in enumerate(order):
        top = _HEAD + tallest - units[rack] * style.unit
        body.append(_rack(tables, rack, members[rack], 44 + place * step, top, style, rear=rear))
    return Picture(44 + len(order) * step, _HEAD + tallest + _FOOT, "".join(body))


def _rack(
    tables: PlanTables, rack: int, members: Sequence[int], x: float, top: float, style: ElevationStyle, *, rear: bool
) -> str:
    racks = tables.plan.scene["racks"]
    units, width = racks["units"][rack], style.rack_width(tables, rack)
    height = units * style.unit
    name = tables.rack_names[rack]
    side = "rear" if rear else "front"
    facts = f"{racks['servers'][rack]} servers, {racks['switches'][rack]} switches"
    if type_width(facts, SMALLEST_TYPE) > width + GAP - 30:
        facts = f"{racks['servers'][rack]} + {racks['switches'][rack]}"
    panel = style.panel_width(tables, rack)
    left = x + (width - panel) / 2
    out = [
        f"<g><title>{name}, {side}</title>",
        text(x, top - 38, name, 28, "ink", bold=True),
        text(x + width, top - 38, side, SMALLEST_TYPE, "muted", anchor="end"),
        text(x, top - 10, facts, SMALLEST_TYPE, "muted"),
        rect(x, top - 3, width, height + 6, "frame"),
        rect(left, top, panel, height, "bay"),
    ]
    for unit in range(5, units + 1, 5):
        y = top + (units - unit) * style.unit + style.unit / 2 + SMALLEST_TYPE * 0.36
        out.append(text(x - 5, y, unit, SMALLEST_TYPE, "muted", anchor="end"))
    out.extend(
        _device(tables, device, (left, top, panel), units, style, rear=rear)
        for device in members
        if tables.device_unit[device] > 0
    )
    out += _level_tags(tables, members, x + width + 5, top, units, style)
    out.append("</g>")
    return "".join(out)


def _device(
    tables: PlanTables,
    device: int,
    panel: tuple[float, float, float],
    units: int,
    style: ElevationStyle,
    *,
    rear: bool,
) -> str:
    """`panel` is the left edge, top edge and width of the rack's mounting space."""
    slots, height = max(tables.device_slots[device], 1), tables.device_height[device]
    slot = tables.device_slot[device]
    slot = slots - 1 - slot if rear else slot
    width = panel[2] / slots
    left = panel[0] + slot * width
    y = panel[1] + (units - tables.device_unit[device] - height + 1) * style.unit
    level = tables.device_level[device]
    name = tables.hosts[device]
    box_height = height * style.unit
    title = f"{name} ({tables.device_names[device]}) at {tables.locations[device]}" if style.titled else ""
    classes = f"f-{level if level < 0 else level % MAX_LEVELS}"
    if not style.named:
        return rect(left + 0.8, y + 0.8, width - 1.6, box_height - 1.6, classes, title=title)
    # On paper the name must be readable: the level's colour is a bar at the left and an outline,
    # and the background stays white.
    room = width - _NAME_INDENT - 2
    if type_width(name, SMALLEST_TYPE) > room:
        name = name[: max(int(room / type_width("0", SMALLEST_TYPE)) - 1, 0)] + "\u2026"
    return (
        rect(left + 0.6, y + 0.6, width - 1.2, box_height - 1.2, "bay", title=title)
        + rect(left + 0.6, y + 0.6, 8, box_height - 1.2, classes)
        + text(left + _NAME_INDENT, y + box_height / 2 + SMALLEST_TYPE * 0.36, name, SMALLEST_TYPE, "ink")
    )


def _level_tags(
    tables: PlanTables, members: Sequence[int], x: float, top: float, units: int, style: ElevationStyle
) -> list[str]:
    """`L3` next to each run of units with switches of one level, as a cue that does not depend on
    colour."""
    by_unit: dict[int, int] = {}
    for device in members:
        level = tables.device_level[device]
        if level >= 0:
            for up in range(tables.device_height[device]):
                by_unit.setdefault(tables.device_unit[device] + up, level)
    out: list[str] = []
    run: list[int] = []
    last_type = float("inf")
    for unit in [*sorted(by_unit), -1]:
        if run and (unit != run[-1] + 1 or by_unit[unit] != by_unit[run[-1]]):
            level = by_unit[run[0]]
            y0 = top + (units - run[-1]) * style.unit + 2
            y1 = top + (units - run[0] + 1) * style.unit - 2
            out.append(line(x, y0, x, y1, f"s-{level % MAX_LEVELS}", 4))
            # From the bottom of the rack up: where labels would overlap, the previous label keeps
            # its position.
            baseline = min((y0 + y1) / 2 + SMALLEST_TYPE * 0.36, last_type - SMALLEST_TYPE * 0.85)
            out.append(text(x + 7, baseline, f"L{level}", SMALLEST_TYPE, "ink"))
            last_type = baseline
            run = []
        if unit >= 0:
            run.append(unit)
    return out


def rack_groups(tables: PlanTables, per_sheet: int) -> list[tuple[str, list[int]]]:
    """Racks grouped by row or container, at most `per_sheet` per group, in rack order, each with
    the group's label."""
    racks = tables.plan.scene["racks"]
    groups = racks.get("group") or [0] * len(tables.rack_names)
    labels = racks.get("group_label") or [""] * len(tables.rack_names)
    out: list[tuple[str, list[int]]] = []
    for rack, group in enumerate(groups):
        label = str(labels[rack] or "")
        fits = out and len(out[-1][1]) < per_sheet
        if fits and (groups[out[-1][1][-1]] == group or len(set(groups)) > len(groups) / 2):
            out[-1][1].append(rack)
        else:
            out.append((label, [rack]))
    return out
