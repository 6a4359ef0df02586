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
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from cubeyard.emulation.fabric.client import CALLER_NAME, READ_BYTES, WATCHER_NAME, notice_loss

log = structlog.get_logger(__name__)

MAX_CALLERS = 64
"""As many as a fabric takes."""


class Relay:
    """Listens until it is closed."""

    def __init__(self, fabric: Path, keys: Path, api: Path | None = None) -> None:
        """Raises OSError (also ssl.SSLError) for keys that are not there or do not fit."""
        self._sockets = {CALLER_NAME: fabric, **({} if api is None else {WATCHER_NAME: api})}
        self._callers = 0
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "ca.crt"))
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._context.load_cert_chain(keys / "tls.crt", keys / "tls.key")

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._attend, host, port, ssl=self._context, limit=READ_BYTES)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        path = self._sockets.get(_common_name(writer.get_extra_info("peercert")))
        if path is None or self._callers >= MAX_CALLERS:
            log.warning("relay_refused", peer=str(peer))
            await _close(writer)
            return
        notice_loss(writer.get_extra_info("socket"))
        self._callers += 1
        try:
            inner_reader, inner_writer = await asyncio.open_unix_connection(str(path), limit=READ_BYTES)
        except OSError as error:
            log.warning("relay_without_fabric", error=str(error))
        else:
            await _both(_pass(reader, inner_writer), _pass(inner_reader, writer))
            await _close(inner_writer)
        finally:
            self._callers -= 1
            await _close(writer)


async def _both(*directions: Any) -> None:
    """Until one of them ends; the other ends too."""
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
