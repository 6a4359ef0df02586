"""Responses of the experiment endpoints. Requests are in `question.py`, a point's result in
`results.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from cubeyard.experiments.emulation import Emulation
from cubeyard.experiments.engines import EngineName
from cubeyard.experiments.fault_schedules import FaultSchedules
from cubeyard.experiments.faults import Fault
from cubeyard.experiments.hypotheses import Hypotheses
from cubeyard.experiments.question import Axes, Workload
from cubeyard.experiments.results import FailedCounts
from cubeyard.kit.models import Model
from cubeyard.plans.schemas import EXAMPLE_ID

MAX_POINTS = 20_000
ExperimentKind = Literal["prediction", "sweep", "simulation", "emulation"]


def _is_empty(value: list[Any]) -> bool:
    return not value


def _is_zero(value: int) -> bool:
    return value == 0


def _is_none(value: object) -> bool:
    return value is None


class Asked(Model):
    """The plan of an experiment as it was found."""

    id: str | None
    revision: int | None
    spec: dict[str, Any]


class ExperimentTopology(Model):
    title: str
    servers: int
    switches: int
    links: int
    plan_id: str | None = Field(default=None, description="The saved plan it was, if it was one.")
    revision: int | None = None
    name: str | None = Field(default=None, description="What that plan was called then.")
    plan_hash: str | None = None


class OutlinedTopology(ExperimentTopology):
    """The outline of a point on this topology, without the failures of the axes."""

    routing: str = Field(description="The scheme that will be used.")
    flows: int
    failed: FailedCounts = Field(description="What the experiment's own faults leave failed, with its first seed.")


class EstimatedSecs(Model):
    low: float
    expected: float
    high: float | None = Field(description="Null: nothing bounds it from above.")


class EstimatedPackets(Model):
    """The number of packets of a simulation, and the memory of its largest point."""

    bytes: int = Field(description="Payload of all flows.")
    packets: int = Field(description="Data packets, none of them sent twice.")
    packet_hops: int = Field(description="Packets times links, acknowledgements included.")
    memory_bytes: int = Field(description="At most, with every window full.")


class ExperimentEstimate(Model):
    """The cost of a run of the experiment on this machine if no other run is active, without the
    wait for a worker."""

    points: int
    flows: int = Field(description="Of all points together.")
    topologies: list[OutlinedTopology]
    secs: EstimatedSecs
    basis: Literal["measured", "extrapolated"] = Field(
        description="`measured`: points like these were computed to their end just now; `extrapolated`: begun."
    )
    measured_secs: float = Field(description="How long the measurement took.")
    simulation: EstimatedPackets | None = Field(
        default=None, description="With engine `packet`: of all points together."
    )
    drawn_faults: list[Fault] = Field(
        default=[], exclude_if=_is_empty, description="What the fault schedules draw, as a run will inject it."
    )
    content_hash: str = Field(description="The question's: equal questions have been asked if an experiment has it.")


class Experiment(Model):
    id: str = Field(examples=[EXAMPLE_ID])
    name: str
    kind: ExperimentKind
    content_hash: str
    plan: Asked
    workload: Workload
    routing: str | None
    faults: list[Fault]
    engine: EngineName
    emulation: Emulation | None = Field(default=None, exclude_if=_is_none)
    packet: dict[str, Any] | None = Field(default=None, exclude_if=_is_none)
    hypotheses: Hypotheses = Field(default=[])
    fault_schedules: FaultSchedules = Field(default=[])
    drawn_faults: int = Field(
        default=0, exclude_if=_is_zero, description="So many of `faults`, the last ones, are drawn by the schedules."
    )
    link_gbps: float | None
    max_min: bool | None
    flow_gigabits: float | None
    link_load: bool
    seeds: list[int]
    axes: Axes | None
    topologies: list[ExperimentTopology] = Field(description="In the order that the points' `topology` counts.")
    points: int = Field(description="How many frames of results a run of it has: topology x failure ratio x seed.")
    created_at: datetime


class ExperimentList(Model):
    items: list[Experiment]
    next: str | None = Field(default=None, description="Give this as `cursor` for the following page; null at the end.")


class ReferenceNetwork(Model):
    """A network to compare a plan with."""

    title: str = Field(examples=["Partial fat-tree, 22 ports"])
    spec: dict[str, Any] = Field(description="For `plan` of a prediction.")
    servers: int
    switches: int
    links: int


class Setting(Model):
    """A setting of an engine: one of `choices`, or a number from `minimum` to `maximum`."""

    name: str
    title: str
    default: str | float | None = Field(description="Null: worked out from the network.")
    choices: list[str] | None = None
    unit: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    whole: bool | None = None


class EngineDescription(Model):
    """An engine that answers experiments."""

    name: str = Field(description="What an experiment's `engine` names.", examples=["flow"])
    method: str = Field(description="What its answers are called.", examples=["Prediction"])
    summary: str
    computed: bool = Field(description="It computes any number of points; otherwise a run has one.")
    settings: str | None = Field(description="The field of an experiment that only this engine takes.")
    form: list[Setting] = Field(description="What that field may hold, where the engine lists it.")
    frames: list[str] = Field(description="The kinds of frames that its runs write: fields of `RunFrames`.")
    faults: list[str] = Field(description="The kinds of faults that it knows.")
    flaps: bool = Field(description="Whether faults may be on and off.")
    host: bool = Field(description="It needs a machine that can emulate; `GET /emulation` tells.")


class EngineList(Model):
    items: list[EngineDescription]


class FaultParameter(Model):
    """A number that a kind of fault needs, from `minimum` to `maximum`."""

    name: str = Field(description="The field of a fault that holds it.", examples=["loss_ratio"])
    title: str
    unit: str = Field(description="Empty for a ratio.", examples=["bit/s"])
    minimum: float
    maximum: float
    default: float


class FaultKind(Model):
    """One way to break something."""

    name: str = Field(description="What a fault's `kind` names.", examples=["cable-pulled"])
    title: str
    target: Literal["server", "switch", "link", "any"]
    effect: str
    silent: bool = Field(description="Nothing reports it: it is noticed by what does not arrive.")
    predicted: bool = Field(description="The flow engine predicts its effect.")
    carries: bool = Field(description="Its target still carries packets, but worse.")
    parameters: list[FaultParameter]


class FaultKindList(Model):
    items: list[FaultKind]
