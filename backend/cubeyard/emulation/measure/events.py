"""Reports of servers and the fabric, shortened for frames: flows by their row, paths as lists of
servers.

A burst (such as all flows of an all-to-all choosing their paths) is spread over the following ticks
instead of being cut. A server that floods gets only its fair turn, and the number of its omitted
events is reported. Nodes are not trusted: an event that does not match the type of its kind is
reported as `node-refused`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
from pydantic import ValidationError

from cubeyard.emulation.measure.clock import Clock
from cubeyard.emulation.measure.fair_queue import FairQueue
from cubeyard.emulation.measure.parts import in_parts
from cubeyard.emulation.network.network import MAX_SERVERS
from cubeyard.frames.events import CELL_KINDS, kinds
from cubeyard.frames.events import event as checked

Json = dict[str, Any]
Route = tuple[int, list[int]]
"""Row of a flow, and the servers of its path."""

ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
FIRST_PORT = 5201
"""The fabric assigns port FIRST_PORT + i to flow i."""
EVENTS_A_TICK = 20
ROUTES_A_TICK = 100
LEAST_ROOM_BYTES = 1000
"""Space in a frame that is always reserved for events and for routes."""
EVENT_BYTES = 600
"""A longer event is reported by kind and length only."""
PATH_SERVERS = 64
"""Maximum number of servers on a path."""
WAITING = 500
"""Maximum number of waiting events of one server: more than all its flows report when a switch
fails, far less than a flood."""
REMEMBERED = 200_000
"""Maximum number of events kept for the report: enough for an hour of a flapping cable."""
LEFT_OUT_EVERY_SECS = 1.0
MOST_NANOS = 2**63
ROUTES = frozenset({"path-selected", "path-switched"})
COUNTED = frozenset({"probed", "path-selected"})
"""Kinds of which ticks report only the number, since there are hundreds of equal events."""
LONG = frozenset({"service-answer", "service-message"})
"""Kinds with a text of any length, which is sent in parts."""
REPORTED = "reported"
"""Kind of an event that only one protocol has; `what` is its name."""
RENAMED = {"probe": "probed"}
"""New names of kinds from before the names on the wire were final."""
NOT_CELLS = frozenset({"t", "kind", "server", "at_nanos", "at_secs", "cells"})
MOST_CELLS = 16


@dataclass(frozen=True)
class Move:
    """A change of a flow's path."""

    at_nanos: int
    server: int | None
    path: list[int]
    """The path before the change."""
    reason: str


