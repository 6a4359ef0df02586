"""The migrations go up, down and up again with data in the tables, and agree with the models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from fastapi.testclient import TestClient
from sqlalchemy import Table, event, inspect, select, text

from cubeyard.app import create_app, prepare
from cubeyard.engine import Engine
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.service import ExperimentService
from cubeyard.frames.catalog import PAYLOADS
from cubeyard.jobs.queue import Queue
from cubeyard.jobs.service import JobService
from cubeyard.kit import schema
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.auth.who import THIS_MACHINE, Actor
from cubeyard.kit.db import CALLER, Base, Database
from cubeyard.kit.errors import ProblemError
from cubeyard.notes.schemas import NoteCreate
from cubeyard.notes.service import NoteService
from cubeyard.plans import schemas
from cubeyard.plans.service import PlanService
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
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
        result = {kind: sorted(connection.scalars(text(query))) for kind, query in kinds.items()}
    return {kind: [name for name in names if name != "alembic_version"] for kind, names in result.items()}


def _columns(database: Database) -> dict[str, list[str]]:
    inspector = inspect(database.engine)
    return {
        table: [column["name"] for column in inspector.get_columns(table)]
        for table in inspector.get_table_names()
        if table in Base.metadata.tables
    }


def _rows(database: Database) -> dict[str, list[dict[str, Any]]]:
    with database.engine.connect() as connection:
        return {
            table: list(connection.scalars(text(f"SELECT row_to_json({table}) FROM {table}")))
            for table in _columns(database)
        }


def _part(rows: dict[str, list[dict[str, Any]]], columns: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        table: sorted(orjson.dumps([row[name] for name in names]).decode() for row in rows[table])
        for table, names in columns.items()
    }


def _fill(database: Database, engine: Engine) -> None:
    schema.upgrade(database.engine)
    prepare(database, engine)
    with database.session() as session:
        session.info[CALLER] = Actor(THIS_MACHINE)  # so that the change log has rows too
        plan, _ = PlanService(session, engine).create(schemas.PlanCreate(name="Kept", spec=SMALL))
        pinned = NoteCreate.model_validate({"anchor": {"kind": "rack", "name": "R00"}, "text": "kept"})
        NoteService(session, engine, THIS_MACHINE).pin(plan.id, pinned)
        AuthService(session, None).create_token("kept")
        JobService(session, engine, Queue()).start(plan.id, None, "csv")
        experiments = ExperimentService(session, engine)
        request = ExperimentCreate.model_validate({"plan": {"id": plan.id}, "workload": {"kind": "all-to-all"}})
        run = RunService(session, RunQueue()).start(experiments.row(experiments.create(request).id))
        frames = RunRepository(session)
        row = frames.run(run.id)
        assert row is not None
        for kind in PAYLOADS:
            # The word that a step once changed, and an ordinary text.
            payload = {"fidelity": {"verdict": "host-limited"}, "kind": kind}
            frames.append(row, kind, payload, len(orjson.dumps(payload)))
    for table in Base.metadata.sorted_tables:
        _fill_table(database, table)


def _fill_table(database: Database, table: Table) -> None:
    """A row with a value in every column, if the table has none."""
    with database.engine.begin() as connection:
        if connection.execute(select(table)).first() is not None:
            return
        values: dict[str, Any] = {}
        for key in table.foreign_key_constraints:
            for name, value in zip(
                key.column_keys,
                connection.execute(select(*[element.column for element in key.elements])).one(),
                strict=True,
            ):
                values.setdefault(name, value)
        for column in table.columns:
            if column.name not in values and column.identity is None:
                values[column.name] = _value(column.type.python_type)
        connection.execute(table.insert().values(values))


def _value(kind: type) -> Any:
    values = {str: "kept", int: 1, float: 1.5, bool: True, bytes: b"kept", dict: {"kept": 1}}
    return datetime.now(UTC) if kind is datetime else values.get(kind, "kept")


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
    """With a row in each table and a frame of each kind."""
    _fill(database, engine)
    things = _things(database)
    rows = _rows(database)
    assert {table for table in Base.metadata.tables if not rows.get(table)} == set()
    for script in list(ScriptDirectory.from_config(schema.config()).walk_revisions())[:-1]:
        before = _rows(database)
        schema.downgrade(database.engine, str(script.down_revision))
        assert schema.current(database.engine) == script.down_revision
        kept = _columns(database)
        schema.upgrade(database.engine, script.revision)
        assert _part(_rows(database), kept) == _part(before, kept)
        schema.downgrade(database.engine, str(script.down_revision))
    schema.upgrade(database.engine)
    assert _things(database) == things


def test_a_migration_renames_a_verdict_in_immutable_frames(database: Database, engine: Engine) -> None:
    _fill(database, engine)
    schema.downgrade(database.engine, "20261122a")
    with database.engine.connect() as connection:
        frames = connection.execute(
            text("SELECT kind, payload::text, size_bytes FROM run_frames WHERE kind = 'report'")
        ).all()
    assert frames == [("report", '{"fidelity":{"verdict":"emulator-limited"},"kind":"report"}', 59)]
    schema.upgrade(database.engine)
    with pytest.raises(Exception, match="immutable"), database.engine.begin() as connection:
        connection.execute(text("UPDATE run_frames SET size_bytes = 1"))


def test_a_migration_gives_way_to_a_long_transaction(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits behind it for longer than its own limit."""
    _fill(database, engine)
    schema.downgrade(database.engine, "20261123p")
    for name, value in {"LOCK_TRIES": 2, "LOCK_PAUSE_SECS": 0.1, "LOCK_SECS": 0.3}.items():
        monkeypatch.setattr(schema, name, value)
    with database.engine.connect() as reader:
        reader.execute(text("SELECT * FROM runs"))
        with pytest.raises(ProblemError, match=r"Nothing was changed: another transaction holds a table"):
            schema.upgrade(database.engine)
        assert schema.current(database.engine) == "20261123p"
    schema.upgrade(database.engine)


@pytest.mark.parametrize(
    ("revision", "words"), [("20261123p", "Migrate it: `cubeyard db upgrade`"), ("20990101a", "from a newer Cubeyard")]
)
def test_tables_of_another_version_are_refused_in_words_by_all_others(
    database: Database, engine: Engine, revision: str, words: str
) -> None:
    _fill(database, engine)
    with TestClient(create_app(Settings(), database=database), base_url="http://localhost") as client:
        assert client.get("/healthz").status_code == 200
        with database.engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
            connection.execute(text("ALTER TABLE runs RENAME COLUMN title TO called"))
        for path in ("/healthz", "/api/v1/runs"):
            answer = client.get(path)
            assert answer.status_code == 503
            assert words in answer.text
    for refused in (schema.make_ready, schema.migrate_own):
        with pytest.raises(schema.OtherSchemaError, match=words):
            refused(database)
    assert schema.current(database.engine) == revision


def test_an_empty_database_of_several_programs_is_refused_too(database: Database) -> None:
    with pytest.raises(schema.OtherSchemaError, match="has no tables of Cubeyard yet"):
        schema.migrate_own(database)


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
    request: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: request.append(given[2]))
    monkeypatch.setattr("alembic.command.upgrade", lambda *_: pytest.fail("there is nothing to do"))
    schema.upgrade(database.engine)
    assert [item for item in request if "alembic_version" not in item] == []


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
