"""Streams and terminals end with the token or session that they were opened with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from starlette.types import Scope

CHECK_SECS = 2.0
REVOKED = "The token was revoked, or the session has ended. Log in again."
_STATE = "is_still_allowed"

Check = Callable[[], Awaitable[bool]]


class Checks:
    """Answers of one credential are shared: many streams of a page cost one query each
    `CHECK_SECS`."""

    def __init__(self) -> None:
        self._latest: dict[object, tuple[float, asyncio.Future[bool]]] = {}

    def attach(self, scope: Scope, credential: object, check: Check) -> None:
        """Has `until_revoked` call `check` for this request."""

        async def shared() -> bool:
            now = time.monotonic()
            self._latest = {key: kept for key, kept in self._latest.items() if now - kept[0] < CHECK_SECS}
            if credential not in self._latest:
                self._latest[credential] = (now, asyncio.ensure_future(check()))
            return await asyncio.shield(self._latest[credential][1])

        scope.setdefault("state", {})[_STATE] = shared


async def until_revoked(scope: Scope) -> str:
    """Returns why the caller may receive nothing more; does not return for a request that needs no
    token."""
    check: Check | None = scope.get("state", {}).get(_STATE)
    while True:
        await asyncio.sleep(CHECK_SECS)
        if check is not None and not await check():
            return REVOKED
