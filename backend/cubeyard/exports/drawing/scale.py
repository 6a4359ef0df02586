"""Scales that metric rulers have, and a scale bar to check a print.

A picture's user unit is a tenth of a millimetre on paper, so that sizes of type and scales can be
stated and measured.
"""

from __future__ import annotations

from collections.abc import Callable

from cubeyard.exports.drawing.svg import Picture, number, rect, text

UNIT_MM = 0.1
RULER_SCALES = (5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000)
"""Denominators on metric scale rulers, and their multiples by ten or a hundred."""
SMALLEST_TYPE = 25.0
"""7.1 points: smaller type is not readable at arm's length in a container."""
_CHARACTER_EMS = 0.63
"""Advance width of a character in ems, rounded up, to choose a size that fits."""
_BAR_STEPS = 4
_BAR_HEIGHT = 14.0


def units_per_metre(denominator: int) -> float:
    """User units of a picture at 1 : `denominator` for a metre of the building."""
    return 1000 / UNIT_MM / denominator


def type_width(words: str, size: float) -> float:
    """An upper bound of the width of `words` at a size, in the size's unit."""
    return len(words) * _CHARACTER_EMS * size


def mm(picture: Picture) -> tuple[float, float]:
    """Width and height on paper, in millimetres."""
    return picture.width * UNIT_MM, picture.height * UNIT_MM


def largest_that_fits(
    draw: Callable[[int], Picture], box_mm: tuple[float, float], scales: tuple[int, ...] = RULER_SCALES
) -> tuple[int, Picture]:
    """The largest scale at which the picture fits the box, and the picture; the smallest scale if
    none fits."""
    made: tuple[int, Picture] | None = None
    for denominator in scales:
        made = denominator, draw(denominator)
        width, height = mm(made[1])
        if width <= box_mm[0] and height <= box_mm[1]:
            return made
    assert made is not None
    return made


def bar_metres(denominator: int, longest_mm: float = 80.0) -> float:
    """The length that a scale bar represents: 1, 2 or 5 times a power of ten metres, the largest
    that fits `longest_mm`."""
    longest = longest_mm * denominator / 1000
    power = 10.0**-3
    best = power
    while power <= longest:
        best = next(step * power for step in (5, 2, 1) if step * power <= longest)
        power *= 10
    return best


def scale_bar(right: float, y: float, denominator: int) -> str:
    """A bar of four steps that ends at `right`, with its length and the scale before it. Its top is
    at `y`."""
    metres = bar_metres(denominator)
    length = metres * units_per_metre(denominator)
    left, step = right - length, length / _BAR_STEPS
    blocks = [rect(left + i * step, y, step, _BAR_HEIGHT, "ink" if i % 2 == 0 else "bay") for i in range(_BAR_STEPS)]
    below = y + _BAR_HEIGHT + 28
    out = [
        f'<g class="scale-bar" data-metres="{number(metres)}" data-scale="{denominator}">',
        *blocks,
        text(left, below, "0", SMALLEST_TYPE, "muted", anchor="middle"),
        text(left + length / 2, below, f"{metres / 2:g}", SMALLEST_TYPE, "muted", anchor="middle"),
        text(right, below, f"{metres:g} m", SMALLEST_TYPE, "muted", anchor="middle"),
        text(left - 24, y + _BAR_HEIGHT, f"1 : {denominator:,}", 28, "ink", anchor="end", bold=True),
        "</g>",
    ]
    return "".join(out)
