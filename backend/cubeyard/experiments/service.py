"""The experiments' rules: a plan is looked up once and kept as a spec; a question that cannot be asked is refused at once."""

from __future__ import annotations

import time
from typing import Any, Protocol

from sqlalchemy.orm import Session

from cubeyard.engine import Engine, content_hash
from cubeyard.experiments import checks, estimate, schemas
from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.points import ENGINE_FIELDS, QUESTION_FIELDS, Json, count, plain_faults
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.plans.service import PlanService, normal_spec


class Emulator(Protocol):
    """What is asked of whoever sends real packets, before any is sent."""

    def outline(self, document: Json) -> Json:
        """`{routing, flows, failed, secs}` of a document. Raises a 422 that names the field."""
        ...


class ExperimentService:
    def __init__(self, session: Session, engine: Engine, emulator: Emulator | None = None) -> None:
        self._engine = engine
        self._emulator = emulator
        self._repository = ExperimentRepository(session)
        self._plans = PlanService(session, engine)

    def create(self, request: schemas.ExperimentCreate) -> schemas.Experiment:
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
        return as_experiment(row)

    def estimate(self, request: schemas.ExperimentCreate) -> schemas.ExperimentEstimate:
        """What a run would take. Refuses what `create` refuses; saves nothing."""
        document, topologies = self._document(request)
        outlines = self._outlines(document, topologies)
        if document["engine"] == "emulation":
            found = estimate.timed(outlines[0]["secs"])
        else:
            found = estimate.estimate(self._engine, document, outlines)
        each = count(document) // len(topologies)
        return schemas.ExperimentEstimate(
            points=count(document),
            flows=sum(one["flows"] for one in outlines) * each,
            topologies=[
                schemas.OutlinedTopology(**topology, **{name: one[name] for name in ("routing", "flows", "failed")})
                for topology, one in zip(topologies, outlines, strict=True)
            ],
            secs=schemas.EstimatedSecs(
                low=_rounded(found.low_secs),
                expected=_rounded(found.expected_secs),
                high=None if found.high_secs is None else _rounded(found.high_secs),
            ),
            basis="measured" if found.whole else "extrapolated",
            measured_secs=_rounded(found.measured_secs),
            content_hash=content_hash(document),
        )

    def predict(self, request: schemas.PredictRequest, limit_secs: float) -> bytes:
        """The answer at once, if it is there within the limit. Nothing is saved."""
        plan, _ = self._asked(request.plan, "body.plan")
        if request.engine != "flow":
            message = "Real packets take a run. Save it as an experiment and run that."
            raise field_error("body.engine", request.engine, message, limit="flow")
        experiment = request.model_dump(mode="json", include=set(ENGINE_FIELDS))
        experiment["faults"] = plain_faults(experiment["faults"])
        deadline = time.monotonic() + limit_secs

        def in_time(*_: int) -> bool:
            if time.monotonic() > deadline:
                detail = f"The prediction takes longer than {limit_secs:g} s. Save it as an experiment and run that."
                raise ProblemError(422, "too-long", detail)
            return True

        with checks.refused_by_field("body"):
            return self._engine.predict_in_turn(plan["spec"], {**experiment, "seeds": [request.seed]}, in_time)

    def row(self, experiment_id: str) -> ExperimentRow:
        row = self._repository.experiment(experiment_id)
        if row is None:
            raise not_found(f"experiment {experiment_id}")
        return row

    def read(self, experiment_id: str) -> schemas.Experiment:
        return as_experiment(self.row(experiment_id))

    def delete(self, experiment_id: str) -> None:
        """With its runs, none of which may be under way."""
        self._repository.delete(self.row(experiment_id))

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
        """What is asked of each topology, checked by the engine that will answer."""
        if document["engine"] == "emulation":
            if self._emulator is None:
                raise ProblemError(503, "no-emulator", "This server runs no emulations.")
            return [self._emulator.outline(document)]
        return checks.outlines(self._engine, document, [one["title"] for one in topologies])

    def _document(self, request: schemas.ExperimentCreate) -> tuple[Json, list[Json]]:
        """What is kept of a request, and its topologies: title, size, and the saved plan each of them was."""
        plan, topology = self._asked(request.plan, "body.plan")
        axes, topologies = None, [topology]
        if request.axes is not None:
            axes = request.axes.model_dump(mode="json")
            if request.axes.topologies is not None:
                each = [
                    self._asked(one, f"body.axes.topologies.{index}")
                    for index, one in enumerate(request.axes.topologies)
                ]
                axes["topologies"] = [asked["spec"] for asked, _ in each]
                topologies = [topology for _, topology in each]
        document = {
            "plan": plan,
            **request.model_dump(mode="json", include=set(QUESTION_FIELDS)),
            "seeds": request.seeds,
            "axes": axes,
        }
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

    def _asked(self, plan: schemas.PlanReference | Json, field: str) -> tuple[Json, Json]:
        """A plan of a question as the document keeps it, and what it comes to; checked by building it."""
        with checks.refused_by_field(field):
            if isinstance(plan, schemas.PlanReference):
                row, revision, built = self._plans.built(plan.id, plan.revision)
                known = {"plan_id": row.id, "revision": revision.revision, "name": row.name}
                asked = {"id": row.id, "revision": revision.revision, "spec": revision.spec}
            else:
                spec = normal_spec(plan)
                built, known = self._plans.preview(spec), {}
                asked = {"id": None, "revision": None, "spec": spec}
        counts = built.summary["counts"]
        numbers = {name: int(counts[name]) for name in ("servers", "switches", "links")}
        return asked, {"title": built.summary["title"], **numbers, "plan_hash": built.plan_hash, **known}


def _kind(request: schemas.ExperimentCreate) -> str:
    if request.engine == "emulation":
        return "emulation"
    return "prediction" if request.axes is None else "sweep"


def _name(topologies: list[Json], request: schemas.ExperimentCreate) -> str:
    subject = ", ".join(one["title"] for one in topologies)
    what = request.workload.kind.replace("-", " ")
    axes = (request.axes.failure if request.axes is not None else None) or []
    failing = " and ".join(dict.fromkeys(axis.kind for axis in axes))
    name = f"{subject}: {what}" + (f", {failing} failures" if failing else "")
    return name if len(name) <= 120 else name[:119] + "…"


def _rounded(secs: float) -> float:
    return float(f"{secs:.2g}")


def as_experiment(row: ExperimentRow) -> schemas.Experiment:
    """What was kept, whichever version kept it: a field that is no longer known must not hide the experiment."""
    fields: dict[str, Any] = {key: row.document.get(key) for key in (*QUESTION_FIELDS, "plan", "seeds", "axes")}
    columns = {
        key: getattr(row, key) for key in ("id", "name", "kind", "content_hash", "topologies", "points", "created_at")
    }
    return schemas.Experiment.model_validate(fields | columns, extra="ignore")
