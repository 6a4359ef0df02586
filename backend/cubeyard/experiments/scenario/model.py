"""The content of a scenario: an experiment with the names of the API and with grouped settings,
without saved plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from cubeyard.experiments.emulation import Emulation
from cubeyard.experiments.engines import EMULATION, ENGINES
from cubeyard.experiments.fault_schedules import FaultSchedules
from cubeyard.experiments.faults import FaultRequests
from cubeyard.experiments.hypotheses import Hypotheses
from cubeyard.experiments.question import Answering, Axes, PlanReference, Seed, Workload, distinct
from cubeyard.kit.text import PlainText, storable_json
from cubeyard.plans.schemas import Name, Request, Spec

Json = dict[str, Any]
VERSION = 1
EXAMPLE = {
    "scenario": 1,
    "name": "A tenth of the switches fails",
    "plan": {"topology": {"family": "bcube", "n": 4, "k": 1}},
    "workload": {"kind": "all-to-all"},
    "settings": {"engine": "flow", "seeds": [7]},
    "faults": [{"target": {"kind": "switch", "ratio": 0.1}}],
    "hypotheses": [{"metric": "abt-share", "bound": 0.5}],
}


class PlanFile(Request):
    """A plan in a separate file: its JSON export, a spec, or a topology."""

    file: Annotated[PlainText, Field(min_length=1, max_length=1000)] = Field(
        description="Its path from the scenario's own folder. Only the command line reads it.", examples=["yard.json"]
    )


class ScenarioSettings(Answering):
    """The engine that answers, its settings, and the seeds. The fields are those of an
    experiment."""

    seeds: Annotated[list[Seed], AfterValidator(distinct)] = Field(default=[7], min_length=1, max_length=1000)

    @model_validator(mode="after")
    def _whole(self) -> ScenarioSettings:
        if self.emulation is not None and self.emulation.hypothesis is not None:
            raise ValueError("emulation.hypothesis: write it under `hypotheses` of the scenario")
        if self.emulation is None and ENGINES[self.engine] is EMULATION:
            self.emulation = Emulation()
        return self


class Scenario(Request):
    """An experiment as a file: plan, workload, settings, faults with their times, and hypotheses
    with their bounds."""

    scenario: Literal[1] = Field(description="The version of this format.")
    name: Name
    plan: Annotated[PlanFile | Spec, Field(union_mode="left_to_right")]
    workload: Workload
    settings: ScenarioSettings = ScenarioSettings()
    faults: FaultRequests = Field(default=[])
    fault_schedules: FaultSchedules = Field(default=[])
    hypotheses: Hypotheses = Field(default=[])
    axes: Axes | None = Field(default=None, description="Makes it a sweep: each hypothesis has to hold at every point.")

    @model_validator(mode="after")
    def _portable(self) -> Scenario:
        if isinstance(self.plan, dict):
            storable_json(self.plan)
            # A bare topology and a plan spec of nothing else are the same plan.
            self.plan = {"topology": self.plan} if "family" in self.plan else self.plan
        each = (self.axes.topologies if self.axes is not None else None) or []
        for index, topology in enumerate(each):
            if isinstance(topology, PlanReference):
                raise ValueError(f"axes.topologies.{index}: a scenario names no saved plan; give its spec")
            storable_json(topology)
            if "family" in topology:
                each[index] = {"topology": topology}
        return self

    def body(self) -> Json:
        """The body of `POST /experiments`. The plan must be included, not in a file."""
        assert isinstance(self.plan, dict)
        given = self.model_dump(mode="json", exclude={"scenario", "settings"})
        settings = self.settings.model_dump(mode="json")
        return {name: value for name, value in {**given, **settings}.items() if value is not None}

    def document(self) -> Json:
        """The content of the file, without empty fields."""
        settings = self.settings.model_dump(mode="json")
        if "emulation" in settings:
            settings["emulation"] = _told(settings["emulation"])
        result: Json = {
            "scenario": VERSION,
            "name": self.name,
            "plan": self.plan if isinstance(self.plan, dict) else self.plan.model_dump(),
            "workload": self.workload.model_dump(mode="json"),
            "settings": {name: value for name, value in settings.items() if value not in (None, False)},
            "faults": [_told(fault.model_dump(mode="json")) for fault in self.faults],
            "fault_schedules": [
                _told(fault_schedule.model_dump(mode="json")) for fault_schedule in self.fault_schedules
            ],
            "hypotheses": [self._bound(hypothesis.model_dump(mode="json")) for hypothesis in self.hypotheses],
            "axes": None if self.axes is None else _told(self.axes.model_dump(mode="json")),
        }
        if self.settings.max_min is False:
            result["settings"]["max_min"] = False
        return {name: value for name, value in result.items() if value not in (None, [])}

    def _bound(self, one: Json) -> Json:
        """A hypothesis; the tolerated duration of a violation is included only for real packets, or
        if it differs from the default."""
        reported = {"metric": one.pop("metric"), "bound": one.pop("bound")}
        if ENGINES[self.settings.engine] is EMULATION or one != {"for_secs": 2.0, "abort": True}:
            reported |= one
        return reported


def _told(fields: Mapping[str, Any]) -> Json:
    """Null and empty fields are the same as missing ones."""
    return {name: value for name, value in fields.items() if value is not None and value not in ([], {})}


def of_experiment(name: str, document: Mapping[str, Any]) -> Scenario:
    """The scenario of an experiment, from its document or from a request, with the spec of its
    plan.

    Raises ValidationError if an earlier version stored values that are invalid today.
    """
    plan = document["plan"]
    settings = {field: document[field] for field in Answering.model_fields if document.get(field) is not None}
    hypotheses = list(document.get("hypotheses") or [])
    if emulation := settings.get("emulation"):
        own = emulation.get("hypothesis")
        settings["emulation"] = {field: value for field, value in emulation.items() if field != "hypothesis"}
        hypotheses = ([own] if own is not None else []) + hypotheses
    return Scenario.model_validate(
        {
            "scenario": VERSION,
            "name": name,
            "plan": plan.get("spec", plan),
            "workload": document["workload"],
            "settings": {**settings, "seeds": document["seeds"]},
            "faults": document["faults"][: len(document["faults"]) - (document.get("drawn_faults") or 0)],
            "fault_schedules": document.get("fault_schedules") or [],
            "hypotheses": hypotheses,
            "axes": document.get("axes"),
        }
    )


def schema() -> Json:
    """The JSON schema of a scenario, for editors and checks in CI."""
    result = Scenario.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result, "examples": [EXAMPLE]}
