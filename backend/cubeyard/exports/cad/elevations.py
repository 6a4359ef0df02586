"""Racks from the front and the rear, below the floor plan, at the same scale: frames, and each
device where it is mounted."""

from __future__ import annotations

from collections.abc import Sequence

from ezdxf.document import Drawing
from ezdxf.entities.lwpolyline import LWPolyline
from ezdxf.enums import TextEntityAlignment
from ezdxf.layouts.layout import Modelspace

from cubeyard.exports.cad.text import height_that_fits, words
from cubeyard.exports.drawing.elevations import PANEL_METRES, UNIT_METRES, rack_groups
from cubeyard.exports.palette import LIGHT, level_colour, rgb
from cubeyard.exports.tables import PlanTables

MAX_ELEVATIONS = 96
"""CAD programs open a file with more racks slowly; the drawing states how many are left out.
[ours]"""
_RACKS_PER_ROW = 8
_BETWEEN_RACKS, _BETWEEN_SIDES, _BETWEEN_ROWS = 0.25, 0.5, 0.6
_TITLE, _NAME, _UNIT = 0.12, 0.07, 0.028


def draw(drawing: Drawing, tables: PlanTables, below: float, right: float) -> tuple[float, float]:
    """Draws below the line y = `below`, with the rear to the right of the front. Returns the right
    and the lower end of the drawing."""
    space = drawing.modelspace()
    columns = tables.plan.scene["racks"]
    members = tables.devices_by_rack()
    groups = [(label, racks) for label, racks in rack_groups(tables, _RACKS_PER_ROW) if racks[0] < MAX_ELEVATIONS]
    y = below
    for _, racks in groups:
        tallest = max(columns["units"][rack] for rack in racks) * UNIT_METRES
        y -= _BETWEEN_ROWS + tallest
        span = tables.rack_names[racks[0]] + ("" if len(racks) == 1 else f" to {tables.rack_names[racks[-1]]}")
        x = 0.0
        for side in ("front", "rear"):
            words(space, f"Elevations {span}, {side}", (x, y + tallest + 0.22), _TITLE)
            for rack in reversed(racks) if side == "rear" else racks:
                _rack(space, tables, rack, members[rack], (x, y), rear=side == "rear")
                x += columns["width_metres"][rack] + _BETWEEN_RACKS
            # At least as wide as the title, so that the rear's title does not overlap it.
            x = max(x + _BETWEEN_SIDES, x - len(racks) * (columns["width_metres"][racks[0]] + _BETWEEN_RACKS) + 4.0)
        right = max(right, x)
    shown = sum(len(racks) for _, racks in groups)
    hidden = len(tables.rack_names) - shown
    if hidden:
        y -= _BETWEEN_ROWS
        words(space, f"{hidden:,} of {len(tables.rack_names):,} racks have no elevation here.", (0.0, y), _TITLE)
    return right, y


def _rack(
    space: Modelspace,
    tables: PlanTables,
    rack: int,
    members: Sequence[int],
    corner: tuple[float, float],
    *,
    rear: bool,
) -> None:
    """`corner` is the lower left corner of the rack's frame."""
    columns = tables.plan.scene["racks"]
    width, units = columns["width_metres"][rack], columns["units"][rack]
    x, y = corner
    _box(space, (x, y, width, units * UNIT_METRES), "elevations")
    words(space, tables.rack_names[rack], (x, y + units * UNIT_METRES + 0.05), _NAME, layer="elevations")
    panel = min(PANEL_METRES, width - 0.02)
    left = x + (width - panel) / 2
    for unit in range(5, units + 1, 5):
        at = (left - 0.01, y + (unit - 0.5) * UNIT_METRES)
        words(space, str(unit), at, _UNIT, layer="elevations", align=TextEntityAlignment.MIDDLE_RIGHT)
    for device in members:
        unit = tables.device_unit[device]
        if unit < 1:
            continue
        slots = max(tables.device_slots[device], 1)
        slot = tables.device_slot[device]
        slot = slots - 1 - slot if rear else slot
        box = (
            left + slot * panel / slots, y + (unit - 1) * UNIT_METRES, panel / slots, tables.device_height[device] * UNIT_METRES,
        )  # fmt: skip
        _device(space, tables, device, box)


def _device(space: Modelspace, tables: PlanTables, device: int, box: tuple[float, float, float, float]) -> None:
    outline = _box(space, box, "devices")
    outline.rgb = rgb(level_colour(tables.device_level[device], LIGHT))
    name = tables.hosts[device]
    height = height_that_fits(name, box[2] * 0.92, UNIT_METRES * 0.55)
    middle = (box[0] + box[2] / 2, box[1] + box[3] / 2)
    words(space, name, middle, height, layer="device-names", align=TextEntityAlignment.MIDDLE_CENTER)


def _box(space: Modelspace, box: tuple[float, float, float, float], layer: str) -> LWPolyline:
    """Left, bottom, width and height."""
    x, y, width, height = box
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    return space.add_lwpolyline(corners, close=True, dxfattribs={"layer": layer})
