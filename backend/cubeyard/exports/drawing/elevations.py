"""Racks seen from the front or the rear: every unit, what stands in it, and the level of each switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cubeyard.exports.drawing.svg import MAX_LEVELS, Picture, line, rect, text
from cubeyard.exports.tables import PlanTables


@dataclass(frozen=True, slots=True)
class ElevationStyle:
    """Sizes in user units. `named` writes each device's name into it, `titled` gives it a title to hover."""

    unit_height: float
    rack_width: float
    gap: float
    named: bool
    titled: bool


SCREEN = ElevationStyle(unit_height=7, rack_width=112, gap=46, named=False, titled=True)
PAPER = ElevationStyle(unit_height=10, rack_width=170, gap=42, named=True, titled=False)
_HEAD = 34.0
_FOOT = 8.0


def rack_height(tables: PlanTables, racks: Sequence[int], style: ElevationStyle) -> float:
    return max((tables.plan.scene["racks"]["units"][rack] for rack in racks), default=0) * style.unit_height


def elevation_picture(
    tables: PlanTables,
    racks: Sequence[int],
    members: Sequence[Sequence[int]],
    style: ElevationStyle,
    *,
    rear: bool = False,
) -> Picture:
    """The racks side by side, all standing on the same floor. Seen from the rear their order and their slots are mirrored."""
    order = list(reversed(racks)) if rear else list(racks)
    tallest = rack_height(tables, racks, style)
    left = 24.0
    body: list[str] = []
    for place, rack in enumerate(order):
        units = tables.plan.scene["racks"]["units"][rack]
        x = left + place * (style.rack_width + style.gap)
        top = _HEAD + tallest - units * style.unit_height
        body.append(_rack(tables, rack, members[rack], x, top, style, rear=rear))
    width = left + len(order) * (style.rack_width + style.gap)
    return Picture(width, _HEAD + tallest + _FOOT, "".join(body))


def _rack(
    tables: PlanTables, rack: int, members: Sequence[int], x: float, top: float, style: ElevationStyle, *, rear: bool
) -> str:
    racks = tables.plan.scene["racks"]
    units = racks["units"][rack]
    height = units * style.unit_height
    name = tables.rack_names[rack]
    facts = f"{racks['servers'][rack]} servers \u00b7 {racks['switches'][rack]} switches"
    out = [
        f"<g><title>{name}, {'rear' if rear else 'front'}</title>",
        text(x, top - 16, name, 13, "ink", bold=True),
        text(x + style.rack_width, top - 16, "rear" if rear else "front", 9, "muted", anchor="end"),
        text(x, top - 5, facts, 9, "muted"),
        rect(x - 3, top - 3, style.rack_width + 6, height + 6, "bay", radius=2),
    ]
    for unit in range(5, units + 1, 5):
        y = top + (units - unit) * style.unit_height
        out.append(text(x - 6, y + style.unit_height * 0.8, unit, min(style.unit_height, 8), "muted", anchor="end"))
    out.extend(
        _device(tables, device, x, top, units, style, rear=rear) for device in members if tables.device_unit[device] > 0
    )
    out += _level_tags(tables, members, x + style.rack_width + 5, top, units, style)
    out.append("</g>")
    return "".join(out)


def _device(
    tables: PlanTables, device: int, x: float, top: float, units: int, style: ElevationStyle, *, rear: bool
) -> str:
    slots, height = max(tables.device_slots[device], 1), tables.device_height[device]
    slot = tables.device_slot[device]
    slot = slots - 1 - slot if rear else slot
    width = style.rack_width / slots
    left = x + slot * width
    y = top + (units - tables.device_unit[device] - height + 1) * style.unit_height
    level = tables.device_level[device]
    name = tables.hosts[device]
    box_height = height * style.unit_height
    title = f"{name} ({tables.device_names[device]}) at {tables.locations[device]}" if style.titled else ""
    classes = f"f-{level if level < 0 else level % MAX_LEVELS}"
    if not style.named:
        return rect(left + 0.6, y + 0.6, width - 1.2, box_height - 1.2, classes, title=title)
    # On paper the name must be read: the level's colour is a bar at the left and an outline, the ground stays white.
    size = min(style.unit_height * 0.68, (width - 8) / max(len(name), 1) * 1.75)
    return (
        rect(left + 0.5, y + 0.5, width - 1, box_height - 1, "bay")
        + rect(left + 0.5, y + 0.5, 4, box_height - 1, classes)
        + text(left + 7, y + box_height / 2 + size * 0.36, name, size, "ink")
    )


def _level_tags(
    tables: PlanTables, members: Sequence[int], x: float, top: float, units: int, style: ElevationStyle
) -> list[str]:
    """`L3` beside each run of units that holds switches of one level: the second cue beside the colour."""
    by_unit: dict[int, int] = {}
    for device in members:
        level = tables.device_level[device]
        if level >= 0:
            for up in range(tables.device_height[device]):
                by_unit.setdefault(tables.device_unit[device] + up, level)
    out: list[str] = []
    run: list[int] = []
    for unit in [*sorted(by_unit), -1]:
        if run and (unit != run[-1] + 1 or by_unit[unit] != by_unit[run[-1]]):
            level = by_unit[run[0]]
            y0 = top + (units - run[-1]) * style.unit_height + 1
            y1 = top + (units - run[0] + 1) * style.unit_height - 1
            out.append(line(x, y0, x, y1, f"s-{level % MAX_LEVELS}", 2))
            out.append(text(x + 4, (y0 + y1) / 2 + 3, f"L{level}", 8.5, "ink"))
            run = []
        if unit >= 0:
            run.append(unit)
    return out


def rack_groups(tables: PlanTables, per_sheet: int) -> list[tuple[str, list[int]]]:
    """Racks that belong together, at most `per_sheet` a group, with the group's label; in rack order."""
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
