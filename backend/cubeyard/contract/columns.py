"""What a column of the contract declares: `emulator/crates/contract/src/column.rs` has the same
enums."""

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


class Column(NamedTuple):
    part: str
    name: str
    unit: Unit
    merge: Merge
