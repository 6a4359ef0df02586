"""A worker's only LISTEN connection: for new work in its queues, and for cancellations.

A worker can show signs to everybody on it: shared advisory locks, which go with the connection.

Notifications are lost while it is down, so reconnecting wakes all listeners. [ours]
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, get_args

import psycopg
import structlog
from psycopg import sql
from sqlalchemy import text
from sqlalchemy.orm import Session

log = structlog.get_logger(__name__)

RECONNECT_SECS = 1.0
SIGN_SECS = 1.0
"""How often signs are taken or dropped."""
Sign = Literal["namespaces", "containers", "images"]
"""How a worker can emulate: servers as namespaces or containers, and images of users."""
SIGNS: tuple[Sign, ...] = get_args(Sign)
FIRST_SIGN = 0x43756265
"""The number of the first sign among PostgreSQL's advisory locks; the others follow."""
_SIGNS = """
SELECT objid, count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
  AND classid = 0 AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY objid
"""
Heard = Callable[[str, str | None], Awaitable[None]]
"""Called with the channel and the payload; None: notifications may have been missed."""


def signs(session: Session) -> dict[Sign, int]:
    """How many workers show each sign."""
    shown = {int(number): int(count) for number, count in session.execute(text(_SIGNS))}
    return {sign: shown.get(FIRST_SIGN + place, 0) for place, sign in enumerate(SIGNS)}


class Ear:
    def __init__(self, conninfo: str, channels: Iterable[str]) -> None:
        """All channels that anybody is going to follow."""
        self._conninfo = conninfo
        self._followers: dict[str, list[Heard]] = {channel: [] for channel in channels}
        self.shows: frozenset[Sign] = frozenset()
        """The signs to show."""

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
                    shown: frozenset[Sign] = frozenset()
                    while True:
                        changed, shown = self.shows ^ shown, self.shows
                        for sign in changed:
                            change = b"pg_advisory_lock_shared" if sign in shown else b"pg_advisory_unlock_shared"
                            number = FIRST_SIGN + SIGNS.index(sign)
                            await connection.execute(b"SELECT %s(0, %d)" % (change, number))
                        async for message in connection.notifies(timeout=SIGN_SECS):
                            await self._tell(message.channel, message.payload)
            except (psycopg.Error, OSError) as error:
                log.warning("ear_interrupted", error=str(error))
            await asyncio.sleep(RECONNECT_SECS)

    async def _tell(self, channel: str, said: str | None) -> None:
        for heard in list(self._followers.get(channel, ())):
            await heard(channel, said)
