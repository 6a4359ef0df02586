"""Sheets of lines: fields side by side, on a fixed pitch, paginated before typesetting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a sheet."""

    name: str
    width_mm: float
    right: bool = False
    bold: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Lines under one title; `levels` gives the colour of the bar at the left of each line (`None`:
    no bars)."""

    left: str
    right: str
    lines: list[tuple[str, ...]]
    levels: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The division of a sheet's page; all lengths in millimetres, `size` in points."""

    fields: Sequence[Field]
    pitch: float
    size: float
    lines: int
    """Lines per strip."""
    strips: int = 1
    """Strips side by side on a page."""
    gutter: float = 1.5
    strip_gap: float = 6.0
    drop: float = 0.0
    """Extra space above the strips, for a note."""
    whole: int = 0
    """Groups of at most this many lines are never split between two strips."""

    @property
    def strip_width(self) -> float:
        return 1.8 + sum(item.width_mm for item in self.fields) + self.gutter * (len(self.fields) - 1)


@dataclass(slots=True)
class _Strip:
    layout: Layout
    texts: list[list[str]]
    heads: list[Json] = field(default_factory=list)
    bars: list[Json] = field(default_factory=list)
    zebra: list[int] = field(default_factory=list)
    used: int = 0

    @classmethod
    def empty(cls, layout: Layout) -> _Strip:
        return cls(layout, [[] for _ in layout.fields])

    @property
    def room(self) -> int:
        return self.layout.lines - self.used

    def blank(self) -> None:
        for column in self.texts:
            column.append("")
        self.used += 1

    def head(self, left: str, right: str) -> None:
        self.heads.append({"line": self.used, "left": left, "right": right})
        self.blank()

    def add(self, lines: Sequence[tuple[str, ...]], levels: Sequence[int] | None) -> None:
        for i, line in enumerate(lines):
            if i % 2:
                self.zebra.append(self.used)
            if levels is not None:
                self._bar(levels[i])
            for column, words in zip(self.texts, line, strict=True):
                column.append(words)
            self.used += 1

    def _bar(self, level: int) -> None:
        last = self.bars[-1] if self.bars else None
        if last is not None and last["level"] == level and last["line"] + last["count"] == self.used:
            last["count"] += 1
        else:
            self.bars.append({"line": self.used, "count": 1, "level": level})

    def document(self, x: float) -> Json:
        return {
            "x": x,
            "width": self.layout.strip_width,
            "gutter": self.layout.gutter,
            "fields": [
                {
                    "name": item.name,
                    "width": item.width_mm,
                    "right": item.right,
                    "bold": item.bold,
                    "muted": item.muted,
                    # An empty line would have no height: a space that does not collapse keeps the
                    # pitch.
                    "text": "\n".join(words or "\u00a0" for words in column),
                }
                for item, column in zip(self.layout.fields, self.texts, strict=True)
            ],
            "heads": self.heads,
            "bars": self.bars,
            "zebra": self.zebra,
        }


def paginate(layout: Layout, groups: Sequence[Group]) -> Iterator[list[Json]]:
    """The strips of each page. A group that does not fit continues in the next strip under the same
    title.

    A title is never the last line of a strip: at least two of its lines follow it.
    """
    page: list[_Strip] = []
    strip = _Strip.empty(layout)
    for group in groups:
        done = 0
        while done < len(group.lines) or (not group.lines and done == 0):
            left_over = len(group.lines) - done
            gap = 1 if strip.used else 0
            kept = not done and len(group.lines) <= min(layout.whole, layout.lines - 1)
            least = len(group.lines) if kept else 2
            if strip.used and strip.room < gap + 1 + min(left_over, least):
                page, strip, full = _next(layout, page, strip)
                if full is not None:
                    yield full
                gap = 0
            if gap:
                strip.blank()
            strip.head(group.left + (" (continued)" if done else ""), "" if done else group.right)
            take = min(left_over, strip.room)
            strip.add(group.lines[done : done + take], group.levels[done : done + take] if group.levels else None)
            done += take
            if not group.lines:
                break
    if strip.used:
        page.append(strip)
    if page:
        yield _documents(layout, page)


def _next(layout: Layout, page: list[_Strip], strip: _Strip) -> tuple[list[_Strip], _Strip, list[Json] | None]:
    page.append(strip)
    if len(page) == layout.strips:
        return [], _Strip.empty(layout), _documents(layout, page)
    return page, _Strip.empty(layout), None


def _documents(layout: Layout, page: list[_Strip]) -> list[Json]:
    return [strip.document(i * (layout.strip_width + layout.strip_gap)) for i, strip in enumerate(page)]
