"""Listening: one process, many threads, a clean end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.server import HANDLED_SIGNALS

from cubeyard.kit.http_limits import HttpLimits, LimitedHttp
from cubeyard.kit.signals import ending
from cubeyard.settings import Settings

DRAIN_SECS = 10


def configuration(app: Any, settings: Settings) -> uvicorn.Config:
    limits = HttpLimits(settings.head_secs, settings.body_secs, settings.max_connections)
    return uvicorn.Config(
        app,
        http=partial(LimitedHttp, limits),  # pyright: ignore[reportArgumentType]
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=DRAIN_SECS,
        timeout_keep_alive=30,
        ws_max_size=64 * 1024,
    )


def serve(app: FastAPI, settings: Settings) -> None:
    """Until a signal that ends programs; then requests under way may end, jobs go back to the
    queue, the embedded database stops."""
    # uvicorn repeats the signal that ended it, which would make a clean end look like a death.
    signals = ending()
    for item in signals:
        signal.signal(item, lambda *_: None)
    # The caller explains a failed start; uvicorn would print a traceback.
    logging.getLogger("uvicorn.error").addFilter(lambda _: app.state.start_error is None)
    try:
        _Announcing(configuration(app, settings), signals).run()
    except SystemExit:
        if app.state.start_error is None:
            raise
        raise app.state.start_error from None


class _Announcing(uvicorn.Server):
    """Prints where it listens, for people and for scripts that asked for port 0. Ends cleanly at
    each of the signals."""

    def __init__(self, config: uvicorn.Config, signals: Sequence[signal.Signals]) -> None:
        super().__init__(config)
        self._signals = signals

    async def startup(self, sockets: list[object] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        await super().startup(sockets)  # pyright: ignore[reportArgumentType]
        for item in self._signals:
            if item not in HANDLED_SIGNALS:
                asyncio.get_running_loop().add_signal_handler(item, self.handle_exit, item, None)
        for server in getattr(self, "servers", []):
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                print(f"Cubeyard is at http://{shown}:{port}", flush=True)

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        # A stream has no end of its own: without this, a clean end would wait for every reader.
        app = self.config.app
        assert isinstance(app, FastAPI)
        app.state.streams.listener.hang_up()
        app.state.packet_streams.hang_up()
        await app.state.terminals.close()
        await super().shutdown(sockets)  # pyright: ignore[reportArgumentType]
