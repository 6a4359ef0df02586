"""Requests and responses of the run endpoints, and the frames of a stream."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from cubeyard.frames.catalog import EVENTS, PointFrame
from cubeyard.frames.run import RunState
from cubeyard.kit.models import Model
from cubeyard.plans.schemas import EXAMPLE_ID
from cubeyard.runs.queue import Lane

RunKind = Literal["prediction", "sweep", "simulation", "figure", "emulation"]
ResultFormat = Literal["json", "csv", "parquet"]


class QueuePlace(Model):
    """Where a queued run waits."""

    lane: Lane = Field(
        description="`quick`: for runs that are over soon; a longer one moves to `long`. The others are for real packets, by workers that can emulate: `real` in namespaces, `real-containers`, and `real-images` with images of users."
    )
    before: int = Field(
        description="Runs that come first, those under way included; all lanes but `quick` have the same workers."
    )
    wait_secs: float | None = Field(description="What one worker still needs for them; null if one has no estimate.")


class Run(Model):
    """One attempt at an experiment or a figure."""

    id: str = Field(examples=[EXAMPLE_ID])
    kind: RunKind
    title: str
    experiment_id: str | None
    figure: str | None
    whole: bool = Field(description="Of a figure: with all of the paper's data, where one of several parts would do.")
    state: RunState
    reason: str = Field(description="Why it failed, or what it waits for; empty when there is nothing to say.")
    attempts: int = Field(description="How often a worker has begun it.")
    deaths: int = Field(description="Consecutive workers that died at the run without progress.")
    progress: float = Field(ge=0, le=1)
    points_done: int
    points_total: int
    remaining_secs: float | None = Field(description="An estimate from how fast it went so far.")
    expected_secs: float | None = Field(description="What the same run took the last time; null: it is the first.")
    queue: QueuePlace | None = Field(description="Its place while it is queued, else null.")
    last_seq: int = Field(description="The number of its latest frame.")
    engine_version: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    events_url: str
    results_url: str


class RunList(Model):
    items: list[Run]
    next: str | None = Field(default=None, description="Give this as `cursor` for the following page; null at the end.")


class RunEvent(Model):
    """One server-sent event of a run's stream. All but `progress` are frames, which are kept and
    numbered."""

    id: str | None = Field(default=None, description="The frame's number, to resume after; `progress` has none.")
    event: str = Field(json_schema_extra={"enum": list(EVENTS)})
    data: str = Field(
        description="JSON: the field of `RunFrames` that has the event's name. Of emulations: `network` begins an attempt and names "
        "the columns of each `tick`; `second` adds ten of them up; `predicted` tells what is expected from `at_secs` on; `report` "
        "ends it."
    )


class RunResults(Model):
    run: Run
    complete: bool = Field(description="False while more is to come, or when the run did not succeed.")
    points: list[PointFrame]
    figure: dict[str, Any] | None = Field(description="The figure's own document, when the run was for a figure.")
    report: dict[str, Any] | None = Field(description="Of an emulation: its `report` frame.")
