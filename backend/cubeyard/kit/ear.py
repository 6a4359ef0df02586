"""A worker's only LISTEN connection: for new work in its queues, and for cancellations.

A worker can show a sign to everybody on it: a shared advisory lock, which goes with the connection.

Notifications are lost while it is down, so reconnecting wakes all listeners. [ours]
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import psycopg
import structlog
from psycopg import sql
from sqlalchemy import text
from sqlalchemy.orm import Session

log = structlog.get_logger(__name__)

RECONNECT_SECS = 1.0
SIGN_SECS = 1.0
"""How often the sign is taken or dropped."""
SIGN = 0x43756265
"""A number for PostgreSQL's advisory locks."""
_SIGNS = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
  AND classid = 0 AND objid = :sign AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
Heard = Callable[[str, str | None], Awaitable[None]]
"""Called with the channel and the payload; None: notifications may have been missed."""


def signs(session: Session) -> int:
    """How many workers show theirs."""
    return session.scalars(text(_SIGNS), {"sign": SIGN}).one()


class Ear:
    def __init__(self, conninfo: str, channels: Iterable[str]) -> None:
        """All channels that anybody is going to follow."""
        self._conninfo = conninfo
        self._followers: dict[str, list[Heard]] = {channel: [] for channel in channels}
        self.shows = False
        """Whether to show the sign."""

    def follow(self, channel: str, heard: Heard) -> None:
        self._followers[channel].append(heard)

    def leave(self, channel: str, heard: Heard) -> None:
        self._followers[channel].remove(heard)

    async def listen(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True, connect_timeout=10)
                async with connection:
                    for channel in self._followers:
                        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    for channel in self._followers:
                        await self._tell(channel, None)
                    shown = False
                    while True:
                        if self.shows != shown:
                            shown = self.shows
                            take = b"pg_advisory_lock_shared" if shown else b"pg_advisory_unlock_shared"
                            await connection.execute(b"SELECT %s(0, %d)" % (take, SIGN))
                        async for message in connection.notifies(timeout=SIGN_SECS):
                            await self._tell(message.channel, message.payload)
            except (psycopg.Error, OSError) as error:
                log.warning("ear_interrupted", error=str(error))
            await asyncio.sleep(RECONNECT_SECS)

    async def _tell(self, channel: str, said: str | None) -> None:
        for heard in list(self._followers.get(channel, ())):
            await heard(channel, said)
