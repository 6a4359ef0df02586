"""The database: one engine a process, one session and one transaction a request.

SQL is written in repositories only. Services never commit: the unit of work of the request
(`unit_of_work.py`) or job commits once, after success and before the response is sent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import orjson
import psycopg
import structlog
from psycopg.types.json import set_json_dumps
from sqlalchemy import MetaData, create_engine, event, func, make_url, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from cubeyard.kit.disk import DiskFullError, is_full, scarce
from cubeyard.kit.embedded import EmbeddedPostgres, EmbeddedPostgresError
from cubeyard.settings import Settings

log = structlog.get_logger(__name__)

MAX_OVERFLOW = 40
"""One connection for each request thread: waiting for the engine must not starve the others."""

WAIT_SECS = 2.0
"""Between two attempts to connect at the start."""
ENDING_SECS = 2.0
"""The time that an ended program's server process may take to end."""
IDLE_SECS, PROBE_SECS, PROBES = 5, 2, 5
LOST_SECS = IDLE_SECS + PROBE_SECS * PROBES
"""After this time without an answer from the peer's kernel, both sides close the connection.
PostgreSQL's default is hours, during which a disconnected worker keeps its locks and blocks its
run."""
OF_CLIENT = {
    "connect_timeout": "10",
    "keepalives_idle": str(IDLE_SECS),
    "keepalives_interval": str(PROBE_SECS),
    "keepalives_count": str(PROBES),
    "tcp_user_timeout": str(LOST_SECS * 1000),
}
OF_SERVER = (
    f"SET tcp_keepalives_idle = {IDLE_SECS}; SET tcp_keepalives_interval = {PROBE_SECS};"
    f" SET tcp_keepalives_count = {PROBES}; SET tcp_user_timeout = {LOST_SECS * 1000}"
)


CALLER = "caller"
"""Key of a session's `info` for the caller; absent: the program itself. See `auth/who.py`."""

AWAY = (DBAPIError, NoConnectionError)
"""Errors raised while the database restarts or is unreachable."""


class Base(DeclarativeBase):
    """Every table of ours, with constraint names that migrations can rely on."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


Row = TypeVar("Row", bound=Base)


class Repository:
    """The base of repositories whose rows workers hold. SQL runs in the caller's transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, row: Row) -> Row:
        """The row as the database has it, defaults and all."""
        self._session.add(row)
        self._session.flush()
        self._session.refresh(row)
        return row

    def flush(self) -> None:
        self._session.flush()

    def now(self) -> datetime:
        """By the database's clock: that of workers may differ."""
        return self._session.scalars(select(func.clock_timestamp())).one()


def _compact(value: object) -> str:
    """JSON as it is kept, and later sent without being read again: without spaces."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


class Database:
    """The configured PostgreSQL, or the embedded one, which this class starts."""

    def __init__(
        self, settings: Settings, *, embedded: EmbeddedPostgres | None = None, connections: int | None = None
    ) -> None:
        """`connections`: the most that this process opens; None for as many as requests need."""
        self.embedded = embedded
        if settings.database_url is None and embedded is None:
            self.embedded = EmbeddedPostgres(settings.home)
        if self.embedded is not None:
            self.embedded.start()
            self.url = make_url(self.embedded.url())
        else:
            assert settings.database_url is not None
            given = psycopg_url(settings.database_url)
            if given.password is None and settings.database_password is not None:
                given = given.set(password=settings.database_password.get_secret_value())
            self.url = given.update_query_dict({**OF_CLIENT, **given.query})
        self.engine = create_engine(
            self.url,
            pool_size=connections or settings.database_pool_size,
            max_overflow=MAX_OVERFLOW if connections is None else 0,
            pool_pre_ping=True,
            pool_recycle=1800,
            **({"creator": self._connect} if self.embedded is not None else {}),
        )
        event.listen(self.engine, "connect", self._begin)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        if self.embedded is None and settings.database_wait_secs > 0:
            self._wait(settings.database_wait_secs)

    def _wait(self, secs: float) -> None:
        """Raises OperationalError if nothing answers by then."""
        until = time.monotonic() + secs
        while True:
            try:
                return self.ping()
            except OperationalError as error:
                if time.monotonic() >= until:
                    raise
                log.warning("database_awaited", error=str(error.orig).strip())
                time.sleep(WAIT_SECS)

    def _begin(self, connection: Any, _: object) -> None:
        set_json_dumps(_compact, connection)
        if self.embedded is None:
            with connection.cursor() as cursor:
                cursor.execute(OF_SERVER)
            connection.commit()

    @property
    def conninfo(self) -> str:
        """The same database for a client that speaks libpq."""
        return self.url.set(drivername="postgresql").render_as_string(hide_password=False)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One transaction: committed at the end, rolled back on any error."""
        with self._sessions() as session, session.begin():
            yield session

    def ping(self) -> None:
        """Raises if the database does not answer."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def is_shared(self) -> bool:
        """Whether other programs use the database now."""
        if self.embedded is not None and self.embedded.is_shared():
            return True
        others = (
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid())"
        )
        self.engine.dispose()
        # A program that has just ended stays in the list until its server process has ended too.
        until = time.monotonic() + ENDING_SECS
        while True:
            with self.engine.connect() as connection:
                shared = bool(connection.scalar(text(others)))
            if not shared or time.monotonic() > until:
                return shared
            time.sleep(0.05)

    def spend_reserve(self) -> None:
        """Free the disk space reserved for writes on a full disk. Only the embedded server has
        one."""
        if self.embedded is not None:
            self.embedded.spend_reserve()

    def keep_reserve(self) -> None:
        """Keep that room again, if there is any."""
        if self.embedded is not None:
            self.embedded.keep_reserve()

    def full(self, error: DBAPIError, then: str = "start the run again") -> DiskFullError | None:
        """The error to report if the cause is a full disk, else None. A full disk may have ended
        the server."""
        path = self.embedded.data if self.embedded is not None else None
        if not (is_full(error) or (isinstance(error, OperationalError) and scarce(path))):
            return None
        return DiskFullError("the database", path, then)

    def close(self) -> None:
        self.engine.dispose()
        if self.embedded is not None:
            self.embedded.stop()

    def _connect(self) -> psycopg.Connection:
        """Connect to the embedded server; if it was killed, start it again and try once more."""
        assert self.embedded is not None
        conninfo = self.conninfo
        try:
            return psycopg.connect(conninfo, connect_timeout=10)
        except psycopg.OperationalError:
            log.warning("embedded_postgres_gone")
            self.embedded.ensure_running()
            return psycopg.connect(conninfo, connect_timeout=10)


def psycopg_url(url: str) -> URL:
    """Takes `postgres://…`, `postgresql://…` or `postgresql+psycopg://…`; the driver is psycopg
    3."""
    parsed = make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url)
    if parsed.get_backend_name() != "postgresql":
        raise ValueError(f"DATABASE_URL must be a postgresql:// URL, not {parsed.get_backend_name()}://")
    return parsed.set(drivername="postgresql+psycopg")


def is_away(error: BaseException | None) -> bool:
    """Whether the database is unreachable, or left during the request. Libraries wrap the driver's
    error."""
    while error is not None:
        if isinstance(error, NoConnectionError | EmbeddedPostgresError):
            return True
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return True
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, psycopg.Error):
            lost = cause.sqlstate is None and isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
            return lost or str(cause.sqlstate).startswith(("08", "57P", "53300"))
        error = error.__cause__
    return False
