"""A queue with a separate line for each source, served in turn, so that a flooding server cannot
block others."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Waiting items by source. If a source has more than `most`, further items are dropped and
    counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: dict[Hashable, deque[Item]] = {}
        self.left_out: Counter[Hashable] = Counter()
        """Number of dropped items of each source."""

    def put(self, source: Hashable, item: Item) -> bool:
        """Adds an item; returns whether it was accepted."""
        line = self._lines.setdefault(source, deque())
        if len(line) >= self._most:
            self.left_out[source] += 1
            return False
        line.append(item)
        return True

    def turns(self) -> Iterator[Item]:
        """Yields items, one of each source in turn, and those of a source in order."""
        while self._lines:
            source = next(iter(self._lines))
            line = self._lines.pop(source)
            item = line.popleft()
            if line:
                self._lines[source] = line
            yield item
