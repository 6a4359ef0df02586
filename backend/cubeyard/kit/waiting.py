"""Work for a request that stops when whoever asked has left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request

T = TypeVar("T")


async def while_connected(
    http: Request, work: Callable[[Callable[[], bool]], T], *, limiter: CapacityLimiter | None = None
) -> T:
    """What `work` returns, made in a thread, one of all or of `limiter`'s. It gets a function that
    tells whether the client has left, to be asked now and then."""
    left = threading.Event()
    watch = asyncio.create_task(_watch(http, left))
    try:
        return await to_thread.run_sync(work, left.is_set, limiter=limiter)
    finally:
        watch.cancel()


async def _watch(http: Request, left: threading.Event) -> None:
    # The body was read before: what still comes is the end of the connection.
    while (await http.receive())["type"] != "http.disconnect":
        pass
    left.set()
