"""Ten ticks as one frame: what is told of the time that is long ago, so that an hour of a session is soon on a page. [ours]"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import add
from typing import Any

import numpy as np

Json = dict[str, Any]

TICKS = 10


class Seconds:
    """Ticks are added; each tenth gives a second of the same form, with `secs` beside it.

    Bytes, drops and retransmits are sums, shares of CPUs means, queues the longest; rates are the last tick's, which are means
    over the last second already. Events and paths are all that the ticks told.
    """

    def __init__(self) -> None:
        self._ticks: list[tuple[Json, float]] = []

    def add(self, tick: Json, secs: float) -> Json | None:
        """`tick` as its frame tells it, and the time that it stands for."""
        self._ticks.append((tick, secs))
        return self.rest() if len(self._ticks) == TICKS else None

    def rest(self) -> Json | None:
        """Of what has been added since the last one; None if nothing was."""
        ticks = [tick for tick, _ in self._ticks]
        total_secs = sum(secs for _, secs in self._ticks)
        if not ticks:
            return None
        weights = [secs / total_secs if total_secs > 0 else 1 / len(ticks) for _, secs in self._ticks]
        self._ticks = []
        last = ticks[-1]
        cpu = np.average([tick["servers"]["cpu"] for tick in ticks], axis=0, weights=weights)
        second: Json = {
            **{name: last[name] for name in ("tick", "at_secs", "phase", "goodput_bits_per_sec", "abt_bits_per_sec")},
            "secs": round(total_secs, 3),
            "links": {name: _sum([tick["links"][name] for tick in ticks]) for name in last["links"]},
            "servers": {
                **{name: _sum([tick["servers"][name] for tick in ticks]) for name in ("received", "relayed")},
                "cpu": cpu.round(3).tolist(),
            },
            "cpu": round(float(np.dot([tick["cpu"] for tick in ticks], weights)), 3),
        }
        if "flows" in last:
            second["flows"] = {"bytes": _sum([tick["flows"]["bytes"] for tick in ticks])}
        told: Json = {
            **{name: _added(ticks, name) for name in ("retransmits", "link_drops")},
            "queues": _longest(ticks),
            **{name: _counted(ticks, name) for name in ("drops", "counts")},
            **{name: [one for tick in ticks for one in tick.get(name, [])] for name in ("events", "routes")},
        }
        return {**second, **{name: some for name, some in told.items() if some}}


def _sum(columns: list[list[int]]) -> list[int]:
    return np.array(columns, dtype=np.int64).sum(axis=0).tolist()


def _added(ticks: list[Json], name: str) -> list[list[int]]:
    """Rows with values, as `Few` gives them."""
    return _by_row(ticks, name, add)


def _counted(ticks: list[Json], name: str) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for tick in ticks:
        sums.update(tick.get(name, {}))
    return dict(sums)


def _longest(ticks: list[Json]) -> list[list[int]]:
    return _by_row(ticks, "queues", max)


def _by_row(ticks: list[Json], name: str, both: Callable[[int, int], int]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for tick in ticks:
        for row, *values in tick.get(name, []):
            had = found.get(row)
            found[row] = values if had is None else [both(*pair) for pair in zip(had, values, strict=True)]
    return [[row, *values] for row, values in sorted(found.items())]
