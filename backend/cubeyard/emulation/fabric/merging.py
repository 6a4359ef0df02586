"""Merges the frames of several fabrics: each counts only its own host, with zero for the rest. The
contract declares how each column merges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from cubeyard.contract.columns import Merge
from cubeyard.contract.tick import COLUMNS

Json = dict[str, Any]

PARTS = frozenset({column.part for column in COLUMNS})
KNOWN = {part: {column.name for column in COLUMNS if column.part == part} for part in PARTS}
ROWS = ("links", "servers", "flows")
"""Parts whose columns have a row for each link, server or flow."""
WHOLE = frozenset({"tick", "at_secs", "missed", "subflows", "drops", "events"})
"""Fields of a tick that are not parts."""
TOLD_BY_ALL = frozenset({"fault-injected", "fault-recovered"})
"""Events that every fabric of a run reports: only the first fabric's are kept."""


def merged(by_host: Sequence[Sequence[Json]], offsets_nanos: Sequence[int]) -> Json:
    """Merges the frames that each host sent since the last tick, at least one each, into one tick.

    Columns merge as they declare. The clock is the most advanced of all hosts. Raises LookupError
    for an unknown column. `missed` is the number of earlier frames that were lost.
    `offsets_nanos[host]` is how far that host's monotonic clock is ahead of ours.
    """
    if len(by_host) == 1 and len(by_host[0]) == 1 and not offsets_nanos[0]:
        return by_host[0][0]
    every = [frame for frames in by_host for frame in frames]
    _refuse_unknown(every)
    latest = [frames[-1] for frames in by_host]
    latencies = _part("latencies", every, latest)
    drops: Counter[str] = Counter()
    for frame in every:
        drops.update(frame["drops"])
    return {
        "tick": max(frame["tick"] for frame in latest),
        "at_secs": max(frame["at_secs"] for frame in latest),
        "missed": max(sum(frame.get("missed", 0) for frame in frames) for frames in by_host),
        **{part: _part(part, every, latest) for part in ROWS},
        **_subflows(every),
        **({"latencies": latencies} if latencies else {}),
        "drops": dict(drops),
        "host": {
            **max((frame["host"] for frame in latest), key=lambda host: host["cpu"]),
            **_part("host", every, latest),
        },
        "events": [
            _on_our_clock(event, offset)
            for host, (frames, offset) in enumerate(zip(by_host, offsets_nanos, strict=True))
            for frame in frames
            for event in frame["events"]
            if host == 0 or str(event.get("kind")) not in TOLD_BY_ALL
        ],
    }


def _by_key(values: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    counts: Counter[int] = Counter()
    for value in values:
        counts.update(dict(value))
    return sorted(counts.items())


TOGETHER: dict[Merge, Callable[[Sequence[Any]], Any]] = {
    Merge.SUM: sum,
    Merge.LATEST: sum,
    Merge.LONGEST: max,
    Merge.BY_KEY: _by_key,
}


def _part(part: str, every: Sequence[Json], latest: Sequence[Json]) -> Json:
    """The columns of a part except for those of the busiest host. Columns with rows are in every
    tick, the others only if the fabric reports them."""
    result: Json = {}
    for column in COLUMNS:
        if column.part != part or column.merge is Merge.BUSIEST:
            continue
        frames = latest if column.merge is Merge.LATEST else every
        together, rows = TOGETHER[column.merge], part in ROWS
        values = [frame[part][column.name] for frame in frames if rows or column.name in (frame.get(part) or {})]
        if values:
            result[column.name] = [together(row) for row in zip(*values, strict=True)] if rows else together(values)
    return result


def _subflows(frames: Sequence[Json]) -> Json:
    """The bytes of MPTCP's subflows, by flow and number of the subflow; empty without any."""
    carried: Counter[tuple[int, int]] = Counter()
    for frame in frames:
        for flow, subflow, size_bytes in frame.get("subflows", ()):
            carried[flow, subflow] += size_bytes
    return {"subflows": [[*key, size_bytes] for key, size_bytes in sorted(carried.items())]} if carried else {}


def _refuse_unknown(frames: Sequence[Json]) -> None:
    for frame in frames:
        unknown = set(frame) - PARTS - WHOLE
        for part, names in KNOWN.items():
            unknown |= {f"{part}.{name}" for name in set(frame.get(part) or ()) - names}
        if unknown:
            raise LookupError(f"Columns that the contract does not declare: {', '.join(sorted(unknown))}.")


def _on_our_clock(event: Json, offset_nanos: int) -> Json:
    at_nanos = event.get("at_nanos")
    # A node can send anything; the reader of events rejects values that are not numbers.
    if not offset_nanos or not at_nanos or not isinstance(at_nanos, int):
        return event
    return {**event, "at_nanos": at_nanos - offset_nanos}
