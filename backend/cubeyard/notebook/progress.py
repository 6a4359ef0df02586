"""The progress of a computation, on one line of standard error that is removed at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[float], None]
"""Called with the completed share, from 0 to 1."""
AFTER_SECS = 1.0
"""Shorter computations show no progress."""
EVERY_SECS = 0.2
WIDTH = 30


@contextmanager
def line(title: str, wanted: bool | Told | None) -> Iterator[Told]:
    """Shows the completed share. `wanted` is True or False, a function that receives the share
    instead, or None to show it only in a terminal or a notebook."""
    if callable(wanted):
        yield wanted
        return
    if not (_watched() if wanted is None else wanted):
        yield lambda _share: None
        return
    began, shown_at, written = time.monotonic(), 0.0, 0

    def told(share: float) -> None:
        nonlocal shown_at, written
        now = time.monotonic()
        if (wanted is None and now - began < AFTER_SECS) or now - shown_at < EVERY_SECS:
            return
        shown_at = now
        full = round(min(max(share, 0.0), 1.0) * WIDTH)
        left = f", {(now - began) * (1 - share) / share:,.0f} s left" if share > 0 else ""
        words = f"{title} [{'#' * full}{'.' * (WIDTH - full)}] {share:.0%}{left}"
        sys.stderr.write("\r" + words.ljust(written))
        sys.stderr.flush()
        written = len(words)

    try:
        yield told
    finally:
        if written:
            sys.stderr.write("\r" + " " * written + "\r")
            sys.stderr.flush()


def _watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
