"""Measuring, and the table that the measurements end in."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One promise. `ours` against `other` (a rival's measurement, or a ceiling) in `unit`;
    `at_least` is the promised ratio of other to ours, so that more is better everywhere."""

    what: str
    ours: float
    other: float
    other_name: str
    unit: str
    at_least: float = 1.0
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.other / self.ours

    @property
    def kept(self) -> bool:
        return self.ratio >= self.at_least


def cpu_secs(work: Callable[[], object], repeats: int) -> float:
    """The median of this process's CPU seconds for `work`, over `repeats` calls after one that is
    not counted.

    CPU time, all threads together: other work on the machine makes wall-clock time longer but
    hardly this.
    """
    work()
    taken: list[float] = []
    for _ in range(repeats):
        gc.collect()
        began = time.process_time()
        kept = work()
        taken.append(time.process_time() - began)
        del kept
    return statistics.median(taken)


def print_rows(rows: list[Row]) -> None:
    """The promises as one table: what, ours, the rival's or the ceiling, ratio, promised ratio,
    verdict."""
    head = ("measured", "ours", "against", "", "unit", "ratio", "promised", "", "")
    body = [
        (
            row.what,
            f"{row.ours:,.3g}" if row.ours < 1000 else f"{row.ours:,.0f}",
            f"{row.other:,.4g}" if row.other < 1000 else f"{row.other:,.0f}",
            row.other_name,
            row.unit,
            f"{row.ratio:.2f}",
            f">= {row.at_least:g}",
            "kept" if row.kept else "BROKEN",
            row.note,
        )
        for row in rows
    ]
    print_table(head, body, right={1, 2, 5, 6})


def print_table(head: tuple[str, ...], body: list[tuple[str, ...]], right: set[int]) -> None:
    """Columns as wide as their widest cell; those in `right` are aligned to the right."""
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    for line in [head, tuple("-" * width for width in widths), *body]:
        cells = (
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
