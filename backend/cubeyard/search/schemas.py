"""The request for a search, and its events."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.models import Model

EXAMPLE = {
    "constraints": [
        {"metric": "servers", "at_least": 1500},
        {"metric": "containers", "at_most": 1},
        {"metric": "abt_degraded", "at_least": "1 Tb/s"},
        {"metric": "server_ports", "at_most": 4},
        {"metric": "power", "at_most": "450 kW"},
    ],
    "objectives": [{"metric": "cost", "goal": "minimise"}, {"metric": "abt_degraded", "goal": "maximise"}],
    "failures": {"kind": "switch", "ratio": 0.1, "seeds": [7]},
    "plan": {"site": {"enclosure": "container-40ft"}},
}


class SearchQuestion(Model):
    """The search request. The engine checks the values: see `GET /search/metrics` and
    `GET /topologies`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    constraints: list[dict[str, Any]] = Field(
        default=[],
        max_length=32,
        description="`{metric, at_least, at_most}`: a number in the metric's base unit, or text with a unit, like `1 Tb/s`.",
    )
    objectives: list[dict[str, Any]] = Field(
        default=[{"metric": "cost"}],
        min_length=1,
        max_length=4,
        description="`{metric, goal}` with goal `minimise` or `maximise`. With one objective the result is the best plan, with several the front between them.",
    )
    failures: dict[str, Any] = Field(
        default={},
        description="`{kind, ratio, seeds}`: kind `switch`, `server` or `link`; 10 % of switches, seed 7 by default.",
    )
    space: dict[str, Any] = Field(
        default={},
        description="`{families, values, server_steps, most_servers}`: which plans are tried; `values` by family and parameter.",
    )
    plan: dict[str, Any] = Field(default={}, description="Fields of all plans: a plan spec without `topology`.")
    evaluations: int = Field(
        default=300, ge=1, le=5000, description="The largest number of candidates whose throughput is computed."
    )


class SearchEvent(Model):
    """One server-sent event of a search."""

    event: Literal["space", "progress", "point", "result", "problem"]
    data: str = Field(
        description="JSON. `space`: the number of candidates; `progress`: the number of decided candidates; `point`: a candidate whose "
        "objectives are known; `result`: the front, and the plans that each constraint excluded; `problem`: the error."
    )


class SearchMetric(Model):
    """A metric for constraints and objectives."""

    name: str = Field(examples=["abt_degraded"])
    title: str
    unit: str = Field(
        description="The base unit; empty for numbers of things and shares, `money` for amounts in the price book's currency."
    )
    units: list[str] = Field(
        description="Units in which a value may be written; for money, the code of the price book's currency replaces USD."
    )
    stage: Literal["counts", "plan", "healthy", "degraded"] = Field(description="The cost of computing it.")
    more: bool = Field(description="Whether a larger value is better.")
    doc: str


class SearchMetricList(Model):
    items: list[SearchMetric]
