"""Work for a request that stops when whoever asked has left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from starlette.concurrency import run_in_threadpool

T = TypeVar("T")


async def while_connected(http: Request, work: Callable[[Callable[[], bool]], T]) -> T:
    """What `work` returns, made in a thread. It gets a function that tells whether the client has left, to be asked now and then."""
    left = threading.Event()
    watch = asyncio.create_task(_watch(http, left))
    try:
        return await run_in_threadpool(work, left.is_set)
    finally:
        watch.cancel()


async def _watch(http: Request, left: threading.Event) -> None:
    # The body was read before: what still comes is the end of the connection.
    while (await http.receive())["type"] != "http.disconnect":
        pass
    left.set()
