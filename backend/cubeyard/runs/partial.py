"""Writes partial results of a long computation as frames from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable

from cubeyard.experiments.points import Json
from cubeyard.runs.frames import Frames

LEAST_BETWEEN_PARTIALS_SECS = 0.25
SHARE_BETWEEN_PARTIALS = 0.05
"""Interval between partial results, as a share of the elapsed time."""


def seldom(frames: Frames, kind: str, payload: Callable[[str], Json]) -> Callable[[str], None]:
    """Writes documents as frames without a point: soon at first, then ever more seldom, so that a
    long run keeps a hundred of them and not thousands."""
    began = time.monotonic()
    wrote: float | None = None

    def show(document: str) -> None:
        nonlocal wrote
        now = time.monotonic()
        if wrote is None or now - wrote >= max(LEAST_BETWEEN_PARTIALS_SECS, SHARE_BETWEEN_PARTIALS * (now - began)):
            wrote = now
            frames.lease.check()
            frames.write(kind, payload(document))

    return show
