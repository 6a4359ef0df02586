"""The runs' rules: which states follow which, and that each change of state is a frame as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy.orm import Session

from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.models import ExperimentRow
from cubeyard.kit.changes.schemas import ChangeAction
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, not_found
from cubeyard.kit.ids import new_id
from cubeyard.kit.root_path import public
from cubeyard.runs import schemas
from cubeyard.runs.models import RunRow
from cubeyard.runs.queue import QUICK_SECS, REAL, Lane, RunQueue, real_lane
from cubeyard.runs.repository import FINISHED, RunRepository
from cubeyard.webhooks.schemas import RunEnded

MAX_REASON_CHARACTERS = 2000


class RunService:
    def __init__(self, session: Session, queue: RunQueue) -> None:
        self._session = session
        self._repository = RunRepository(session)
        self._queue = queue

    def start(self, experiment: ExperimentRow) -> schemas.Run:
        row = RunRow(id=new_id(), kind=experiment.kind, title=experiment.name, experiment_id=experiment.id)
        row.points_total = experiment.points
        document = experiment.document
        return self._start(row, None if ENGINES[document["engine"]].computed else real_lane(document))

    def start_figure(
        self,
        figure: str,
        title: str,
        seeds: int | None,
        *,
        whole: bool,
        measures: bool,
        usual_secs: float | None = None,
    ) -> schemas.Run:
        """`measures`: uses real packets, in namespaces. `usual_secs`: its duration on other
        machines, for its first run here."""
        row = RunRow(id=new_id(), kind="figure", title=title, figure=figure, seeds=seeds, whole=whole, points_total=1)
        return self._start(row, REAL["namespaces"] if measures else None, usual_secs)

    def read(self, run_id: str) -> schemas.Run:
        return as_run(self.row(run_id), self._repository)

    def row(self, run_id: str) -> RunRow:
        row = self._repository.run(run_id)
        if row is None:
            raise not_found(f"run {run_id}")
        return row

    def page(
        self,
        *,
        cursor: str | None,
        states: Sequence[str],
        kinds: Sequence[str],
        q: str,
        experiment: str | None,
        figure: str | None,
        limit: int,
    ) -> schemas.RunList:
        rows = self._repository.page(
            after=decode_cursor(cursor) if cursor is not None else None,
            states=states,
            kinds=kinds,
            words=q.split(),
            experiment_id=experiment,
            figure=figure,
            limit=limit + 1,
        )
        last = rows[limit - 1] if len(rows) > limit else None
        return schemas.RunList(
            items=[as_run(row, self._repository) for row in rows[:limit]],
            next=encode_cursor(last.created_at, last.id) if last is not None else None,
        )

    def cancel(self, run_id: str) -> schemas.Run:
        """Cancelling a finished run changes nothing. Computed results are kept."""
        row = self._repository.run(run_id, lock=True)
        if row is None:
            raise not_found(f"run {run_id}")
        if row.state not in FINISHED:
            if row.queue_id is not None:
                self._queue.remove(self._session, row.queue_id)
            enter(self._repository, row, "cancelled", "")
            self._repository.tell_over(row.id)
            self._logged(row, "cancelled")
        return as_run(row, self._repository)

    def delete(self, run_id: str) -> None:
        """Deletes the run and its frames. Streams of the run end."""
        row = self._repository.run(run_id, lock=True)
        if row is None:
            raise not_found(f"run {run_id}")
        self._refuse_unfinished([row])
        self._logged(row, "deleted")
        self._repository.delete(row)

    def clear(self, experiment_id: str) -> None:
        """Every run of an experiment, or none of them."""
        rows = self._repository.of_experiment(experiment_id)
        self._refuse_unfinished(rows)
        for row in rows:
            self._logged(row, "deleted")
            self._repository.delete(row)

    def _logged(self, row: RunRow, action: ChangeAction) -> None:
        """Before the run's experiment is deleted, because the log needs its plan."""
        experiment = self._session.get(ExperimentRow, row.experiment_id) if row.experiment_id is not None else None
        plan_id = experiment.plan_id if experiment is not None else None
        ChangeLog(self._session).record("run", action, row.id, row.title, row.kind, plan_id=plan_id)

    def _refuse_unfinished(self, rows: Sequence[RunRow]) -> None:
        for row in rows:
            if row.state not in FINISHED:
                detail = f"Run {row.id} is {row.state}. Cancel it first: POST /api/v1/runs/{row.id}/cancel."
                raise ProblemError(409, "still-running", detail)

    def _start(self, row: RunRow, real: Lane | None, usual_secs: float | None = None) -> schemas.Run:
        row.state = "queued"
        last_secs = self._repository.last_secs(row)
        expected_secs = last_secs if last_secs is not None else usual_secs
        row.expected_secs = expected_secs
        is_long = expected_secs is not None and expected_secs >= QUICK_SECS
        row.lane = real or ("long" if is_long else "quick")
        self._repository.add(row)
        row.queue_id = self._queue.enter(self._session, row.id, row.lane)
        enter(self._repository, row, "queued", "")
        self._logged(row, "started")
        return as_run(row, self._repository)


def enter(repository: RunRepository, row: RunRow, state: str, reason: str) -> None:
    """Sets the state of the run, whose row is locked; followers get a frame."""
    row.state, row.reason = state, reason[:MAX_REASON_CHARACTERS]
    if state in FINISHED:
        row.finished_at = repository.now()
        repository.chunks.forget(row.id)
    if state == "succeeded":
        row.progress = 1.0
    payload = {"state": row.state, "attempt": row.attempts, "reason": row.reason}
    repository.append(row, "state", payload, len(orjson.dumps(payload)))
    if state in FINISHED:
        repository.webhooks.run_ended(RunEnded.model_validate(row, from_attributes=True))


def as_run(row: RunRow, repository: RunRepository) -> schemas.Run:
    fields: dict[str, Any] = {
        name: getattr(row, name)
        for name in schemas.Run.model_fields
        if name not in {"remaining_secs", "queue", "events_url", "results_url"}
    }
    return schemas.Run(
        **fields,
        remaining_secs=_remaining_secs(row, repository),
        queue=_place(row, repository),
        events_url=public(f"/api/v1/runs/{row.id}/events"),
        results_url=public(f"/api/v1/runs/{row.id}/results"),
    )


def _place(row: RunRow, repository: RunRepository) -> schemas.QueuePlace | None:
    if row.state != "queued" or row.queue_id is None:
        return None
    before = repository.before(row)
    waits = [item.expected_secs if item.state == "queued" else _remaining_secs(item, repository) for item in before]
    known = [wait for wait in waits if wait is not None]
    wait_secs = round(sum(known), 1) if len(known) == len(waits) else None
    return schemas.QueuePlace(lane=row.lane, before=len(before), wait_secs=wait_secs)


def _remaining_secs(row: RunRow, repository: RunRepository) -> float | None:
    """Assumes that the rest takes the latest attempt's time per point and worker, divided by the
    present number of workers."""
    gained = row.progress - row.progress_at_start
    if row.state != "running" or row.started_at is None or gained <= 0:
        return None
    workers, unwritten_secs = repository.chunks.at_work(row.id)
    if workers > 0:
        spent_secs = (row.work_secs + unwritten_secs) / workers
    else:
        spent_secs = (repository.now() - row.started_at).total_seconds()
    return round(spent_secs * (1 - row.progress) / gained, 1)
