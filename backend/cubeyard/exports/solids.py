"""The 3D bodies of a plan: container, racks, devices, trays and bundles, in metres, z upwards.

The engine computes positions, sizes and routes. This module chooses dimensions that the plan does
not define: the depth of a device, the thickness of a tray, and the positions of bundles side by
side in a tray. [ours]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cubeyard.exports.drawing.elevations import PANEL_METRES, UNIT_METRES
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

Point = tuple[float, float, float]

_DEVICE_DEPTH = 0.7
"""The depth of a device as a fraction of the rack's depth, from its front."""
_TRAY_WIDTH, _TRAY_THICKNESS = 0.3, 0.02
_SPREAD, _LANES, _LAYERS = 0.022, 11, 3
"""Bundles in a tray: their spacing, and how many fit side by side and in layers before they
overlap."""
_DROP_WITHOUT_TRAYS = 0.3


@dataclass(frozen=True, slots=True)
class Box:
    """A body with edges along the axes."""

    kind: Literal["rack", "device", "tray"]
    name: str
    centre: Point
    size: Point
    level: int = -1
    """The level of a device's switch, -1 for a server."""
    rack: int = -1


@dataclass(frozen=True, slots=True)
class Path:
    """A bundle as a line in space."""

    name: str
    points: list[Point]
    diameter: float
    level: int
    """The most frequent level of its cables."""


def plinth(tables: PlanTables, rack: int) -> float:
    """Height of a rack's first unit above the floor: half of the rack's height that units do not
    fill."""
    rest = rack_height(tables, rack) - tables.plan.scene["racks"]["units"][rack] * UNIT_METRES
    return max(rest / 2, 0.0)


def rack_height(tables: PlanTables, rack: int) -> float:
    scene = tables.plan.scene
    return max(scene["enclosure"]["rack_height_metres"] or 0.0, scene["racks"]["units"][rack] * UNIT_METRES)


def racks(tables: PlanTables) -> Iterator[Box]:
    columns = tables.plan.scene["racks"]
    for i, name in enumerate(tables.rack_names):
        height = rack_height(tables, i)
        centre = columns["x_metres"][i], columns["y_metres"][i], height / 2
        size = columns["width_metres"][i], columns["depth_metres"][i], height
        yield Box("rack", name, centre, size, rack=i)


def devices(tables: PlanTables) -> Iterator[Box]:
    """Every device with a position, in device order."""
    columns = tables.plan.scene["racks"]
    for i, host in enumerate(tables.hosts):
        rack, unit = tables.device_rack[i], tables.device_unit[i]
        if not 0 <= rack < len(tables.rack_names) or unit < 1:
            continue
        # Seen from the front, the first slot is on the left.
        turn = -1.0 if columns["facing"][rack] == "north" else 1.0
        panel = min(PANEL_METRES, columns["width_metres"][rack])
        slots = max(tables.device_slots[i], 1)
        across = panel * ((tables.device_slot[i] + 0.5) / slots - 0.5)
        depth = columns["depth_metres"][rack]
        height = tables.device_height[i] * UNIT_METRES
        x = columns["x_metres"][rack] + turn * across
        y = columns["y_metres"][rack] - turn * depth * (1 - _DEVICE_DEPTH) / 2
        z = plinth(tables, rack) + (unit - 1) * UNIT_METRES + height / 2
        size = panel / slots * 0.97, depth * _DEVICE_DEPTH, height * 0.94
        yield Box("device", host, (x, y, z), size, tables.device_level[i], rack)


def trays(tables: PlanTables) -> Iterator[Box]:
    columns = tables.plan.scene["trays"]
    for i, name in enumerate(columns["name"]):
        x0, x1, y0, y1 = (columns[f"{key}_metres"][i] for key in ("x0", "x1", "y0", "y1"))
        z = columns["z_metres"][i]
        east, north = abs(x1 - x0), abs(y1 - y0)
        if max(east, north) > 0:
            wide, deep = (east, _TRAY_WIDTH) if east >= north else (_TRAY_WIDTH, north)
            centre = (x0 + x1) / 2, (y0 + y1) / 2, z - _TRAY_THICKNESS
            yield Box("tray", plain(name), centre, (wide, deep, _TRAY_THICKNESS))


def bundles(tables: PlanTables) -> Iterator[Path]:
    """Each bundle: up from its first rack, along its trays, down into its second."""
    scene = tables.plan.scene
    columns = scene["bundles"]
    for i, by_level in enumerate(columns["by_level"]):
        level = max(range(len(by_level)), key=by_level.__getitem__, default=0)
        yield Path(tables.bundle_names[i], _path(tables, i), float(columns["diameter_mm"][i] or 0) / 1000, level)


def _path(tables: PlanTables, bundle: int) -> list[Point]:
    scene = tables.plan.scene
    heights = [scene["trays"]["z_metres"][tray] for tray in tables.bundle_trays(bundle)]
    ends = [scene["bundles"][key][bundle] for key in ("rack_a", "rack_b")]
    tops = [rack_height(tables, rack) for rack in ends]
    above = max(heights, default=max(tops) + _DROP_WITHOUT_TRAYS)
    aside = (bundle % _LANES - _LANES // 2) * _SPREAD
    over = above + (bundle // _LANES % _LAYERS) * _SPREAD
    flat = tables.bundle_route(bundle)
    if len(flat) == 1:
        flat *= 2
    raised = [(x + aside, y + aside, over) for x, y in flat]
    down = [(raised[0][0], raised[0][1], tops[0]), (raised[-1][0], raised[-1][1], tops[1])]
    points = [down[0], *raised, down[1]]
    return [point for point, before in zip(points, [None, *points], strict=False) if point != before]


def length(path: Path) -> float:
    """Length of the line in metres."""
    return sum(
        sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
        for first, second in itertools.pairwise(path.points)
    )
