"""A chart as SVG: lines with bands over seeds, distinguished by colour, dashes and markers; with
inline styles and no script."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from cubeyard.exports.palette import DASHES, LIGHT, Theme
from cubeyard.reports.content import Chart, Line, shown

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 30, 46
LEGEND_LINE = 20
MAX_LINES = 16


@dataclass(frozen=True)
class Colours:
    """CSS colours: values for print, variables for a page with a light and a dark theme."""

    ink: str
    muted: str
    line: str
    levels: tuple[str, ...]

    @staticmethod
    def of(theme: Theme) -> Colours:
        return Colours(theme.ink, theme.muted, theme.line, theme.levels)


PRINT = Colours.of(LIGHT)
PAGE = Colours("var(--ink)", "var(--muted)", "var(--line)", tuple(f"var(--level-{i})" for i in range(4)))


def svg(chart: Chart, colours: Colours) -> str:
    """The chart, with its legend below. An empty string if there are no data."""
    lines = [line for line in chart.lines if line.x][:MAX_LINES]
    if not lines:
        return ""
    height = HEIGHT + LEGEND_LINE * len(lines)
    xs, ys = _scales(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(chart.words or chart.title)}" font-family="Inter, system-ui, sans-serif" font-size="12">',
        *_axes(chart, xs, ys, colours),
    ]
    for index, line in enumerate(lines):
        parts += _curve(line, index, xs, ys, colours)
        parts += _legend(line.name, index, colours)
    return "".join([*parts, "</svg>"])


def standalone(chart: Chart) -> str:
    """The chart as a separate document with its title, in the colours of print: some programs
    that draw SVG ignore variables. An empty string if there are no data."""
    drawn = svg(chart, PRINT)
    if not drawn:
        return ""
    ground = f'<rect width="100%" height="100%" style="fill:{LIGHT.paper}"/>'
    head, body = drawn.split(">", 1)
    return f"{head}><title>{escape(chart.title)}</title>{ground}{body}"


def variables(theme: Theme) -> str:
    """A theme's colours as the CSS variables of `PAGE`."""
    plain = {"ink": theme.ink, "muted": theme.muted, "line": theme.line, "paper": theme.paper, "panel": theme.panel}
    levels = {f"level-{index}": colour for index, colour in enumerate(theme.levels)}
    return ";".join(f"--{name}:{value}" for name, value in (plain | levels).items())


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    stop: float
    ticks: list[float]

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        return round(self.start + (value - self.low) / span * (self.stop - self.start), 2)


def _scales(lines: list[Line]) -> tuple[_Scale, _Scale]:
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (*line.y, *(line.high or ()), *(line.low or ()))]
    left, right = min(xs), max(xs)
    if left == right:
        left, right = left - 0.5, right + 0.5
    ticks = sorted(set(xs)) if len(set(xs)) <= 11 else _nice(left, right)
    top = max([*ys, 0.0]) or 1.0
    bottom = min([*ys, 0.0])
    rungs = _nice(bottom, top)
    return (
        _Scale(left, right, LEFT, WIDTH - RIGHT, ticks),
        _Scale(rungs[0], rungs[-1], HEIGHT - BOTTOM, TOP, rungs),
    )


def _nice(low: float, high: float) -> list[float]:
    """Round numbers from at most `low` to at least `high`, about five steps."""
    step = 10.0 ** math.floor(math.log10((high - low) / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 12 - math.floor(math.log10(step))
    return [round(number * step, digits) for number in range(first, last + 1)]


def _axes(chart: Chart, xs: _Scale, ys: _Scale, colours: Colours) -> list[str]:
    parts = []
    for tick in ys.ticks:
        y = ys(tick)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" style="stroke:{colours.line};stroke-width:0.5"/>'
            + _text(shown(tick, share=chart.y_share), LEFT - 8, y + 4, colours.muted, "end")
        )
    for tick in xs.ticks:
        if xs.low <= tick <= xs.high:
            text = shown(tick, share=chart.x_share)
            parts.append(_text(text, xs(tick), HEIGHT - BOTTOM + 18, colours.muted, "middle"))
    parts.append(_text(chart.x_title, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, colours.ink, "middle"))
    parts.append(_text(chart.y_title, LEFT - 56, 14, colours.ink, "start"))
    return parts


def _text(text: str, x: float, y: float, colour: str, anchor: str) -> str:
    return (
        f'<text x="{round(x, 2)}" y="{round(y, 2)}" text-anchor="{anchor}" style="fill:{colour}">{escape(text)}</text>'
    )


def _curve(line: Line, index: int, xs: _Scale, ys: _Scale, colours: Colours) -> list[str]:
    colour, dash = colours.levels[index % len(colours.levels)], DASHES[index % len(DASHES)]
    points = [(xs(x), ys(y)) for x, y in zip(line.x, line.y, strict=True)]
    parts = []
    if line.low is not None and line.high is not None:
        there = [(xs(x), ys(y)) for x, y in zip(line.x, line.high, strict=True)]
        back = [(xs(x), ys(y)) for x, y in zip(reversed(line.x), reversed(line.low), strict=True)]
        parts.append(f'<polygon points="{_pairs(there + back)}" style="fill:{colour};fill-opacity:0.16"/>')
    parts.append(
        f'<polyline points="{_pairs(points)}" stroke-dasharray="{dash or "none"}" '
        f'style="fill:none;stroke:{colour};stroke-width:2"/>'
    )
    return parts + [_marker(x, y, index, colour) for x, y in points]


def _pairs(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _marker(x: float, y: float, index: int, colour: str) -> str:
    style = f'style="fill:{colour}"'
    match index % 3:
        case 0:
            return f'<circle cx="{x}" cy="{y}" r="3.2" {style}/>'
        case 1:
            return f'<rect x="{round(x - 3, 2)}" y="{round(y - 3, 2)}" width="6" height="6" {style}/>'
        case _:
            return f'<polygon points="{_pairs([(x, round(y - 4, 2)), (round(x + 4, 2), round(y + 3, 2)), (round(x - 4, 2), round(y + 3, 2))])}" {style}/>'


def _legend(name: str, index: int, colours: Colours) -> list[str]:
    colour, dash = colours.levels[index % len(colours.levels)], DASHES[index % len(DASHES)]
    y = HEIGHT + LEGEND_LINE * index + 8
    return [
        f'<line x1="{LEFT}" x2="{LEFT + 36}" y1="{y}" y2="{y}" stroke-dasharray="{dash or "none"}" style="stroke:{colour};stroke-width:2"/>',
        _marker(LEFT + 18, y, index, colour),
        _text(name, LEFT + 44, y + 4, colours.ink, "start"),
    ]
