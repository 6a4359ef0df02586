"""procrastinate on the process's existing connections: the database pool and the worker's ear.

procrastinate's own connector opens a second pool and a connection for each queue: seven for each
worker, of PostgreSQL's hundred. [ours]
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg
from procrastinate.connector import BaseAsyncConnector, BaseConnector, Notify
from procrastinate.exceptions import ConnectorException, NoResult
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy.exc import SQLAlchemyError

from cubeyard.kit.db import Database
from cubeyard.kit.ear import Ear

Rows = list[dict[str, Any]]
Result = TypeVar("Result")

THREADS = 2
"""Reserved for queue calls: requests that wait for the engine may use all others."""
MAYBE_NEW = '{"type": "job_inserted", "job_id": 0}'
"""A notification that procrastinate reads as new work."""


class PoolConnector(BaseAsyncConnector):
    def __init__(self, database: Database, ear: Ear) -> None:
        self._database = database
        self._ear = ear
        self._threads: ThreadPoolExecutor | None = None

    def get_sync_connector(self) -> BaseConnector:
        return self

    async def open_async(self, pool: object = None) -> None:  # noqa: ARG002 - procrastinate may bring a pool; this has one
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="queue")

    async def close_async(self) -> None:
        if self._threads is not None:
            threads, self._threads = self._threads, None
            await asyncio.to_thread(threads.shutdown)

    async def execute_query_async(self, query: str, **arguments: Any) -> None:
        await self._do(lambda _: None, query, arguments)

    async def execute_query_one_async(self, query: str, **arguments: Any) -> dict[str, Any]:
        row = await self._do(lambda cursor: cursor.fetchone(), query, arguments)
        if row is None:
            raise NoResult
        return row

    async def execute_query_all_async(self, query: str, **arguments: Any) -> Rows:
        return await self._do(lambda cursor: cursor.fetchall(), query, arguments)

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Until it is cancelled."""

        async def heard(channel: str, said: str | None) -> None:
            await on_notification(channel=channel, payload=MAYBE_NEW if said is None else said)

        followed = list(channels)
        for channel in followed:
            self._ear.follow(channel, heard)
        try:
            await asyncio.Event().wait()
        finally:
            for channel in followed:
                self._ear.leave(channel, heard)

    async def _do(
        self, read: Callable[[psycopg.Cursor[dict[str, Any]]], Result], query: str, arguments: dict[str, Any]
    ) -> Result:
        assert self._threads is not None, "open it before use"
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._execute, read, query, arguments)

    def _execute(
        self, read: Callable[[psycopg.Cursor[dict[str, Any]]], Result], query: str, arguments: dict[str, Any]
    ) -> Result:
        """Runs the statement in a separate transaction."""
        given = {name: _plain(value) for name, value in arguments.items()}
        try:
            taken = self._database.engine.raw_connection()
            try:
                connection: Any = taken.driver_connection
                with connection.cursor(row_factory=dict_row) as cursor:
                    cursor.execute(query, given)
                    result = read(cursor)
                taken.commit()
                return result
            finally:
                taken.close()
        except (psycopg.Error, SQLAlchemyError) as error:
            raise ConnectorException(f"{type(error).__name__}: {error}") from error


def _plain(value: Any) -> Any:
    """As the driver takes it."""
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value
