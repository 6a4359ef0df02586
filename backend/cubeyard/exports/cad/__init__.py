"""A plan as DXF, in metres, for the building's own drawing: floor plan, elevations and, if chosen,
3D bodies.

In: `drawing.py`, the file with its layers and what it opens on; `floor.py`, `elevations.py` and
`bodies.py`, its parts; `text.py`, their lettering.

Not in: positions and routes, which the engine computes (`solids.py` beside this folder has them in
space).

The same plan is the same bytes.
"""

from cubeyard.exports.cad.drawing import floor_drawing

__all__ = ["floor_drawing"]
