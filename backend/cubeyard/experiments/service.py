"""The experiments' rules: a plan is looked up once and stored as a spec; invalid requests are
rejected immediately."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pydantic import ValidationError
from sqlalchemy.orm import Session

from cubeyard.engine import Engine, content_hash
from cubeyard.experiments import checks, estimate, schemas
from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.fault_schedules import drawn
from cubeyard.experiments.faults import Fault
from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.points import ENGINE_FIELDS, QUESTION_FIELDS, Json, count, plain_faults
from cubeyard.experiments.question import ExperimentCreate, PlanReference, PredictRequest, SimulateRequest, Workload
from cubeyard.experiments.reference import fat_tree_for
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.experiments.scenario import reading
from cubeyard.experiments.scenario.model import Scenario, of_experiment
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.kit.validation import in_words
from cubeyard.plans.service import PlanService
from cubeyard.plans.spec import normal_spec

OUTLINED = ("routing", "flows", "failed")
RUN_SIZES = ("servers", "switches", "links")
"""The sizes of the emulated network, if it is a part of the plan."""


class OutlinesRuns(Protocol):
    """Checks an experiment for an engine that the binding does not compute."""

    def outline(self, document: Json) -> Json:
        """`{routing, flows, failed, secs, servers, switches, links}` of a document. Raises a 422
        that names the field."""
        ...

    def refuse_impossible(self, document: Json) -> None:
        """Raises a 422 that names the field of a fault that cannot be injected here."""
        ...


class ExperimentService:
    def __init__(self, session: Session, engine: Engine, outliners: Mapping[str, OutlinesRuns] | None = None) -> None:
        """`outliners` are of the engines that the binding does not compute, by name."""
        self._engine = engine
        self._outliners = outliners or {}
        self._repository = ExperimentRepository(session)
        self._plans = PlanService(session, engine)
        self._log = ChangeLog(session)

    def create(self, request: ExperimentCreate) -> schemas.Experiment:
        document, topologies = self._document(request)
        self._outlines(document, topologies)
        row = ExperimentRow(
            id=new_id(),
            name=request.name or _name(topologies, request),
            kind=_kind(request),
            plan_id=document["plan"]["id"],
            plan_revision=document["plan"]["revision"],
            content_hash=content_hash(document),
            document=document,
            topologies=topologies,
            points=count(document),
        )
        self._repository.add(row)
        self._log.record("experiment", "created", row.id, row.name, row.kind, plan_id=row.plan_id)
        return as_experiment(row)

    def estimate(self, request: ExperimentCreate) -> schemas.ExperimentEstimate:
        """The cost of a run. Rejects the same requests as `create`; saves nothing."""
        document, topologies = self._document(request)
        outlines = self._outlines(document, topologies)
        if not ENGINES[document["engine"]].computed:
            result = estimate.timed(outlines[0]["secs"])
        else:
            result = estimate.estimate(self._engine, document, outlines)
        each = count(document) // len(topologies)
        return schemas.ExperimentEstimate(
            points=count(document),
            flows=sum(outline["flows"] for outline in outlines) * each,
            topologies=[
                schemas.OutlinedTopology.model_validate(
                    {**topology, **{name: outline[name] for name in (*OUTLINED, *RUN_SIZES) if name in outline}}
                )
                for topology, outline in zip(topologies, outlines, strict=True)
            ],
            secs=schemas.EstimatedSecs(
                low=_rounded(result.low_secs),
                expected=_rounded(result.expected_secs),
                high=None if result.high_secs is None else _rounded(result.high_secs),
            ),
            basis="measured" if result.whole else "extrapolated",
            measured_secs=_rounded(result.measured_secs),
            simulation=_packets([outline["simulation"] for outline in outlines if "simulation" in outline], each),
            drawn_faults=[Fault.model_validate(fault) for fault in document["faults"][len(request.faults) :]],
            content_hash=content_hash(document),
        )

    def create_from_scenario(self, text: str) -> schemas.Experiment:
        """The experiment of a scenario's file. Raises a 422 that names path and line."""
        result = reading.read(text)
        with result.by_line():
            return self.create(result.request)

    def scenario(self, experiment_id: str) -> Scenario:
        """A saved experiment as a scenario. Raises a 404, or a 409 if an earlier version stored
        values that are invalid today."""
        row = self.row(experiment_id)
        try:
            return of_experiment(row.name, row.document)
        except ValidationError as error:
            detail = f"Experiment {experiment_id} is of an earlier version and is no scenario: {in_words(error.errors(), row.document)[0].message}"
            raise ProblemError(409, "no-scenario", detail) from error

    def as_scenario(self, request: ExperimentCreate) -> Scenario:
        """A request as a scenario, with the specs of its saved plans. Saves nothing."""
        document, topologies = self._document(request)
        return of_experiment(request.name or _name(topologies, request), document)

    def document(self, request: ExperimentCreate) -> Json:
        """The document of a request, with the specs of its saved plans. Saves nothing, and checks
        only these."""
        return self._document(request)[0]

    def predict(self, request: PredictRequest, limit_secs: float, left: Callable[[], bool]) -> bytes:
        """Returns the result directly if the computation ends within the limit. Nothing is saved.
        Ends soon after `left` returns that the client has disconnected."""
        return self._at_once(request, "flow", "prediction", limit_secs, left)

    def simulate(self, request: SimulateRequest, limit_secs: float, left: Callable[[], bool]) -> bytes:
        """The same, packet by packet."""
        return self._at_once(request, "packet", "simulation", limit_secs, left)

    def _at_once(
        self,
        request: PredictRequest | SimulateRequest,
        engine: str,
        what: str,
        limit_secs: float,
        left: Callable[[], bool],
    ) -> bytes:
        plan, _ = self._asked(request.plan, "body.plan")
        if request.engine != engine:
            message = f'This address answers with a {what}. Save it as an experiment and run that for engine "{request.engine}".'
            raise field_error("body.engine", request.engine, message, limit=engine)
        experiment = request.model_dump(mode="json", include=set(ENGINE_FIELDS))
        experiment["faults"] = plain_faults(experiment["faults"])
        began: float | None = None

        def in_time(*_: int) -> bool:
            nonlocal began
            if left():
                raise ProblemError(408, "client-left", f"The connection was closed before the {what} was there.")
            # The wait for the engine's other callers does not count.
            began = time.monotonic() if began is None else began
            if time.monotonic() > began + limit_secs:
                detail = f"The {what} takes longer than {limit_secs:g} s. Save it as an experiment and run that."
                raise ProblemError(422, "too-long", detail)
            return True

        with checks.refused_by_field("body"):
            return self._engine.predict_in_turn(plan["spec"], {**experiment, "seeds": [request.seed]}, in_time)

    def reference(self, servers: int) -> schemas.ReferenceNetwork:
        """The network that a plan of that many servers is compared with."""
        spec = fat_tree_for(servers)
        summary = self._plans.preview(normal_spec(spec)).summary
        counts = {name: int(summary["counts"][name]) for name in ("servers", "switches", "links")}
        return schemas.ReferenceNetwork(title=summary["title"], spec=spec, **counts)

    def row(self, experiment_id: str) -> ExperimentRow:
        row = self._repository.experiment(experiment_id)
        if row is None:
            raise not_found(f"experiment {experiment_id}")
        return row

    def runnable(self, experiment_id: str) -> ExperimentRow:
        """An experiment to run now. Raises a 404, a 422 for a fault that cannot be injected
        here."""
        row = self.row(experiment_id)
        if (outliner := self._outliners.get(row.document["engine"])) is not None:
            outliner.refuse_impossible(row.document)
        return row

    def read(self, experiment_id: str) -> schemas.Experiment:
        return as_experiment(self.row(experiment_id))

    def delete(self, experiment_id: str) -> None:
        """With its runs, none of which may be under way."""
        row = self.row(experiment_id)
        self._repository.delete(row)
        self._log.record("experiment", "deleted", row.id, row.name, row.kind, plan_id=row.plan_id)

    def page(
        self, *, cursor: str | None, plan_id: str | None, kind: str | None, content_hash: str | None, q: str, limit: int
    ) -> schemas.ExperimentList:
        rows = self._repository.page(
            after=decode_cursor(cursor) if cursor is not None else None,
            plan_id=plan_id,
            kind=kind,
            content_hash=content_hash,
            words=q.split(),
            limit=limit + 1,
        )
        last = rows[limit - 1] if len(rows) > limit else None
        return schemas.ExperimentList(
            items=[as_experiment(row) for row in rows[:limit]],
            next=encode_cursor(last.created_at, last.id) if last is not None else None,
        )

    def _outlines(self, document: Json, topologies: list[Json]) -> list[Json]:
        """The outline for each topology, checked by the chosen engine."""
        name = document["engine"]
        if not ENGINES[name].computed:
            if name not in self._outliners:
                raise ProblemError(503, "no-engine", f'This server does not run engine "{name}".')
            outline = self._outliners[name].outline(document)
            self._outliners[name].refuse_impossible(document)
            return [outline]
        return checks.outlines(self._engine, document, [topology["title"] for topology in topologies])

    def _document(self, request: ExperimentCreate) -> tuple[Json, list[Json]]:
        """The document of a request, and its topologies: title, size, and saved plan."""
        plan, topology = self._asked(request.plan, "body.plan")
        axes, topologies = None, [topology]
        if request.axes is not None:
            axes = request.axes.model_dump(mode="json")
            if request.axes.topologies is not None:
                each = [
                    self._asked(item, f"body.axes.topologies.{index}")
                    for index, item in enumerate(request.axes.topologies)
                ]
                axes["topologies"] = [asked["spec"] for asked, _ in each]
                topologies = [topology for _, topology in each]
        document = {
            "plan": plan,
            **request.model_dump(mode="json", include=set(QUESTION_FIELDS)),
            "seeds": request.seeds,
            "axes": axes,
        }
        if faults := drawn(self._engine, plan["spec"], document):
            document["faults"] = [*document["faults"], *faults]
            document["drawn_faults"] = len(faults)
        points = count(document)
        if points > schemas.MAX_POINTS:
            raise field_error(
                "body.axes",
                points,
                f"The sweep would have {points:,} points.",
                limit=f"at most {schemas.MAX_POINTS:,}",
                hint="Take fewer seeds or ratios, or make several sweeps.",
            )
        return document, topologies

    def _asked(self, plan: PlanReference | Json, field: str) -> tuple[Json, Json]:
        """A plan of a request as stored in the document, and its topology's size; checked by
        building it."""
        with checks.refused_by_field(field):
            if isinstance(plan, PlanReference):
                row, revision, built = self._plans.built(plan.id, plan.revision)
                known = {"plan_id": row.id, "revision": revision.revision, "name": row.name}
                request = {"id": row.id, "revision": revision.revision, "spec": revision.spec}
            else:
                spec = normal_spec(plan)
                built, known = self._plans.preview(spec), {}
                request = {"id": None, "revision": None, "spec": spec}
        counts = built.summary["counts"]
        numbers = {name: int(counts[name]) for name in ("servers", "switches", "links")}
        return request, {"title": built.summary["title"], **numbers, "plan_hash": built.plan_hash, **known}


