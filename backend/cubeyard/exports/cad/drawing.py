"""The DXF file: its layers, its blocks, and its first view."""

from __future__ import annotations

import io
from collections.abc import Iterator

import ezdxf
from ezdxf.document import Drawing

from cubeyard.exports.cad import bodies, elevations, floor
from cubeyard.exports.cad.text import STYLE
from cubeyard.exports.formats import Progress
from cubeyard.exports.options import NO_OPTIONS, ExportOptions
from cubeyard.exports.tables import PlanTables
from cubeyard.plans.view import PlanView

LAYERS = {
    "container": 7, "racks": 8, "trays": 4, "bundles": 6, "labels": 7, "elevations": 8, "devices": 5, "device-names": 7,
}  # fmt: skip
"""Layer name to AutoCAD colour index."""
_METRES = 6
"""The value of $INSUNITS for metres."""
_CHUNK_CHARACTERS = 1 << 20
_BORDER = 0.4
_SCREEN_ASPECT = 1.6
"""Width by height of the window for which the first view is computed."""

# The same plan must give the same bytes, so dates and identifiers in the header are fixed ones. The
# library has this option for the whole process only; no other code here writes DXF.
ezdxf.options.write_fixed_meta_data_for_testing = True  # pyright: ignore[reportPrivateImportUsage]


def floor_drawing(plan: PlanView, progress: Progress, options: ExportOptions = NO_OPTIONS) -> Iterator[bytes]:
    """One DXF file (R2010, ASCII). Coordinates are the scene's: metres, x along the enclosure;
    elevations are below the floor plan."""
    progress(0.0, "floor plan")
    drawing = ezdxf.new("R2010")  # pyright: ignore[reportPrivateImportUsage]
    drawing.header["$INSUNITS"] = _METRES
    drawing.header["$MEASUREMENT"] = 1
    drawing.appids.new("CUBEYARD")
    drawing.styles.new(STYLE, dxfattribs={"font": "arial.ttf"})
    for name, colour in (LAYERS | (bodies.LAYERS if options.solid else {})).items():
        drawing.layers.new(name, dxfattribs={"color": colour})
    tables = PlanTables(plan)
    right, top, bottom = floor.draw(drawing, tables)
    progress(0.2, "elevations")
    right, bottom = elevations.draw(drawing, tables, bottom, right)
    if options.solid:
        progress(0.6, "bodies")
        bodies.draw(drawing, tables)
    progress(0.7, "file")
    _open_on(drawing, (-_BORDER, bottom - _BORDER), (right + _BORDER, top + _BORDER))
    # The library registers classes in the order of a set, which differs from process to process:
    # sort them first.
    drawing.classes.add_required_classes(drawing.dxfversion)
    drawing.classes.classes = dict(sorted(drawing.classes.classes.items()))
    stream = io.StringIO()
    drawing.write(stream)
    text = stream.getvalue()
    for start in range(0, len(text), _CHUNK_CHARACTERS):
        yield text[start : start + _CHUNK_CHARACTERS].encode()
    progress(1.0, "drawing")


def _open_on(drawing: Drawing, low: tuple[float, float], high: tuple[float, float]) -> None:
    """The whole drawing fills the first view, and "zoom to extents" shows it."""
    drawing.modelspace().reset_extents((*low, 0.0), (*high, 0.0))
    drawing.modelspace().reset_limits(low, high)
    for name, corner in (("$EXTMIN", (*low, 0.0)), ("$EXTMAX", (*high, 0.0)), ("$LIMMIN", low), ("$LIMMAX", high)):
        drawing.header[name] = corner
    width, height = high[0] - low[0], high[1] - low[1]
    centre = ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2)
    drawing.set_modelspace_vport(max(height, width / _SCREEN_ASPECT), centre)
