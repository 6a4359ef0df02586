"""Columns of a tick, small enough for a frame at any size of the network. [ours]

Byte counts have a unit that the `network` frame names: one byte for a small network, else the
finest unit with which all columns fit. Rounding errors are carried into the next tick, so that sums
over ticks are correct to one unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from cubeyard.emulation.network.network import Network

FRAME_BYTES = 9 * 1024
COLUMNS_BYTES = 7500
"""Part of a frame's size that columns may use."""
LEAST_ROWS = 16
"""Columns of values that few links or flows have always get at least this many rows."""
TICK_SECS = 0.1
STEPS = (9999, 999, 99)
"""Candidates for the number of units of a full link, each one digit shorter. 1 % is finer than any
colour."""
SMALL_PACKET_BYTES = 1000
"""Assumed minimum size of packets on full links. Smaller packets do not fill links here."""
MANY_SERVERS = 64
"""With more servers, shares of a core are rounded to 1 % instead of 0.1 %."""


@dataclass(frozen=True)
class Format:
    """How the ticks of a session are written."""

    unit_bytes: int
    flows: bool
    """Whether ticks have a column of flows."""
    packets: bool
    """Whether ticks have columns of the links' packets."""
    cpu_digits: int


def format_of(network: Network, flows: int, max_flows: int) -> Format:
    """The finest unit with which a tick of full links fits a frame, with flows if possible."""
    servers, links = len(network.servers), len(network.links)
    full_bytes = network.fastest_bits_per_sec * TICK_SECS / 8
    cpu_digits = 3 if servers <= MANY_SERVERS else 2
    ports = 2 * links / max(servers, 1)
    units = [1, *(max(1, ceil(full_bytes / steps)) for steps in STEPS)]
    for with_flows in (True, False) if flows <= max_flows else (False,):
        for unit in units:
            characters = (
                2 * links * _width(full_bytes, unit)
                + 2 * servers * _width(full_bytes * ports, unit)
                + servers * (cpu_digits + 3)
                + (flows * _width(full_bytes, unit) if with_flows else 0)
            )
            if characters <= COLUMNS_BYTES:
                characters += 2 * links * _width(full_bytes, SMALL_PACKET_BYTES)
                return Format(unit, with_flows, characters <= COLUMNS_BYTES, cpu_digits)
    return Format(units[-1], flows=False, packets=False, cpu_digits=cpu_digits)


def _width(most_bytes: float, unit: int) -> int:
    """Number of characters of a number with its comma."""
    return len(str(int(most_bytes / unit))) + 1


class Units:
    """One column of bytes as whole units."""

    def __init__(self, unit_bytes: int) -> None:
        self._unit = unit_bytes
        self._rest: np.ndarray | int = 0

    def of(self, values: np.ndarray) -> list[int]:
        if self._unit == 1:
            return values.tolist()
        whole, self._rest = np.divmod(values + self._rest, self._unit)
        return whole.tolist()


class Few:
    """Values that few rows have, with the row's number. If not all fit, the largest are sent.
    `counts` are kept until they can be sent."""

    def __init__(self, *, counts: bool) -> None:
        self._counts = counts
        self._rest: dict[int, list[int]] = {}

    def of(self, columns: Sequence[Sequence[int]], room_bytes: int) -> list[list[int]]:
        """`[row, value of each column]`, ordered by row. O(rows)."""
        result = {row: list(values) for row, values in enumerate(zip(*columns, strict=True)) if any(values)}
        for row, values in self._rest.items():
            result[row] = [item + more for item, more in zip(result.get(row, [0] * len(values)), values, strict=True)]
        largest = sorted(result, key=lambda row: (-sum(result[row]), row))
        reported, used = 0, 0
        for row in largest:
            used += sum(len(str(item)) + 1 for item in (row, *result[row])) + 2
            if reported >= LEAST_ROWS and used > room_bytes:
                break
            reported += 1
        if self._counts:
            self._rest = {row: result[row] for row in largest[reported:]}
        return [[row, *result[row]] for row in sorted(largest[:reported])]