@dataclass
class Events:
    """The events between two ticks. `flows` is the number of flows in the workload; `server_at`
    returns the name of the server with an address."""

    flows: int
    clock: Clock = field(default_factory=Clock)
    server_at: Callable[[str], str | None] = field(default={}.get)
    all: deque[Json] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """All recorded events, shortened."""
    moves: deque[Move] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Path changes of flows whose previous path was known."""
    switches: int = 0
    """Number of path changes of all flows."""
    paths: dict[int, list[int]] = field(default_factory=dict)
    """The current path of each flow, by its row: ids of servers."""
    first_paths: dict[int, list[int]] = field(default_factory=dict)
    """The first path of each flow, by its row."""
    responses: bool = False
    """Whether every second flow has the responses of the flow before it."""
    several: bool = False
    """Whether flows use several paths at the same time, of which one is reported."""
    path_changes: int = 0
    probings: int = 0
    """How often a flow's paths were probed."""
    probing_nanos: int = 0
    """Total time of all probings."""
    _last_paths: dict[Hashable, list[int]] = field(default_factory=dict)
    """The latest path of every flow, including return traffic and other applications."""
    _waiting: FairQueue[Json] = field(default_factory=lambda: FairQueue(WAITING))
    _routes: FairQueue[Route] = field(default_factory=lambda: FairQueue(WAITING))
    _counts: Counter[str] = field(default_factory=Counter)
    _now_secs: float = 0.0
    _told: Counter[Hashable] = field(default_factory=Counter)
    """Number of omitted events that was reported, by server."""
    _told_secs: float = float("-inf")

    def hear(self, raw: list[Json], now_secs: float) -> None:
        """Adds the reports in a tick of the fabric. `now_secs` is the tick's time on the session's
        clock."""
        self._now_secs = now_secs
        for event in raw:
            if event.get("flow") == self.flows:
                continue  # the calibration's flow, which may end after the workload has begun
            kind = kebab(event.get("kind"))
            if kind == REPORTED:
                kind = kebab(event.get("what"))
            try:
                self._take(event, kind)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                self._refuse(event.get("server"), f"event {kind[:40]!r} is not valid: {_why(error)}")

    def _refuse(self, server: Any, message: str) -> None:
        known = server if isinstance(server, int) and 0 <= server < MAX_SERVERS else None
        self._tell({"kind": "node-refused", "server": known, "message": message, "at_nanos": None}, self._now_secs)

    def _take(self, event: Json, kind: str) -> None:
        at_nanos = _whole(event["at_nanos"], MOST_NANOS) if event.get("at_nanos") else None
        at_secs = self._now_secs if at_nanos is None else self.clock.secs(at_nanos)
        row = self._row(event.get("flow"))
        path = _path(event["path"]) if event.get("path") is not None else None
        if path is not None and _whole(event["path"].get("others", 0), MOST_NANOS) > 0:
            self.several = True
        took_nanos = _whole(event.get("took_nanos", 0), MOST_NANOS)
        if kind not in COUNTED:
            short = self._short(event, kind, row, path) if kind in kinds() else self._of_protocol(event, kind)
            whole = {**short, "at_nanos": at_nanos}
            for part in in_parts(whole, EVENT_BYTES) if kind in LONG else [whole]:
                self._tell(part, at_secs)
        if kind in ROUTES and path is not None and event.get("flow") is not None:
            self._take_path(event, kind, orjson.dumps(event["flow"]) if row is None else row, path, at_nanos)
        if kind in ROUTES and row is not None and path is not None:
            self._routes.put(event.get("server"), (row, path))
            self.paths[row] = path
            self.first_paths.setdefault(row, path)
            self.path_changes += 1
        if kind == "path-switched":
            self.switches += 1
        if kind == "probed":
            self.probings += 1
            self.probing_nanos += took_nanos
        if kind in COUNTED:
            self._counts[kind] += 1

    def _take_path(self, event: Json, kind: str, flow: Hashable, path: list[int], at_nanos: int | None) -> None:
        """Records a flow's path, and the change if it had another one."""
        left = self._last_paths.get(flow)
        if left is not None and kind == "path-switched" and at_nanos is not None:
            self.moves.append(Move(at_nanos, event.get("server"), left, str(event.get("reason"))))
        if left is not None or len(self._last_paths) < REMEMBERED:
            self._last_paths[flow] = path

    def _tell(self, event: Json, at_secs: float) -> None:
        """Queues an event for the frames, in the format of its kind. Raises ValueError if it does
        not match the format."""
        short = checked().validate_python({**event, "at_secs": round(at_secs, 4)})
        length = len(orjson.dumps(short, option=orjson.OPT_NON_STR_KEYS))
        if length > EVENT_BYTES:
            raise ValueError(f"it is {length} bytes long, at most {EVENT_BYTES}")
        if self._waiting.put(short.get("server"), short):
            self.all.append(short)

    @property
    def connections_lost(self) -> int:
        """Number of flows that ended before all data had arrived, as reported by one of their
        ends."""
        return len({item.get("flow") for item in self.all if item["kind"] == "flow-done" and item.get("reason")})

    @property
    def left_out(self) -> list[tuple[Any, int]]:
        """Servers with the number of their events that no frame contains."""
        return sorted(self._waiting.left_out.items(), key=lambda item: -item[1])

    def tick(self, room_bytes: int = 8000) -> Json:
        """The events for the next frame, without empty fields."""
        events = self._newly_left_out(room_bytes)
        events += _fitting(self._waiting.turns(), EVENTS_A_TICK, room_bytes - len(orjson.dumps(events)))
        routes = _fitting(self._routes.turns(), ROUTES_A_TICK, room_bytes - len(orjson.dumps(events)))
        counts, self._counts = dict(self._counts), Counter()
        every: Json = {"events": events, "routes": routes, "counts": counts}
        return {name: some for name, some in every.items() if some}

    def _newly_left_out(self, room_bytes: int) -> list[Json]:
        """Once per second: the servers with omitted events, those with the most unreported ones
        first."""
        if self._now_secs - self._told_secs < LEFT_OUT_EVERY_SECS:
            return []
        news = (self._waiting.left_out - self._told).most_common()
        at_secs = round(self._now_secs, 4)
        every = (
            {"kind": "events-left-out", "server": server, "count": count, "at_nanos": None, "at_secs": at_secs}
            for server, count in news
        )
        result = _fitting(every, EVENTS_A_TICK, room_bytes)
        if result:
            self._told_secs = self._now_secs
            self._told.update({item["server"]: item["count"] for item in result})
        return result

    def _row(self, flow: Json | int | None) -> int | None:
        """The row of a flow, given by five-tuple or number; None for a flow of another
        application."""
        row = self._row_at(flow, "dport")
        if row is not None or not self.responses:
            return row
        # Responses leave from the port that the requests are sent to, and are the next flow.
        request = self._row_at(flow, "sport")
        return None if request is None else request + 1

    def _row_at(self, flow: Json | int | None, port: str) -> int | None:
        row = flow if isinstance(flow, int) else int((flow or {}).get(port, 0)) - FIRST_PORT
        return row if 0 <= row < self.flows else None

    def _short(self, event: Json, kind: str, row: int | None, path: list[int] | None) -> Json:
        kept = {name: event[name] for name in event if name not in ("t", "flow", "path", "at_nanos", "at_secs", "kind")}
        if row is not None:
            kept["flow"] = row
        elif isinstance(event.get("flow"), int):
            raise ValueError(f"there is no flow {event['flow']}")
        elif event.get("flow"):
            kept["tuple"] = self._named(event["flow"])
            answers = self._row_at(event["flow"], "sport")
            if answers is not None:
                kept["answers"] = answers
        if path is not None:
            kept["path"] = path
        if isinstance(kept.get("reason"), str):
            kept["reason"] = ADDRESS.sub(lambda found: self._name_at(found[0]), kept["reason"])
        return {"kind": kind, **kept}

    def _of_protocol(self, event: Json, kind: str) -> Json:
        """An event that only one protocol has: its cells, or its fields as cells."""
        cells = event.get("cells")
        if cells is None:
            fields = [(name, value) for name, value in event.items() if name not in NOT_CELLS and value is not None]
            cells = [_cell(str(name), value) for name, value in fields[:MOST_CELLS]]
        named = [
            {**cell, "value": self._named(cell["value"])} if cell.get("kind") == "flow" else cell for cell in cells
        ]
        return {"kind": "protocol", "name": kind, "server": event.get("server"), "cells": named}

    def _named(self, flow: Json) -> Json:
        """A five-tuple with names instead of the addresses of servers."""
        return {**flow, "src": self._name_at(str(flow["src"])), "dst": self._name_at(str(flow["dst"]))}

    def _name_at(self, address: str) -> str:
        return self.server_at(address) or address


