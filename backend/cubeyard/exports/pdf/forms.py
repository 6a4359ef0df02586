"""Forms: how the lines of each kind of sheet fit on a paper, with no type smaller than seven
points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cubeyard.exports.pdf.metrics import SMALLEST_POINTS, clip_to, fit
from cubeyard.exports.pdf.page import Paper
from cubeyard.exports.pdf.strips import Field, Group, Layout

Json = dict[str, Any]
_ALMOST = 1e-6


@dataclass(slots=True)
class Section:
    """Pages that belong together, under one bookmark; a page's `marks` are the bookmarks below it:
    depth and title."""

    title: str
    pages: list[Json] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Form:
    """A layout, its paper, and whether the paper is in landscape orientation."""

    paper: Paper
    layout: Layout
    across: bool
    cut: bool
    """Whether some words are wider than their field even in landscape; they end in an ellipsis."""

    def ready(self, groups: Sequence[Group]) -> Sequence[Group]:
        """The groups as this form prints them."""
        if not self.cut:
            return groups
        fields, size = self.layout.fields, self.layout.size
        return [replace(group, lines=[clip_to(fields, line, size) for line in group.lines]) for group in groups]


def form(
    paper: Paper,
    fields: Sequence[Field],
    groups: Sequence[Group],
    *,
    pitch: float,
    size: float,
    gutter: float,
    strips: int = 1,
    strip_gap: float = 6.0,
    drop: float = 0.0,
    whole: int = 0,
) -> Form:
    """As many strips as requested, or fewer if the words need more space; landscape if even one
    strip needs it."""
    lines = [line for group in groups for line in group.lines]
    tries = [(count, False) for count in range(strips, 0, -1)] + [(1, True)]
    sized: list[Field] = []
    fitted, count, across = 0.0, 1, True
    for count, across in tries:
        width = paper.across_width if across else paper.inner_width
        sized, fitted = fit(fields, lines, (width - strip_gap * (count - 1)) / count, gutter, size)
        if fitted >= SMALLEST_POINTS - _ALMOST:
            break
    layout = Layout(
        sized, pitch=pitch, size=max(fitted, SMALLEST_POINTS), lines=paper.lines(pitch, drop, across=across),
        strips=count, gutter=gutter, strip_gap=strip_gap, drop=drop, whole=whole,
    )  # fmt: skip
    return Form(paper, layout, across, cut=fitted < SMALLEST_POINTS - _ALMOST)


def strips_page(used: Form, title: str, subtitle: str, strips: list[Json], note: str = "") -> Json:
    layout, paper = used.layout, used.paper
    size = (paper.height, paper.width) if used.across else (paper.width, paper.height)
    return {
        "kind": "strips", "width": size[0], "height": size[1], "title": title, "subtitle": subtitle, "note": note, "level": 2,
        "marks": [[1, title]], "pitch": layout.pitch, "size": layout.size, "drop": layout.drop, "strips": strips,
    }  # fmt: skip


def numbered(pages: list[Json]) -> list[Json]:
    """Pages with the same title get their number and the total, and each has a bookmark below that
    title."""
    if len(pages) < 2:
        return pages
    for i, page in enumerate(pages):
        page["subtitle"] += f" \u00b7 sheet {i + 1} of {len(pages)}"
        sheet = [2, f"{page['title']}, sheet {i + 1} of {len(pages)}"]
        page["marks"] = [[1, page["title"]], sheet] if i == 0 else [sheet]
    return pages
