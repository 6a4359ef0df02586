"""Backups: the whole database in PostgreSQL's custom format, written and read by its programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import text

from cubeyard.kit import roles, schema
from cubeyard.kit.db import Database
from cubeyard.kit.embedded import installed_programs
from cubeyard.kit.errors import ProblemError

MAGIC = b"PGDMP"
ASIDE = "before_restore"
"""The schema that holds the old data until the new data is complete."""
FILLED = ("plans", "experiments", "runs", "notes", "tokens", "changes")
"""Tables that a new database has empty."""


def backup(database: Database, file: Path) -> None:
    """Writes a new file that only this user may read: it has hashes of tokens, and names."""
    if schema.current(database.engine) is None:
        raise _refused(
            "This database has no tables of Cubeyard, so there is nothing to back up. Set CUBEYARD_HOME or DATABASE_URL"
            " to the database that your server uses."
        )
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".cubeyard-backup-") as folder:
        new = Path(folder) / "backup"
        _run(
            database, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--schema=public", f"--file={new}"
        )
        new.chmod(0o600)
        try:
            os.link(new, file)
        except FileExistsError:
            raise _refused(f"{file} exists. Give a new name.") from None


def restore(database: Database, file: Path, *, replace: bool) -> str:
    """Restores and migrates all of a backup, or nothing of it; returns its revision."""
    revision = _checked(database, file)
    if database.is_shared():
        raise _refused("A server, a worker or another client uses this database. End it, then restore.")
    _put_back(database)
    if not replace and _is_filled(database):
        raise _refused(
            "This database is not empty. Give --replace to lose what it holds, or set another CUBEYARD_HOME."
        )
    _statements(
        database,
        f"ALTER SCHEMA public RENAME TO {ASIDE}",
        "CREATE SCHEMA public",
        "ALTER SCHEMA public OWNER TO pg_database_owner",
    )
    try:
        _run(
            database,
            "pg_restore",
            "--no-owner",
            "--no-privileges",
            "--single-transaction",
            "--schema=public",
            "--exit-on-error",
            str(file),
        )
        schema.upgrade(database.engine)
        with database.engine.begin() as connection:
            roles.grant(connection)  # rights are not in the file: the roles belong to the database
    except BaseException:
        _put_back(database)
        raise
    _statements(database, f"DROP SCHEMA {ASIDE} CASCADE")
    return revision


def _checked(database: Database, file: Path) -> str:
    """The revision of a backup that this program and this server can read."""
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise _refused(f"{file} is no backup: `cubeyard backup` and `pg_dump --format=custom` write them.")
    head = _run(database, "pg_restore", "--list", str(file), connect=False)
    made_by = re.search(r"Dumped from database version: (\d+)", head)
    if made_by is not None and int(made_by[1]) > _server_version(database):
        raise _refused(
            f"{file} comes from PostgreSQL {made_by[1]}; this database is PostgreSQL {_server_version(database)}, which is older."
            " Restore it into a newer PostgreSQL."
        )
    rows = _run(database, "pg_restore", "--data-only", "--table=alembic_version", "--file=-", str(file), connect=False)
    revision = re.search(r"^COPY .*alembic_version.*\n(\S+)$", rows, re.MULTILINE)
    if revision is None or revision[1] == "\\.":
        raise _refused(f"{file} is a backup of another program: it has no revision of Cubeyard's tables.")
    if not schema.is_known(revision[1]):
        raise _refused(
            f"{file} was made by a newer Cubeyard (revision {revision[1]}; the newest here is {schema.head()})."
            " Restore it with that version."
        )
    return revision[1]


def _is_filled(database: Database) -> bool:
    with database.engine.connect() as connection:
        here = [name for name in FILLED if connection.scalar(text(f"SELECT to_regclass('{name}')")) is not None]
        return any(connection.scalar(text(f"SELECT EXISTS (SELECT FROM {name})")) for name in here)  # noqa: S608 - our names


def _put_back(database: Database) -> None:
    """The old data of a restore that failed or was killed."""
    with database.engine.connect() as connection:
        if connection.scalar(text(f"SELECT to_regnamespace('{ASIDE}')")) is None:
            return
    _statements(database, "DROP SCHEMA IF EXISTS public CASCADE", f"ALTER SCHEMA {ASIDE} RENAME TO public")


def _statements(database: Database, *statements: str) -> None:
    with database.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def _server_version(database: Database) -> int:
    with database.engine.connect() as connection:
        return int(connection.scalar(text("SHOW server_version_num"))) // 10_000


def _run(database: Database, name: str, *arguments: str, connect: bool = True) -> str:
    """What the program prints. The password is in its environment, not in its arguments."""
    url = database.url.set(drivername="postgresql", password=None)
    target = [f"--dbname={url.render_as_string()}"] if connect else []
    environment = {key: value for key, value in os.environ.items() if connect or not key.startswith("PG")}
    if database.url.password is not None:
        environment["PGPASSWORD"] = str(database.url.password)
    called = [str(_program(name, _server_version(database))), *target, *arguments]
    done = subprocess.run(called, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise ProblemError(500, "backup-failed", f"{name} failed: {lines[0]}. Nothing was changed.")
    return done.stdout


def _program(name: str, version: int) -> Path:
    """The oldest version that serves: files of newer ones do not restore into older servers."""
    known = {at: folder / name for at, folder in installed_programs().items() if (folder / name).exists()}
    if (on_path := shutil.which(name)) is not None and (at := _version_of([on_path, "--version"])) is not None:
        known.setdefault(at, Path(on_path))
    usable = [at for at in known if at >= version]
    if not usable:
        here = f"; here are those of {', '.join(map(str, sorted(known)))}" if known else ""
        raise _refused(f"The database is PostgreSQL {version}, which needs {name} of that version or later{here}.")
    return known[min(usable)]


def _version_of(command: Sequence[str]) -> int | None:
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    number = re.search(r"\) (\d+)", printed)
    return int(number[1]) if number is not None else None


def _refused(message: str) -> ProblemError:
    return ProblemError(409, "backup-refused", message)
