"""Servers get a second port while flows run: throughput before and after, and lost packets.
`[subways §4.3]`"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line

COMMON: Json = {"family": "subways", "type": 1, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
BEFORE: Json = {**COMMON, "p": 1, "q": 2}
AFTER: Json = {**COMMON, "p": 2, "q": 4}
PAIRS = (("0.0.0", "1.0.0"), ("0.2.0", "1.2.0"))
"""Pairs of a server of a rack and a server of the other loop. No link above the servers is full
before or after the upgrade."""
LINK_BITS_PER_SEC = 20e6
CONNECTIONS = 16
"""Connections per pair; enough that each port gets some of them."""
SECONDS = 16.0
LEAST_SECONDS = 12.0
STEP_SECS = 0.25
WINDOW_SECS = 0.5
NAME = "p from 1 to 2"


def trial(lab: Lab) -> Trial:
    seconds = max(SECONDS * lab.brevity, LEAST_SECONDS)
    return Trial(
        NAME,
        BEFORE,
        {"kind": "matrix", "entries": [[source, destination, 1.0] for source, destination in PAIRS]},
        LINK_BITS_PER_SEC,
        {
            "seconds": seconds,
            "settle_secs": 2.0,
            "calibrate_secs": 0.5,
            "connections": CONNECTIONS,
            "upgrade": {"to": AFTER, "at_secs": round(seconds / 3, 1), "step_secs": STEP_SECS},
        },
    )


def measure(lab: Lab) -> Outcome:
    result = lab.measure([trial(lab)])[NAME]
    x, y = result.curve(WINDOW_SECS)
    return Outcome(
        rows=rows(result),
        series=[line("goodput", x, [bits / 1e6 for bits in y])],
        axes=("time (s)", "goodput (Mb/s)"),
        choices=[
            "the paper says that an upgrade needs no disruption in service, without numbers; twice the ports are at most twice the goodput",
            "cables are plugged in by the planner's work order, those of one ToR after those of another; their ports have no carrier before",
            f"{len(PAIRS)} servers send to another loop over {CONNECTIONS} TCP connections each, on links of 20 Mb/s",
        ],
    )


def rows(measured: Measured) -> list[Row]:
    """Rows of the report's data about the upgrade."""
    report = measured.report
    windows, upgrade = report["windows"], report["upgrade"]
    before, after = (windows.get(name, {}).get("goodput_bits_per_sec") for name in ("before", "after"))
    dropped, steps = sum(report["drops"].values()), float(upgrade["steps"])
    return [
        Row("goodput after by before", "", None, after / before if before and after else None, 1.7, 2.05),
        Row("connections lost", "", 0.0, float(upgrade["connections_lost"]), 0.0, 0.0, 1.0),
        Row("packets dropped by servers and routers", "", 0.0, float(dropped), 0.0, 0.0, 1.0),
        Row("steps of the work order done", "", steps, float(upgrade["steps_done"]), steps, steps, 1.0),
    ]
