"""The revision of the database's tables, and the migrations.

Several programs use a database: only `cubeyard db upgrade` migrates it, and the server whose own it
is (embedded). All other programs compare revisions, and refuse to start if they differ. Alembic is
imported where there is something to do: at most starts there is not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from cubeyard.kit import roles
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import files_of_server

if TYPE_CHECKING:
    from alembic.config import Config

    from cubeyard.kit.db import Database

MIGRATIONS = files_of_server("migrations", "migrations")
UPGRADE_LOCK = 0x43756265_0000
"""A number for PostgreSQL's advisory locks: one process migrates at a time."""
LOCK_SECS, LOCK_TRIES, LOCK_PAUSE_SECS = 2, 15, 1.0
"""While a migration waits for a table that a long transaction reads, everybody else waits behind
it: it gives way after this time, and tries again."""
_REVISION = re.compile(r'^revision = "(.+)"$', re.MULTILINE)
_STEPS = re.compile(r"[+-]\d+")
_BUILT_ON = re.compile(r'^down_revision = "(.+)"$', re.MULTILINE)


def config(connection: Connection | None = None) -> Config:
    """Alembic's configuration; with a connection, everything happens in that connection's
    transaction."""
    from alembic.config import Config

    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    if connection is not None:
        made.attributes["connection"] = connection
    return made


class OtherSchemaError(ProblemError):
    """The tables are of another revision than this program's."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, "other-schema", detail)


def upgrade(engine: Engine, revision: str = "head") -> None:
    """All of it or nothing: PostgreSQL's schema changes are transactional. Raises
    OtherSchemaError for tables of a newer program."""
    if revision == "head" and current(engine) == head():
        return
    from alembic import command

    _migrate(engine, revision, command.upgrade)


def downgrade(engine: Engine, revision: str) -> None:
    from alembic import command

    _migrate(engine, revision, command.downgrade)


def _migrate(engine: Engine, revision: str, command: Callable[[Config, str], None]) -> None:
    if revision not in {"head", "base", *_revisions()[0]} and not _STEPS.fullmatch(revision):
        raise ProblemError(422, "no-revision", f"There is no revision {revision}. The newest here is {head()}.")
    for left in reversed(range(LOCK_TRIES)):
        try:
            with engine.begin() as connection:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
                _refuse_unknown(current_of(connection))
                connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECS}s'"))
                command(config(connection), revision)
                roles.grant(connection)
        except OperationalError as error:
            if not isinstance(error.orig, LockNotAvailable):
                raise
            if left == 0:
                detail = (
                    "Nothing was changed: another transaction holds a table for more than "
                    f"{LOCK_TRIES * (LOCK_SECS + LOCK_PAUSE_SECS):.0f} s. End it (pg_stat_activity lists it), then try again."
                )
                raise ProblemError(503, "tables-busy", detail) from error
            time.sleep(LOCK_PAUSE_SECS)
        else:
            return


def refuse_other(engine: Engine) -> None:
    """Raises OtherSchemaError if the tables are not of this program's revision."""
    revision = current(engine)
    if revision == head():
        return
    _refuse_unknown(revision)
    has = "has no tables of Cubeyard yet" if revision is None else f"has tables of revision {revision}"
    raise OtherSchemaError(
        f"The database {has}; this program works with {head()}. Migrate it: `cubeyard db upgrade`,"
        " once every program that uses it is of this version."
    )


def make_ready(database: Database) -> None:
    """For commands: an embedded database that no server has used yet gets its tables; any other is
    compared. Raises OtherSchemaError."""
    if database.embedded is not None and current(database.engine) is None:
        upgrade(database.engine)
    refuse_other(database.engine)


def migrate_own(database: Database) -> None:
    """For servers: the embedded database is migrated, if no other program is at it. Any other is
    compared. Raises OtherSchemaError."""
    revision = current(database.engine)
    if database.embedded is not None and revision != head():
        if revision is not None and database.is_shared():
            raise OtherSchemaError(
                f"The database of CUBEYARD_HOME has tables of revision {revision}, this program works with {head()}, and"
                " another program uses it now. End that first; the next start migrates the tables."
            )
        upgrade(database.engine)
    refuse_other(database.engine)


def _refuse_unknown(revision: str | None) -> None:
    if revision is not None and not is_known(revision):
        raise OtherSchemaError(
            f"The database has tables of revision {revision}, from a newer Cubeyard; the newest here is {head()}."
            f" Take that version, or go back with it: `cubeyard db downgrade {head()}`."
        )


def current(engine: Engine) -> str | None:
    """The revision the database is at; None for an empty one."""
    with engine.connect() as connection:
        return current_of(connection)


def current_of(connection: Connection) -> str | None:
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    return connection.scalar(text("SELECT version_num FROM alembic_version"))


@cache
def head() -> str:
    """The newest migration: the one on which no other is built."""
    made, built_on = _revisions()
    (newest,) = made - built_on
    return newest


def is_known(revision: str) -> bool:
    """Whether this program can migrate tables of that revision."""
    return revision in _revisions()[0]


@cache
def _revisions() -> tuple[set[str], set[str]]:
    texts = [path.read_text() for path in (MIGRATIONS / "versions").glob("*.py")]
    made, built_on = ({name for item in texts for name in kind.findall(item)} for kind in (_REVISION, _BUILT_ON))
    return made, built_on
