"""What the figure endpoints take and give."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from cubeyard.plans.schemas import Request
from cubeyard.runs.schemas import Run


class FigureRow(BaseModel, extra="allow"):
    """One published number beside ours."""

    name: str
    paper: float | None
    ours: float | None
    unit: str
    low: float | None = Field(description="The least that counts as within the band.")
    high: float | None
    verdict: str = Field(description="`matches`, `within band` or `differs`.")
    deviation: float | None = Field(
        default=None, description="Standard deviation over the seeds, where anything is drawn."
    )
    reason: str | None = Field(default=None, description="Why it is not the same.")


class FigureSeries(BaseModel, extra="allow"):
    """One line of the chart, in the paper's shape."""

    name: str
    x: list[float | None]
    y: list[float | None]


class FigureResult(BaseModel, extra="allow"):
    """The engine's document of a figure, with its choices and provenance."""

    id: str
    title: str
    rows: list[FigureRow]
    series: list[FigureSeries]


class FigureSummary(BaseModel):
    id: str = Field(examples=["bcube-table2"])
    title: str
    source: str = Field(description="Where it was published.")
    basis: Literal["modelled", "measured"] = Field(
        description="`modelled`: computed by the engine; `measured`: with real packets, which needs a host that can."
    )
    latest_run: Run | None = Field(description="Null: not run yet.")
    result_run: str | None = Field(description="The latest run that succeeded: the result is its.")
    verdicts: dict[str, int] = Field(description="How many rows of the result have each verdict.")


class FigureList(BaseModel):
    items: list[FigureSummary]


class Figure(FigureSummary):
    result: FigureResult | None


class FigureRun(Request):
    seeds: int | None = Field(default=None, ge=1, le=1000, description="How many; the figure's own number if left out.")
