"""A few SVG primitives and the style sheet they share.

Elements have classes instead of colours, so that one picture works in the light and dark themes:
`ink`, `muted`, `panel`, `line`, and `f-2` / `s-2` for the fill and stroke of level 2 (`f--1` is a
server).
"""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.exports.palette import DARK, LIGHT, Theme
from cubeyard.exports.text import xml

SYSTEM_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
PRINT_FONT = "Inter"
MAX_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing: its size in user units, tenths of a millimetre on paper, and its elements."""

    width: float
    height: float
    body: str


def number(value: float) -> str:
    """A coordinate with at most two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def rect(x: float, y: float, width: float, height: float, classes: str, *, radius: float = 0, title: str = "") -> str:
    rounded = f' rx="{number(radius)}"' if radius else ""
    geometry = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    inner = f"><title>{xml(title)}</title></rect>" if title else "/>"
    return f'<rect {geometry}{rounded} class="{classes}"{inner}'


def line(
    x0: float, y0: float, x1: float, y1: float, classes: str, width: float = 1, *, dashes: str = "", title: str = ""
) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    inner = f"><title>{xml(title)}</title></line>" if title else "/>"
    return (
        f'<line x1="{number(x0)}" y1="{number(y0)}" x2="{number(x1)}" y2="{number(y1)}" class="{classes}"'
        f' stroke-width="{number(width)}"{dashed}{inner}'
    )


def text(
    x: float, y: float, words: object, size: float, classes: str = "ink", *, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" class="{classes}"{where}{weight}>{xml(words)}</text>'


def _rules(theme: Theme) -> str:
    rules = [
        f".ink{{fill:{theme.ink}}}.muted{{fill:{theme.muted}}}.paper{{fill:{theme.paper}}}.panel{{fill:{theme.panel}}}",
        f".bay{{fill:{theme.paper};stroke:{theme.line};stroke-width:1.5}}.line{{stroke:{theme.line};fill:none}}",
        f".frame{{fill:{theme.panel};stroke:{theme.muted};stroke-width:2}}.wall{{stroke:{theme.ink};fill:none}}",
        f".halo{{stroke:{theme.paper};stroke-width:6px;stroke-linejoin:round;paint-order:stroke}}",
        f".front{{stroke:{theme.ink}}}.dim{{stroke:{theme.muted};fill:none}}.inv{{fill:{theme.paper}}}",
        f".f--1{{fill:{theme.server}}}.failed{{fill:{theme.failed}}}",
    ]
    for level in range(MAX_LEVELS):
        colour = theme.levels[level % len(theme.levels)]
        rules.append(f".f-{level}{{fill:{colour}}}.s-{level}{{stroke:{colour};fill:none}}")
    return "".join(rules)


def document(picture: Picture, name: str, description: str, *, printed: bool = False) -> str:
    """A standalone SVG file, with its size on paper in millimetres.

    `printed` leaves out the dark theme and names the print font, for embedding on paper.
    """
    style = f"text{{font-family:{PRINT_FONT if printed else SYSTEM_FONT};font-variant-numeric:tabular-nums}}" + _rules(
        LIGHT
    )
    if not printed:
        style += "@media (prefers-color-scheme:dark){" + _rules(DARK) + "}"
    width, height = number(picture.width), number(picture.height)
    ground = "" if printed else f'<rect width="{width}" height="{height}" class="paper"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(picture.width / 10)}mm" height="{number(picture.height / 10)}mm"'
        f' viewBox="0 0 {width} {height}" role="img"'
        f' aria-labelledby="title desc"><title id="title">{xml(name)}</title><desc id="desc">{xml(description)}</desc>'
        f"<style>{style}</style>{ground}{picture.body}</svg>\n"
    )


def moved(body: str, dx: float, dy: float) -> str:
    return f'<g transform="translate({number(dx)} {number(dy)})">{body}</g>'


def stacked(above: Picture, below: Picture, gap: float = 24.0) -> Picture:
    """Two pictures at the same scale, one below the other, their left edges in line."""
    body = above.body + moved(below.body, 0, above.height + gap)
    return Picture(max(above.width, below.width), above.height + gap + below.height, body)
