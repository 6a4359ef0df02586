"""Drawings of a plan as SVG: the floor from above, the racks from the front and the rear.

Inside: `sheet.py`, the whole file; `floor.py`, `elevations.py` and `trays.py`, its parts; `svg.py`,
the primitives.

Not here: positions and cable routes, which the engine computes. Plain text, no library.

The same plan gives the same bytes.
"""

from cubeyard.exports.drawing.sheet import drawing_file, floor_file

__all__ = ["drawing_file", "floor_file"]
