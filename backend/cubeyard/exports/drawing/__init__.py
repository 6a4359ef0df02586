"""Pictures of a plan: the floor from above, the racks from the front and the rear. Pure text, no library."""

from cubeyard.exports.drawing.sheet import drawing_file

__all__ = ["drawing_file"]
