"""Faults in frames: targets by name, times in seconds of the session's clock."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict


class ScheduledFault(TypedDict):
    """A fault of the run. The parameters of its kind are further fields of the same object."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    id: Annotated[str, Field(description="`f1`, `f2`, ... of the experiment; `l1`, `l2`, ... injected meanwhile.")]
    kind: Annotated[str, Field(description="As the engine's catalogue of fault kinds names it.")]
    targets: list[str]
    at_secs: float
    until_secs: Annotated[float | None, Field(description="Null: permanently.")]
    flap_secs: Annotated[float | None, Field(description="On and off for this long each; null: once.")]


class FaultFrame(ScheduledFault):
    """A fault was injected or recovered, or could not be. `at_secs` is the time."""

    planned_secs: Annotated[NotRequired[float], Field(description="The time of its schedule; absent in older runs.")]
    state: Literal["injected", "recovered", "failed"]
    ok: bool
    reason: Annotated[NotRequired[str], Field(description="Why it failed.")]


class StopAllFrame(TypedDict):
    """Every fault was recovered at once, and scheduled ones were cancelled."""

    why: str
    recovered: Annotated[bool, Field(description="Whether no fault is active any more.")]
    at_secs: float


class DegradedLink(TypedDict):
    """A link with reduced capacity. The parameter of the fault's kind is a further field of the
    same object."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    link: Annotated[str, Field(description="By its two ends.")]
    kind: str


class Predicted(TypedDict):
    """The flow engine's prediction, including headers."""

    ideal_bits_per_sec: Annotated[float, Field(description="Sum of the max-min fair rates.")]
    abt_bits_per_sec: Annotated[float, Field(description="Flows times the slowest one's rate.")]
    flows: int
    dropped_flows: int
    routing: str
    choices: Annotated[NotRequired[list[str]], Field(description="What is ours in what is compared, for people.")]


class PredictedFrame(Predicted):
    """The prediction from `at_secs` on, with the faults that are active then."""

    at_secs: float
    failed: Annotated[list[str], Field(description="Devices and links that carry nothing, by name.")]
    degraded: NotRequired[list[DegradedLink]]
