"""The request of an experiment: a plan, a workload, faults, and the engine."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from cubeyard.experiments.emulation import Emulation
from cubeyard.experiments.engines import DEFAULT, EMULATION, ENGINES, EngineName
from cubeyard.experiments.fault_schedules import FaultSchedules
from cubeyard.experiments.faults import FailureKind, FaultRequests, Ratio
from cubeyard.experiments.hypotheses import METRICS, Hypotheses
from cubeyard.experiments.short import MAX_SEED
from cubeyard.kit.ids import PATTERN
from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText, storable_json
from cubeyard.plans.schemas import EXAMPLE_ID, Name, Request, Revision, Spec

_T = TypeVar("_T")
MAX_LINK_GBPS = 1_000_000
"""As in the engine (`emulator/crates/sim/src/experiment.rs`)."""

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
    "listed",
    "requests",
]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
PacketSetting = (
    bool | int | Annotated[float, Field(allow_inf_nan=False)] | Annotated[PlainText, Field(max_length=200)] | None
)


class Workload(Model):
    """Who sends to whom. Each kind has parameters in addition to `kind`; `bytes` is the size of
    each flow. The engine checks them."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"kind": "all-to-all"}]})

    kind: WorkloadKind

    @model_validator(mode="after")
    def _storable(self) -> Workload:
        storable_json(self.model_extra or {})
        return self


def _is_none(value: object) -> bool:
    return value is None


class PlanReference(Request):
    """A saved plan; its head when no revision is named. The experiment keeps the spec it found."""

    id: str = Field(pattern=PATTERN, examples=[EXAMPLE_ID])
    revision: Revision | None = None


def distinct(values: list[_T], what: str = "a seed") -> list[_T]:
    if len(set(values)) != len(values):
        raise ValueError(f"{what} is given twice")
    return values


Seeds = Annotated[list[Seed], AfterValidator(distinct), Field(min_length=1, max_length=1000)]


class FailureAxis(Request):
    kind: FailureKind
    ratios: list[Ratio] = Field(min_length=1, max_length=201, examples=[[0, 0.05, 0.1]])

    @field_validator("ratios")
    @classmethod
    def _distinct(cls, ratios: list[float]) -> list[float]:
        return distinct(ratios, "a ratio")


def _listed(failure: object) -> object:
    return [failure] if isinstance(failure, dict | FailureAxis) else failure


FailureAxes = Annotated[
    list[FailureAxis],
    Field(min_length=1, max_length=4),
    BeforeValidator(_listed, json_schema_input_type=FailureAxis | list[FailureAxis]),
]


class Axes(Request):
    """The variables of a sweep: topology, failure ratio and seed. Every combination is a point."""

    topologies: list[Annotated[PlanReference | Spec, Field(union_mode="left_to_right")]] | None = Field(
        default=None,
        min_length=1,
        max_length=8,
        description="Saved plans and specs to compare, kept as specs; the experiment's plan if left out.",
    )
    failure: FailureAxes | None = Field(
        default=None, description="Kinds of failure, one after the other; or one alone."
    )
    seeds: Annotated[int, Field(ge=1, le=1000)] | Seeds | None = Field(
        default=None, description="So many seeds from the experiment's first on, or the seeds themselves."
    )

    @field_validator("failure")
    @classmethod
    def _distinct(cls, failure: list[FailureAxis] | None) -> list[FailureAxis] | None:
        distinct([(axis.kind, ratio) for axis in failure or [] for ratio in axis.ratios], "a ratio of one kind")
        return failure


