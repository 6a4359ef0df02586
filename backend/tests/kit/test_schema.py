"""The migrations go up, down and up again with data in the tables, and agree with the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, text

from cubeyard.app import prepare
from cubeyard.engine import Engine
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.service import ExperimentService
from cubeyard.jobs.queue import Queue
from cubeyard.jobs.service import JobService
from cubeyard.kit import schema
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.auth.who import THIS_MACHINE, Actor
from cubeyard.kit.db import CALLER, Base, Database
from cubeyard.notes.schemas import NoteCreate
from cubeyard.notes.service import NoteService
from cubeyard.plans import schemas
from cubeyard.plans.service import PlanService
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.service import RunService
from cubeyard.settings import Settings
from tests.conftest import SMALL


@pytest.fixture
def database(empty_url: str) -> Iterator[Database]:
    opened = Database(Settings(database_url=empty_url))
    yield opened
    opened.close()


def _things(database: Database) -> dict[str, list[str]]:
    """All our objects in the database, except Alembic's own table."""
    kinds = {
        "tables": "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S', 'v')",
        "functions": "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
        "types": "SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')",
        "extensions": "SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'",
    }
    with database.engine.connect() as connection:
        found = {kind: sorted(connection.scalars(text(query))) for kind, query in kinds.items()}
    return {kind: [name for name in names if name != "alembic_version"] for kind, names in found.items()}


def _rows(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    with database.engine.connect() as connection:
        return {
            table: [tuple(row) for row in connection.execute(text(f"SELECT {columns} FROM {table} ORDER BY 1, 2"))]
            # Without the columns of tokens that a later step added.
            for table, columns in {"plans": "*", "catalog_books": "*", "tokens": "id, name, hash"}.items()
        }


def _fill(database: Database, engine: Engine) -> None:
    prepare(database, engine)
    with database.session() as session:
        session.info[CALLER] = Actor(THIS_MACHINE)  # so that the change log has rows too
        plan, _ = PlanService(session, engine).create(schemas.PlanCreate(name="Kept", spec=SMALL))
        pinned = NoteCreate.model_validate({"anchor": {"kind": "rack", "name": "R00"}, "text": "kept"})
        NoteService(session, engine, THIS_MACHINE).pin(plan.id, pinned)
        AuthService(session, None).create_token("kept")
        JobService(session, engine, Queue()).start(plan.id, None, "csv")
        experiments = ExperimentService(session, engine)
        asked = ExperimentCreate.model_validate({"plan": {"id": plan.id}, "workload": {"kind": "all-to-all"}})
        RunService(session, RunQueue()).start(experiments.row(experiments.create(asked).id))


def test_up_down_and_up_again_on_data(database: Database, engine: Engine) -> None:
    _fill(database, engine)
    whole = _things(database)
    assert whole["extensions"] == [], "no contrib extensions"
    assert "procrastinate_jobs" in whole["tables"]
    schema.downgrade(database.engine, "base")
    assert _things(database) == {"tables": [], "functions": [], "types": [], "extensions": []}
    _fill(database, engine)
    assert _things(database) == whole


def test_every_single_step_down_and_up_keeps_what_earlier_steps_hold(database: Database, engine: Engine) -> None:
    _fill(database, engine)
    before, things = _rows(database), _things(database)
    for script in list(ScriptDirectory.from_config(schema.config()).walk_revisions())[:-1]:
        assert script.down_revision is not None
        schema.downgrade(database.engine, str(script.down_revision))
        assert schema.current(database.engine) == script.down_revision
        assert _rows(database) == before
        schema.upgrade(database.engine)
        assert _things(database) == things
        assert _rows(database) == before


def test_the_migrations_make_what_the_models_say(database: Database) -> None:
    schema.upgrade(database.engine)
    assert schema.current(database.engine) == schema.head()

    def ours(name: str | None, kind: str, _parents: object) -> bool:
        return not (kind == "table" and name is not None and name.startswith("procrastinate_"))

    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": ours, "compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_a_database_that_is_up_to_date_needs_no_alembic(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    schema.upgrade(database.engine)
    asked: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    monkeypatch.setattr("alembic.command.upgrade", lambda *_: pytest.fail("there is nothing to do"))
    schema.upgrade(database.engine)
    assert [one for one in asked if "alembic_version" not in one] == []


def test_the_newest_migration_is_the_one_that_alembic_finds() -> None:
    assert schema.head() == ScriptDirectory.from_config(schema.config()).get_current_head()


def test_a_failing_migration_leaves_nothing_behind(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no more disk")

    monkeypatch.setattr("alembic.op.create_index", fail)
    with pytest.raises(RuntimeError):
        schema.upgrade(database.engine)
    monkeypatch.undo()
    assert _things(database)["tables"] == []
    schema.upgrade(database.engine)


def test_what_was_hashed_cannot_be_changed(database: Database, engine: Engine) -> None:
    _fill(database, engine)
    for table in ("plan_revisions", "catalog_versions"):
        with pytest.raises(Exception, match="immutable"), database.engine.begin() as connection:
            connection.execute(text(f"UPDATE {table} SET content_hash = 'x'"))
