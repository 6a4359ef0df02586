"""Sums of ticks over a part of the session, and the means for the report."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from cubeyard.emulation.measure.tick import Tick
from cubeyard.emulation.measure.window import Reading

Json = dict[str, Any]


@dataclass
class Sums:
    """Sums over a period of the session, in the columns' order. The unit is bytes unless stated
    otherwise."""

    links: np.ndarray
    """[direction, link]"""
    packets: np.ndarray
    """[direction, link] Number of packets."""
    link_drops: np.ndarray
    """[direction, link] Packets dropped by a full queue or a fault."""
    longest_queue: np.ndarray
    """[direction, link] The longest queue at any tick, in bytes."""
    flows: np.ndarray
    relayed: np.ndarray
    alive: np.ndarray
    """[flow] Whether both ends were up all the time."""
    secs: float = 0.0
    ticks: int = 0
    retransmits: int = 0
    drops: int = 0
    cpu: float = 0.0
    """Sum of CPU share x seconds."""
    own_cpu: float | None = None
    """Sum of the run's own CPU share x seconds; None if it is unknown."""
    late_ticks: int = 0
    wait_secs: float = 0.0
    """Total time that processes of the run waited for a processor."""
    waits: int = 0
    """How often processes of the run waited."""
    backlog_drops: int = 0
    """Packets that the kernel dropped because a processor was behind with its work."""
    least_bits_per_sec: float | None = None
    least_abt_bits_per_sec: float | None = None
    most_stalled_flows: int | None = None
    """Number of flows without progress in the worst second."""

    def add(self, secs: float, tick: Tick, reading: Reading | None, dead: Collection[int]) -> None:
        """Adds a tick. `reading` covers a second of this part; None until a second has passed."""
        self.secs += secs
        self.alive[list(dead)] = False
        self.ticks += 1
        self.links += tick.links
        self.packets += tick.packets
        self.link_drops += tick.rows["link_drops"]
        np.maximum(self.longest_queue, tick.rows["queues"], out=self.longest_queue)
        self.flows += tick.flows
        self.relayed += tick.relayed
        self.retransmits += int(tick.rows["retransmits"].sum())
        self.drops += sum(tick.drops.values())
        self.cpu += tick.cpu * secs
        self.late_ticks += tick.late
        self.wait_secs += tick.wait_secs
        self.waits += tick.waits
        self.backlog_drops += tick.backlog_drops
        if tick.own_cpu is not None:
            self.own_cpu = (self.own_cpu or 0.0) + tick.own_cpu * secs
        if reading is not None:
            self.least_bits_per_sec = _least(self.least_bits_per_sec, reading.goodput_bits_per_sec)
            self.least_abt_bits_per_sec = _least(self.least_abt_bits_per_sec, reading.abt_bits_per_sec)
            self.most_stalled_flows = max(self.most_stalled_flows or 0, reading.stalled_flows)

    @property
    def goodput_bits_per_sec(self) -> float:
        return float(self.flows.sum()) * 8 / self.secs if self.secs > 0 else 0.0

    @property
    def abt_bits_per_sec(self) -> float:
        """Number of flows times the slowest flow's mean rate, for the flows that were never cut
        off."""
        alive = self.flows[self.alive]
        return float(alive.min()) * 8 / self.secs * alive.size if alive.size and self.secs > 0 else 0.0

    @property
    def delays(self) -> Json:
        """How this machine delayed the run, for the verdict."""
        return {
            "late_ticks": self.late_ticks / self.ticks if self.ticks else 0.0,
            "wait_secs": self.wait_secs / self.waits if self.waits else None,
            "backlog_drops": self.backlog_drops,
        }

    @property
    def stalled_flows(self) -> int:
        """Number of flows that carried nothing in the whole part."""
        return int((self.flows == 0).sum())

    def document(self) -> Json:
        """The means of the period."""
        secs = max(self.secs, 1e-9)
        return {
            "secs": round(self.secs, 2),
            "goodput_bits_per_sec": round(self.goodput_bits_per_sec),
            "least_goodput_bits_per_sec": _at_most(self.least_bits_per_sec, self.goodput_bits_per_sec),
            "abt_bits_per_sec": round(self.abt_bits_per_sec),
            "least_abt_bits_per_sec": _at_most(self.least_abt_bits_per_sec, self.abt_bits_per_sec),
            "stalled_flows": self.stalled_flows,
            "most_stalled_flows": self.most_stalled_flows,
            "cut_off_flows": int((~self.alive).sum()),
            "retransmits": self.retransmits,
            "drops": self.drops,
            "queue_drops": int(self.link_drops.sum()),
            "cpu": round(self.cpu / secs, 4),
        }


def delays_of(ticks: Collection[Tick]) -> Json:
    """How this machine delayed some ticks."""
    waits = sum(tick.waits for tick in ticks)
    return {
        "late_ticks": sum(tick.late for tick in ticks) / max(len(ticks), 1),
        "wait_secs": sum(tick.wait_secs for tick in ticks) / waits if waits else None,
        "backlog_drops": sum(tick.backlog_drops for tick in ticks),
    }


def _at_most(least: float | None, mean: float) -> int | None:
    """The minimum over all seconds, rounded, but at most the mean: a remainder of less than a
    second can lower the mean below that minimum."""
    return None if least is None else round(min(least, mean))


def _least(had: float | None, now: float) -> float:
    return now if had is None else min(had, now)
