"""A worker's only LISTEN connection: for new work in its queues, and for cancellations.

Notifications are lost while it is down, so reconnecting wakes all listeners. [ours]
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import psycopg
import structlog
from psycopg import sql

log = structlog.get_logger(__name__)

RECONNECT_SECS = 1.0
Heard = Callable[[str, str | None], Awaitable[None]]
"""Called with the channel and the payload; None: notifications may have been missed."""


class Ear:
    def __init__(self, conninfo: str, channels: Iterable[str]) -> None:
        """All channels that anybody is going to follow."""
        self._conninfo = conninfo
        self._followers: dict[str, list[Heard]] = {channel: [] for channel in channels}

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
                    async for said in connection.notifies():
                        await self._tell(said.channel, said.payload)
            except (psycopg.Error, OSError) as error:
                log.warning("ear_interrupted", error=str(error))
            await asyncio.sleep(RECONNECT_SECS)

    async def _tell(self, channel: str, said: str | None) -> None:
        for heard in list(self._followers.get(channel, ())):
            await heard(channel, said)
