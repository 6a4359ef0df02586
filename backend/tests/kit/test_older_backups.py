"""A backup of each revision of the tables restores: its rows are in today's tables, and in its own
again after steps back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, Table, select, text

from cubeyard.kit import backup as backups
from cubeyard.kit import roles, schema
from cubeyard.kit.db import Base, Database
from cubeyard.settings import Settings
from tests.conftest import some

REVISIONS = [script.revision for script in ScriptDirectory.from_config(schema.config()).walk_revisions()][::-1]
VALUES = {str: "kept", int: 1, float: 1.5, bool: True, bytes: b"kept", dict: {"kept": 1}}
EMPTY = {("notes", "kept_with_run")}
"""A note has this or a plan."""
BEFORE_RENAMED = REVISIONS.index("20261122b")
"""The step that changes a word in the frames of reports."""
OLD, NEW = "emulator-limited", "host-limited"

Rows = dict[str, list[str]]


@pytest.fixture
def database(empty_url: str) -> Iterator[Database]:
    opened = Database(Settings(database_url=empty_url), connections=1)
    yield opened
    opened.close()


def _tables(connection: Connection) -> list[Table]:
    known = MetaData()
    known.reflect(connection)
    return [table for table in known.sorted_tables if not table.name.startswith((roles.QUEUE, "alembic"))]


def _value(kind: type) -> Any:
    return datetime.now(UTC) if kind is datetime else VALUES.get(kind, {"kept": 1})


def _fill(connection: Connection, table: Table, word: str) -> None:
    """A row with a value in every column that this revision has."""
    values: dict[str, Any] = {}
    for key in table.foreign_key_constraints:
        of = connection.execute(select(*[element.column for element in key.elements])).one()
        values |= dict(zip(key.column_keys, of, strict=True))
    for column in table.columns:
        if column.name not in values and column.identity is None:
            values[column.name] = _value(column.type.python_type)
    if table.name == "run_frames":
        values |= {"kind": "report", "payload": {"fidelity": {"verdict": word}}}
    values = {name: value for name, value in values.items() if (table.name, name) not in EMPTY}
    connection.execute(table.insert().values(values))


def _rows(database: Database, columns: dict[str, list[str]]) -> Rows:
    with database.engine.connect() as connection:
        rows = {name: connection.scalars(text(f"SELECT row_to_json({name}) FROM {name}")).all() for name in columns}
    return {
        name: sorted(orjson.dumps([row[column] for column in columns[name]]).decode() for row in rows[name])
        for name in columns
    }


@pytest.mark.parametrize("revision", some(REVISIONS[::-1]))
def test_a_backup_of_each_revision_restores(revision: str, database: Database, tmp_path: Path) -> None:
    schema.upgrade(database.engine, revision)
    with database.engine.begin() as connection:
        tables = _tables(connection)
        for table in tables:
            _fill(connection, table, OLD if REVISIONS.index(revision) < BEFORE_RENAMED else NEW)
        columns = {table.name: [column.name for column in table.columns] for table in tables}
        if queued := connection.scalar(text("SELECT to_regclass('procrastinate_jobs')")):
            connection.execute(text("INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('runs', 'run')"))
    if queued:
        columns["procrastinate_jobs"] = ["id", "queue_name", "task_name", "status"]
    before = _rows(database, columns)
    assert all(len(rows) == 1 for rows in before.values())
    backups.backup(database, tmp_path / "backup")
    with database.engine.begin() as connection:
        for role in (roles.SERVER, roles.WORKER):
            connection.execute(text(f"CREATE ROLE {role} NOLOGIN"))

    try:
        assert backups.restore(database, tmp_path / "backup", replace=True) == revision
        assert schema.current(database.engine) == schema.head()
        with database.session() as session:
            for name, table in Base.metadata.tables.items():
                assert len(session.execute(select(table)).all()) == (name in columns)
            rights = (
                "SELECT has_table_privilege(:role, 'plans', 'SELECT'), has_schema_privilege(:role, 'public', 'USAGE')"
            )
            for role in (roles.SERVER, roles.WORKER):
                assert session.execute(text(rights), {"role": role}).one() == (True, True)
            verdicts = session.scalars(text("SELECT payload #>> '{fidelity,verdict}' FROM run_frames"))
            assert set(verdicts) <= {NEW}
        assert {name: len(rows) for name, rows in _rows(database, columns).items()} == dict.fromkeys(columns, 1)
        schema.downgrade(database.engine, revision)
        assert _rows(database, columns) == before
    finally:
        with database.engine.begin() as connection:
            for role in (roles.SERVER, roles.WORKER):
                connection.execute(text(f"DROP OWNED BY {role}"))
                connection.execute(text(f"DROP ROLE {role}"))
