"""What the experiment endpoints take and give."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from cubeyard.experiments.emulation import Emulation, FaultKind
from cubeyard.kit.ids import PATTERN
from cubeyard.kit.text import PlainText, storable_json
from cubeyard.plans.schemas import EXAMPLE_ID, Name, Request, Revision, Spec

MAX_POINTS = 20_000
MAX_SEED = 2**53 - 1
"""The largest whole number that JavaScript tells from its neighbours."""

WorkloadKind = Literal[
    "all-to-all",
    "one-to-one",
    "one-to-several",
    "one-to-all",
    "permutation",
    "random-pairs",
    "incast",
    "shuffle",
    "hot-racks",
    "matrix",
]
ExperimentKind = Literal["prediction", "sweep", "emulation"]
FailureKind = Literal["server", "switch", "link", "rack"]
Ratio = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Selected = Annotated[PlainText, Field(min_length=1, max_length=200)]

PARAMETERS = {"link-rate": "rate_bits_per_sec", "link-loss": "loss_ratio", "link-delay": "delay_secs"}
"""The number that a kind of fault needs. It says nothing about another kind."""
PREDICTED_KINDS = ("down", "link-rate", "link-loss")
"""What the flow engine knows of breaking."""


class Workload(BaseModel):
    """Who sends to whom. Each kind has parameters of its own beside `kind`; the engine checks them."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"kind": "all-to-all"}]})

    kind: WorkloadKind

    @model_validator(mode="after")
    def _storable(self) -> Workload:
        storable_json(self.model_extra or {})
        return self


class ShareTarget(Request):
    """A share of all devices of a kind, drawn by the seed."""

    kind: FailureKind
    ratio: Ratio


class NamedTarget(Request):
    """Devices, racks and links by name."""

    names: list[Selected] = Field(min_length=1, max_length=10_000, examples=[["<3,001>", "R07"]])


class SelectedTarget(Request):
    """Devices in words."""

    selector: Selected = Field(examples=["10% of level-1 switches"])


def _is_none(value: object) -> bool:
    return value is None


class Fault(Request):
    """What breaks, how and when. Predictions know `down`, `link-rate` and `link-loss`; real packets know more ways."""

    at_secs: float = Field(default=0.0, ge=0, le=1e9, allow_inf_nan=False)
    target: ShareTarget | NamedTarget | SelectedTarget
    kind: Literal["down"] | FaultKind = "down"
    until_secs: float | None = Field(default=None, ge=0, le=1e9, allow_inf_nan=False, description="Null: for good.")
    rate_bits_per_sec: float | None = Field(
        default=None, exclude_if=_is_none, gt=0, le=1e12, description="With `link-rate`: what is left, each way."
    )
    loss_ratio: Ratio | None = Field(
        default=None,
        exclude_if=_is_none,
        description="With `link-loss`: the share of packets. Predicted is what arrives of a link's rate at most: TCP gets less.",
    )
    delay_secs: float | None = Field(
        default=None, exclude_if=_is_none, gt=0, le=10, description="With `link-delay`: more each way."
    )
    flap_secs: float | None = Field(
        default=None,
        exclude_if=_is_none,
        ge=0.2,
        le=3600,
        description="It comes and goes, for this long each, until `until_secs`.",
    )


