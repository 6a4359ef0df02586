"""The measurements of a session: the fabric's ticks as compact frames, and their sums for the
report."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import orjson

from cubeyard.contract.columns import Merge
from cubeyard.emulation.measure.clock import Clock
from cubeyard.emulation.measure.columns import FRAME_BYTES, TICK_SECS, Few, Units, format_of
from cubeyard.emulation.measure.events import Events
from cubeyard.emulation.measure.latency import Latencies, LatencyWindow
from cubeyard.emulation.measure.paths import PathsTaken
from cubeyard.emulation.measure.seconds import TICKS
from cubeyard.emulation.measure.sums import Sums, delays_of
from cubeyard.emulation.measure.tick import SHOWN, Tick
from cubeyard.emulation.measure.window import EPSILON_SECS, WINDOW_SECS, Reading, Window
from cubeyard.emulation.setup.question import Question
from cubeyard.experiments.emulation import MAX_SUBFLOWS
from cubeyard.frames.tick import LatencyCounts, TickFrame, TickPhase

Json = dict[str, Any]
Part = Literal["before", "during", "after"]

QUIET_SECS = 1.0
"""Minimum time before the first fault for a valid measurement of that time."""
SHORTEST_SECS = 0.02
"""The kernel counts CPU time in hundredths of a second. A shorter tick has no new value, so the
previous one is repeated."""
WAYS = ((0, "ab"), (1, "ba"))
"""Directions of a link, with their names in a report."""
MAX_FLOW_COLUMNS = 512
"""With more flows, ticks have values per server only."""


@dataclass
class Recorder:
    """All measurements since counting began."""

    question: Question
    parts: dict[Part, Sums] = field(default_factory=dict)
    series: list[tuple[float, float, float]] = field(default_factory=list)
    """One point per second: (at, goodput, ABT)."""

    def __post_init__(self) -> None:
        network = self.question.network
        self.clock = Clock(self.question.settings.settle_secs)
        requests = self.question.requests
        self.events = Events(len(self.question.flows), self.clock, network.server_at, responses=requests is not None)
        # With MPTCP, the path of the first subflow is reported as the flow's path.
        self.events.several = self.question.settings.protocol == "mptcp"
        self._servers = list(network.servers)
        self._row = {server: i for i, server in enumerate(self._servers)}
        self._destination = np.array([self._row[flow.destination] for flow in self.question.flows])
        self._source = np.array([self._row[flow.source] for flow in self.question.flows])
        self._window = Window(len(self.question.flows))
        self.paths_before = PathsTaken(len(self.question.flows))
        """Paths before the first fault."""
        self._next_second = 0
        self._last_secs, self._last_number = 0.0, 0
        self._cpu = 0.0
        self._cut_off = 0
        self._received = np.zeros(len(self.question.flows), np.int64)
        self.format = format_of(network, len(self.question.flows), MAX_FLOW_COLUMNS)
        self._few = {column.shown: Few(counts=column.merge is Merge.SUM) for column in SHOWN}
        self._few["subflows"] = Few(counts=True)
        self._units = {name: Units(self.format.unit_bytes) for name in ("ab", "ba", "received", "relayed", "flows")}
        self.total = self._sums()
        self.drops: Counter[str] = Counter()
        """Packets that servers dropped, by reason."""
        self.reading = Reading(0.0, 0.0, 0)
        self.latencies = Latencies()
        """The latencies of requests that ended in the measured time."""
        self._latency_window = LatencyWindow(requests.timeout_secs) if requests is not None else None
        self._latency_p99_secs: float | None = None
        self._finished = 0
        self._lately: deque[Tick] = deque(maxlen=TICKS)
        self._part: Part | None = None
        self._part_secs = 0.0
        """For how long the current part has lasted without interruption."""

    def _sums(self) -> Sums:
        links, flows = len(self.question.network.links), len(self.question.flows)
        return Sums(
            links=np.zeros((2, links), np.int64),
            packets=np.zeros((2, links), np.int64),
            link_drops=np.zeros((2, links), np.int64),
            longest_queue=np.zeros((2, links), np.int64),
            flows=np.zeros(flows, np.int64),
            relayed=np.zeros(len(self._servers), np.int64),
            alive=np.ones(flows, np.bool_),
        )

    def take(self, frame: Json) -> tuple[Tick, float]:
        """Adds a frame; returns its tick with the duration in seconds. Lost ticks add neither time
        nor bytes."""
        network = self.question.network
        tick = Tick.of(frame, len(self._servers), len(network.links), len(self.question.flows))
        self.clock.sampled(tick.at_secs)
        secs = tick.at_secs - self._last_secs
        late_secs = secs - (tick.number - self._last_number) * TICK_SECS
        tick = replace(tick, late=self._last_number > 0 and late_secs > TICK_SECS / 2)
        if tick.missed:
            secs *= 1 - tick.missed / max(tick.number - self._last_number, tick.missed + 1)
        self._last_secs, self._last_number = tick.at_secs, tick.number
        self._received += tick.flows
        if tick.latencies is not None:
            self._finished += tick.latencies.answered + tick.latencies.timed_out
        self._window.add(max(secs, 0.0), tick.flows.tolist())
        if self._latency_window is not None:
            self._latency_p99_secs = self._latency_window.add(max(secs, 0.0), tick.latencies)
        self.reading = self._read()
        if secs < SHORTEST_SECS:
            tick = replace(tick, cpu=self._cpu)
        self._cpu = tick.cpu
        self._lately.append(tick)
        return tick, max(secs, 0.0)

    def _read(self, dead: Collection[int] = ()) -> Reading:
        return replace(self._window.read(dead, self._done), latency_p99_secs=self._latency_p99_secs)

    @property
    def all_received(self) -> bool:
        """Whether every flow of limited size, and every limited number of requests, is complete."""
        if self.question.requests is not None:
            request = self.question.requests.all_asked
            return request is not None and self._finished >= request
        return len(self._done) == len(self._received)

    @property
    def lately(self) -> Json:
        """How this machine delayed the last ticks, for the verdict."""
        return delays_of(self._lately)

    @property
    def quiet(self) -> Sums | None:
        """The sums before the first fault, if that time was long enough."""
        before = self.parts.get("before")
        return before if before is not None and before.secs >= QUIET_SECS - EPSILON_SECS else None

    @property
    def received_before(self) -> np.ndarray:
        """[flow] Bytes received before counting began, while the flows settled."""
        return self._received - self.total.flows

    @property
    def _done(self) -> set[int]:
        """Rows of flows of limited size that are complete."""
        size = self.question.settings.flow_bytes
        return set() if size is None else set(np.flatnonzero(self._received >= size).tolist())

    def count(
        self,
        tick: Tick,
        secs: float,
        at_secs: float,
        part: Part,
        dead: Collection[int] = (),
        cut_off: Collection[int] = (),
    ) -> Reading:
        """Counts a tick at `at_secs` of the measured time. `dead` are ids of servers that are off,
        `cut_off` ids of flows without any path. ABT only includes the other flows, as in a
        prediction."""
        ended = self._flows_of(dead) | set(cut_off)
        self._cut_off = len(ended)
        self.reading = self._read(ended)
        self._part_secs = secs + (self._part_secs if part == self._part else 0.0)
        self._part = part
        # A second that began in another part does not belong to this one.
        own = self.reading if self._part_secs >= WINDOW_SECS - EPSILON_SECS else None
        whole = self.reading if self.total.secs + secs >= WINDOW_SECS - EPSILON_SECS else None
        self.parts.setdefault(part, self._sums()).add(secs, tick, own, ended)
        self.total.add(secs, tick, whole, ended)
        if part == "before":
            # With several paths per flow, one path does not determine the flow's rate.
            paths = {} if self.events.several else self.events.paths
            self.paths_before.add(secs, paths, self.events.path_changes)
        self.drops.update(tick.drops)
        if tick.latencies is not None:
            self.latencies.add(tick.latencies)
        if at_secs >= self._next_second:
            self._next_second = int(at_secs) + 1
            now = self.reading
            self.series.append((round(at_secs, 1), round(now.goodput_bits_per_sec), round(now.abt_bits_per_sec)))
        return self.reading

    def _flows_of(self, servers: Collection[int]) -> set[int]:
        return {flow.id for flow in self.question.flows if flow.source in servers or flow.destination in servers}

    def payload(self, tick: Tick, at_secs: float, phase: TickPhase) -> TickFrame:
        """The tick's frame, at most FRAME_BYTES of JSON, with differences in columns and without
        empty fields."""
        received = np.bincount(self._destination, tick.flows, len(self._servers)).astype(np.int64)
        units = self._units
        payload: TickFrame = {
            "tick": tick.number,
            "at_secs": round(at_secs, 3),
            "phase": phase,
            "links": {"ab": units["ab"].of(tick.links[0]), "ba": units["ba"].of(tick.links[1])},
            "servers": {
                "received": units["received"].of(received),
                "relayed": units["relayed"].of(tick.relayed),
                "cpu": [round(item, self.format.cpu_digits) for item in tick.server_cpu],
            },
            "goodput_bits_per_sec": round(self.reading.goodput_bits_per_sec),
            "abt_bits_per_sec": round(self.reading.abt_bits_per_sec),
            "cpu": round(tick.cpu, 3),
        }
        if self.format.packets:
            payload["links"]["ab_packets"], payload["links"]["ba_packets"] = tick.packets.tolist()
        if self.format.flows:
            payload["flows"] = {"bytes": units["flows"].of(tick.flows)}
        if self._cut_off:
            payload["cut_off_flows"] = self._cut_off
        if tick.drops:
            payload["drops"] = {name: drop for name, drop in tick.drops.items() if drop}
        if tick.latencies is not None:
            payload["latencies"] = cast("LatencyCounts", tick.latencies.tick())
        few: dict[str, list[list[int]]] = {
            **{name: rows.tolist() for name, rows in tick.rows.items()},
            "subflows": [self._subflows_of(tick)],
        }
        room_bytes = (FRAME_BYTES - len(orjson.dumps(payload))) // 2
        for name, columns in few.items():
            if rows := self._few[name].of(columns, room_bytes // len(few)):
                payload[name] = rows
        return cast("TickFrame", {**payload, **self.events.tick(FRAME_BYTES - len(orjson.dumps(payload)))})

    def _subflows_of(self, tick: Tick) -> list[int]:
        """[9 flow + subflow] Bytes carried."""
        column = [0] * (MAX_SUBFLOWS * len(self.question.flows) if tick.subflows else 0)
        for flow, subflow, count in tick.subflows:
            if 0 <= flow < len(self.question.flows) and 0 <= subflow < MAX_SUBFLOWS:
                column[MAX_SUBFLOWS * flow + subflow] = count
        return column

    def per_server(self) -> list[Json]:
        secs = max(self.total.secs, 1e-9)
        sent = np.bincount(self._source, self.total.flows, len(self._servers)) * 8 / secs
        received = np.bincount(self._destination, self.total.flows, len(self._servers)) * 8 / secs
        relayed = self.total.relayed * 8 / secs
        names = self.question.network.servers
        return [
            {
                "server": names[server],
                "id": server,
                "sent_bits_per_sec": round(float(sent[i])),
                "received_bits_per_sec": round(float(received[i])),
                "relayed_bits_per_sec": round(float(relayed[i])),
            }
            for i, server in enumerate(self._servers)
        ]

    def per_link(self) -> list[Json]:
        total, network = self.total, self.question.network
        bits_per_sec = total.links * 8 / max(total.secs, 1e-9)
        return [
            {
                "link": network.link_name(link),
                "id": link.id,
                "level": link.level,
                **{f"{way}_bits_per_sec": round(float(bits_per_sec[direction, i])) for direction, way in WAYS},
                **{f"{way}_packets": int(total.packets[direction, i]) for direction, way in WAYS},
                **{f"{way}_drops": int(total.link_drops[direction, i]) for direction, way in WAYS},
                **{f"{way}_longest_queue_bytes": int(total.longest_queue[direction, i]) for direction, way in WAYS},
            }
            for i, link in enumerate(network.links)
        ]

    def per_flow(self) -> list[Json]:
        secs = max(self.total.secs, 1e-9)
        names = self.question.network.servers
        return [
            {
                "flow": flow.id,
                "source": names[flow.source],
                "destination": names[flow.destination],
                "goodput_bits_per_sec": round(float(self.total.flows[flow.id]) * 8 / secs),
                "ideal_bits_per_sec": round(flow.ideal_bits_per_sec),
                **self._as_predicted(flow.id),
            }
            for flow in self.question.flows
        ]

    def _as_predicted(self, flow: int) -> Json:
        """Whether a flow took its predicted path, if one was predicted."""
        predicted = self.question.prediction.paths
        return {} if predicted is None else {"as_predicted": self.events.first_paths.get(flow) == predicted[flow]}
