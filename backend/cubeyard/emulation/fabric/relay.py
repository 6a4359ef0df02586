"""A relay in front of a fabric's Unix socket: it forwards bytes of authenticated callers from the
network, and nothing else.

It runs unprivileged next to the fabric, as the owner of the fabric's socket (`serve --uid`), so
that the program with capabilities has no network listener. It uses mutual TLS 1.3: the caller's
certificate must be from the same authority and name CALLER_NAME, or WATCHER_NAME for the read-only
socket (`serve --api-socket`); the key of another relay is not sufficient. When either connection
closes, the other closes too: a fabric ends the runs of disconnected callers.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from cubeyard.emulation.fabric.client import CALLER_NAME, READ_BYTES, WATCHER_NAME, notice_loss

log = structlog.get_logger(__name__)

MAX_CALLERS = 64
"""Maximum number of callers for each socket of a fabric, the same as the fabric's own limit."""
HANDSHAKE_SECS = 5.0
"""Time limit for a caller to present its certificate."""
MAX_SILENT = 256
"""Maximum number of connections whose callers have sent no byte yet; each costs a socket."""
MAX_HANDSHAKES = 32
"""Maximum number of unfinished handshakes; each costs a third of a MiB."""
BACKLOG = 512
AGAIN_SECS = 0.1


def listen(host: str, port: int) -> socket.socket:
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address, family=family, backlog=BACKLOG)


class Relay:
    """Serves callers until the task is cancelled."""

    def __init__(self, fabric: Path, keys: Path, api: Path | None = None) -> None:
        """Raises OSError (also ssl.SSLError) if the keys are missing or do not match."""
        self._sockets = {CALLER_NAME: fabric, **({} if api is None else {WATCHER_NAME: api})}
        self._callers: Counter[Path] = Counter()
        self._silent = Unproved(MAX_SILENT)
        self._handshakes = Unproved(MAX_HANDSHAKES)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "ca.crt"))
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._context.load_cert_chain(keys / "tls.crt", keys / "tls.key")

    async def serve(self, listener: socket.socket) -> None:
        """Accepts one connection at a time, so that many new connections hardly delay the
        handshakes of others."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                try:
                    plain, (address, *_) = await loop.sock_accept(listener)
                except OSError as error:
                    log.warning("relay_cannot_accept", error=str(error))
                    await asyncio.sleep(AGAIN_SECS)
                    continue
                task = loop.create_task(self._attend(plain, address))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _attend(self, plain: socket.socket, address: str) -> None:
        try:
            async with asyncio.timeout(HANDSHAKE_SECS):
                with self._silent.one_of(address):
                    await _wait_readable(plain)
                with self._handshakes.one_of(address):
                    reader, writer = await self._shake_hands(plain)
        except (OSError, asyncio.CancelledError):
            plain.close()
            return
        await self._pass_on(reader, writer, address)

    async def _shake_hands(self, plain: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(READ_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, plain, ssl=self._context)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str) -> None:
        path = self._sockets.get(_common_name(writer.get_extra_info("peercert")))
        if path is None or self._callers[path] >= MAX_CALLERS:
            log.warning("relay_refused", peer=address)
            await _close(writer)
            return
        notice_loss(writer.get_extra_info("socket"))
        self._callers[path] += 1
        try:
            inner_reader, inner_writer = await asyncio.open_unix_connection(str(path), limit=READ_BYTES)
        except OSError as error:
            log.warning("relay_without_fabric", error=str(error))
        else:
            await _both(_pass(reader, inner_writer), _pass(inner_reader, writer))
            await _close(inner_writer)
        finally:
            self._callers[path] -= 1
            await _close(writer)


class Unproved:
    """Connections without a certificate so far. If there are too many, the oldest one from the
    address with most of them is closed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._addresses: dict[asyncio.Task[Any], str] = {}

    @contextmanager
    def one_of(self, address: str) -> Iterator[None]:
        """Counts the current task's connection among them."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._addresses) >= self._most:
            crowd = Counter(self._addresses.values()).most_common(1)[0][0]
            oldest = next(other for other, of in self._addresses.items() if of == crowd)
            del self._addresses[oldest]
            oldest.cancel()
        self._addresses[task] = address
        try:
            yield
        finally:
            self._addresses.pop(task, None)


async def _wait_readable(plain: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(plain, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(plain)


async def _both(*directions: Any) -> None:
    """Runs both directions until one of them ends, then ends the other."""
    tasks = [asyncio.ensure_future(direction) for direction in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(READ_BYTES):
            writer.write(data)
            await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, asyncio.TimeoutError):
        await asyncio.wait_for(writer.wait_closed(), 2.0)


def _common_name(certificate: dict[str, Any] | None) -> str:
    subject = (certificate or {}).get("subject", ())
    return next((value for part in subject for name, value in part if name == "commonName"), "")
