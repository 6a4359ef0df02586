"""How many objects go into a request, so that each takes a few seconds of NetBox's time."""

from __future__ import annotations

TARGET_SECS = 10.0
"""Proxies before NetBox give a request 60 seconds, and progress should be seen to move. [ours]"""
FIRST_OBJECTS = 10
_MAX_GROWTH = 2.0
_LOST_SECS = 2.0
"""A request that is refused sooner was not refused for its length."""


class Pace:
    """The size of the next piece of one model: from the time that the last one took, at most double
    its size."""

    def __init__(self, most: int, target_secs: float = TARGET_SECS) -> None:
        self._most, self._target_secs = most, target_secs
        self.size = min(FIRST_OBJECTS, most)

    def took(self, objects: int, secs: float) -> None:
        """A request for so many objects was answered."""
        fitting = self._target_secs * objects / max(secs, 1e-6)
        # A last piece is short: it says what one object takes, and nothing of how large the next
        # may be.
        self.size = int(max(1.0, min(fitting, _MAX_GROWTH * self.size, self._most)))

    def lost(self, secs: float) -> None:
        """A request was not answered: half as many next, and if it took long, half as long from now
        on."""
        self.size = max(1, self.size // 2)
        if secs >= _LOST_SECS:
            self._target_secs = min(self._target_secs, secs / 2)
