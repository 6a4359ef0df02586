"""The figures: the catalog lists them, and each run of a figure is an ordinary run."""

from __future__ import annotations

from collections import Counter

import orjson
from sqlalchemy.orm import Session

from cubeyard.engine import Json
from cubeyard.figures import schemas
from cubeyard.figures.absent import ABSENT, absent_of
from cubeyard.figures.catalog import Entry, FigureCatalog, refuse_whole
from cubeyard.figures.references import Reference, reference_of
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
        shown = [self._shown(entry, latest.get(entry["id"]), good.get(entry["id"])) for entry in self._catalog.entries]
        return schemas.FigureList(items=[summary for summary, _ in shown], papers=_papers(shown))

    def read(self, figure_id: str) -> Json:
        """A figure in the form of the API. The result is the document of its maker, passed on
        unchanged."""
        item = self._catalog.known(figure_id)
        latest = self._repository.latest_of_figures(succeeded=False).get(figure_id)
        good = self._repository.latest_of_figures(succeeded=True).get(figure_id)
        summary, result = self._shown(item, latest, good)
        return {**summary.model_dump(mode="json"), "result": result}

    def start(self, figure_id: str, request: schemas.FigureRun) -> Run:
        item = self._catalog.known(figure_id)
        if request.whole:
            refuse_whole(item, "body.whole")
        reference = reference_of(figure_id)
        times = item["parts"] if request.whole else 1
        return self._runs.start_figure(
            figure_id,
            item["title"],
            request.seeds,
            whole=request.whole,
            measures=item["basis"] == "measured",
            usual_secs=times * reference.secs if reference is not None and request.seeds is None else None,
        )

    def _shown(
        self, one: Entry, latest: RunRow | None, good: RunRow | None
    ) -> tuple[schemas.FigureSummary, Json | None]:
        """A figure and the result to show: the last successful run on this server, or else the
        reference."""
        payload = self._repository.last_payload(good.id, "figure") if good is not None else None
        own: Json | None = None if payload is None else orjson.loads(payload)
        reference = reference_of(one["id"])
        result = own or (reference.document if reference is not None else None)
        summary = schemas.FigureSummary(
            **one,
            latest_run=None if latest is None else as_run(latest, self._repository),
            result_run=None if good is None else good.id,
            result_from="run" if own is not None else "reference" if reference is not None else None,
            reference=None if reference is None else _told(reference),
            agrees=None if own is None or reference is None else reference.agrees(own),
            expected_secs=self._expected_secs(one, reference),
            whole_secs=None if one["parts"] == 1 else self._expected_secs(one, reference, whole=True),
            verdicts={} if result is None else dict(Counter(row["verdict"] for row in result["rows"])),
        )
        return summary, result

    def _expected_secs(self, one: Entry, reference: Reference | None, *, whole: bool = False) -> float | None:
        here = self._repository.last_secs(RunRow(figure=one["id"], seeds=None, whole=whole))
        times = one["parts"] if whole else 1
        return here if here is not None else None if reference is None else times * reference.secs


def _told(reference: Reference) -> schemas.FigureReference:
    return schemas.FigureReference(
        engine_version=reference.document["provenance"]["engine_version"],
        seeds=reference.seeds,
        secs=reference.secs,
        hash=reference.hash,
        machine=reference.machine,
    )


def _papers(shown: list[tuple[schemas.FigureSummary, Json | None]]) -> list[schemas.PaperCount]:
    """Papers in the order of their first figure; papers without figures come last."""
    sources = [*(item.source for item, _ in shown), *(item.source for item in ABSENT)]
    counts = []
    for paper in dict.fromkeys(_paper(source) for source in sources):
        of_paper = [(item, result) for item, result in shown if _paper(item.source) == paper]
        verdicts = Counter(
            row["verdict"] for _, result in of_paper if result for row in result["rows"] if "predicted_by" not in row
        )
        counts.append(
            schemas.PaperCount(
                paper=paper,
                agree=verdicts["matches"] + verdicts["within band"],
                bound=verdicts["bound holds"],
                differ=verdicts["differs"],
                not_run=sum(result is None for _, result in of_paper),
                absent=absent_of(paper),
            )
        )
    return counts


def _paper(source: str) -> str:
    """The paper of a source: `bcube` for `[bcube §8, Table 2]`."""
    return source.strip("[]").split()[0]
