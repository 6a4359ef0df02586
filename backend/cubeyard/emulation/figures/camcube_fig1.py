"""Raw throughput over disjoint paths against the routing service, from one server of the testbed's
torus to all others. `[camcube §3.1, Fig. 1]`"""

from __future__ import annotations

from statistics import mean

from cubeyard.emulation.figures.lab import Lab, Trial
from cubeyard.emulation.figures.rows import Outcome
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import (
    LINK_BITS_PER_SEC,
    TESTBED,
    Flood,
    Json,
    at_paper_size,
    at_this_size,
    cumulative,
    flood,
    lines_of,
    told,
    torus,
    trial,
)

FIGURE = "camcube-fig1"
PAYLOAD = 1400
MILLIS = 1000
FARTHEST = 3
"""The largest distance, at which shortest paths leave by three links. At smaller distances,
shortest paths meet only at their end."""
FULL = 0.93
"""The smallest share of its rate that a full link must carry, measured over a second on a busy
machine."""
WAIT_MILLIS = 200
"""Longest time that packets wait at a congested server: its queue drains for this long after the
source has stopped."""
MEET = "Live, each server takes the first free link in a fixed order: two of the three paths meet a hop before their end, where one link goes on"
TCP_SECS = 5.0
ONE_PATH, THREE_PATHS = "TCP over one path", "TCP over three paths"


def measure(lab: Lab) -> Outcome:
    reached = {item["destination"]: item for item in lab.engine.torus_services(torus(TESTBED), {"source": 0})["source"]}
    destinations = _some(list(reached), lab.brevity)
    millis = max(round(MILLIS * lab.brevity), 150)
    result: dict[int, tuple[Flood, Flood]] = {}

    def talk(to: Talk) -> None:
        for destination in destinations:
            base, own = (
                flood(
                    to, TESTBED, destination, mode, millis, PAYLOAD, count=reached[destination]["distance"] == FARTHEST
                )
                for mode in ("routed", "disjoint")
            )
            result[destination] = (base, own)

    expect_secs = 2 * len(destinations) * (millis / 1000 + 0.4)
    raw = trial("raw", TESTBED, talk, expect_secs)
    tcp = lab.measure([raw, _tcp(ONE_PATH, "(1,0,0)", 0, lab.brevity), _tcp(THREE_PATHS, "(1,1,1)", 1, lab.brevity)])
    gains = {item: own.links / base.links for item, (base, own) in result.items()}
    models = {
        destination: reached[destination]["paths"] / reached[destination]["delivered"] for destination in destinations
    }
    rows = []
    for distance in range(1, FARTHEST + 1):
        there = [destination for destination in destinations if reached[destination]["distance"] == distance]
        model = mean(models[destination] for destination in there)
        low, high = FULL * model, model / FULL
        why = f"the fluid model at this size: {model:.2f}; the paper draws a line for 2,000 of 8,000 servers"
        if distance == FARTHEST:
            first = mean(
                reached[destination]["paths"] / reached[destination]["delivered_by_first_ways"] for destination in there
            )
            with_wait = mean(_with_wait(reached[destination], millis) for destination in there)
            low, high = FULL * first, with_wait / FULL
            why += (
                f", if packets are spread evenly. {MEET}: {first:.2f} by the same model, and {with_wait:.2f} with the {WAIT_MILLIS} ms in which the queue "
                "there empties over that link"
            )
        rows.append(
            told(f"gain at distance {distance}", "x", mean(gains[destination] for destination in there), low, high, why)
        )
    lost, meeting = (
        sum(each) for each in zip(*(base.lost((0, item)) for item, (base, _) in result.items()), strict=True)
    )
    rows.append(
        told(
            f"packets of the routing service lost at distance {FARTHEST}: where paths meet",
            "%",
            100 * meeting / lost if lost else None,
            99.0,
            100.0,
            f"{lost:,} packets lost, by the counters of links",
        )
    )
    short = [
        destination
        for destination in destinations
        if result[destination][1].links < FULL * reached[destination]["paths"]
    ]
    return Outcome(
        rows=[
            *rows,
            told(
                "least throughput over disjoint paths",
                "links",
                min(own.links for _, own in result.values()),
                2.7,
                5.0,
                "at least three disjoint paths to everybody",
            ),
            told(
                "destinations below 93 % of a full link on each path",
                "",
                float(len(short)),
                0.0,
                0.0,
                "the model: a full link each",
            ),
            told(
                "TCP's goodput over three paths against one",
                "x",
                tcp[THREE_PATHS].goodput_bits_per_sec / max(tcp[ONE_PATH].goodput_bits_per_sec, 1.0),
                2.5,
                3.05,
                "of an unmodified application, in the kernel",
            ),
        ],
        series=[
            cumulative("27 servers, measured", list(gains.values())),
            *lines_of(at_this_size(lab, FIGURE, TESTBED), "27 servers, fluid"),
            *lines_of(at_paper_size(lab, FIGURE), "8,000 servers, fluid"),
        ],
        axes=("throughput over the routing service's (x)", "share of destinations"),
        choices=[
            f"links of {LINK_BITS_PER_SEC / 1e6:g} Mb/s; packets of {PAYLOAD} bytes for {millis / 1000:g} s to each of "
            f"{len(destinations)} servers, one after the other",
            "the source is a service that sends whenever a link takes a packet, and nothing is sent again: throughput is what arrives",
        ],
    )


def _with_wait(reached: Json, millis: int) -> float:
    """The gain if the routing service's time includes draining its last queue."""
    delivered = reached["delivered_by_first_ways"]
    links = (delivered * millis + WAIT_MILLIS) / (millis + WAIT_MILLIS)
    return reached["paths"] / links


def _some(destinations: list[int], brevity: float) -> list[int]:
    """All destinations, or in a brief measurement some of each distance: 1, 4 and 13 are one, two
    and three hops away."""
    return destinations if brevity >= 1 else [1, 4, 13, *destinations[: round(len(destinations) * brevity / 2)]]


def _tcp(name: str, to: str, disjoint: int, brevity: float) -> Trial:
    settings = {
        "seconds": max(TCP_SECS * brevity, 2.0),
        "settle_secs": 1.5,
        "calibrate_secs": 0.5,
        "timers": {"disjoint_paths": disjoint},
    }
    workload = {"kind": "one-to-one", "source": "(0,0,0)", "destination": to}
    return Trial(name, torus(TESTBED), workload, LINK_BITS_PER_SEC, settings)