def kebab(name: Any) -> str:
    """A name in the format of frames."""
    plain = str(name or "").replace("_", "-")
    return RENAMED.get(plain, plain)


def _why(error: Exception) -> str:
    """A short message, which must not contain data from a node."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return f"{where}: {first['msg']}"[:200]
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return (str(error) if isinstance(error, ValueError) else "a value has the wrong type")[:200]


def _cell(name: str, value: Any) -> Json:
    """A field with a type, which is derived from its name and value."""
    kind = "text"
    if isinstance(value, bool):
        kind = "flag"
    elif isinstance(value, int | float):
        ends = (item for item in ("bits-per-sec", "secs") if name.endswith(item.replace("-", "_")))
        kind = next(ends, name if name in CELL_KINDS and isinstance(value, int) else "count")
    elif isinstance(value, dict) and {"src", "dst", "proto", "sport", "dport"} <= set(value):
        return {"name": name, "kind": "flow", "value": value}
    elif isinstance(value, dict) and "servers" in value:
        return {"name": name, "kind": "servers", "value": _path(value)}
    return {"name": name, "kind": kind, "value": value if kind != "text" else str(value)}


def _whole(value: Any, below: int) -> int:
    """A whole number from a node, which may send anything. Raises ValueError."""
    number = int(value)
    if not 0 <= number < below:
        raise ValueError(f"a number is not from 0 to {below - 1}")
    return number


def _path(path: Json) -> list[int]:
    """The ids of the servers on a path. Raises ValueError, TypeError or KeyError."""
    servers = path["servers"]
    if len(servers) > PATH_SERVERS:
        raise ValueError(f"a path of more than {PATH_SERVERS} servers")
    return [_whole(server, MAX_SERVERS) for server in servers]


def _fitting(turns: Iterator[Any], most: int, room_bytes: int) -> list[Any]:
    """Takes at most `most` items, as long as they fit the space."""
    matches: list[Any] = []
    space = max(room_bytes, LEAST_ROOM_BYTES)
    for item in islice(turns, most):
        matches.append(item)
        space -= len(orjson.dumps(item)) + 1
        if space <= EVENT_BYTES:
            break
    return matches
