"""Requests and responses of the figure endpoints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cubeyard.kit.models import Model
from cubeyard.plans.schemas import Request
from cubeyard.runs.schemas import Run


class FigureRow(Model, extra="allow"):
    """One published number next to ours, or next to an engine's prediction for the measured
    network."""

    name: str
    paper: float | None = Field(
        description="Null for what the paper only says in words, and for what an engine predicts."
    )
    predicted: float | None = Field(default=None, description="What `predicted_by` gives for the same network.")
    predicted_by: Literal["flow engine", "packet engine"] | None = None
    ours: float | None
    unit: str
    low: float | None = Field(description="The least that counts as within the band; null for a bound from above.")
    high: float | None
    verdict: str = Field(description="`matches`, `within band`, `bound holds` or `differs`.")
    deviation: float | None = Field(
        default=None, description="Standard deviation over the seeds, where anything is drawn."
    )
    reason: str | None = Field(default=None, description="Why it is not the same.")


class FigureSeries(Model, extra="allow"):
    """One line of the chart, as in the paper."""

    name: str
    x: list[float | None]
    y: list[float | None]


class FigureResult(Model, extra="allow"):
    """The engine's document of a figure, with its choices and provenance."""

    id: str
    title: str
    rows: list[FigureRow]
    series: list[FigureSeries]


class FigureReference(Model):
    """The built-in result."""

    engine_version: str
    seeds: list[int]
    secs: float = Field(description="What it took on the machine that made it.")
    hash: str = Field(description="SHA-256 of its numbers and lines.")
    machine: str | None = Field(
        description="Where it was measured; null for a computed one, which is the same anywhere."
    )


class FigureSummary(Model):
    id: str = Field(examples=["bcube-table2"])
    title: str
    source: str = Field(description="Where it was published.")
    basis: Literal["modelled", "measured"] = Field(
        description="`modelled`: computed by the engine; `measured`: with real packets, which needs a host that can."
    )
    parts: int = Field(
        description="Of so many equal parts of the paper's data one is simulated, unless the whole is asked for; 1: always "
        "the whole."
    )
    latest_run: Run | None = Field(description="Null: not run yet.")
    result_run: str | None = Field(description="The latest run that succeeded: the result is its.")
    result_from: Literal["run", "reference"] | None = Field(
        description="`run`: computed or measured here; `reference`: it came with the program."
    )
    reference: FigureReference | None
    agrees: bool | None = Field(
        description="Whether a run here gave the reference's numbers to the last digit; null without such a run, with other "
        "seeds or the whole data, and for measured figures."
    )
    expected_secs: float | None = Field(
        description="What a run with the figure's own seeds took the last time here, or else where the reference was made."
    )
    whole_secs: float | None = Field(
        description="The same with the whole data, or else as many times as long as a part; null where there are no parts."
    )
    verdicts: dict[str, int] = Field(
        description="How many rows of the result have each verdict, those beside a prediction included."
    )


class PaperCount(Model):
    """The verdicts on the numbers of one paper, from the latest results of its figures."""

    paper: str = Field(
        description="As in the figures' sources. Only its own numbers count, no engine's.", examples=["bcube"]
    )
    agree: int = Field(description="Rows that match or lie within the band.")
    bound: int = Field(description="Rows of which the paper gives a bound, which holds.")
    differ: int = Field(description="Rows that differ, each with its reason.")
    not_run: int = Field(description="Figures without a result.")
    absent: int = Field(description="Published numbers that no figure has, as far as they are listed.")


class FigureList(Model):
    items: list[FigureSummary]
    papers: list[PaperCount]


class Figure(FigureSummary):
    result: FigureResult | None


class FigureRun(Request):
    seeds: int | None = Field(default=None, ge=1, le=1000, description="How many; the figure's own number if left out.")
    whole: bool = Field(
        default=False,
        description="With all of the paper's data, for a figure that simulates one of several `parts` of it otherwise.",
    )
