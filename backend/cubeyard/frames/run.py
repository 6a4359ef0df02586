"""Frames that are in every run's stream, for all engines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

RunState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class StateFrame(TypedDict):
    """The run entered a state."""

    state: RunState
    attempt: Annotated[int, Field(description="How often a worker has begun it.")]
    reason: str


class ProgressEvent(TypedDict):
    """The progress of the run. The only event of a stream that is not a frame: it is neither stored
    nor numbered."""

    state: RunState
    progress: float
    points_done: int
    points_total: int
    remaining_secs: float | None
