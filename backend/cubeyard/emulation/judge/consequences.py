"""The consequences of each fault: when it was detected, which flows moved, and when the goodput
recovered.

An event is assigned to one active fault on the event's path: the latest one, or the earliest if
each of them alone explains the event. So an event about a pulled cable is not assigned to a slower
link next to it, and an event about a switch that was turned off is not assigned to a server that
died later. A fault of a part that was already down has no detection. [ours]
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.network.network import Network
from cubeyard.experiments.fault_kinds import KINDS

Json = dict[str, Any]
Element = tuple[str, int]
"""Kind of an element, `node` or `link`, and its id."""

WATCHED_SECS = 30.0
"""Events later than this after a fault are not counted as its consequences."""
BACK_SHARE = 0.95
MOVE = "path-switched"


@dataclass
class _Struck:
    """An injected fault with the events assigned to it."""

    at_nanos: int
    until_nanos: float
    """When the fault ended; infinite if it did not."""
    carries: bool
    nodes: frozenset[int]
    elements: frozenset[Element]
    links: frozenset[int]
    """All links with no or less capacity, including the links of an affected node."""
    already_down: bool = False
    detected: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Notice:
    """An event that may be a consequence of a fault, with the elements that it concerns."""

    at_nanos: int
    reporter: int | None
    elements: frozenset[Element]
    failure: bool
    """Whether it reports a failure, and not just less capacity."""
    kind: str
    one_way: bool = False
    """Whether all its elements are on one path, so that each of them alone can explain it."""


class _Map:
    """Finds the links and nodes between others."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._links_of: dict[int, list[int]] = {}
        self._near: dict[int, dict[int, list[int]]] = {}
        self._at: dict[tuple[int, int], tuple[int, int]] = {}
        for link in network.links:
            for (near, port), (far, _) in ((link.a, link.b), (link.b, link.a)):
                self._links_of.setdefault(near, []).append(link.id)
                self._near.setdefault(near, {}).setdefault(far, []).append(link.id)
                self._at[near, port] = (link.id, far)
        self._paths: dict[tuple[int, ...], frozenset[Element]] = {}

    @cached_property
    def _link_ids(self) -> dict[str, list[int]]:
        ids: dict[str, list[int]] = {}
        for link in self._network.links:
            ids.setdefault(self._network.link_name(link), []).append(link.id)
        return ids

    def struck(self, fault: Json) -> _Struck:
        nodes = {self._network.id_of[name] for name in fault["targets"] if name in self._network.id_of}
        links = {link for name in fault["targets"] for link in self._link_ids.get(name, ())}
        until = fault["recovered_at_secs"]
        lasted_nanos = inf if until is None else (until - fault["injected_at_secs"]) * 1e9
        return _Struck(
            fault["at_nanos"],
            fault["at_nanos"] + lasted_nanos,
            KINDS[fault["kind"]].carries,
            frozenset(nodes),
            frozenset((*(("node", node) for node in nodes), *(("link", link) for link in links))),
            frozenset(links.union(*(self._links_of.get(node, []) for node in nodes))),
        )

    def hop(self, near: int, far: int, first: int | None = None) -> Iterator[Element]:
        """The links and switches between two neighbours. `first` is the link at `near`."""
        for link in self._near.get(near, {}).get(far, ()):
            yield "link", link
        for node in self._near.get(near, {}).keys() & self._near.get(far, {}).keys() & self._network.switches.keys():
            links = self._near[near][node]
            if first is None or first in links:
                yield "node", node
                yield from (("link", link) for link in (*links, *self._near[node][far]))

    def path(self, nodes: Sequence[int]) -> frozenset[Element]:
        key = tuple(nodes)
        if key not in self._paths:
            hops = (hop for near, far in pairwise(key) for hop in self.hop(near, far))
            self._paths[key] = frozenset((*(("node", node) for node in key), *hops))
        return self._paths[key]

    def notice(self, event: Json) -> _Notice | None:
        """Converts an event about neighbours to a notice; None if it has no time or is no
        failure."""
        kind, at, reporter = event["kind"], event["at_nanos"], event.get("server")
        if at is None or reporter is None:
            return None
        about: Iterable[Element] = ()
        one_way = kind == "neighbour-dead" and (reporter, event["port"]) in self._at
        if kind == "neighbour-dead":
            link, _ = self._at.get((reporter, event["port"]), (None, None))
            about = (("node", event["neighbour"]), *self.hop(reporter, event["neighbour"], link))
        elif kind == "path-failed":
            reporter = event["reporter"]
            gone = event["unreachable"]
            about = (*(("node", node) for node in gone), *(hop for node in gone for hop in self.hop(reporter, node)))
        elif kind == "carrier" and not event["up"] and (reporter, event["port"]) in self._at:
            link, far = self._at[reporter, event["port"]]
            about = (("link", link), ("node", far))
        else:
            return None
        return _Notice(at, reporter, frozenset(about), failure=True, kind=kind, one_way=one_way)


