"""The width of words in the pack's typeface, accurate enough to choose column widths before
typesetting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cubeyard.exports.pdf.strips import Field

MM_PER_POINT = 25.4 / 72
SMALLEST_POINTS = 7.0
"""The smallest type in a pack."""
_NARROW, _PUNCTUATION, _POINT = 0.40, 0.37, 0.30
# Advance widths of Inter in ems, rounded up: tabular figures, capitals, the rest.
_FIGURE, _CAPITAL, _WIDE, _SMALL = 0.64, 0.70, 0.95, 0.59
_WIDTHS: dict[str, float] = {
    **dict.fromkeys("0123456789", _FIGURE),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", _CAPITAL),
    **dict.fromkeys("MWmw\u2192\u2190", _WIDE),
    **dict.fromkeys("Iijlftr\u00b7", _NARROW),
    **dict.fromkeys(" .,:;/[]()|'", _PUNCTUATION),
    **dict.fromkeys(".: ", _POINT),
    **dict.fromkeys("<>+=", 0.68),
    "-": 0.47,
}


def width_mm(words: str, size_points: float) -> float:
    return sum(_WIDTHS.get(character, _SMALL) for character in words) * size_points * MM_PER_POINT


def clipped(words: str, limit_mm: float, size_points: float) -> str:
    """`words`, shortened with an ellipsis if they are wider than the limit."""
    if width_mm(words, size_points) <= limit_mm:
        return words
    while words and width_mm(words, size_points) + 0.95 * size_points * MM_PER_POINT > limit_mm:
        words = words[:-1]
    return words.rstrip() + "\u2026"


def fit(
    fields: Sequence[Field], lines: Iterable[Sequence[str]], available_mm: float, gutter_mm: float, size_points: float
) -> tuple[list[Field], float]:
    """Field widths for the widest words of each field, and the largest size up to `size_points` at
    which all fields fit side by side; below `SMALLEST_POINTS` they do not fit. Remaining width is
    distributed, so that a sheet is as wide as its page."""
    widest = [width_mm(item.name, SMALLEST_POINTS) for item in fields]
    seen: list[dict[int, str]] = [{} for _ in fields]
    # The widest words are among the longest: measure one text of each length.
    for line in lines:
        for column, words in enumerate(line):
            seen[column].setdefault(len(words), words)
    for column, by_length in enumerate(seen):
        for length in sorted(by_length, reverse=True)[:3]:
            widest[column] = max(widest[column], width_mm(by_length[length], size_points))
    room = available_mm - 1.8 - gutter_mm * (len(fields) - 1)
    total = sum(widest)
    scale = min(1.0, room / total) if total else 1.0
    spare = max(room - total * scale, 0.0) / len(fields)
    sized = [replace(item, width_mm=width * scale + spare) for item, width in zip(fields, widest, strict=True)]
    return sized, size_points * scale


def clip_to(fields: Sequence[Field], line: Sequence[str], size_points: float) -> tuple[str, ...]:
    """A line whose texts are clipped to their fields."""
    return tuple(clipped(words, item.width_mm, size_points) for words, item in zip(line, fields, strict=True))
