"""The streams of a run's packets: their maximum number, the bytes for Wireshark, and the readable
descriptions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.live.captures import Target
from cubeyard.emulation.live.packets.decoding import decoded
from cubeyard.emulation.live.packets.feed import Ended, feed
from cubeyard.emulation.live.packets.filters import Wanted
from cubeyard.emulation.live.packets.pcapng import Blocks, Packet, packet_of
from cubeyard.emulation.live.packets.schemas import PacketNews, PacketsEnd, SeenPacket, StreamRequest
from cubeyard.emulation.network.network import Network
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.sse import KEEPALIVE, event

MAX_STREAMS = 8
"""Maximum number of streams in a process. The fabric allows twice as many captures of all kinds."""
NEWS_SECS = 0.25
"""Minimum time between two events with descriptions."""
KEEPALIVE_SECS = 15.0
MAX_ITEMS = 50
"""Maximum number of packets in one event."""
ENDS = {
    "bytes": "The stream reached its limit of bytes.",
    "secs": "The stream reached its limit of time.",
    "interface-down": "The link went down, its server was turned off, or the run ended.",
    "caller-gone": "The stream was not read for too long.",
}
STOPPING = "The server stops."


@dataclass(frozen=True)
class Watched:
    """The link or port that a stream shows, with its filter."""

    run_id: str
    network: Network
    target: Target
    asked: StreamRequest
    wanted: Wanted


class PacketStreams:
    """All packet streams of this process. They end with their readers, with the run, or by
    `hang_up`."""

    def __init__(self) -> None:
        self._open = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.closed = False

    @contextmanager
    def place(self) -> Iterator[None]:
        """Reserves one of the streams while the context lasts. Raises a 409 if none is free."""
        if self._open >= MAX_STREAMS:
            detail = (
                f"{MAX_STREAMS} streams of packets are open here, which is the limit. Close one, then open this again."
            )
            raise ProblemError(409, "too-many-streams", detail)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def hang_up(self) -> None:
        """Ends all streams, because the server stops."""
        self.closed = True
        for task in self._tasks:
            task.cancel()

    async def parts(self, watched: Watched) -> AsyncGenerator[bytes | Ended]:
        """A capture's parts with the wanted packets. Raises the errors of `feed`."""
        with self.place():
            blocks = Blocks()
            async with aclosing(feed(watched.target, watched.run_id, watched.asked)) as source:
                while True:
                    part = await self._next(source)
                    if not isinstance(part, bytes):
                        if part is not None:
                            yield part
                        return
                    yield part if watched.wanted.everything else b"".join(_kept(watched, blocks.feed(part)))

    async def _next(self, source: AsyncGenerator[bytes | Ended]) -> bytes | Ended | None:
        """The next item; None if the server stops first."""
        if self.closed:
            return None
        task: asyncio.Task[bytes | Ended] = asyncio.ensure_future(anext(source))
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self.closed and task.cancelled():
                return None
            task.cancel()
            raise
        finally:
            self._tasks.discard(task)

    async def pcapng(self, watched: Watched) -> AsyncGenerator[bytes]:
        """The bytes of the file as they arrive. The first piece is its header. Raises the errors of
        `feed`."""
        async with aclosing(self.parts(watched)) as parts:
            async for part in parts:
                if isinstance(part, bytes) and part:
                    yield part

    async def words(self, watched: Watched) -> AsyncGenerator[bytes]:
        """Events `packets`, then `end`. The first piece is a comment. Raises the errors of
        `feed`."""
        seen = Seen(watched)
        parts = self.parts(watched)
        loop = asyncio.get_running_loop()
        coming: asyncio.Task[bytes | Ended] | None = None
        try:
            seen.add(await anext(parts))
            yield b": a run's packets\n\n"
            told_at = loop.time()
            while not seen.over:
                if coming is None:
                    coming = asyncio.ensure_future(anext(parts))
                due = NEWS_SECS if seen.news else KEEPALIVE_SECS
                await asyncio.wait({coming}, timeout=max(told_at + due - loop.time(), 0.0))
                if coming.done():
                    try:
                        seen.add(coming.result())
                    except StopAsyncIteration:
                        seen.add(None)
                    coming = None
                if loop.time() >= told_at + due or seen.over:
                    yield event("packets", seen.told().model_dump_json()) if seen.news else KEEPALIVE
                    told_at = loop.time()
            yield event("end", seen.end().model_dump_json())
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
            await parts.aclose()


class Seen:
    """Counts packets, and keeps descriptions of the last ones."""

    def __init__(self, watched: Watched) -> None:
        self._network = watched.network
        self._blocks = Blocks()
        self._last: deque[Packet] = deque(maxlen=MAX_ITEMS)
        self._first_nanos: int | None = None
        self.packets = 0
        self.size_bytes = 0
        self.news = False
        self.over = False
        self._ended: Ended | None = None

    def add(self, part: bytes | Ended | None) -> None:
        """Adds the next item of the stream; None if the stream was interrupted."""
        if not isinstance(part, bytes):
            self.over, self._ended = True, part
            return
        for block in self._blocks.feed(part):
            if (packet := packet_of(block)) is not None:
                self.packets += 1
                self.size_bytes += packet.size_bytes
                self._last.append(packet)
                self.news = True
                if self._first_nanos is None:
                    self._first_nanos = packet.at_nanos

    def told(self) -> PacketNews:
        """The news since the last call, for an event."""
        items = [self._words(packet) for packet in self._last]
        self._last.clear()
        self.news = False
        return PacketNews(packets=self.packets, size_bytes=self.size_bytes, items=items)

    def end(self) -> PacketsEnd:
        ended = self._ended
        reason = ENDS.get(ended.end, ended.end) if ended is not None else STOPPING
        return PacketsEnd(reason=reason, packets=self.packets, missed=ended.missed if ended is not None else 0)

    def _words(self, packet: Packet) -> SeenPacket:
        known = decoded(packet.kept, self._network)
        return SeenPacket(
            at_secs=(packet.at_nanos - (self._first_nanos or 0)) / 1e9,
            size_bytes=packet.size_bytes,
            outgoing=packet.outgoing,
            protocol=known.protocol,
            source=known.source,
            destination=known.destination,
            text=known.text,
            header=known.header,
        )


def _kept(watched: Watched, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """All blocks that are no packets, and the wanted packets."""
    for block in blocks:
        packet = packet_of(block)
        if packet is None or watched.wanted(decoded(packet.kept, watched.network)):
            yield block
