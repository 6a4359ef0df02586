"""A plan as DXF, in metres, for the drawing of the building: floor plan, elevations and, if chosen,
3D bodies.

Inside: `drawing.py`, the file with its layers and first view; `floor.py`, `elevations.py` and
`bodies.py`, its parts; `text.py`, their lettering.

Not here: positions and routes, which the engine computes (`solids.py` in the parent folder has them
in three dimensions).

The same plan gives the same bytes.
"""

from cubeyard.exports.cad.drawing import floor_drawing

__all__ = ["floor_drawing"]
