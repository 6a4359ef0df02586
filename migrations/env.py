"""Alembic's entry: on the connection it is given (the program's way), or on a database of its own
choice (`alembic` itself)."""

from __future__ import annotations

from alembic import context

from cubeyard.catalog import models as _catalog
from cubeyard.emulation.live import models as _emulation
from cubeyard.experiments import models as _experiments
from cubeyard.jobs import models as _jobs
from cubeyard.kit.auth import models as _auth
from cubeyard.kit.changes import models as _changes
from cubeyard.kit.db import Base, Database
from cubeyard.kit.idempotency import models as _idempotency
from cubeyard.notes import models as _notes
from cubeyard.plans import models as _plans
from cubeyard.plans.work import models as _work
from cubeyard.runs import models as _runs
from cubeyard.settings import Settings

_ = _catalog, _changes, _emulation, _experiments, _jobs, _auth, _idempotency, _notes, _plans, _runs, _work


def include(name: str | None, kind: str, _parents: object) -> bool:
    """The queue's tables are the queue's own; autogenerate leaves them alone."""
    return not (kind == "table" and name is not None and name.startswith("procrastinate_"))


def run(connection: object) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, include_name=include, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database(Settings())
    try:
        with database.engine.begin() as connection:
            run(connection)
    finally:
        database.close()