class Answering(Request):
    """Which engine answers, and its settings."""

    engine: EngineName = DEFAULT
    routing: Annotated[PlainText, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="A routing scheme; the paper's own for the family if left out.", examples=["bsr"]
    )
    emulation: Emulation | None = Field(
        default=None, exclude_if=_is_none, description='Settings of engine "emulation".'
    )
    packet: dict[str, PacketSetting] | None = Field(
        default=None,
        exclude_if=_is_none,
        max_length=64,
        description='Settings of engine "packet" by name; `GET /engines` lists them. What is left out has its default.',
        examples=[{"rto_min_secs": 0.01, "subflows": 8, "coupling": "lia"}],
    )
    link_gbps: float | None = Field(
        default=None,
        gt=0,
        le=MAX_LINK_GBPS,
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


class Question(Answering):
    """The input of every engine: traffic, routing, and failed parts."""

    plan: Annotated[PlanReference | Spec, Field(union_mode="left_to_right")]
    workload: Workload
    faults: FaultRequests = Field(default=[])

    @model_validator(mode="after")
    def _by_engine(self) -> Question:
        engine = ENGINES[self.engine]
        if engine is EMULATION:
            self.emulation = self.emulation or Emulation()
            if (
                self.emulation.protocol == "udp"
                and self.emulation.flow_bits_per_sec is None
                and self.workload.kind != "requests"
            ):
                raise ValueError("emulation.flow_bits_per_sec: UDP sends at a rate; give one")
            if self.emulation.protocol == "mptcp" and self.workload.kind == "requests":
                raise ValueError("emulation.protocol: requests go by tcp or udp, not by mptcp; choose one of them")
        elif self.emulation is not None:
            raise ValueError(f'emulation: engine "{engine.name}" has no such settings; leave them out')
        if self.packet is not None and engine.settings != "packet":
            raise ValueError(f'packet: engine "{engine.name}" has no such settings; leave them out')
        for index, fault in enumerate(self.faults):
            if fault.kind not in engine.faults:
                others = " or ".join(f'"{item.name}"' for item in ENGINES.values() if fault.kind in item.faults)
                raise ValueError(
                    f'faults.{index}.kind: {fault.kind} needs engine {others}; "{engine.name}" knows {", ".join(engine.faults)}'
                )
            if fault.flap_secs is not None and not engine.flaps:
                raise ValueError(f'faults.{index}.flap_secs: engine "{engine.name}" computes one state; leave it out')
        return self


class ExperimentCreate(Question):
    name: Name | None = Field(default=None, description="Made from the plan and the workload if left out.")
    seeds: Seeds = Field(default=[7])
    axes: Axes | None = Field(default=None, description="Makes it a sweep.")
    hypotheses: Hypotheses = Field(default=[])
    fault_schedules: FaultSchedules = Field(default=[])

    @model_validator(mode="after")
    def _drawable(self) -> ExperimentCreate:
        if not self.fault_schedules:
            return self
        engine = ENGINES[self.engine]
        if engine.computed and engine.settings is None:
            raise ValueError(
                f'fault_schedules: engine "{engine.name}" computes one state; leave them out, or list faults'
            )
        if self.axes is not None and self.axes.topologies is not None:
            raise ValueError("fault_schedules: their devices are of one topology; leave axes.topologies out")
        for index, schedule in enumerate(self.fault_schedules):
            for place, kind in enumerate(schedule.kinds):
                if kind not in engine.faults:
                    raise ValueError(
                        f'fault_schedules.{index}.kinds.{place}: engine "{engine.name}" knows {", ".join(engine.faults)}'
                    )
        return self

    @model_validator(mode="after")
    def _answered(self) -> ExperimentCreate:
        for index, hypothesis in enumerate(self.hypotheses):
            if self.engine not in hypothesis.kind.engines:
                known = ", ".join(name for name, metric in METRICS.items() if self.engine in metric.engines)
                raise ValueError(
                    f'hypotheses.{index}.metric: engine "{self.engine}" does not answer {hypothesis.metric}; it knows {known}'
                )
        return self

    @model_validator(mode="after")
    def _one_point(self) -> ExperimentCreate:
        if not ENGINES[self.engine].computed and (self.axes is not None or len(self.seeds) > 1):
            raise ValueError(f'axes: a run of engine "{self.engine}" has one point; leave axes out and give one seed')
        return self


class PredictRequest(Question):
    seed: Seed = 7


class SimulateRequest(Question):
    """A simulation packet by packet. The workload's `bytes` is the size of each flow."""

    engine: EngineName = "packet"
    seed: Seed = 7