class Consequences:
    """Assigns events to faults in one pass, since an hour of a flapping cable has thousands of
    events."""

    def __init__(self, recorder: Recorder, faults: Sequence[Json]) -> None:
        quiet = recorder.quiet
        self._enough = quiet.goodput_bits_per_sec * BACK_SHARE if quiet is not None else None
        self._series = recorder.series
        self._map = _Map(recorder.question.network)
        self._faults = list(faults)
        self._struck = [self._map.struck(fault) for fault in self._faults]
        self.unexplained = 0
        """How often a neighbour was declared dead without a fault, in the measured time."""
        self._attribute(recorder)

    def documents(self) -> list[Json]:
        """The faults with their consequences, in their order."""
        return [{**fault, **self._of(fault, struck)} for fault, struck in zip(self._faults, self._struck, strict=True)]

    def _attribute(self, recorder: Recorder) -> None:
        notices = [notice for event in recorder.events.all if (notice := self._map.notice(event)) is not None]
        notices += [
            _Notice(move.at_nanos, move.server, self._map.path(move.path), move.reason == "failure", MOVE)
            for move in recorder.events.moves
            # When a fault ends, flows move back; this is no consequence of the fault.
            if move.reason != "recovery"
        ]
        coming = deque(sorted(self._struck, key=lambda struck: struck.at_nanos))
        recent: list[_Struck] = []
        for notice in sorted(notices, key=lambda notice: notice.at_nanos):
            while coming and coming[0].at_nanos <= notice.at_nanos:
                recent = self._begun(coming.popleft(), recent)
            if not self._explained(notice, recent) and notice.kind == "neighbour-dead":
                self.unexplained += recorder.clock.secs(notice.at_nanos) >= 0
        for struck in coming:
            recent = self._begun(struck, recent)

    def _begun(self, struck: _Struck, recent: list[_Struck]) -> list[_Struck]:
        """Adds a fault that begins, and drops faults that ended long ago."""
        active = [fault for fault in recent if fault.until_nanos > struck.at_nanos and not fault.carries]
        down = frozenset[int]().union(*(fault.links for fault in active))
        struck.already_down = bool(struck.links) and struck.links <= down
        oldest_nanos = struck.at_nanos - WATCHED_SECS * 1e9
        return [*(fault for fault in recent if fault.until_nanos > oldest_nanos), struck]

    @staticmethod
    def _explained(notice: _Notice, recent: list[_Struck]) -> bool:
        """Assigns a notice to its fault. Returns False if no recent fault explains it."""
        on_path = [
            struck
            for struck in recent
            if struck.elements & notice.elements and notice.at_nanos <= struck.until_nanos + WATCHED_SECS * 1e9
        ]
        active = [
            struck
            for struck in on_path
            if notice.at_nanos <= min(struck.until_nanos, struck.at_nanos + WATCHED_SECS * 1e9)
            and notice.reporter not in struck.nodes
            and not struck.already_down
        ]
        # Prefer faults of links with no capacity to faults of links with some.
        whole = [struck for struck in active if not struck.carries]
        blamed = (whole or active) if notice.failure else active
        if blamed:
            struck = blamed[0 if notice.one_way and whole else -1]
            (struck.moved if notice.kind == MOVE else struck.detected).append(notice.at_nanos)
            return True
        return bool(on_path) or any(notice.reporter in struck.nodes for struck in recent)

    def _of(self, fault: Json, struck: _Struck) -> Json:
        first_secs, last_secs = (
            _secs(at(struck.moved) - struck.at_nanos) if struck.moved else None for at in (min, max)
        )
        noticed = [*struck.detected, *struck.moved]
        detected_secs = _secs(min(noticed) - struck.at_nanos) if noticed else None
        return {
            "detected_secs": detected_secs,
            "first_move_secs": first_secs,
            "last_move_secs": last_secs,
            "moves": len(struck.moved),
            "recovered_secs": None
            if struck.already_down
            else self._back(fault["injected_at_secs"], detected_secs or 0.0),
            **({"already_down": True} if struck.already_down else {}),
        }

    def _back(self, started_secs: float, detected_secs: float) -> float | None:
        """Seconds until the goodput had almost recovered, but not before the detection."""
        if self._enough is None:
            return None
        # A point of the series is the mean of a second, which must begin after the fault.
        from_secs = started_secs + max(1.0, detected_secs)
        for at_secs, goodput, _ in self._series[bisect_right(self._series, (from_secs, inf)) :]:
            if goodput >= self._enough:
                return round(at_secs - started_secs, 1)
        return None


def _secs(nanos: int) -> float:
    return round(nanos / 1e9, 4)
