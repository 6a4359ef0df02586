"""The figures: the catalog knows which there are, their runs are runs like any other."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
from sqlalchemy.orm import Session

from cubeyard.engine import Json
from cubeyard.figures import schemas
from cubeyard.figures.catalog import Entry, FigureCatalog
from cubeyard.runs.models import RunRow
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.schemas import Run
from cubeyard.runs.service import RunService, as_run


class FigureService:
    def __init__(self, session: Session, catalog: FigureCatalog, queue: RunQueue) -> None:
        self._catalog = catalog
        self._repository = RunRepository(session)
        self._runs = RunService(session, queue)

    def every(self) -> schemas.FigureList:
        latest = self._repository.latest_of_figures(succeeded=False)
        good = self._repository.latest_of_figures(succeeded=True)
        items = []
        for one in self._catalog.entries:
            row = good.get(one["id"])
            items.append(schemas.FigureSummary(**self._fields(one, latest.get(one["id"]), row, self._result(row))))
        return schemas.FigureList(items=items)

    def read(self, figure_id: str) -> Json:
        """As the API tells it. The result is its maker's own document and is passed on as it is."""
        one = self._catalog.known(figure_id)
        latest = self._repository.latest_of_figures(succeeded=False).get(figure_id)
        row = self._repository.latest_of_figures(succeeded=True).get(figure_id)
        result = self._result(row)
        summary = schemas.FigureSummary(**self._fields(one, latest, row, result))
        return {**summary.model_dump(mode="json"), "result": result}

    def start(self, figure_id: str, request: schemas.FigureRun) -> Run:
        return self._runs.start_figure(figure_id, self._catalog.known(figure_id)["title"], request.seeds)

    def _result(self, row: RunRow | None) -> Json | None:
        payload = self._repository.last_payload(row.id, "figure") if row is not None else None
        return None if payload is None else orjson.loads(payload)

    def _fields(self, one: Entry, latest: RunRow | None, good: RunRow | None, result: Json | None) -> dict[str, Any]:
        return {
            **one,
            "latest_run": None if latest is None else as_run(latest, self._repository),
            "result_run": None if good is None else good.id,
            "verdicts": {} if result is None else dict(Counter(row["verdict"] for row in result["rows"])),
        }
