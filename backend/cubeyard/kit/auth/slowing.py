"""Wrong tokens are answered later and later, for each address. [ours]

A right token never waits: nobody can lock others out who share the address, as behind a proxy.
"""

from __future__ import annotations

import asyncio
import time

FREE_FAILURES = 3
FIRST_SECS, MOST_SECS = 0.5, 8.0
FORGET_SECS = 60.0
MOST_ADDRESSES = 10_000


class Slowing:
    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, float]] = {}

    async def after_failure(self, address: str) -> None:
        """Waits before the answer to a wrong token."""
        await asyncio.sleep(self.count(address, time.monotonic()))

    def count(self, address: str, now: float) -> float:
        """Counts a failure; returns the seconds to wait."""
        before, at = self._failures.pop(address, (0, now))
        failures = before + 1 if now - at < FORGET_SECS else 1
        self._failures[address] = (failures, now)
        if len(self._failures) > MOST_ADDRESSES:
            del self._failures[next(iter(self._failures))]  # the address whose failure is the oldest
        beyond = failures - FREE_FAILURES
        return 0.0 if beyond <= 0 else min(FIRST_SECS * 2 ** min(beyond - 1, 10), MOST_SECS)
