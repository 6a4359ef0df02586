"""What a column of the contract declares, as in `emulator/crates/contract/src/column.rs`."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Unit(Enum):
    BYTES = "bytes"
    PACKETS = "packets"
    COUNT = "count"
    NANOS = "nanos"
    SECS = "secs"
    SHARE = "share"


class Merge(Enum):
    """How the values of several ticks, and of the hosts of a run, become one value."""

    SUM = "sum"
    """Added up over ticks and hosts."""
    LATEST = "latest"
    """The last tick's, added up over hosts."""
    BUSIEST = "busiest"
    """The last tick's of the busiest host."""
    LONGEST = "longest"
    """The largest of all."""
    BY_KEY = "by-key"
    """Pairs of a key and a count: counts of the same key are added up."""


class Over(Enum):
    """How the values of a field in several ticks are merged."""

    LAST = "last"
    """The value of the last tick."""
    SUM = "sum"
    MEAN = "mean"
    """The mean, weighted by the duration of each tick."""
    LONGEST = "longest"
    """The largest value of each row."""
    ALL = "all"
    """The concatenation of the lists."""


Rows = list[tuple[int, int]]
"""Pairs [row, value] of rows that have a value, up to a limit."""
LinkRows = list[tuple[int, int, int]]
"""Triples [row of the link, value from a to b, value from b to a]."""


class Column(NamedTuple):
    part: str
    name: str
    unit: Unit
    merge: Merge
    shown: str | None
    """Its name in a run's frames, if they have its rows."""
    about: str
