"""Lettering in the drawing."""

from __future__ import annotations

from ezdxf.enums import TextEntityAlignment
from ezdxf.layouts.layout import Modelspace

from cubeyard.exports.text import plain

STYLE = "CUBEYARD"
_CHARACTER_EMS = 0.95
"""Advance width of a character relative to the height of capitals, rounded up, to choose a size
that fits."""


def words(
    space: Modelspace,
    text: str,
    at: tuple[float, float],
    height: float,
    *,
    layer: str = "labels",
    align: TextEntityAlignment = TextEntityAlignment.LEFT,
) -> None:
    """A line of text; `height` is the height of capitals, in metres."""
    entity = space.add_text(plain(text), height=height, dxfattribs={"layer": layer, "style": STYLE})
    entity.set_placement(at, align=align)


def height_that_fits(text: str, width: float, height: float) -> float:
    """The largest height of capitals, at most `height`, at which the text is at most `width`
    wide."""
    return min(height, width / max(len(text) * _CHARACTER_EMS, 1e-9))
