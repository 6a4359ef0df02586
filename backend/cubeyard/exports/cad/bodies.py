"""Racks, devices, trays and bundles as 3D bodies: a scaled cube for each box and a line for each
bundle."""

from __future__ import annotations

from ezdxf.document import Drawing
from ezdxf.layouts.blocklayout import BlockLayout

from cubeyard.exports import solids
from cubeyard.exports.palette import LIGHT, level_colour, rgb
from cubeyard.exports.tables import PlanTables

LAYERS = {"solid-racks": 8, "solid-devices": 5, "solid-trays": 4, "solid-bundles": 6}
"""Layer name to AutoCAD colour index."""
_BODY = "BODY"
_BY_BLOCK = 0


def draw(drawing: Drawing, tables: PlanTables) -> None:
    _cube(drawing.blocks.new(_BODY))
    _edges(drawing.blocks.new("FRAME"))
    space = drawing.modelspace()
    for box, block, layer in (
        *((box, "FRAME", "solid-racks") for box in solids.racks(tables)),
        *((box, _BODY, "solid-devices") for box in solids.devices(tables)),
        *((box, _BODY, "solid-trays") for box in solids.trays(tables)),
    ):
        scale = dict(zip(("xscale", "yscale", "zscale"), box.size, strict=True))
        body = space.add_blockref(block, box.centre, dxfattribs={"layer": layer, **scale})
        if box.kind == "device":
            body.rgb = rgb(level_colour(box.level, LIGHT))
        body.set_xdata("CUBEYARD", [(1000, f"{box.kind} {box.name}")])
    for path in solids.bundles(tables):
        line = space.add_polyline3d(path.points, dxfattribs={"layer": "solid-bundles"})
        line.rgb = rgb(level_colour(path.level, LIGHT))
        line.set_xdata("CUBEYARD", [(1000, f"bundle {path.name}")])


def _corners() -> list[tuple[float, float, float]]:
    return [(x, y, z) for z in (-0.5, 0.5) for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))]


def _cube(block: BlockLayout) -> None:
    """A cube of one metre around the origin, in the colour of the inserting entity."""
    at = _corners()
    for face in ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)):
        block.add_3dface([at[i] for i in face], dxfattribs={"color": _BY_BLOCK})


def _edges(block: BlockLayout) -> None:
    """The edges of the unit cube: a rack's frame, through which its devices are visible."""
    at = _corners()
    for low in range(4):
        for first, second in ((low, (low + 1) % 4), (low + 4, (low + 1) % 4 + 4), (low, low + 4)):
            block.add_line(at[first], at[second], dxfattribs={"color": _BY_BLOCK})
