"""A queue in which a flooding server blocks no other: each source has a separate line, served in
turns."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Waiting items by source. Items beyond `most` of one source are dropped and counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: dict[Hashable, deque[Item]] = {}
        self.left_out: Counter[Hashable] = Counter()
        """How many items of each source were refused."""

    def put(self, source: Hashable, item: Item) -> bool:
        """Whether it was taken in."""
        line = self._lines.setdefault(source, deque())
        if len(line) >= self._most:
            self.left_out[source] += 1
            return False
        line.append(item)
        return True

    def turns(self) -> Iterator[Item]:
        """Takes from it: one of each source after the other, each source's own in order."""
        while self._lines:
            source = next(iter(self._lines))
            line = self._lines.pop(source)
            item = line.popleft()
            if line:
                self._lines[source] = line
            yield item
