"""A worker's password opens runs and exports, and neither tokens nor the change log."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

from cubeyard.cli.command import app as program
from cubeyard.kit import alive, roles, schema
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.db import Base, Database
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.runs.conftest import ended, start, start_worker, sweep, wait_for

_ = start_worker


@pytest.fixture
def logins(database: Database) -> Iterator[dict[str, str]]:
    """A URL of each role."""
    urls = {}
    with database.engine.begin() as connection:
        roles.make(connection)
        for role in (roles.SERVER, roles.WORKER):
            connection.execute(text(f"CREATE ROLE {role}_login LOGIN PASSWORD 'p' IN ROLE {role}"))
            url = make_url(database.url).set(username=f"{role}_login", password="p", drivername="postgresql")
            urls[role] = url.render_as_string(hide_password=False)
    yield urls
    with database.engine.begin() as connection:
        for role in (roles.SERVER, roles.WORKER):
            for name in (f"{role}_login", role):
                connection.execute(text(f"DROP OWNED BY {name}"))
                connection.execute(text(f"DROP ROLE {name}"))


def test_every_table_has_its_place_in_the_roles() -> None:
    known = roles.OF_WORKERS | roles.READ_BY_WORKERS | roles.HIDDEN_FROM_WORKERS
    assert known == set(Base.metadata.tables) | {"alembic_version"}


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        (roles.WORKER, "INSERT INTO tokens (id, name, hash) VALUES ('x', 'x', 'x')"),
        (roles.WORKER, "SELECT * FROM tokens"),
        (roles.WORKER, "UPDATE sessions SET expires_at = now()"),
        (roles.WORKER, "SELECT * FROM changes"),
        (roles.WORKER, "UPDATE plans SET name = 'x'"),
        *(
            (role, statement)
            for role in (roles.WORKER, roles.SERVER)
            for statement in (
                "DELETE FROM changes",
                "TRUNCATE changes",
                "ALTER TABLE changes DISABLE TRIGGER ALL",
                "DROP TABLE changes",
                "UPDATE alembic_version SET version_num = 'x'",
                "CREATE TABLE more (id int)",
                "SET session_replication_role = replica",
            )
        ),
    ],
)
def test_a_role_may_not(logins: dict[str, str], role: str, statement: str) -> None:
    opened = Database(Settings(database_url=logins[role]))
    try:
        with pytest.raises(DBAPIError, match=r"permission denied|must be owner"), opened.engine.begin() as connection:
            connection.execute(text(statement))
    finally:
        opened.close()


def test_a_worker_and_a_server_of_these_roles_do_their_work(
    client: TestClient, logins: dict[str, str], start_worker: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    run = start(client, **sweep(1))
    plan = client.post("/api/v1/plans", json={"name": "Worked on", "spec": SMALL}).json()["id"]
    job = client.post(f"/api/v1/plans/{plan}/exports/csv/jobs").json()["id"]
    worker = start_worker("--until-idle", "--beat", str(tmp_path / "beat"), DATABASE_URL=logins[roles.WORKER])
    assert worker.wait(60) == 0
    alive.beats(str(tmp_path / "beat"))
    assert wait_for(client, run["id"], ended)["state"] == "succeeded"
    assert client.get(f"/api/v1/jobs/{job}").json()["state"] == "done"
    opened = Database(Settings(database_url=logins[roles.SERVER]))
    with opened.session() as session:
        AuthService(session, None).create_token("of a server")
    opened.close()


def test_nobody_but_the_owner_makes_tables_where_everybody_could(database: Database, logins: dict[str, str]) -> None:
    """Up to PostgreSQL 14 everybody may, in every database."""
    with database.engine.begin() as connection:
        connection.execute(text("GRANT CREATE ON SCHEMA public TO PUBLIC"))
        roles.grant(connection)
    for url in logins.values():
        opened = Database(Settings(database_url=url))
        try:
            with pytest.raises(DBAPIError, match="permission denied"), opened.engine.begin() as connection:
                connection.execute(text("CREATE TABLE more (id int)"))
        finally:
            opened.close()
    with database.engine.begin() as connection:
        connection.execute(text("CREATE TABLE more (id int)"))
        connection.execute(text("DROP TABLE more"))


def test_logins_get_their_passwords_and_no_statement_has_them(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From the environment, or from files as Compose mounts them."""
    monkeypatch.setenv("DATABASE_URL", database.conninfo)
    refused = CliRunner().invoke(
        program, ["db", "roles", "--logins"], env={"SERVER_PASSWORD": "s", "WORKER_PASSWORD": ""}
    )
    assert refused.exit_code == 2, "a password is missing"
    try:
        password = "p'@$s:wo/rd%s"
        files = {f"{name.upper()}_PASSWORD": password for name in roles.LOGINS}
        for name, value in files.items():
            (tmp_path / name).write_text(f"{value}\n")
        for given in (dict.fromkeys(files, "first"), {"CUBEYARD_SECRETS_DIR": str(tmp_path)}):
            done = CliRunner().invoke(program, ["db", "roles", "--logins"], env=given)
            assert done.exit_code == 0, done.output
        for name, role in roles.LOGINS.items():
            with database.engine.connect() as connection:
                digest = connection.scalar(text(f"SELECT rolpassword FROM pg_authid WHERE rolname = '{name}'"))
                member = connection.scalar(text(f"SELECT pg_has_role('{name}', '{role}', 'USAGE')"))
            assert (digest.startswith("SCRAM-SHA-256$"), member) == (True, True)
            url = database.url.set(username=name, password=None, drivername="postgresql").render_as_string()
            opened = Database(Settings(database_url=url, database_password=SecretStr(password)))
            with opened.engine.connect() as connection:
                assert connection.scalar(text("SELECT current_user")) == name
            opened.close()
    finally:
        with database.engine.begin() as connection:
            for name in (*roles.LOGINS, *roles.LOGINS.values()):
                connection.execute(text(f"DROP OWNED BY {name}"))
                connection.execute(text(f"DROP ROLE {name}"))


def test_a_migration_grants_what_it_adds(database: Database, logins: dict[str, str]) -> None:
    schema.downgrade(database.engine, "20261122f")
    schema.upgrade(database.engine)
    opened = Database(Settings(database_url=logins[roles.WORKER]))
    with opened.engine.connect() as connection:
        connection.execute(text("SELECT * FROM run_chunks"))
    opened.close()
