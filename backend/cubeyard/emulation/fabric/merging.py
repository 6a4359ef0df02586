"""Merges the frames of several fabrics: each counts only its own host, with zero for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

COUNTS = {"links": ("tx", "rx", "packets", "drops"), "servers": ("relayed", "own"), "flows": ("bytes", "retransmits")}
"""Columns that add up over ticks and hosts."""
LEVELS = {"links": ("queue",), "servers": ("cpu",), "flows": ()}
"""Columns of which the latest value of each host counts."""
HOST_COUNTS = ("wait_secs", "waits", "backlog_drops")
"""They add up over ticks and hosts; shares of a processor are those of the busiest host, now."""
LATENCY_COUNTS = ("asked", "answered", "within_bound", "timed_out", "sum_nanos")
KNOWN = {
    **{part: {*names, *LEVELS[part]} for part, names in COUNTS.items()},
    "host": {"cpu", "own_cpu", *HOST_COUNTS},
    "latencies": {*LATENCY_COUNTS, "longest_nanos", "buckets"},
}
PARTS = frozenset(
    {"tick", "at_secs", "missed", "links", "servers", "flows", "latencies", "subflows", "drops", "host", "events"}
)
TOLD_BY_ALL = frozenset({"fault-injected", "fault-recovered"})
"""Events that every fabric of a run reports: only the first fabric's are kept."""


def merged(by_host: Sequence[Sequence[Json]], offsets_nanos: Sequence[int]) -> Json:
    """One tick of what each host sent since the last one, at least one frame each.

    Counts are added; levels (queues, shares of a processor) have the latest value. The clock is the
    most advanced of all hosts, and the CPU load that of the busiest host. Raises LookupError for an
    unknown column. `missed` is the number of earlier frames that were lost. `offsets_nanos[host]`
    is how far that host's monotonic clock is ahead of ours.
    """
    if len(by_host) == 1 and len(by_host[0]) == 1 and not offsets_nanos[0]:
        return by_host[0][0]
    every = [frame for frames in by_host for frame in frames]
    _refuse_unknown(every)
    latest = [frames[-1] for frames in by_host]
    drops: Counter[str] = Counter()
    for frame in every:
        drops.update(frame["drops"])
    return {
        "tick": max(frame["tick"] for frame in latest),
        "at_secs": max(frame["at_secs"] for frame in latest),
        "missed": max(sum(frame.get("missed", 0) for frame in frames) for frames in by_host),
        **{part: {**_added(every, part, COUNTS[part]), **_added(latest, part, LEVELS[part])} for part in COUNTS},
        **_subflows(every),
        **_latencies([frame["latencies"] for frame in every if frame.get("latencies")]),
        "drops": dict(drops),
        "host": {**max((frame["host"] for frame in latest), key=lambda host: host["cpu"]), **_delays(every)},
        "events": [
            _on_our_clock(event, offset)
            for host, (frames, offset) in enumerate(zip(by_host, offsets_nanos, strict=True))
            for frame in frames
            for event in frame["events"]
            if host == 0 or str(event.get("kind")) not in TOLD_BY_ALL
        ],
    }


def _delays(every: Sequence[Json]) -> Json:
    """Waits for a processor and losses in the backlog add up, as far as frames have them."""
    names = {name for frame in every for name in HOST_COUNTS if name in frame["host"]}
    return {name: sum(frame["host"].get(name, 0) for frame in every) for name in names}


def _latencies(told: Sequence[Json]) -> Json:
    """The results of the requests of all hosts' clients; empty if there are none."""
    if not told:
        return {}
    buckets: Counter[int] = Counter()
    for item in told:
        buckets.update(dict(item["buckets"]))
    return {
        "latencies": {
            **{name: sum(item[name] for item in told) for name in LATENCY_COUNTS},
            "longest_nanos": max(item["longest_nanos"] for item in told),
            "buckets": sorted(buckets.items()),
        }
    }


def _subflows(frames: Sequence[Json]) -> Json:
    """The bytes of MPTCP's subflows, by flow and number of the subflow, if any."""
    carried: Counter[tuple[int, int]] = Counter()
    for frame in frames:
        for flow, subflow, size_bytes in frame.get("subflows", ()):
            carried[flow, subflow] += size_bytes
    return {"subflows": [[*key, size_bytes] for key, size_bytes in sorted(carried.items())]} if carried else {}


def _refuse_unknown(frames: Sequence[Json]) -> None:
    for frame in frames:
        unknown = set(frame) - PARTS
        for part, names in KNOWN.items():
            unknown |= {f"{part}.{name}" for name in set(frame.get(part) or ()) - names}
        if unknown:
            raise LookupError(f"Columns of a frame are missing in merging.py: {', '.join(sorted(unknown))}.")


def _added(frames: Sequence[Json], part: str, columns: Sequence[str]) -> Json:
    return {
        column: [sum(values) for values in zip(*(frame[part][column] for frame in frames), strict=True)]
        for column in columns
    }


def _on_our_clock(event: Json, offset_nanos: int) -> Json:
    at_nanos = event.get("at_nanos")
    # A node can send anything; the reader of events rejects values that are not numbers.
    if not offset_nanos or not at_nanos or not isinstance(at_nanos, int):
        return event
    return {**event, "at_nanos": at_nanos - offset_nanos}
