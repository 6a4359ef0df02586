"""Sends flows, and returns the fabric's frames of that time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cubeyard.emulation.fabric.fabrics import Fabrics

Json = dict[str, Any]

SILENT_SECS = 15.0
"""A fabric that sends no frame for this long hangs. A fabric that has exited is detected
immediately."""


def sent(fabrics: Fabrics, run_id: str, flows: list[Json], secs: float, check: Callable[[], None]) -> Iterator[Json]:
    """Send these flows for `secs`, and yield the frames of that time. `check` is called between
    frames and may raise.

    Raises FabricGoneError if the fabric ends or becomes silent.
    """
    fabrics.call("workload", run=run_id, flows=flows)
    # Frames contain differences, so a missed frame would be missing in every sum. Therefore
    # subscribe before sending.
    with fabrics.stream(run_id) as stream:
        fabrics.call("start", run=run_id)
        for frame in stream.frames(SILENT_SECS, check):
            if frame.get("at_secs", 0.0) > 0:
                yield frame
            if frame.get("at_secs", 0.0) >= secs:
                break
    fabrics.call("stop", run=run_id)
