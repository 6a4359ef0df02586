"""The CPU cost of relaying detours in a server's kernel, by the filled share of a port.
`[subways §8.8, Fig. 13]`

The kernel forwards in the context of a packet's arrival, so its cost is the additional CPU of the
run if a hot rack's traffic takes detours, compared with all traffic over the rack's own ToRs. The
run's CPU includes its processes and all software interrupts, which forward packets. Both are
measured several times in turn, and the median difference is used. `[ours]`
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.shuffles import PLAN_GBPS

RACKS_OF_LOOP = 6
HOT = 2
"""The rack, with one server, whose traffic takes detours."""
RELAYS: tuple[int, ...] = (0, 1, 3, 4)
"""The racks on both sides of it: detours pass at most two of them."""
LINK_BITS_PER_SEC = 60e6
"""The rate of a server's port. With 100 Mb/s the fullest point needed 0.77 of two cores.
`[measured]`"""
LOADS = (10, 25, 40, 55, 70, 85, 100)
"""Loads of a relay in both directions together, in per cent of a port's rate."""
SHORT_LOADS = (10, 40, 70)
OVER_UPLINK = 4.0
"""The hot rack's traffic in each direction, relative to a ToR's uplink. With detours, its two ToRs
and the four next to them can carry 4.4."""
RELAYED = 2.33
"""Load that this causes at a relay outside the rack, in both directions together, relative to a
ToR's uplink. `[measured]`"""
WIDE_GBPS = 4 * PLAN_GBPS
"""Rate of uplinks at which no ToR is hot."""
CONNECTIONS = 8
"""Connections from each server to each other server."""
MTU = 1500
REBIND_SECS = 0.5
SETTLE_SECS = 6.0
SECS, LEAST_SECS = 8.0, 2.0
ROUNDS = 3
LEAST_R2 = 0.98
PAPER_GBPS = 7.0
BUSY = "the kernel samples CPU 250 times a second, and other work on the machine has software interrupts too"
FULL = (
    "at the most load the hot server's two ports are 86 % full on the mean, before detours' headers, and hashes of its flows fill one of "
    "them: what is lost there are drops of that port's queue"
)
OTHER = (
    "the kernel's segment routing here, on links that are shaped, in virtual cables; a program with the network card to itself there, whose packets "
    "are not copied. The wrapping, the unwrapping and the next ToR's hop are in it, which no counter tells apart from the relay's"
)


@dataclass(frozen=True)
class Point:
    """The load and the CPU of a relay."""

    gbps: float
    """Load on the actual links in Gb/s."""
    cpu: float
    """CPU in cores."""


def spec(uplink_gbps: float) -> Json:
    """A cluster with two loops, one server per rack, and one uplink per ToR."""
    return {
        "family": "subways", "type": 1, "p": 2, "q": 2, "l": RACKS_OF_LOOP, "loops_per_cluster": 2, "aggs_per_cluster": 1,
        "server_gbps": PLAN_GBPS, "uplink_gbps": uplink_gbps,
    }  # fmt: skip


def uplink_gbps(load: float) -> float:
    """The uplink rate at which a relay carries this percentage of a port's rate."""
    return round(load / 100 * PLAN_GBPS / RELAYED, 4)


def trial(lab: Lab, load: float, number: int, around: bool) -> Trial:
    """The trial with traffic between the hot rack and every server of the other loop: over relays
    if `around`, else directly over wide uplinks."""
    plan = spec(uplink_gbps(load) if around else WIDE_GBPS)
    names = [server["name"] for server in lab.engine.emulation_network(plan)["servers"]]
    hot, far = names[HOT], names[RACKS_OF_LOOP:]
    entries = [[a, b, 1.0] for other in far for a, b in ((hot, other), (other, hot))]
    sent = OVER_UPLINK * uplink_gbps(load) / PLAN_GBPS * LINK_BITS_PER_SEC
    return Trial(
        name_of(load, number, around),
        plan,
        {"kind": "matrix", "entries": entries},
        min(plan["uplink_gbps"], PLAN_GBPS) / PLAN_GBPS * LINK_BITS_PER_SEC,
        {
            "seconds": max(SECS * lab.brevity, LEAST_SECS),
            "settle_secs": SETTLE_SECS,
            "calibrate_secs": 0.0,
            "mtu": MTU,
            "protocol": "udp",
            "connections": CONNECTIONS,
            "flow_bits_per_sec": sent / len(far) / CONNECTIONS,
            "balance": "detour",
            "timers": {"rebind_secs": REBIND_SECS},
        },
    )


def name_of(load: float, number: int, around: bool) -> str:
    return f"{load:g} %, round {number + 1}, {'around' if around else 'straight'}"


