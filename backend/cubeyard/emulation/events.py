"""What the servers and the fabric tell, made short enough for frames: flows by their row, paths as lists of servers.

A burst (every flow of an all-to-all chooses its path at once) is spread over the following ticks rather than cut. A server
that floods gets its turn among the others and no more; how much of it was left out is told. Nodes are not trusted: what
cannot be understood is told as such.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson

from cubeyard.emulation.fair_queue import FairQueue
from cubeyard.emulation.network import MAX_SERVERS

Json = dict[str, Any]
Route = tuple[int, list[int]]
"""A flow's row and the servers of its path."""

FIRST_PORT = 5201
"""The fabric gives flow i the port FIRST_PORT + i."""
EVENTS_A_TICK = 20
ROUTES_A_TICK = 100
LEAST_ROOM_BYTES = 1000
"""Events and routes get so much of a frame each, however full it is."""
EVENT_BYTES = 600
"""An event that is longer is told by its kind and its length."""
PATH_SERVERS = 64
"""More than any path has."""
WAITING = 500
"""Of one server, for its turn: more than all its flows tell when a switch fails, far less than a flood."""
REMEMBERED = 200_000
"""Events of a session that are kept for the report: an hour of a flapping cable."""
LEFT_OUT_EVERY_SECS = 1.0
MOST_NANOS = 2**63
ROUTES = frozenset({"path_selected", "path_switched"})
COUNTED = frozenset({"probe", "path_selected"})
"""Kinds that are told as a number: there are hundreds, and one says what all say."""


@dataclass
class Events:
    """Between two ticks."""

    flows: int
    all: deque[Json] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Everything taken in, short."""
    switches: int = 0
    """How often a flow took another path."""
    probings: int = 0
    """How often a flow's paths were probed."""
    probing_nanos: int = 0
    """How long all of that took."""
    _waiting: FairQueue[Json] = field(default_factory=lambda: FairQueue(WAITING))
    _routes: FairQueue[Route] = field(default_factory=lambda: FairQueue(WAITING))
    _counts: Counter[str] = field(default_factory=Counter)
    _now_secs: float = 0.0
    _told: Counter[Hashable] = field(default_factory=Counter)
    """How many left out were told of, by server."""
    _told_secs: float = float("-inf")

    def hear(self, raw: list[Json], now_nanos: int, now_secs: float) -> None:
        self._now_secs = now_secs
        for event in raw:
            try:
                self._take(event, now_nanos)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                why = f"event {str(event.get('kind'))[:40]!r} is not as it should be: {type(error).__name__}"
                self._tell({"kind": "node-refused", "server": event.get("server"), "message": why}, None, 0.0)

    def _take(self, event: Json, now_nanos: int) -> None:
        at_nanos = _whole(event["at_nanos"], MOST_NANOS) if event.get("at_nanos") else None
        ago_secs = (now_nanos - at_nanos) / 1e9 if at_nanos else 0.0
        kind = str(event.get("kind", ""))
        row = self._row(event.get("flow"))
        path = _path(event["path"]) if event.get("path") is not None else None
        short = self._short(event, kind, row, path)
        took_nanos = _whole(event.get("took_nanos", 0), MOST_NANOS)
        if kind in ROUTES and row is not None and path is not None:
            self._routes.put(event.get("server"), (row, path))
        if kind == "path_switched":
            self.switches += 1
        if kind == "probe":
            self.probings += 1
            self.probing_nanos += took_nanos
        if kind in COUNTED:
            self._counts[kind] += 1
        else:
            self._tell(short, at_nanos, ago_secs)

    def _tell(self, short: Json, at_nanos: int | None, ago_secs: float) -> None:
        length = len(orjson.dumps(short, option=orjson.OPT_NON_STR_KEYS))
        if length > EVENT_BYTES:
            short = {"kind": short["kind"][:40], "server": short.get("server"), "message": f"{length} bytes long"}
        short["at_nanos"], short["at_secs"] = at_nanos, round(self._now_secs - ago_secs, 4)
        if self._waiting.put(short.get("server"), short):
            self.all.append(short)

    @property
    def left_out(self) -> list[tuple[Any, int]]:
        """Servers and how many of their events no frame tells."""
        return sorted(self._waiting.left_out.items(), key=lambda one: -one[1])

    def tick(self, room_bytes: int = 8000) -> Json:
        """What fits the next frame; nothing that is empty."""
        events = self._newly_left_out(room_bytes)
        events += _fitting(self._waiting.turns(), EVENTS_A_TICK, room_bytes - len(orjson.dumps(events)))
        routes = _fitting(self._routes.turns(), ROUTES_A_TICK, room_bytes - len(orjson.dumps(events)))
        counts, self._counts = dict(self._counts), Counter()
        every: Json = {"events": events, "routes": routes, "counts": counts}
        return {name: some for name, some in every.items() if some}

    def _newly_left_out(self, room_bytes: int) -> list[Json]:
        """Once a second, of the servers that said too much: those first of which most is not told yet."""
        if self._now_secs - self._told_secs < LEFT_OUT_EVERY_SECS:
            return []
        news = (self._waiting.left_out - self._told).most_common()
        at_secs = round(self._now_secs, 4)
        every = (
            {"kind": "events-left-out", "server": server, "count": count, "at_nanos": None, "at_secs": at_secs}
            for server, count in news
        )
        found = _fitting(every, EVENTS_A_TICK, room_bytes)
        if found:
            self._told_secs = self._now_secs
            self._told.update({one["server"]: one["count"] for one in found})
        return found

    def _row(self, flow: Json | int | None) -> int | None:
        """The workload's flow of a five-tuple or of its number; an application of somebody else's has none."""
        row = flow if isinstance(flow, int) else int((flow or {}).get("dport", 0)) - FIRST_PORT
        return row if 0 <= row < self.flows else None

    @staticmethod
    def _short(event: Json, kind: str, row: int | None, path: list[int] | None) -> Json:
        kept = {name: event[name] for name in event if name not in ("t", "flow", "path", "at_nanos", "at_secs", "kind")}
        if row is not None:
            kept["flow"] = row
        elif event.get("flow"):
            kept["tuple"] = event["flow"]
        if path is not None:
            kept["path"] = path
        return {"kind": kind, **kept}


def _whole(said: Any, below: int) -> int:
    """A number as a node says it, which may say anything."""
    number = int(said)
    if not 0 <= number < below:
        raise ValueError(f"not a number from 0 to {below - 1}")
    return number


def _path(said: Json) -> list[int]:
    """The ids of its servers."""
    servers = said["servers"]
    if len(servers) > PATH_SERVERS:
        raise ValueError(f"a path of more than {PATH_SERVERS} servers")
    return [_whole(one, MAX_SERVERS) for one in servers]


def _fitting(turns: Iterator[Any], most: int, room_bytes: int) -> list[Any]:
    """So many of them, and no more once they fill the room."""
    found: list[Any] = []
    room = max(room_bytes, LEAST_ROOM_BYTES)
    for one in islice(turns, most):
        found.append(one)
        room -= len(orjson.dumps(one)) + 1
        if room <= EVENT_BYTES:
            break
    return found
