"""The colours of PRODUCT.md, for light paper and screens and for dark screens.

A search chose the level colours for normal vision and three kinds of colour blindness. They are for
marks, never for text, and each mark has a second cue (a dash pattern or a label such as `L2`).
"""

from __future__ import annotations

from dataclasses import dataclass

LEVELS_LIGHT = ("#3A6C86", "#C37729", "#23A08F", "#432B4C")
LEVELS_DARK = ("#61BCEC", "#F5BB2C", "#15F9EC", "#B35AB7")
DASHES = ("", "6 3", "2 2", "8 2 2 2", "10 4", "1 3")
"""SVG dash arrays by level, as a second cue in addition to colour; a seventh level repeats the
first, and its label is the cue."""

# Six steps of viridis between 0.15 and 0.9: one sequential ramp, never green to red.
_HEAT = ("#46307E", "#365C8D", "#277F8E", "#1FA187", "#4AC16D", "#A0DA39")


@dataclass(frozen=True, slots=True)
class Theme:
    ink: str
    muted: str
    line: str
    paper: str
    panel: str
    server: str
    failed: str
    levels: tuple[str, ...]


LIGHT = Theme("#0F172A", "#5B6675", "#AEB8C4", "#FFFFFF", "#F3F5F9", "#A9B4C0", "#B3001B", LEVELS_LIGHT)
DARK = Theme("#E6EBF2", "#93A1B2", "#4A5767", "#10151C", "#18202A", "#5C6B7C", "#FF5A5F", LEVELS_DARK)


def level_colour(level: int, theme: Theme = LIGHT) -> str:
    """The mark colour of a level; a server (-1) has its own grey. A fifth level repeats the first
    colour with another dash."""
    return theme.server if level < 0 else theme.levels[level % len(theme.levels)]


def dash(level: int) -> str:
    return DASHES[max(level, 0) % len(DASHES)]


def heat(fraction: float) -> str:
    """The colour of a fill between 0 and 1 (clamped) on the sequential ramp, in six steps."""
    step = int(min(max(fraction, 0.0), 0.999) * len(_HEAT))
    return _HEAT[step]


def rgb(colour: str) -> tuple[int, int, int]:
    """`#RRGGBB` as three bytes."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