class FaultRequest(Fault):
    """A fault as it is asked for: with the number that its kind needs, and no other, and in order of time."""

    model_config = ConfigDict(validate_default=True)

    @field_validator("until_secs")
    @classmethod
    def _not_before_it_strikes(cls, value: float | None, info: ValidationInfo) -> float | None:
        at_secs = info.data.get("at_secs")
        if value is not None and at_secs is not None and value < at_secs:
            raise ValueError(f"it is before at_secs, which is {at_secs:g}; give a later time, or leave it out")
        return value

    @field_validator(*PARAMETERS.values())
    @classmethod
    def _of_its_kind(cls, value: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        if kind is None:
            return value  # it is no kind: that is said already
        needed = PARAMETERS.get(kind) == info.field_name
        if needed and value is None:
            raise ValueError(f"{kind} needs {info.field_name}")
        if not needed and value is not None:
            raise ValueError(f"{info.field_name} says nothing about a fault of kind {kind}; leave it out")
        return value


class PlanReference(Request):
    """A saved plan; its head when no revision is named. The experiment keeps the spec it found."""

    id: str = Field(pattern=PATTERN, examples=[EXAMPLE_ID])
    revision: Revision | None = None


class FailureAxis(Request):
    kind: FailureKind
    ratios: list[Ratio] = Field(min_length=1, max_length=201, examples=[[0, 0.05, 0.1]])


def _listed(failure: object) -> object:
    return [failure] if isinstance(failure, dict | FailureAxis) else failure


FailureAxes = Annotated[
    list[FailureAxis],
    Field(min_length=1, max_length=4),
    BeforeValidator(_listed, json_schema_input_type=FailureAxis | list[FailureAxis]),
]


class Axes(Request):
    """What a sweep varies: topology, failure ratio and seed. Every combination is a point."""

    topologies: list[Annotated[PlanReference | Spec, Field(union_mode="left_to_right")]] | None = Field(
        default=None,
        min_length=1,
        max_length=8,
        description="Saved plans and specs to compare, kept as specs; the experiment's plan if left out.",
    )
    failure: FailureAxes | None = Field(
        default=None, description="Kinds of failure, one after the other; or one alone."
    )
    seeds: Annotated[int, Field(ge=1, le=1000)] | Annotated[list[Seed], Field(min_length=1, max_length=1000)] | None = (
        Field(default=None, description="So many seeds from the experiment's first on, or the seeds themselves.")
    )


def _distinct(seeds: list[int]) -> list[int]:
    if len(set(seeds)) != len(seeds):
        raise ValueError("a seed is given twice")
    return seeds


class Question(Request):
    """What every engine takes: who sends to whom, over which paths, with what broken."""

    plan: Annotated[PlanReference | Spec, Field(union_mode="left_to_right")]
    workload: Workload
    routing: Annotated[PlainText, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="A routing scheme; the paper's own for the family if left out.", examples=["bsr"]
    )
    faults: list[FaultRequest] = Field(default=[], max_length=200)
    engine: Literal["flow", "emulation"] = "flow"
    emulation: Emulation | None = Field(default=None, exclude_if=_is_none, description='How, with engine "emulation".')
    link_gbps: float | None = Field(
        default=None,
        gt=0,
        le=100_000,
        allow_inf_nan=False,
        description="Every link's rate; the plan's own if left out.",
    )

    max_min: bool | None = Field(
        default=None, description="Whether to work out max-min fair rates; if left out, up to 100,000 flows."
    )
    flow_gigabits: float | None = Field(
        default=None,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="What each flow has to send: asks for completion times.",
    )
    link_load: bool = Field(default=False, description="Whether to give the flows on every link, in columns.")

    @model_validator(mode="after")
    def _by_engine(self) -> Question:
        if self.engine == "emulation":
            self.emulation = self.emulation or Emulation()
            return self
        if self.emulation is not None:
            raise ValueError('emulation: only engine "emulation" takes this')
        for index, fault in enumerate(self.faults):
            if fault.kind not in PREDICTED_KINDS:
                known = ", ".join(PREDICTED_KINDS)
                raise ValueError(
                    f'faults.{index}.kind: {fault.kind} needs engine "emulation"; predictions know {known}'
                )
            if fault.flap_secs is not None:
                raise ValueError(f'faults.{index}.flap_secs: what comes and goes needs engine "emulation"')
        return self


class ExperimentCreate(Question):
    name: Name | None = Field(default=None, description="Made from the plan and the workload if left out.")
    seeds: Annotated[list[Seed], AfterValidator(_distinct)] = Field(default=[7], min_length=1, max_length=1000)
    axes: Axes | None = Field(default=None, description="Makes it a sweep.")

    @model_validator(mode="after")
    def _one_point(self) -> ExperimentCreate:
        if self.engine == "emulation" and (self.axes is not None or len(self.seeds) > 1):
            raise ValueError("axes: an emulation has one point; leave axes out and give one seed")
        return self


class PredictRequest(Question):
    seed: Seed = 7


class Asked(BaseModel):
    """The plan of an experiment as it was found."""

    id: str | None
    revision: int | None
    spec: dict[str, Any]


class ExperimentTopology(BaseModel):
    title: str
    servers: int
    switches: int
    links: int
    plan_id: str | None = Field(default=None, description="The saved plan it was, if it was one.")
    revision: int | None = None
    name: str | None = Field(default=None, description="What that plan was called then.")
    plan_hash: str | None = None


class FailedCounts(BaseModel):
    servers: int
    switches: int
    links: int
    degraded_links: int = Field(default=0, description="Links that go on and carry less.")


class OutlinedTopology(ExperimentTopology):
    """What a point on it asks, before the failures of the axes."""

    routing: str = Field(description="The scheme that will be used.")
    flows: int
    failed: FailedCounts = Field(description="What the experiment's own faults leave failed, with its first seed.")


class EstimatedSecs(BaseModel):
    low: float
    expected: float
    high: float | None = Field(description="Null: nothing bounds it from above.")


class ExperimentEstimate(BaseModel):
    """What a run of the experiment would take here, were it the only one. The wait for a worker is not in it."""

    points: int
    flows: int = Field(description="Of all points together.")
    topologies: list[OutlinedTopology]
    secs: EstimatedSecs
    basis: Literal["measured", "extrapolated"] = Field(
        description="`measured`: points like these were computed to their end just now; `extrapolated`: begun."
    )
    measured_secs: float = Field(description="How long the measurement took.")
    content_hash: str = Field(description="The question's: equal questions have been asked if an experiment has it.")


class Dropped(BaseModel):
    end_failed: int = Field(description="Flows one of whose servers has failed.")
    no_path: int = Field(description="Flows between live servers for which the routing found no path.")


class FairRates(BaseModel):
    """Max-min fair rates of the flows that cross a link."""

    flows: int
    total_gbps: float
    min_gbps: float | None
    p01_gbps: float | None
    median_gbps: float | None
    mean_gbps: float | None
    p99_gbps: float | None
    max_gbps: float | None


class TotalRate(BaseModel):
    """Steps: from each moment on, all flows together have that rate."""

    from_secs: list[float]
    gbps: list[float]


class Completion(BaseModel):
    """When flows end that all begin at 0."""

    flows: int
    first_secs: float | None
    median_secs: float | None
    mean_secs: float | None
    last_secs: float | None
    total_rate: TotalRate


class LinkLoad(BaseModel):
    """Flows by link, in the order of the plan's cables."""

    a_to_b: list[int]
    b_to_a: list[int]


class Prediction(BaseModel, extra="allow"):
    """The engine's answer for one point. More comes with it, by workload and by what was asked for."""

    abt_gbps: float = Field(description="Aggregate bottleneck throughput.")
    flows: int = Field(description="Carried flows.")
    dropped_flows: int
    dropped: Dropped
    max_link_flows: int
    link_flows_by_level: dict[str, LevelFlows]
    path_hops: PathHops
    failures: FailedCounts
    maxmin: FairRates | None = Field(default=None, description="With `max_min`, or unasked up to 100,000 flows.")
    completion: Completion | None = Field(default=None, description="With `flow_gigabits`.")
    link_load: LinkLoad | None = Field(default=None, description="With `link_load`.")
    routing: str
    seed: int
    engine_version: str


class LevelFlows(BaseModel, extra="allow"):
    label: str
    min: float
    max: float
    mean: float


class PathHops(BaseModel, extra="allow"):
    mean: float
    max: float | None
    unit: str = Field(description="`hops` from server to server, or `links`.")


class Experiment(BaseModel):
    id: str = Field(examples=[EXAMPLE_ID])
    name: str
    kind: ExperimentKind
    content_hash: str
    plan: Asked
    workload: Workload
    routing: str | None
    faults: list[Fault]
    engine: Literal["flow", "emulation"]
    emulation: Emulation | None = Field(default=None, exclude_if=_is_none)
    link_gbps: float | None
    max_min: bool | None
    flow_gigabits: float | None
    link_load: bool
    seeds: list[int]
    axes: Axes | None
    topologies: list[ExperimentTopology] = Field(description="In the order that the points' `topology` counts.")
    points: int = Field(description="How many frames of results a run of it has: topology x failure ratio x seed.")
    created_at: datetime


class ExperimentList(BaseModel):
    items: list[Experiment]
    next: str | None = Field(default=None, description="Give this as `cursor` for the following page; null at the end.")
