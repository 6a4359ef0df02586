"""Bringing the database's tables up to date with the migrations that lie beside the program.

Alembic is imported where there is something to do: at most starts there is not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, text

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).resolve().parents[3] / "migrations"
UPGRADE_LOCK = 0x43756265_0000
"""A number for PostgreSQL's advisory locks: one process migrates at a time."""
_REVISION = re.compile(r'^revision = "(.+)"$', re.MULTILINE)
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


def upgrade(engine: Engine, revision: str = "head") -> None:
    """All of it or nothing: PostgreSQL's schema changes are transactional."""
    if revision == "head" and current(engine) == head():
        return
    from alembic import command

    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
        command.upgrade(config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    from alembic import command

    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
        command.downgrade(config(connection), revision)


def current(engine: Engine) -> str | None:
    """The revision the database is at; None for an empty one."""
    with engine.connect() as connection:
        if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
            return None
        return connection.scalar(text("SELECT version_num FROM alembic_version"))


def head() -> str:
    """The newest migration: the one on which no other is built."""
    made, built_on = _revisions()
    (newest,) = made - built_on
    return newest


def is_known(revision: str) -> bool:
    """Whether this program can migrate tables of that revision."""
    return revision in _revisions()[0]


def _revisions() -> tuple[set[str], set[str]]:
    texts = [path.read_text() for path in (MIGRATIONS / "versions").glob("*.py")]
    made, built_on = ({name for one in texts for name in kind.findall(one)} for kind in (_REVISION, _BUILT_ON))
    return made, built_on
