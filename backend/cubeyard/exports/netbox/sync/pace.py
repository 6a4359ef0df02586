"""Chooses the number of objects per request, so that each takes a few seconds of NetBox's time."""

from __future__ import annotations

TARGET_SECS = 10.0
"""Proxies before NetBox limit a request to 60 seconds, and progress should move visibly. [ours]"""
FIRST_OBJECTS = 10
_MAX_GROWTH = 2.0
_LOST_SECS = 2.0
"""A request that fails sooner did not fail because of its size."""


class Pace:
    """The size of the next request of one model, computed from the duration of the last one; at
    most twice its size."""

    def __init__(self, most: int, target_secs: float = TARGET_SECS) -> None:
        self._most, self._target_secs = most, target_secs
        self.size = min(FIRST_OBJECTS, most)

    def took(self, objects: int, secs: float) -> None:
        """NetBox answered a request with `objects` objects."""
        fitting = self._target_secs * objects / max(secs, 1e-6)
        # A short last request shows the time per object, but not how large the next request can be.
        self.size = int(max(1.0, min(fitting, _MAX_GROWTH * self.size, self._most)))

    def lost(self, secs: float) -> None:
        """A request got no response: halve the size and, if it took long, also the target time from
        now on."""
        self.size = max(1, self.size // 2)
        if secs >= _LOST_SECS:
            self._target_secs = min(self._target_secs, secs / 2)
