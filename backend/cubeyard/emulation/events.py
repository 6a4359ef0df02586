"""What the servers and the fabric tell, made short enough for frames: flows by their row, paths as lists of servers.

A burst (every flow of an all-to-all chooses its path at once) is spread over the following ticks rather than cut.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

FIRST_PORT = 5201
"""The fabric gives flow i the port FIRST_PORT + i."""
EVENTS_A_TICK = 20
ROUTES_A_TICK = 100
ROUTES = frozenset({"path_selected", "path_switched"})
COUNTED = frozenset({"probe", "path_selected"})
"""Kinds that are told as a number: there are hundreds, and one says what all say."""


@dataclass
class Events:
    """Between two ticks."""

    flows: int
    all: list[Json] = field(default_factory=list)
    """Everything heard, short."""
    switches: int = 0
    """How often a flow took another path."""
    probings: int = 0
    """How often a flow's paths were probed."""
    probing_nanos: int = 0
    """How long all of that took."""
    _waiting: deque[Json] = field(default_factory=deque)
    _routes: deque[tuple[int, list[int]]] = field(default_factory=deque)
    _counts: dict[str, int] = field(default_factory=dict)

    def hear(self, raw: list[Json], now_nanos: int, now_secs: float) -> None:
        for event in raw:
            at_nanos = event.get("at_nanos")
            ago_secs = (now_nanos - at_nanos) / 1e9 if at_nanos else 0.0
            kind = str(event.get("kind", ""))
            row = self._row(event.get("flow"))
            if kind == "path_switched":
                self.switches += 1
            if kind == "probe":
                self.probings += 1
                self.probing_nanos += int(event.get("took_nanos", 0))
            if kind in ROUTES and row is not None:
                self._routes.append((row, list(event["path"]["servers"])))
            if kind in COUNTED:
                self._counts[kind] = self._counts.get(kind, 0) + 1
                continue
            short = self._short(event, kind, row)
            short["at_nanos"], short["at_secs"] = at_nanos, round(now_secs - ago_secs, 4)
            self.all.append(short)
            self._waiting.append(short)

    def tick(self) -> Json:
        """What fits the next frame; nothing that is empty."""
        events = [self._waiting.popleft() for _ in range(min(EVENTS_A_TICK, len(self._waiting)))]
        routes = [self._routes.popleft() for _ in range(min(ROUTES_A_TICK, len(self._routes)))]
        counts, self._counts = self._counts, {}
        every: Json = {"events": events, "routes": routes, "counts": counts}
        return {name: some for name, some in every.items() if some}

    def _row(self, flow: Json | int | None) -> int | None:
        """The workload's flow of a five-tuple or of its number; an application of somebody else's has none."""
        row = flow if isinstance(flow, int) else int((flow or {}).get("dport", 0)) - FIRST_PORT
        return row if 0 <= row < self.flows else None

    @staticmethod
    def _short(event: Json, kind: str, row: int | None) -> Json:
        kept = {name: event[name] for name in event if name not in ("t", "flow", "path", "at_nanos", "kind")}
        if row is not None:
            kept["flow"] = row
        elif event.get("flow"):
            kept["tuple"] = event["flow"]
        if event.get("path"):
            kept["path"] = event["path"]["servers"]
        return {"kind": kind, **kept}
