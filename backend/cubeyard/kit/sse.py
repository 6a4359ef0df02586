"""Server-sent events, and the LISTEN connection that wakes all streams of a process.

Nothing is queued for a client. A notification carries no data; each stream then reads unsent rows
from the database at its own pace. So a slow client costs one batch of memory and delays no other,
and a lost connection loses nothing. [ours]
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import psycopg
import structlog
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from psycopg import sql
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from cubeyard.kit.auth.revocation import until_revoked

log = structlog.get_logger(__name__)

MEDIA_TYPE = "text/event-stream"
KEEPALIVE = KEEPALIVE_COMMENT
RECONNECT_SECS = 1.0
LAST_SECS = 1.0
"""Time limit for sending the last event, because the client may not read it."""

__all__ = ["KEEPALIVE", "MEDIA_TYPE", "EventStream", "Listener", "Topic", "event"]


def event(name: str, data: str, *, seq: int | None = None) -> bytes:
    """One event as bytes. Only events with a number move the client's `Last-Event-ID`."""
    return format_sse_event(data_str=data, event=name, id=None if seq is None else str(seq))


class EventStream(StreamingResponse):
    """The stream is closed when the client is gone, not when the garbage is collected. It ends when
    the caller's token is revoked."""

    media_type = MEDIA_TYPE

    def __init__(self, content: AsyncGenerator[bytes]) -> None:
        super().__init__(content, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        self._generator = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def sending(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        revoked = asyncio.ensure_future(until_revoked(scope))
        sent = asyncio.ensure_future(super().__call__(scope, receive, sending))
        try:
            await asyncio.wait((revoked, sent), return_when=asyncio.FIRST_COMPLETED)
            if sent.done():
                sent.result()
        finally:
            for task in (revoked, sent):
                task.cancel()
            await asyncio.gather(revoked, sent, return_exceptions=True)
            await self._generator.aclose()
        if not revoked.cancelled() and has_started:
            last = {"type": "http.response.body", "body": self.last(revoked.result())}
            with contextlib.suppress(TimeoutError, OSError):
                await asyncio.wait_for(send(last), LAST_SECS)

    def last(self, reason: str) -> bytes:
        """The last bytes to a client whose token was revoked."""
        return event("revoked", orjson.dumps({"reason": reason}).decode())


class Topic:
    """One thing that streams follow. Its version grows with every notification."""

    def __init__(self) -> None:
        self.version = 0
        self.followers = 0
        self._changed = asyncio.Event()
        self._reads: dict[object, asyncio.Task[Any]] = {}

    def bump(self) -> None:
        self.version += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def newer(self, seen: int, timeout_secs: float) -> bool:
        """Wait for a version after the one seen; False if none came in time."""
        if self.version != seen:
            return True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout_secs)
        return self.version != seen

    async def shared(self, key: object, read: Awaitable[Any]) -> Any:
        """Share one read between streams that need the same rows at the same time.

        The version is part of the key, so no stream gets rows older than its notification.
        """
        question = (key, self.version)
        task = self._reads.get(question)
        if task is None:
            task = asyncio.ensure_future(read)
            self._reads[question] = task
            task.add_done_callback(lambda _: self._reads.pop(question, None))
        elif asyncio.iscoroutine(read):
            read.close()
        return await asyncio.shield(task)


class Listener:
    """LISTENs on one channel, from the first follower on. The payload of a notification names the
    topic."""

    def __init__(self, conninfo: str, channel: str) -> None:
        self._conninfo = conninfo
        self._channel = channel
        self._topics: dict[str, Topic] = {}
        self._task: asyncio.Task[None] | None = None
        self.closed = False

    @contextmanager
    def follow(self, name: str) -> Iterator[Topic]:
        if self._task is None and not self.closed:
            self._task = asyncio.create_task(self._listen())
        topic = self._topics.setdefault(name, Topic())
        topic.followers += 1
        try:
            yield topic
        finally:
            topic.followers -= 1
            if topic.followers == 0 and self._topics.get(name) is topic:
                del self._topics[name]

    @property
    def followers(self) -> int:
        return sum(topic.followers for topic in self._topics.values())

    def hang_up(self) -> None:
        """Every stream ends at its next step: the server stops."""
        self.closed = True
        self._bump_all()

    async def close(self) -> None:
        self.hang_up()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _listen(self) -> None:
        while not self.closed:
            try:
                connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True, connect_timeout=10)
                async with connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    self._bump_all()  # notifications may have been lost before LISTEN
                    async for notification in connection.notifies():
                        topic = self._topics.get(notification.payload)
                        if topic is not None:
                            topic.bump()
            except (psycopg.Error, OSError) as error:
                log.warning("listener_interrupted", error=str(error))
            await asyncio.sleep(RECONNECT_SECS)

    def _bump_all(self) -> None:
        for topic in self._topics.values():
            topic.bump()
