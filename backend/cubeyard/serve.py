"""Listening: one process, many threads, a clean end."""

from __future__ import annotations

import signal

import uvicorn
from fastapi import FastAPI

from cubeyard.settings import Settings

DRAIN_SECS = 10


def serve(app: FastAPI, settings: Settings) -> None:
    """Until SIGINT or SIGTERM; then requests under way may end, jobs go back to the queue, the embedded database stops."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_SECS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
    )
    # uvicorn repeats the signal that ended it, which would make a clean end look like a death.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: None)
    _Announcing(config).run()


class _Announcing(uvicorn.Server):
    """Says where it listens, for people and for scripts that asked for port 0."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        await super().startup(sockets)  # pyright: ignore[reportArgumentType]
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
        await super().shutdown(sockets)  # pyright: ignore[reportArgumentType]
