"""Queues: procrastinate over the same PostgreSQL. Work enters its queue in the transaction that writes its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import procrastinate
import psycopg
from procrastinate import JobContext, RetryStrategy
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Work:
    """A kind of work. Queued rows name `namespace:task` and `argument`: they outlive the program that wrote them."""

    queue: str
    namespace: str
    task: str
    argument: str
    """What the id of the row is called in the queue."""
    done_by: str
    """The function of the worker's context that takes the id."""

    def blueprint(self) -> procrastinate.Blueprint:
        """A new one for each application: adding a blueprint changes its tasks."""
        blueprint = procrastinate.Blueprint()

        @blueprint.task(
            name=self.task,
            queue=self.queue,
            pass_context=True,
            # What fails by itself will fail again; a database that went away comes back.
            retry=RetryStrategy(
                max_attempts=5, exponential_wait=2, retry_exceptions={DBAPIError, psycopg.OperationalError}
            ),
        )
        def do(context: JobContext, **arguments: str) -> None:
            context.additional_context[self.done_by](arguments[self.argument])

        _ = do
        return blueprint


def make_app(conninfo: str, *kinds: Work, workers: int = 1) -> procrastinate.App:
    """A procrastinate application on that database for these kinds of work; open it before use."""
    connector = procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=4 + workers, timeout=10)
    return _with_tasks(procrastinate.App(connector=connector), *kinds)


class WorkQueue:
    """Putting work of one kind in and taking it out, on the caller's own transaction."""

    def __init__(self, work: Work) -> None:
        self._work = work
        # Never opened: every call brings its connection.
        self._app = _with_tasks(procrastinate.App(connector=procrastinate.SyncPsycopgConnector()), work)

    def put(self, session: Session, id: str, queue: str | None = None) -> int:
        """The queue's number for the work on the row of that id. `queue` is another queue than the kind's own."""
        name = f"{self._work.namespace}:{self._work.task}"
        task = self._app.configure_task(name, queue=queue or self._work.queue, connection=_raw(session))
        return task.defer(**{self._work.argument: id})

    def remove(self, session: Session, queue_id: int) -> None:
        """Take out what no worker has begun; one that is at it notices its cancelled row."""
        self._app.job_manager.cancel_job_by_id(queue_id, abort=False, connection=_raw(session))


def _with_tasks(app: procrastinate.App, *kinds: Work) -> procrastinate.App:
    for work in kinds:
        app.add_tasks_from(work.blueprint(), namespace=work.namespace)
    return app


def _raw(session: Session) -> Any:
    return session.connection().connection.driver_connection
