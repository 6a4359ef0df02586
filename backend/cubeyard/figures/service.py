"""The figures: the engine knows which there are, their runs are runs like any other."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
from sqlalchemy.orm import Session

from cubeyard.engine import Engine, Json
from cubeyard.figures import schemas
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.models import RunRow
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.schemas import Run
from cubeyard.runs.service import RunService, as_run


class FigureService:
    def __init__(self, session: Session, engine: Engine, queue: RunQueue) -> None:
        self._engine = engine
        self._repository = RunRepository(session)
        self._runs = RunService(session, queue)

    def every(self) -> schemas.FigureList:
        latest = self._repository.latest_of_figures(succeeded=False)
        good = self._repository.latest_of_figures(succeeded=True)
        items = []
        for one in self._engine.figures:
            row = good.get(one["id"])
            items.append(schemas.FigureSummary(**self._fields(one, latest.get(one["id"]), row, self._result(row))))
        return schemas.FigureList(items=items)

    def read(self, figure_id: str) -> Json:
        """As the API tells it. The result is the engine's own document and is passed on as it is."""
        one = self._known(figure_id)
        latest = self._repository.latest_of_figures(succeeded=False).get(figure_id)
        row = self._repository.latest_of_figures(succeeded=True).get(figure_id)
        result = self._result(row)
        summary = schemas.FigureSummary(**self._fields(one, latest, row, result))
        return {**summary.model_dump(mode="json"), "result": result}

    def start(self, figure_id: str, request: schemas.FigureRun) -> Run:
        return self._runs.start_figure(figure_id, self._known(figure_id)["title"], request.seeds)

    def _known(self, figure_id: str) -> Json:
        for one in self._engine.figures:
            if one["id"] == figure_id:
                return one
        ids = ", ".join(one["id"] for one in self._engine.figures)
        raise ProblemError(404, "not-found", f"There is no figure {figure_id}. There are: {ids}.")

    def _result(self, row: RunRow | None) -> Json | None:
        payload = self._repository.last_payload(row.id, "figure") if row is not None else None
        return None if payload is None else orjson.loads(payload)

    def _fields(self, one: Json, latest: RunRow | None, good: RunRow | None, result: Json | None) -> dict[str, Any]:
        return {
            **{name: one[name] for name in ("id", "title", "source")},
            "latest_run": None if latest is None else as_run(latest, self._repository),
            "result_run": None if good is None else good.id,
            "verdicts": {} if result is None else dict(Counter(row["verdict"] for row in result["rows"])),
        }