def relayed(measured: Measured) -> dict[int, float]:
    """Rate sent by each relay, in bits per second. Relays have no other traffic."""
    links = measured.network["links"]
    ids = measured.network["servers"]["id"]
    sent = dict.fromkeys(RELAYS, 0.0)
    for a, carried in zip(links["a"], measured.report["per_link"], strict=True):
        if a in ids and ids.index(a) in sent:
            sent[ids.index(a)] += carried["ab_bits_per_sec"]
    return sent


def more_cores(around: Measured, straight: Measured) -> float:
    """Additional CPU cores of the run, compared with the same goodput without detours."""
    as_much = around.goodput_bits_per_sec / straight.goodput_bits_per_sec if straight.goodput_bits_per_sec else 1.0
    shares = [item.report["fidelity"]["own_cpu"] or 0.0 for item in (around, straight)]
    return (shares[0] - as_much * shares[1]) * (os.cpu_count() or 1)


def point(pairs: Sequence[tuple[Measured, Measured]]) -> Point:
    """The busiest relay's part of the additional CPU, divided in proportion to the relays' traffic;
    the median over rounds."""
    carried = [relayed(around) for around, _ in pairs]
    busiest = median(max(item.values()) for item in carried)
    cost = median(
        more_cores(*pair) / sum(item.values()) if any(item.values()) else 0.0
        for pair, item in zip(pairs, carried, strict=True)
    )
    return Point(busiest / 1e9, cost * busiest)


def fit(points: Sequence[Point]) -> tuple[float, float, float]:
    """Least-squares line: cores per Gb/s, cores at zero, and the explained share of the variance
    (R²)."""
    x, y = (np.array(values) for values in zip(*((item.gbps, item.cpu) for item in points), strict=True))
    slope, least = np.polyfit(x, y, 1)
    rest = ((y - slope * x - least) ** 2).sum()
    spread = ((y - y.mean()) ** 2).sum()
    return float(slope), float(least), float(1 - rest / spread) if spread else 0.0


def measure(lab: Lab) -> Outcome:
    loads = LOADS if lab.brevity >= 1 else SHORT_LOADS
    rounds = range(ROUNDS if lab.brevity >= 1 else 1)
    ways = [(load, number, around) for number in rounds for load in loads for around in (True, False)]
    result = lab.measure([trial(lab, *way) for way in ways])
    pairs = {
        load: [(result[name_of(load, number, True)], result[name_of(load, number, False)]) for number in rounds]
        for load in loads
    }
    points = [point(pairs[load]) for load in loads]
    slope, least, explained = fit(points)
    port_gbps = LINK_BITS_PER_SEC / 1e9
    loads_found = [100 * item.gbps / port_gbps for item in points]
    delivered = min(
        around.goodput_bits_per_sec / straight.goodput_bits_per_sec for of in pairs.values() for around, straight in of
    )
    return Outcome(
        rows=rows(loads_found, slope, explained, 100 * delivered),
        series=[
            line("CPU, measured", loads_found, [100 * item.cpu for item in points]),
            line("line through it", loads_found, [100 * (slope * item.gbps + least) for item in points]),
        ],
        axes=("detours through a relay (% of a port)", "CPU (% of a core)"),
        choices=[
            f"the server of rack {HOT} of a loop of {RACKS_OF_LOOP} sends UDP to the {RACKS_OF_LOOP} servers of another loop and gets as much, {OVER_UPLINK:g} times "
            "what an uplink of its two ToRs carries; four racks beside it relay what goes around. Ports of 60 Mb/s for 10 Gb/s",
            "a relay's load is what its ports send, both ways together, set by the uplinks' rate; the busiest relay's is told",
            "CPU is what the run takes more, its processes and all software interrupts, than when uplinks are wide and nothing goes around, for the same goodput; of that, the busiest "
            f"relay's part by what relays carry. The median of {len(rounds)} round{'s' if len(rounds) > 1 else ''}",
            "one kernel does all of it: the paper's two cores with a task each are one here",
        ],
    )


def rows(loads: Sequence[float], slope: float, explained: float, delivered: float) -> list[Row]:
    """Rows for the loads in per cent of a port, the line's slope in cores per Gb/s, its R², and the
    lowest goodput in per cent."""
    return [
        Row("R² of a line through CPU by throughput: more than", "", None, explained, LEAST_R2, 1.0, 0.01, BUSY),
        Row("busiest relay, least load", "% of a port", None, min(loads), 5.0, 15.0),
        Row("busiest relay, most load", "% of a port", None, max(loads), 90.0, 110.0),
        Row("goodput of what goes around, by that straight: least", "%", None, delivered, 95.0, 100.5, reason=FULL),
        near(
            "a core would relay",
            "Gb/s",
            PAPER_GBPS,
            1 / slope if slope > 0 else None,
            0.5,
            BUSY if slope <= 0 else OTHER,
        ),
    ]
