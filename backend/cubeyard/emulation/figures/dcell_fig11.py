"""A TCP connection of a DCell_1 while a cable is pulled and while a server is silent.
`[dcell §7.3, Fig. 11]`

Times and the protocol's timers are the paper's own; only the links are slower.
"""

from __future__ import annotations

from itertools import pairwise

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line
from cubeyard.emulation.figures.testbed import LINK_BITS_PER_SEC, MTU, paper_gbps

DCELL: Json = {"family": "dcell", "n": 4, "k": 1}
NAME = "[0,0] to [4,3]"
SOURCE, DESTINATION, MIDDLE = "[0,0]", "[4,3]", "[0,3]"
CABLE = "[0,3]/[4,0]"
FIRST_PATH = [SOURCE, MIDDLE, "[4,0]", DESTINATION]
PULLED_SECS, BACK_SECS, SILENT_SECS, END_SECS = 34.0, 42.0, 104.0, 125.0
SHORTEST_PART_SECS = 6.0
"""Minimum time between two steps of a shortened trial: more than the five seconds after which a
silent neighbour counts as dead."""
AFTER_SILENCE_SECS = 15.0
WINDOW_SECS = 0.5
DOWN_SHARE = 0.1
"""The share of the previous rate below which the flow counts as down."""
OTHER = "the testbed went by [1,0], [1,3], [4,1]; of the equally short paths DFR here takes the one that its draw picks"


def times(brevity: float) -> tuple[float, float, float, float]:
    """The times when the cable is pulled, when it is plugged again, when the server becomes silent,
    and when the trial ends."""
    steps = (0.0, PULLED_SECS, BACK_SECS, SILENT_SECS, END_SECS)
    parts = [max((after - before) * brevity, SHORTEST_PART_SECS) for before, after in pairwise(steps)]
    parts[-1] = max(parts[-1], AFTER_SILENCE_SECS)
    pulled, back, silent, end = (sum(parts[: i + 1]) for i in range(4))
    return pulled, back, silent, end


def trial(brevity: float) -> Trial:
    pulled, back, silent, end = times(brevity)
    return Trial(
        NAME,
        DCELL,
        {"kind": "one-to-one", "source": SOURCE, "destination": DESTINATION},
        LINK_BITS_PER_SEC,
        {"seconds": end, "settle_secs": 1.5, "calibrate_secs": 0.5, "mtu": MTU},
        faults=[
            {"kind": "cable-pulled", "target": {"names": [CABLE]}, "at_secs": pulled, "until_secs": back},
            {"kind": "server-silent", "target": {"names": [MIDDLE]}, "at_secs": silent},
        ],
    )


def measure(lab: Lab) -> Outcome:
    result = lab.measure([trial(lab.brevity)])[NAME]
    pulled, back, silent, end = times(lab.brevity)
    reported = _paths(result)
    before = result.between(1.0, pulled)
    x, y = result.curve(WINDOW_SECS)
    return Outcome(
        rows=[
            Row("hops of the path at first", "hops", 3.0, _hops(reported, 0.0), 3.0, 3.0),
            Row("hops while the cable is out", "hops", 4.0, _hops(reported, pulled), 4.0, 4.0, reason=OTHER),
            Row(
                "degraded after the cable is pulled",
                "s",
                1.0,
                _below_secs(result, 0.9 * before, pulled, back),
                0.0,
                1.0,
                reason="the server at the cable's end reroutes in the kernel, before link state is told",
            ),
            Row("back on the first path after", "s", None, _returned_secs(reported, back, silent), 0.0, 2.0),
            Row(
                "outage after the server is silent",
                "s",
                5.0,
                _below_secs(result, DOWN_SHARE * before, silent, end),
                4.0,
                7.0,
                reason="five seconds of silence, then TCP waits for its own backed-off timer",
            ),
            Row("hops around the silent server", "hops", 4.0, _hops(reported, silent), 4.0, 4.0, reason=OTHER),
        ],
        series=[line("measured", x, [paper_gbps(item) for item in y])],
        axes=("seconds", "throughput (Gb/s)"),
        choices=[
            "links of 100 Mb/s for the testbed's 1 Gb/s; rates are told times ten. Seconds and DCell's timers are the paper's own",
            f"the cable {CABLE} is pulled at {pulled:g} s and back at {back:g} s; {MIDDLE} is silent from {silent:g} s on",
            "silent: nothing moves and the cables keep their carrier. A server that is switched off takes the carrier of its direct "
            "cables along, and its neighbours know at once",
            f"around the cable: {' '.join(_at(reported, pulled))}; around the server: {' '.join(_at(reported, silent))}",
        ],
    )


def _paths(measured: Measured) -> list[tuple[float, list[str]]]:
    """The paths of the flow as names of servers, each with the time from which it was used."""
    servers = measured.network["servers"]
    names = dict(zip(servers["id"], servers["name"], strict=True))
    reported = [(at_secs, [names[item] for item in path]) for at_secs, _, path in measured.routes]
    # Without paths of the calibration's pair.
    return [(at_secs, path) for at_secs, path in reported if (path[0], path[-1]) == (SOURCE, DESTINATION)]


def _at(paths: list[tuple[float, list[str]]], after_secs: float) -> list[str]:
    """The first path reported after `after_secs`; the very first one for 0."""
    return next((path for at_secs, path in paths if at_secs >= after_secs or after_secs == 0.0), [])


def _hops(paths: list[tuple[float, list[str]]], after_secs: float) -> float | None:
    path = _at(paths, after_secs)
    return float(len(path) - 1) if path else None


def _returned_secs(paths: list[tuple[float, list[str]]], back_secs: float, until_secs: float) -> float | None:
    times = (at_secs for at_secs, path in paths if back_secs <= at_secs < until_secs and path == FIRST_PATH)
    result = next(times, None)
    return None if result is None else round(result - back_secs, 2)


def _below_secs(measured: Measured, bits_per_sec: float, from_secs: float, to_secs: float) -> float:
    """The longest interval in which all means are below the given rate."""
    longest = 0.0
    low_since: float | None = None
    for at_secs, rate in zip(*measured.curve(WINDOW_SECS), strict=True):
        if not from_secs <= at_secs < to_secs:
            continue
        if rate >= bits_per_sec:
            low_since = None
            continue
        low_since = at_secs if low_since is None else low_since
        longest = max(longest, at_secs + WINDOW_SECS - low_since)
    return round(longest, 2)
