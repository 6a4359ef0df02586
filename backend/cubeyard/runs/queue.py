"""The runs' own queue: a long sweep keeps no export waiting. A run enters it in the transaction that writes its row."""

from __future__ import annotations

from typing import Any

import procrastinate
import psycopg
from procrastinate import JobContext, RetryStrategy
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

RUN_QUEUE = "runs"
TASK = "run"
NAMESPACE = "cubeyard_runs"


def tasks() -> procrastinate.Blueprint:
    """A new one for each application: adding a blueprint changes its tasks."""
    blueprint = procrastinate.Blueprint()

    @blueprint.task(
        name=TASK,
        queue=RUN_QUEUE,
        pass_context=True,
        retry=RetryStrategy(
            max_attempts=5, exponential_wait=2, retry_exceptions={DBAPIError, psycopg.OperationalError}
        ),
    )
    def run(context: JobContext, *, run_id: str) -> None:
        context.additional_context["do_run"](run_id)

    _ = run
    return blueprint


class RunQueue:
    """Putting runs in and taking them out, on the caller's own transaction."""

    def __init__(self) -> None:
        # Never opened: every call brings its connection.
        self._app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector())
        self._app.add_tasks_from(tasks(), namespace=NAMESPACE)

    def put(self, session: Session, run_id: str) -> int:
        """The queue's number for the run."""
        task = self._app.configure_task(f"{NAMESPACE}:{TASK}", queue=RUN_QUEUE, connection=_raw(session))
        return task.defer(run_id=run_id)

    def remove(self, session: Session, queue_id: int) -> None:
        """Take out a run that no worker has begun; one that runs notices its cancelled row."""
        self._app.job_manager.cancel_job_by_id(queue_id, abort=False, connection=_raw(session))


def _raw(session: Session) -> Any:
    return session.connection().connection.driver_connection
