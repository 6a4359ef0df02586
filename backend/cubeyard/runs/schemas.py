"""What the run endpoints take and give, and what the frames of a stream look like."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from cubeyard.experiments.schemas import FailureKind, Prediction
from cubeyard.plans.schemas import EXAMPLE_ID

RunState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
RunKind = Literal["prediction", "sweep", "figure", "emulation"]
ResultFormat = Literal["json", "csv", "parquet"]


class Run(BaseModel):
    """One attempt at an experiment or a figure."""

    id: str = Field(examples=[EXAMPLE_ID])
    kind: RunKind
    title: str
    experiment_id: str | None
    figure: str | None
    state: RunState
    reason: str = Field(description="Why it failed, or what it waits for; empty when there is nothing to say.")
    attempts: int = Field(description="How often a worker has begun it.")
    deaths: int = Field(description="How many workers in a row died at it without getting further.")
    progress: float = Field(ge=0, le=1)
    points_done: int
    points_total: int
    remaining_secs: float | None = Field(description="An estimate from how fast it went so far.")
    last_seq: int = Field(description="The number of its latest frame.")
    engine_version: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    events_url: str
    results_url: str


class RunList(BaseModel):
    items: list[Run]
    next: str | None = Field(default=None, description="Give this as `cursor` for the following page; null at the end.")


class PointFrame(BaseModel):
    """The payload of a `point` frame."""

    point: int
    topology: int
    seed: int
    failure_kind: FailureKind | None
    failure_ratio: float | None
    result: Prediction


class RunEvent(BaseModel):
    """One server-sent event of a run's stream. All but `progress` are frames, which are kept and numbered."""

    id: str | None = Field(default=None, description="The frame's number, to resume after; `progress` has none.")
    event: Literal[
        "state", "point", "figure", "progress", "network", "phase", "tick", "second", "fault", "predicted", "stop-all", "report"
    ]  # fmt: skip
    data: str = Field(
        description="JSON. `state`: {state, attempt, reason}. `point`: a `PointFrame`. `figure`: the figure's document, with `partial: true` while it grows. "
        "`progress`: {state, progress, points_done, points_total, remaining_secs}. Of emulations: `network` begins an attempt and says what the columns of "
        "each `tick` are; `second` adds ten of them up; `predicted` says what is expected from `at_secs` on, with what has `failed` then and the links that are "
        "`degraded`: `[{link, kind, rate_bits_per_sec or loss_ratio}]`; `report` ends it."
    )


class RunResults(BaseModel):
    run: Run
    complete: bool = Field(description="False while more is to come, or when the run did not succeed.")
    points: list[PointFrame]
    figure: dict[str, Any] | None = Field(description="The figure's own document, when the run was for a figure.")
    report: dict[str, Any] | None = Field(description="What an emulation measured, with its verdicts.")
