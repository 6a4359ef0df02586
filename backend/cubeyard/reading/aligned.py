"""Tables whose columns are aligned by spaces, as commands print them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from cubeyard.reading.header import Columns, Header

TITLE = re.compile(r"\S+(?: \S+)*")
"""Titles are two spaces or more apart."""
_RULE = re.compile(r"[\s=+-]*")


def aligned_rows(
    text: str, headers: Sequence[Header], within: int
) -> tuple[Columns, list[tuple[int, list[str]]]] | None:
    """The columns, and the cells of each later line with its number; None if no line near the top
    is a header.

    A column reaches over all characters between two gaps that every line has, and holds one title.
    Linear in the text.
    """
    lines = text.expandtabs().splitlines()
    for at, line in enumerate(lines[:within]):
        titles = [match.span() for match in TITLE.finditer(line)]
        names = [line[start:end] for start, end in titles]
        columns = next((result for header in headers if (result := header.of(names))), None)
        if columns is None or len(titles) < 2:
            continue
        rows = [(number, row) for number, row in enumerate(lines[at + 1 :], start=at + 2) if not _RULE.fullmatch(row)]
        starts = _starts([line, *(row for _, row in rows)], titles)
        if starts is None:
            continue
        ends = [*starts[1:], None]
        return columns, [
            (number, [row[start:end].strip() for start, end in zip(starts, ends, strict=True)]) for number, row in rows
        ]
    return None


def _starts(lines: Sequence[str], titles: Sequence[tuple[int, int]]) -> list[int] | None:
    """Where each column starts; None if no gap of all lines is between two titles."""
    used = bytearray(max(map(len, lines)))
    for line in lines:
        for match in re.finditer(r"\S+", line):
            used[match.start() : match.end()] = b"\1" * len(match[0])
    starts = [0]
    for (_, left), (right, _) in pairwise(titles):
        gaps = [match.span() for match in re.finditer(rb"\0+", used[left:right])]
        if not gaps:
            return None
        # Cells begin or end where their title does; a gap elsewhere may be inside a cell.
        _, end = max(gaps, key=lambda gap: (gap[1] == right - left, gap[0] == 0, gap[1] - gap[0]))
        starts.append(left + end)
    return starts
