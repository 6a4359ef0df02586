"""Queues: procrastinate on the same PostgreSQL. A job is queued in the transaction of its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import procrastinate
import psycopg
from procrastinate import JobContext, RetryStrategy
from procrastinate.connector import BaseAsyncConnector
from sqlalchemy.orm import Session

from cubeyard.kit.db import AWAY


@dataclass(frozen=True)
class Work:
    """A kind of work. Queued rows contain `namespace:task` and `argument`: renaming breaks old
    rows."""

    queue: str
    namespace: str
    task: str
    argument: str
    """The queue's name for the row's id."""
    done_by: str
    """The function of the worker's context that takes the id."""

    def blueprint(self) -> procrastinate.Blueprint:
        """A new one for each application: adding a blueprint changes its tasks."""
        blueprint = procrastinate.Blueprint()

        @blueprint.task(
            name=self.task,
            queue=self.queue,
            pass_context=True,
            # Only database outages are worth a retry: other failures would repeat.
            retry=RetryStrategy(max_attempts=5, exponential_wait=2, retry_exceptions={*AWAY, psycopg.OperationalError}),
        )
        def do(context: JobContext, **arguments: str) -> None:
            context.additional_context[self.done_by](arguments[self.argument])

        _ = do
        return blueprint


def make_app(connector: BaseAsyncConnector, *kinds: Work) -> procrastinate.App:
    """A procrastinate application over that connector for these kinds of work; open it before
    use."""
    return _with_tasks(procrastinate.App(connector=connector), *kinds)


class WorkQueue:
    """Putting work of one kind in and taking it out, on the caller's own transaction."""

    def __init__(self, work: Work) -> None:
        self._work = work
        # Never opened: every call brings its connection.
        self._app = _with_tasks(procrastinate.App(connector=procrastinate.SyncPsycopgConnector()), work)

    def put(
        self, session: Session, id: str, queue: str | None = None, *, last: bool = False, delay_secs: float = 0
    ) -> int:
        """Queue the work on a row; returns the queue's number. `queue` replaces the kind's default;
        `last`: after all work without `last`, also work queued later; `delay_secs`: not before that
        time."""
        name = f"{self._work.namespace}:{self._work.task}"
        priority = -1 if last else 0
        task = self._app.configure_task(
            name,
            queue=queue or self._work.queue,
            priority=priority,
            schedule_in={"seconds": delay_secs} if delay_secs else None,
            connection=_raw(session),
        )
        return task.defer(**{self._work.argument: id})

    def remove(self, session: Session, queue_id: int) -> None:
        """Remove work that no worker has started; a running worker detects its cancelled row."""
        self._app.job_manager.cancel_job_by_id(queue_id, abort=False, delete_job=True, connection=_raw(session))


def _with_tasks(app: procrastinate.App, *kinds: Work) -> procrastinate.App:
    for work in kinds:
        app.add_tasks_from(work.blueprint(), namespace=work.namespace)
    return app


def _raw(session: Session) -> Any:
    return session.connection().connection.driver_connection
