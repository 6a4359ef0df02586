"""Converts a fabric's frame to arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cubeyard.contract.columns import Column
from cubeyard.contract.tick import COLUMNS
from cubeyard.emulation.measure.events import kebab
from cubeyard.emulation.measure.latency import Latencies

Json = dict[str, Any]

SHOWN = tuple(column for column in COLUMNS if column.shown)
"""The columns of rows in a run's frames."""


@dataclass(frozen=True)
class Tick:
    """A frame of the fabric as arrays. Omitted values are zero."""

    number: int
    at_secs: float
    links: np.ndarray
    """[direction, link] Bytes carried."""
    packets: np.ndarray
    """[direction, link]"""
    rows: dict[str, np.ndarray]
    """By name in a run's frames: [direction, link], [0, server] or [0, flow]."""
    relayed: np.ndarray
    own: list[int]
    server_cpu: list[float]
    flows: np.ndarray
    drops: dict[str, int]
    cpu: float
    own_cpu: float | None
    """Share of all cores that the run used; None if the fabric does not report it."""
    events: list[Json]
    subflows: list[list[int]]
    """[flow, subflow, bytes] Bytes of MPTCP subflows since the last report."""
    latencies: Latencies | None = None
    """Results of requests; None if there were none."""
    late: bool = False
    """Whether it was read more than half a tick after its time."""
    wait_secs: float = 0.0
    """How long processes of the run waited for a processor since the last tick."""
    waits: int = 0
    backlog_drops: int = 0
    """Packets that the kernel dropped because a processor was behind with its work."""
    missed: int = 0
    """Number of ticks lost before this one; their counts are missing."""

    @classmethod
    def of(cls, frame: Json, servers: int, links: int, flows: int) -> Tick:
        of_links, of_servers, of_flows = (frame.get(name) or {} for name in ("links", "servers", "flows"))
        host = frame.get("host") or {}
        lengths = {"links": links, "servers": servers, "flows": flows}
        forth, back = _column(of_links.get("tx"), links), _column(of_links.get("rx"), links)
        return cls(
            int(frame.get("tick", 0)),
            float(frame.get("at_secs", 0.0)),
            np.array([forth, back], dtype=np.int64),
            _both_ways(of_links.get("packets"), links),
            {column.shown: _rows(frame, column, lengths[column.part]) for column in SHOWN if column.shown},
            np.array(_column(of_servers.get("relayed"), servers), dtype=np.int64),
            _column(of_servers.get("own"), servers),
            [float(item or 0) for item in _filled(of_servers.get("cpu"), servers)],
            np.array(_column(of_flows.get("bytes"), flows), dtype=np.int64),
            {kebab(name): int(count) for name, count in (frame.get("drops") or {}).items()},
            float(host.get("cpu") or 0.0),
            host.get("own_cpu"),
            list(frame.get("events") or []),
            [[int(item) for item in row] for row in frame.get("subflows") or []],
            Latencies.of(frame["latencies"]) if frame.get("latencies") else None,
            missed=int(frame.get("missed", 0)),
            wait_secs=float(host.get("wait_secs") or 0.0),
            waits=int(host.get("waits") or 0),
            backlog_drops=int(host.get("backlog_drops") or 0),
        )


def _filled(values: list[Any] | None, length: int) -> list[Any]:
    """Extends a list to the full length: omitted values of a frame are zero."""
    return [*(values or []), *[0] * length][:length]


def _column(values: list[Any] | None, length: int) -> list[int]:
    return [int(item or 0) for item in _filled(values, length)]


def _rows(frame: Json, column: Column, length: int) -> np.ndarray:
    values = (frame.get(column.part) or {}).get(column.name)
    ways = 2 if column.part == "links" else 1
    return np.array(_column(values, ways * length), dtype=np.int64).reshape(ways, length)


def _both_ways(values: list[Any] | None, links: int) -> np.ndarray:
    """[direction, link] from a column that lists all links in one direction, then all in the
    other."""
    return np.array(_column(values, 2 * links), dtype=np.int64).reshape(2, links)
