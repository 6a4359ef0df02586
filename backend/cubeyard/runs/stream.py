"""A run's stream. Live, reconnect and replay are one code path, which reads all frames after a
number until the run ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
from anyio.to_thread import run_sync

from cubeyard.kit.db import Database
from cubeyard.kit.sse import KEEPALIVE, Listener, Topic, event
from cubeyard.runs.repository import CHANNEL, FINISHED, Frame, RunRepository
from cubeyard.runs.service import as_run

KEEPALIVE_SECS = 15.0
READ_EVERY_SECS = 0.1
"""Minimum interval between reads of an up-to-date stream; frames in between are sent together."""
READERS = 4
"""Threads and connections that all streams of the process have together: the other requests keep
theirs."""
PROGRESS_FIELDS = ("state", "progress", "points_done", "points_total", "remaining_secs")


@dataclass(frozen=True)
class News:
    frames: list[Frame]
    progress: dict[str, Any]
    over: bool
    """Nothing comes after these frames, ever."""


class RunStreams:
    """All streams of this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.listener = Listener(database.conninfo, CHANNEL)
        self._readers = anyio.CapacityLimiter(READERS)

    async def close(self) -> None:
        await self.listener.close()

    async def events(self, run_id: str, after: int, *, brief: bool = False) -> AsyncGenerator[bytes]:
        """Every frame after that number, once and in order, with progress events in between.

        With `brief`, old ticks are sent only as seconds.
        """
        yield b": a run's frames\n\n"
        ticks_after = await run_sync(self._long_ago, run_id, limiter=self._readers) if brief else 0
        reported: dict[str, Any] | None = None
        with self.listener.follow(run_id) as topic:
            while not self.listener.closed:
                seen, read_at = topic.version, time.monotonic()
                news = await self._news(topic, run_id, after, ticks_after)
                if news is None:
                    return  # it was deleted
                for frame in news.frames:
                    yield event(frame.kind, frame.payload, seq=frame.seq)
                    after = frame.seq
                if news.over:
                    return
                if news.frames:
                    # There can be more than one batch. An up-to-date stream finds nothing new, and
                    # waits below.
                    await asyncio.sleep(0 if len(news.frames) > 1 else max(0.0, read_at + READ_EVERY_SECS - time.monotonic()))  # fmt: skip
                    continue
                if news.progress != reported:
                    reported = news.progress
                    yield event("progress", orjson.dumps(reported).decode())
                if not await topic.newer(seen, KEEPALIVE_SECS):
                    yield KEEPALIVE
                await asyncio.sleep(max(0.0, read_at + READ_EVERY_SECS - time.monotonic()))

    async def _news(self, topic: Topic, run_id: str, after: int, ticks_after: int) -> News | None:
        read = run_sync(self._read, run_id, after, ticks_after, limiter=self._readers)
        return await topic.shared((after, max(after, ticks_after)), read)

    def _long_ago(self, run_id: str) -> int:
        with self._database.session() as session:
            return RunRepository(session).long_ago(run_id)

    def _read(self, run_id: str, after: int, ticks_after: int) -> News | None:
        with self._database.session() as session:
            repository = RunRepository(session)
            row = repository.run(run_id)
            if row is None:
                return None
            frames = repository.frames(run_id, after, ticks_after=ticks_after)
            reached = frames[-1].seq if frames else after
            run = as_run(row, repository)
            progress = run.model_dump(mode="json", include=set(PROGRESS_FIELDS))
            return News(frames, progress, row.state in FINISHED and reached >= row.last_seq)
