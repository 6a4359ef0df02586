"""The request for a lifetime simulation, and its events."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.kit.models import Model

EXAMPLE = {
    "plan": {"topology": {"family": "bcube", "n": 4, "k": 1}},
    "years": 5,
    "seeds": 200,
    "policies": [{}, {"visit_months": 6}, {"visit_months": 6, "spares": {"server": 2, "switch": 1}}],
    "floors": {"servers": 0.9, "abt": 0.5},
}


class LifeQuestion(Model):
    """The plan to simulate and the parameters. The engine checks the values: see
    `GET /life/rates`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    plan: dict[str, Any] = Field(description="A plan spec or a topology spec; or `{id, revision}` of a saved plan.")
    years: float = Field(default=5, description="Simulated years, up to 30.")
    seeds: int = Field(default=200, description="Number of lives, up to 2,000.")
    first_seed: int = Field(
        default=1, ge=0, le=MAX_INTEGER - 2_000, description="The first life's seed; the others follow."
    )
    step_months: int = Field(default=1, description="Months between two points of a curve, 1 to 12.")
    rates: dict[str, float] = Field(
        default={},
        max_length=32,
        description="Annual failure rates by part that replace the catalogue's: the share that fails in its first year, 0 to below 1.",
    )
    rate_factor: float = Field(
        default=1,
        description="Multiplies every hazard, 0 to 100: 0.125 was measured in a sealed container full of nitrogen.",
    )
    shape: float = Field(
        default=1, description="Shape of Weibull lifetimes, 0.2 to 10: 1 is exponential, above 1 parts wear out."
    )
    policies: list[dict[str, Any]] = Field(
        default=[{}],
        max_length=6,
        description="Repair policies: `{name, visit_months, visit_below, lead_months, spares}`; `{}` is sealed. `spares` counts "
        "servers, switches, cables and PDUs for the whole life. The others are compared with the first.",
    )
    floors: dict[str, float] = Field(
        default={},
        description="`{servers, abt}`: the smallest acceptable rest, as shares of the start; 0.9 and 0.5 by default.",
    )
    visit_price: float | None = Field(
        default=None, description="Cost of a visit in addition to parts and labour, in the price book's currency."
    )
    routing: str | None = Field(default=None, description="A routing scheme; default: the family's.")
    exact_states: int | None = Field(
        default=None,
        description="Number of states whose throughput is computed, 2 to 20,000; the default depends on the plan's size.",
    )


class LifeEvent(Model):
    """One server-sent event of a lifetime simulation."""

    event: Literal["plan", "progress", "servers", "result", "problem"]
    data: str = Field(
        description="JSON. `plan`: the plan; `progress`: lives or states done; `servers`: the curves of one policy that are exact "
        "for every seed; `result`: everything, throughput and costs too; `problem`: the error."
    )


class FailureRate(Model):
    """The failure rate of a kind of part."""

    part: str = Field(examples=["disk"])
    title: str
    unit: Literal["server", "switch", "port", "cable", "pdu"] = Field(description="The element that has the value.")
    afr: float = Field(description="The share of new parts that fail within their first year of use.")
    basis: Literal["published", "assumed"]
    confidence: Literal["high", "medium", "low"] = Field(
        description="high: measured on many parts like this; medium: derived from such a measurement; low: our estimate or split."
    )
    date: str = Field(description="The date of the source (ISO 8601).")
    source: str
    note: str = Field(description="How the value follows from the source.")


class FailureRateList(Model):
    items: list[FailureRate]
