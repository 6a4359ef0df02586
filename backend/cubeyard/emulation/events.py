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
WAITING = 500
"""Of one server, for its turn: more than all its flows tell when a switch fails, far less than a flood."""
REMEMBERED = 200_000
"""Events of a session that are kept for the report: an hour of a flapping cable."""
LEFT_OUT_EVERY_SECS = 1.0
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
        at_nanos = event.get("at_nanos")
        ago_secs = (now_nanos - int(at_nanos)) / 1e9 if at_nanos else 0.0
        kind = str(event.get("kind", ""))
        row = self._row(event.get("flow"))
        short = self._short(event, kind, row)
        took_nanos = int(event.get("took_nanos", 0))
        if kind in ROUTES and row is not None:
            self._routes.put(event.get("server"), (row, [int(one) for one in event["path"]["servers"]]))
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
        events = [*self._newly_left_out(), *_fitting(self._waiting.turns(), EVENTS_A_TICK, room_bytes)]
        room_bytes -= len(orjson.dumps(events))
        routes = _fitting(self._routes.turns(), ROUTES_A_TICK, room_bytes)
        counts, self._counts = dict(self._counts), Counter()
        every: Json = {"events": events, "routes": routes, "counts": counts}
        return {name: some for name, some in every.items() if some}

    def _newly_left_out(self) -> list[Json]:
        """Once a second, of every server that said too much."""
        if self._now_secs - self._told_secs < LEFT_OUT_EVERY_SECS:
            return []
        news = self._waiting.left_out - self._told
        if news:
            self._told_secs = self._now_secs
            self._told.update(news)
        at_secs = round(self._now_secs, 4)
        most = news.most_common(EVENTS_A_TICK)
        return [
            {"kind": "events-left-out", "server": server, "count": count, "at_nanos": None, "at_secs": at_secs}
            for server, count in most
        ]

    def _row(self, flow: Json | int | None) -> int | None:
        """The workload's flow of a five-tuple or of its number; an application of somebody else's has none."""
        row = flow if isinstance(flow, int) else int((flow or {}).get("dport", 0)) - FIRST_PORT
        return row if 0 <= row < self.flows else None

    @staticmethod
    def _short(event: Json, kind: str, row: int | None) -> Json:
        kept = {name: event[name] for name in event if name not in ("t", "flow", "path", "at_nanos", "at_secs", "kind")}
        if row is not None:
            kept["flow"] = row
        elif event.get("flow"):
            kept["tuple"] = event["flow"]
        if event.get("path"):
            kept["path"] = event["path"]["servers"]
        return {"kind": kind, **kept}


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
