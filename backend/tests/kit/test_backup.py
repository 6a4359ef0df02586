"""A backup brings back every row, also into a newer version, and replaces nothing by accident."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from cubeyard.kit import backup as backups
from cubeyard.kit import schema
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.processes import command

Rows = dict[str, list[str]]


def _rows(database: Database) -> Rows:
    with database.engine.connect() as connection:
        names = connection.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).all()
        rows = {name: sorted(connection.scalars(text(f"SELECT t::text FROM {name} t"))) for name in names}
    database.engine.dispose()
    return rows


@pytest.fixture
def other(empty_url: str) -> Iterator[Database]:
    opened = Database(Settings(database_url=empty_url), connections=1)
    yield opened
    opened.close()


@pytest.fixture
def file(database: Database, client: TestClient, tmp_path: Path) -> Path:
    """A backup with a plan, a run and a token."""
    plan = client.post("/api/v1/plans", json={"name": "kept", "spec": SMALL})
    assert plan.status_code == 201
    made = client.post("/api/v1/experiments", json={"plan": SMALL, "workload": {"kind": "all-to-all"}}).json()
    assert client.post(f"/api/v1/experiments/{made['id']}/runs").status_code in (200, 201, 202)
    with database.session() as session:
        AuthService(session, None).create_token("a token")
    backups.backup(database, tmp_path / "backup")
    return tmp_path / "backup"


def test_a_backup_restores_every_row_into_an_empty_database(file: Path, database: Database, other: Database) -> None:
    assert file.stat().st_mode & 0o777 == 0o600
    assert backups.restore(other, file, replace=False) == schema.head()
    before = _rows(database)
    assert len(before["plans"]) == len(before["tokens"]) == len(before["runs"]) == 1
    assert _rows(other) == before

    with pytest.raises(ProblemError, match=r"not empty\. Give --replace"):
        backups.restore(other, file, replace=False)
    with other.session() as session:
        session.execute(text("DELETE FROM tokens"))
    backups.restore(other, file, replace=True)
    assert _rows(other) == before

    with database.engine.connect(), pytest.raises(ProblemError, match="End it"):
        backups.restore(Database(database_settings(database), connections=1), file, replace=True)
    with pytest.raises(ProblemError, match="exists"):
        backups.backup(database, file)


def database_settings(database: Database) -> Settings:
    return Settings(database_url=database.url.render_as_string(hide_password=False))


def test_a_database_without_tables_is_no_backup(other: Database, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"no tables of Cubeyard.*CUBEYARD_HOME"):
        backups.backup(other, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_a_backup_of_an_older_version_is_migrated_and_of_a_newer_one_refused(
    file: Path, other: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups.restore(other, file, replace=False)
    schema.downgrade(other.engine, "-1")
    older = schema.current(other.engine)
    backups.backup(other, tmp_path / "older")
    assert backups.restore(other, tmp_path / "older", replace=True) == older
    assert schema.current(other.engine) == schema.head()

    before = _rows(other)
    monkeypatch.setattr(schema, "is_known", lambda _: False)
    with pytest.raises(ProblemError, match=f"newer Cubeyard .revision {schema.head()}"):
        backups.restore(other, file, replace=True)
    assert _rows(other) == before


def test_a_restore_that_fails_leaves_the_old_data(file: Path, other: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    backups.restore(other, file, replace=False)
    before = _rows(other)

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(schema, "upgrade", fail)
    with pytest.raises(RuntimeError):
        backups.restore(other, file, replace=True)
    assert _rows(other) == before


@pytest.mark.parametrize("content", [b"", b"PGDMP", b"-- SQL\n"])
def test_a_file_that_is_no_backup_is_refused(other: Database, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ProblemError, match=r"is no backup|pg_restore failed"):
        backups.restore(other, tmp_path / "file", replace=False)
    assert schema.current(other.engine) is None


@pytest.mark.long
def test_the_command_line_moves_a_home(tmp_path: Path) -> None:
    def cubeyard(home: str, *arguments: str, sent: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return command(tmp_path / home, *arguments, stdin=sent, CUBEYARD_LOG_LEVEL="warning")

    token = cubeyard("old", "token", "create", "kept")
    assert token.returncode == 0
    saved = cubeyard("old", "backup", "-")
    assert (saved.returncode, saved.stdout[:5]) == (0, b"PGDMP")
    assert cubeyard("new", "restore", "-", sent=saved.stdout).returncode == 0
    assert b"kept" in cubeyard("new", "token", "list").stdout
    again = cubeyard("new", "restore", "-", sent=saved.stdout)
    assert (again.returncode, b"--replace" in again.stderr) == (2, True)
