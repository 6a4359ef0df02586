"""The experiments' rules: a plan is looked up once and kept as a spec; a question that cannot be asked is refused at once."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy.orm import Session

from cubeyard.engine import BuiltPlan, Engine, content_hash
from cubeyard.experiments import schemas
from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.points import ENGINE_FIELDS, Json, count, specs_of
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.plans.service import PlanService, normal_spec


class ExperimentService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._engine = engine
        self._repository = ExperimentRepository(session)
        self._plans = PlanService(session, engine)

    def create(self, request: schemas.ExperimentCreate) -> schemas.Experiment:
        plan, built = self.asked(request.plan)
        document = {
            "plan": plan,
            **request.model_dump(mode="json", include=set(ENGINE_FIELDS)),
            "seeds": request.seeds,
            "axes": self._axes(request.axes),
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
        titles = [_topology(self._built_spec(spec, built, plan["spec"])) for spec in specs_of(document)]
        row = ExperimentRow(
            id=new_id(),
            name=request.name or _name(titles, request),
            kind="prediction" if request.axes is None else "sweep",
            plan_id=plan["id"],
            plan_revision=plan["revision"],
            content_hash=content_hash(document),
            document=document,
            topologies=titles,
            points=points,
        )
        self._repository.add(row)
        return as_experiment(row)

    def predict(self, request: schemas.PredictRequest, limit_secs: float) -> bytes:
        """The answer at once, if it is there within the limit. Nothing is saved."""
        plan, _ = self.asked(request.plan)
        experiment = request.model_dump(mode="json", include=set(ENGINE_FIELDS))
        deadline = time.monotonic() + limit_secs

        def in_time(*_: int) -> bool:
            if time.monotonic() > deadline:
                detail = f"The prediction takes longer than {limit_secs:g} s. Save it as an experiment and run that."
                raise ProblemError(422, "too-long", detail)
            return True

        return self._engine.predict_in_turn(plan["spec"], {**experiment, "seeds": [request.seed]}, in_time)

    def row(self, experiment_id: str) -> ExperimentRow:
        row = self._repository.experiment(experiment_id)
        if row is None:
            raise not_found(f"experiment {experiment_id}")
        return row

    def read(self, experiment_id: str) -> schemas.Experiment:
        return as_experiment(self.row(experiment_id))

    def page(self, *, cursor: str | None, plan_id: str | None, q: str, limit: int) -> schemas.ExperimentList:
        after = decode_cursor(cursor) if cursor is not None else None
        rows = self._repository.page(after=after, plan_id=plan_id, words=q.split(), limit=limit + 1)
        last = rows[limit - 1] if len(rows) > limit else None
        return schemas.ExperimentList(
            items=[as_experiment(row) for row in rows[:limit]],
            next=encode_cursor(last.created_at, last.id) if last is not None else None,
        )

    def asked(self, plan: schemas.PlanReference | Json) -> tuple[Json, BuiltPlan]:
        """The plan of a question as the document keeps it, checked by building it."""
        if isinstance(plan, schemas.PlanReference):
            row, revision, built = self._plans.built(plan.id, plan.revision)
            return {"id": row.id, "revision": revision.revision, "spec": revision.spec}, built
        spec = normal_spec(plan)
        return {"id": None, "revision": None, "spec": spec}, self._plans.preview(spec)

    def _axes(self, axes: schemas.Axes | None) -> Json | None:
        if axes is None:
            return None
        document = axes.model_dump(mode="json")
        if axes.topologies is not None:
            document["topologies"] = [normal_spec(spec) for spec in axes.topologies]
        return document

    def _built_spec(self, spec: Json, built: BuiltPlan, asked: Json) -> BuiltPlan:
        return built if spec is asked else self._plans.preview(spec)


def _topology(built: BuiltPlan) -> Json:
    counts = built.summary["counts"]
    numbers = {name: int(counts[name]) for name in ("servers", "switches", "links")}
    return {"title": built.summary["title"], **numbers}


def _name(topologies: list[Json], request: schemas.ExperimentCreate) -> str:
    subject = ", ".join(one["title"] for one in topologies)
    what = request.workload.kind.replace("-", " ")
    failing = request.axes.failure.kind if request.axes is not None and request.axes.failure is not None else None
    name = f"{subject}: {what}" + (f", {failing} failures" if failing else "")
    return name if len(name) <= 120 else name[:119] + "…"


def as_experiment(row: ExperimentRow) -> schemas.Experiment:
    fields: dict[str, Any] = {key: row.document[key] for key in ENGINE_FIELDS}
    return schemas.Experiment(
        id=row.id,
        name=row.name,
        kind=row.kind,  # pyright: ignore[reportArgumentType] - pydantic checks it
        content_hash=row.content_hash,
        plan=row.document["plan"],
        seeds=row.document["seeds"],
        axes=row.document["axes"],
        topologies=[schemas.ExperimentTopology(**one) for one in row.topologies],
        points=row.points,
        created_at=row.created_at,
        **fields,
    )
