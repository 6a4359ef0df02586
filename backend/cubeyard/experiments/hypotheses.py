"""The hypotheses of an experiment: a metric and its bound. This is the only list of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from cubeyard.plans.schemas import Request

Metric = Literal["goodput", "goodput-share", "abt", "abt-share", "stalled-flows", "latency-p99-secs"]
"""The metrics that an emulation monitors while it runs."""
AnyMetric = Literal[
    "goodput",
    "goodput-share",
    "abt",
    "abt-share",
    "stalled-flows",
    "latency-p99-secs",
    "completion-secs",
    "completion-p99-secs",
    "drops",
    "timeouts",
]
Unit = Literal["bit/s", "of baseline", "flows", "s", "packets", "timeouts"]
MAX_HYPOTHESES = 16


@dataclass(frozen=True)
class MetricKind:
    """A metric: its title, the unit of its bound, and the engines that compute it."""

    title: str
    unit: Unit
    engines: tuple[str, ...]
    most: bool = False
    """The bound is the most it may be, not the least."""

    def text(self, value: float) -> str:
        """A value with its unit, for sentences."""
        if self.unit == "of baseline":
            return f"{value * 100:.4g} % of baseline"
        if self.unit == "bit/s":
            return f"{value / 1e9:,.6g} Gb/s" if value >= 1e9 else f"{value / 1e6:,.6g} Mb/s"
        if self.unit == "s":
            return f"{value:.6g} s"
        return f"{value:,.6g}"

    def misses(self, value: float, bound: float) -> bool:
        """Whether a value is on the wrong side of the bound."""
        return value > bound if self.most else value < bound


_EVERY = ("flow", "packet", "emulation")
_PACKET = ("packet",)
METRICS: dict[str, MetricKind] = {
    "goodput": MetricKind("Goodput", "bit/s", _EVERY),
    "goodput-share": MetricKind("Goodput", "of baseline", _EVERY),
    "abt": MetricKind("ABT", "bit/s", ("flow", "emulation")),
    "abt-share": MetricKind("ABT", "of baseline", ("flow", "emulation")),
    "stalled-flows": MetricKind("Stalled flows", "flows", _EVERY, most=True),
    "latency-p99-secs": MetricKind("99th percentile of latencies", "s", ("packet", "emulation"), most=True),
    "completion-secs": MetricKind("Longest completion time", "s", ("flow", "packet"), most=True),
    "completion-p99-secs": MetricKind("99th percentile of completion times", "s", _PACKET, most=True),
    "drops": MetricKind("Dropped packets", "packets", _PACKET, most=True),
    "timeouts": MetricKind("Timeouts", "timeouts", _PACKET, most=True),
}
"""By name, in the order of menus."""


class Bounded(Request):
    """A bound, and what a run under way does with it."""

    bound: float = Field(
        ge=0,
        allow_inf_nan=False,
        description="The least value; of `stalled-flows`, times, drops and timeouts: the most.",
    )
    for_secs: float = Field(
        default=2.0, ge=0.1, le=600, description="Of an emulation: a violation shorter than this is forgiven."
    )
    abort: bool = Field(default=True, description="Of an emulation: whether a lasting violation ends the run.")


class Hypothesis(Bounded):
    """A hypothesis about an emulation. If it is violated for that long, the run is aborted, and the
    verdict reports it."""

    metric: Metric = Field(
        default="goodput-share",
        description="`goodput` and `abt` in bits/s, `-share` of what they were before the first fault; `stalled-flows` counts "
        "flows without progress; `latency-p99-secs` is of requests, timeouts included, over the last second.",
    )


class StatedHypothesis(Bounded):
    """A hypothesis of an experiment for any engine. It must hold at every point of a sweep."""

    metric: AnyMetric = Field(
        description="`goodput` and `abt` in bits/s; `-share` of what they are without faults, in an emulation before the first "
        "one; `stalled-flows` counts flows without a path or without progress; `latency-p99-secs` is of workload `requests`; times "
        "in seconds."
    )

    @property
    def kind(self) -> MetricKind:
        return METRICS[self.metric]

    @property
    def title(self) -> str:
        """As reports and test reports name it, like `ABT at least 60 % of baseline`."""
        return f"{self.kind.title} at {'most' if self.kind.most else 'least'} {self.kind.text(self.bound)}"


def _is_empty(value: list[Any]) -> bool:
    return not value


Hypotheses = Annotated[
    list[StatedHypothesis],
    Field(
        max_length=MAX_HYPOTHESES,
        exclude_if=_is_empty,
        description="What is expected to hold; `GET /runs/{id}/verdict` says whether it did.",
    ),
]


def claims_of(document: Mapping[str, Any]) -> list[StatedHypothesis]:
    """The hypotheses of an experiment's document: the one among an emulation's settings first."""
    own = (document.get("emulation") or {}).get("hypothesis")
    return [
        StatedHypothesis.model_validate(hypothesis)
        for hypothesis in [*([own] if own else []), *(document.get("hypotheses") or [])]
    ]
