"""The floor plan: the enclosure, racks as block references with attributes, trays at their height,
bundles along them.

A bundle is a polyline from rack to rack along its trays; its line width is the bundle's diameter.
Racks are blocks, so that a CAD program lists them; each facing has its own block, so that all names
are upright.
"""

from __future__ import annotations

import math
from typing import Any

from ezdxf.document import Drawing
from ezdxf.enums import TextEntityAlignment
from ezdxf.layouts.layout import Modelspace

from cubeyard.exports.cad.text import STYLE, height_that_fits, words
from cubeyard.exports.palette import LIGHT, level_colour, rgb
from cubeyard.exports.tables import PlanTables, enclosure_title, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

_HEADING = 0.25
"""Above the container, for its size; below it, for the plan's name."""

_NAME, _NAME_MARGIN = 0.1, 0.05
"""The height of a rack's name and its distance from the rack's side, in metres."""


def draw(drawing: Drawing, tables: PlanTables) -> tuple[float, float, float]:
    """Draws the floor and returns its right, upper and lower ends."""
    plan, space = tables.plan, drawing.modelspace()
    enclosure = plan.scene["enclosure"]
    _container(space, enclosure)
    _racks(drawing, space, plan)
    _trays(space, plan)
    _bundles(space, plan, tables)
    words(space, plan.name, (0.0, -_HEADING - 0.16), 0.16)
    words(space, provenance(plan).replace("\u00b7", "-"), (0.0, -_HEADING - 0.36), 0.09)
    return enclosure["length_metres"], enclosure["width_metres"] + _HEADING + 0.14, -_HEADING - 0.45


def _rack_block(drawing: Drawing, width: float, depth: float, *, north: bool) -> str:
    """The block of a rack of this size: its outline, with the front edge doubled, centred on the
    insertion point."""
    name = f"RACK_{round(width * 1000)}X{round(depth * 1000)}" + ("_NORTH" if north else "")
    if name in drawing.blocks:
        return name
    block = drawing.blocks.new(name)
    w, d = width / 2, depth / 2
    front = d - 0.03 if north else -d + 0.03
    block.add_lwpolyline([(-w, -d), (w, -d), (w, d), (-w, d)], close=True, dxfattribs={"layer": "racks"})
    block.add_line((-w, front), (w, front), dxfattribs={"layer": "racks"})
    top = d - 0.16 if north else -0.16
    for row, tag in enumerate(("NAME", "SERVERS", "SWITCHES", "POWER_W", "CABLES_LEAVING")):
        block.add_attdef(
            tag,
            insert=(-w + 0.05, top - row * 0.07),
            height=0.05,
            # Invisible attributes for lists of racks. Some programs (such as LibreCAD) do not show
            # attributes, so the name is also a text.
            dxfattribs={"layer": "labels", "flags": 1, "style": STYLE},
        )
    return name


def _container(space: Modelspace, enclosure: dict[str, Any]) -> None:
    length, width = enclosure["length_metres"], enclosure["width_metres"]
    corners = [(0.0, 0.0), (length, 0.0), (length, width), (0.0, width)]
    space.add_lwpolyline(corners, close=True, dxfattribs={"layer": "container", "lineweight": 50})
    size = f"{enclosure_title(enclosure)}  {length:g} x {width:g} x {enclosure['height_metres']:g} m"
    words(space, size, (length / 2, width + _HEADING), 0.14, align=TextEntityAlignment.MIDDLE_CENTER)


def _racks(drawing: Drawing, space: Modelspace, plan: PlanView) -> None:
    racks = plan.scene["racks"]
    for i, name in enumerate(racks["name"]):
        north = racks["facing"][i] == "north"
        block = _rack_block(drawing, racks["width_metres"][i], racks["depth_metres"][i], north=north)
        at = (racks["x_metres"][i], racks["y_metres"][i])
        reference = space.add_blockref(block, at, dxfattribs={"layer": "racks"})
        reference.add_auto_attribs(
            {
                "NAME": plain(name),
                "SERVERS": str(racks["servers"][i]),
                "SWITCHES": str(racks["switches"][i]),
                "POWER_W": f"{racks['power_watts'][i]:.0f}",
                "CABLES_LEAVING": str(racks["cables_leaving"][i]),
            }
        )
        width, depth = racks["width_metres"][i], racks["depth_metres"][i]
        # In the front half, because column trays run over the middle.
        ahead = depth / 2 - 0.16 if north else -0.16
        height = height_that_fits(name, width - 2 * _NAME_MARGIN, _NAME)
        words(space, name, (at[0] - width / 2 + _NAME_MARGIN, at[1] + ahead), height)


def _trays(space: Modelspace, plan: PlanView) -> None:
    trays = plan.scene["trays"]
    for i, name in enumerate(trays["name"]):
        z = trays["z_metres"][i]
        start = (trays["x0_metres"][i], trays["y0_metres"][i], z)
        end = (trays["x1_metres"][i], trays["y1_metres"][i], z)
        line = space.add_line(start, end, dxfattribs={"layer": "trays", "lineweight": 35})
        line.set_xdata(
            "CUBEYARD",
            [(1000, f"tray {plain(name)}"), (1071, int(trays["cables"][i])), (1040, float(trays["area_cm2"][i])),
             (1040, float(trays["fill"][i]))],
        )  # fmt: skip


def _bundles(space: Modelspace, plan: PlanView, tables: PlanTables) -> None:
    bundles = plan.scene["bundles"]
    for i, by_level in enumerate(bundles["by_level"]):
        main = max(range(len(by_level)), key=by_level.__getitem__, default=0)
        diameter = float(bundles["diameter_mm"][i]) / 1000
        line = space.add_lwpolyline(tables.bundle_route(i), dxfattribs={"layer": "bundles"})
        line.dxf.const_width = diameter if math.isfinite(diameter) else 0.0
        line.rgb = rgb(level_colour(main, LIGHT))
        line.set_xdata(
            "CUBEYARD",
            [(1000, f"bundle {tables.bundle_names[i]}"), (1071, int(bundles["cables"][i])),
             (1071, int(bundles["pull_order"][i])), (1040, float(bundles["length_metres"][i]))],
        )  # fmt: skip