def _packets(outlines: list[Json], each: int) -> schemas.EstimatedPackets | None:
    """The total over all points, with `each` points per topology: work is a sum, memory a
    maximum."""
    if not outlines:
        return None
    added = {name: each * sum(outline[name] for outline in outlines) for name in ("bytes", "packets", "packet_hops")}
    return schemas.EstimatedPackets(**added, memory_bytes=max(outline["memory_bytes"] for outline in outlines))


def _kind(request: ExperimentCreate) -> str:
    engine = ENGINES[request.engine]
    if not engine.computed or engine.settings is not None:
        return engine.method.lower()
    return "prediction" if request.axes is None else "sweep"


def _name(topologies: list[Json], request: ExperimentCreate) -> str:
    subject = ", ".join(topology["title"] for topology in topologies)
    what = request.workload.kind.replace("-", " ")
    axes = (request.axes.failure if request.axes is not None else None) or []
    failing = " and ".join(dict.fromkeys(axis.kind for axis in axes))
    name = f"{subject}: {what}" + (f", {failing} failures" if failing else "")
    return name if len(name) <= 120 else name[:119] + "…"


def _rounded(secs: float) -> float:
    return float(f"{secs:.2g}")


def as_experiment(row: ExperimentRow) -> schemas.Experiment:
    """Accepts documents of all versions: a field that no longer exists must not hide the
    experiment."""
    fields: dict[str, Any] = {key: row.document.get(key) for key in (*QUESTION_FIELDS, "plan", "seeds", "axes")}
    for added in ("hypotheses", "fault_schedules"):
        fields[added] = fields[added] or []
    fields["drawn_faults"] = row.document.get("drawn_faults", 0)
    # The parameters of a workload's kind are returned unchecked.
    fields["workload"] = Workload.model_validate(row.document["workload"])
    columns = {
        key: getattr(row, key) for key in ("id", "name", "kind", "content_hash", "topologies", "points", "created_at")
    }
    return schemas.Experiment.model_validate(fields | columns, extra="ignore")
