"""The floor plan as DXF, in metres, for the building's own drawing.

Layers `container`, `racks`, `trays`, `bundles`, `labels`. Racks are block references with attributes, so that a CAD program
lists them; trays lie at their height above the floor; a bundle is a polyline from rack to rack along its trays, whose thickness in the
drawing is its diameter.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

import ezdxf
from ezdxf.document import Drawing
from ezdxf.enums import TextEntityAlignment
from ezdxf.layouts.layout import Modelspace

from cubeyard.exports.formats import Progress
from cubeyard.exports.palette import LIGHT, level_colour, rgb
from cubeyard.exports.tables import PlanTables, enclosure_title, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

LAYERS = {"container": 7, "racks": 8, "trays": 4, "bundles": 6, "labels": 7}
"""Layer name to AutoCAD colour index."""
_METRES = 6
"""The value of $INSUNITS for metres."""
_CHUNK_CHARACTERS = 1 << 20

# A plan has no clock: the same plan must give the same bytes, so dates and identifiers in the header are fixed ones. The
# option is the library's own, for the whole process; nothing else here writes DXF.
ezdxf.options.write_fixed_meta_data_for_testing = True  # pyright: ignore[reportPrivateImportUsage]


def _text(space: Modelspace, words: str, at: tuple[float, float], height: float, *, centred: bool = True) -> None:
    entity = space.add_text(plain(words), height=height, dxfattribs={"layer": "labels", "style": "CUBEYARD"})
    alignment = TextEntityAlignment.MIDDLE_CENTER if centred else TextEntityAlignment.LEFT
    entity.set_placement(at, align=alignment)


def _rack_block(drawing: Drawing, width: float, depth: float) -> str:
    """The block of a rack of this size: its outline, with the front edge doubled, centred on the insertion point."""
    name = f"RACK_{round(width * 1000)}X{round(depth * 1000)}"
    if name in drawing.blocks:
        return name
    block = drawing.blocks.new(name)
    w, d = width / 2, depth / 2
    block.add_lwpolyline([(-w, -d), (w, -d), (w, d), (-w, d)], close=True, dxfattribs={"layer": "racks"})
    block.add_line((-w, -d + 0.03), (w, -d + 0.03), dxfattribs={"layer": "racks"})
    for row, tag in enumerate(("NAME", "SERVERS", "SWITCHES", "POWER_W", "CABLES_LEAVING")):
        block.add_attdef(
            tag,
            insert=(-w + 0.05, d - 0.1 - row * 0.09),
            height=0.07 if row else 0.1,
            dxfattribs={"layer": "labels", "flags": 0 if row == 0 else 1, "style": "CUBEYARD"},
        )
    return name


def _container(space: Modelspace, enclosure: dict[str, Any]) -> None:
    length, width = enclosure["length_metres"], enclosure["width_metres"]
    corners = [(0.0, 0.0), (length, 0.0), (length, width), (0.0, width)]
    space.add_lwpolyline(corners, close=True, dxfattribs={"layer": "container", "lineweight": 50})
    _text(
        space,
        f"{enclosure_title(enclosure)}  {length:g} x {width:g} x {enclosure['height_metres']:g} m",
        (length / 2, width + 0.25),
        0.14,
    )


def _racks(drawing: Drawing, space: Modelspace, plan: PlanView) -> None:
    racks = plan.scene["racks"]
    for i, name in enumerate(racks["name"]):
        block = _rack_block(drawing, racks["width_metres"][i], racks["depth_metres"][i])
        at = (racks["x_metres"][i], racks["y_metres"][i])
        # The block's front edge is at its south; a rack facing north is turned round.
        turn = 180.0 if racks["facing"][i] == "north" else 0.0
        reference = space.add_blockref(block, at, dxfattribs={"layer": "racks", "rotation": turn})
        reference.add_auto_attribs(
            {
                "NAME": plain(name),
                "SERVERS": str(racks["servers"][i]),
                "SWITCHES": str(racks["switches"][i]),
                "POWER_W": f"{racks['power_watts'][i]:.0f}",
                "CABLES_LEAVING": str(racks["cables_leaving"][i]),
            }
        )


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


def floor_drawing(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One DXF file (R2010, ASCII). Coordinates are the scene's: metres, x along the enclosure."""
    progress(0.0, "drawing")
    drawing = ezdxf.new("R2010")  # pyright: ignore[reportPrivateImportUsage]
    drawing.header["$INSUNITS"] = _METRES
    drawing.header["$MEASUREMENT"] = 1
    drawing.appids.new("CUBEYARD")
    drawing.styles.new("CUBEYARD", dxfattribs={"font": "arial.ttf"})
    for name, colour in LAYERS.items():
        drawing.layers.new(name, dxfattribs={"color": colour})
    space = drawing.modelspace()
    tables = PlanTables(plan)
    _container(space, plan.scene["enclosure"])
    _racks(drawing, space, plan)
    progress(0.3, "racks")
    _trays(space, plan)
    _bundles(space, plan, tables)
    progress(0.7, "bundles")
    _text(space, plain(plan.name), (0.0, -0.3), 0.16, centred=False)
    _text(space, provenance(plan).replace("\u00b7", "-"), (0.0, -0.5), 0.09, centred=False)
    # The library registers classes in the order of a set, which differs from process to process: sort them first.
    drawing.classes.add_required_classes(drawing.dxfversion)
    drawing.classes.classes = dict(sorted(drawing.classes.classes.items()))
    stream = io.StringIO()
    drawing.write(stream)
    text = stream.getvalue()
    for start in range(0, len(text), _CHUNK_CHARACTERS):
        yield text[start : start + _CHUNK_CHARACTERS].encode()
    progress(1.0, "drawing")
