"""A server on a flow's path dies: BSR moves the flow to a cached path, and then finds another
parallel one. `[bcube §7.5]`

Timers and seconds are not scaled; only the links are slower.
"""

from __future__ import annotations

from typing import Any

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.testbed import BCUBE, LINK_BITS_PER_SEC, MTU, paper_gbps

AT_SECS = 5.0
SECONDS = 22.0
AGAIN_SECS = 2.0
"""Time from the move to the new path until TCP has reached its rate again. The new rate is measured
after that."""
WINDOW_SECS = 0.5
NAME = "one-to-one, 03 off"


def _trial(brevity: float) -> Trial:
    seconds = max(SECONDS * brevity, 14.0)
    return Trial(
        NAME,
        BCUBE,
        {"kind": "one-to-one", "source": "00", "destination": "13"},
        LINK_BITS_PER_SEC,
        {"connections": 2, "seconds": seconds, "settle_secs": 1.5, "calibrate_secs": 0.5, "mtu": MTU},
        faults=[{"kind": "server-off", "target": {"names": ["03"]}, "at_secs": min(AT_SECS, seconds / 4)}],
    )


def measure(lab: Lab) -> Outcome:
    result = lab.measure([_trial(lab.brevity)])[NAME]
    fault = result.report["faults"][0]
    struck_secs = fault["injected_at_secs"]
    moved, anew = _switch(result, "failure"), _switch(result, "adaptation")
    before = paper_gbps(result.between(0.0, struck_secs))
    end = result.at_secs[-1]
    after = paper_gbps(result.between(anew["at_secs"] + AGAIN_SECS, end)) if anew else None
    x, y = result.curve(WINDOW_SECS)
    shared = [
        paper_gbps(rate)
        for at, rate in zip(x, y, strict=True)
        if moved and anew and moved["at_secs"] <= at <= anew["at_secs"]
    ]
    return Outcome(
        rows=[
            near("both connections before", "Gb/s", 1.93, before, 0.1),
            Row(
                "00 finds 03 dead",
                "s",
                3.0,
                _noticed_secs(result),
                1.9,
                4.0,
                reason="three hellos, one a second, are missed: 2 to 3 s after the failure",
            ),
            Row(
                "the flow is on the cached path",
                "s after the failure",
                None,
                fault["first_move_secs"],
                0.0,
                4.0,
                reason="at once when 03 is found dead; the paper gives no number",
            ),
            Row(
                "both share that path",
                "Gb/s",
                None,
                max(shared, default=None),
                0.85,
                1.05,
                reason="the most between the two moves: one link's rate, once TCP has waited out its timeout",
            ),
            Row("hops of the new parallel path", "hops", 4.0, _hops(anew), 4.0, 4.0),
            near("both connections again", "Gb/s", 1.9, after, 0.1),
        ],
        series=[
            line("both connections", x, [paper_gbps(item) for item in y]),
            line("paper: before, and again", [0.0, end], [1.93, 1.9], paper=True),
        ],
        axes=("seconds", "total throughput (Gb/s)"),
        choices=[
            "links of 100 Mb/s for the testbed's 1 Gb/s; rates are told times ten. Seconds and BSR's timers are the paper's own",
            f"03 goes off after {struck_secs:g} s: its process and its ports; its neighbours' links stay up, as on a switch",
            "acknowledgements come back over paths that the other end chooses: if they cross 03 too, both connections stand still",
            f"new path: {' '.join(_names(result, anew)) or 'none was found'}",
        ],
    )


def _switch(measured: Measured, reason: str) -> dict[str, Any] | None:
    """The first path change with this reason after the fault."""
    struck = measured.report["faults"][0]["injected_at_secs"]
    moves = (
        event
        for event in measured.events
        if event["kind"] == "path-switched" and event.get("reason") == reason and event["at_secs"] >= struck
    )
    return next(moves, None)


def _noticed_secs(measured: Measured) -> float | None:
    """Time until the source detects the failure of the server."""
    struck_nanos = measured.report["faults"][0]["at_nanos"]
    servers = measured.network["servers"]
    ids = dict(zip(servers["name"], servers["id"], strict=True))
    noticed = (
        (event["at_nanos"] - struck_nanos) / 1e9
        for event in measured.events
        if (event["kind"], event.get("server"), event.get("neighbour")) == ("neighbour-dead", ids["00"], ids["03"])
    )
    return next(noticed, None)


def _hops(event: Json | None) -> float | None:
    return None if event is None else float(len(event["path"]) - 1)


def _names(measured: Measured, event: Json | None) -> list[str]:
    servers = measured.network["servers"]
    names = dict(zip(servers["id"], servers["name"], strict=True))
    return [] if event is None else [names[item] for item in event["path"]]
