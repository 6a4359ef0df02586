"""The queue: procrastinate over the same PostgreSQL. A job enters it in the transaction that writes its row."""

from __future__ import annotations

from typing import Any

import procrastinate
import psycopg
from procrastinate import JobContext, RetryStrategy
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

QUEUE = "exports"
TASK = "export"


def _tasks() -> procrastinate.Blueprint:
    """A new one for each application: adding a blueprint changes its tasks."""
    blueprint = procrastinate.Blueprint()

    @blueprint.task(
        name=TASK,
        queue=QUEUE,
        pass_context=True,
        # A renderer that fails will fail again; a database that went away comes back.
        retry=RetryStrategy(
            max_attempts=5, exponential_wait=2, retry_exceptions={DBAPIError, psycopg.OperationalError}
        ),
    )
    def export(context: JobContext, *, job_id: str) -> None:
        context.additional_context["run_export"](job_id)

    _ = export
    return blueprint


def make_app(conninfo: str, *, workers: int = 1) -> procrastinate.App:
    """A procrastinate application on that database; open it before use."""
    connector = procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=4 + workers, timeout=10)
    app = procrastinate.App(connector=connector)
    app.add_tasks_from(_tasks(), namespace="cubeyard")
    return app


class Queue:
    """Putting jobs in and taking them out, on the caller's own transaction."""

    def __init__(self) -> None:
        # Never opened: every call brings its connection.
        self._app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector())
        self._app.add_tasks_from(_tasks(), namespace="cubeyard")

    def put(self, session: Session, job_id: str) -> int:
        """The queue's number for the job."""
        return self._app.configure_task(f"cubeyard:{TASK}", queue=QUEUE, connection=_raw(session)).defer(job_id=job_id)

    def remove(self, session: Session, queue_id: int) -> None:
        """Take out a job that no worker has begun; one that runs notices its cancelled row."""
        self._app.job_manager.cancel_job_by_id(queue_id, abort=False, connection=_raw(session))


def _raw(session: Session) -> Any:
    return session.connection().connection.driver_connection
