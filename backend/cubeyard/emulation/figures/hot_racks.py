"""Two adjacent hot racks: the load of the ToR between them, with equal-cost paths and with
load-aware paths. `[subways §5]`

Flows have a fixed rate that no link limits, so that a ToR's load depends only on the flows' paths.
"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line

SUBWAYS: Json = {
    "family": "subways", "type": 1, "p": 2, "q": 8, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2,
}  # fmt: skip
SERVERS_OF_RACK = 4
RACKS_OF_LOOP = 4
HOT_RACKS = (1, 2)
"""The hot racks use the ToRs 0 and 1, and 1 and 2."""
TORS = (0, 1, 2)
LINK_BITS_PER_SEC = 20e6
CONNECTIONS = 4
"""Connections from each server of the hot racks to each of 16 servers. With fewer flows, hashes
would divide them less evenly."""
FLOW_BITS_PER_SEC = 1e5
REBIND_SECS = 1.0
SETTLE_SECS = 14.0
SECONDS = 12.0
LEAST_SECONDS = 4.0
EQUAL, BY_LOAD = "equal paths (ECMP)", "by load (LB)"
DRAWN = "the 256 flows of a rack are drawn by hash: they do not divide exactly"


def trial(lab: Lab, name: str, balance: str) -> Trial:
    """The trial with flows from every server of the hot racks to every server of the other loop."""
    names = [server["name"] for server in lab.engine.emulation_network(SUBWAYS)["servers"]]
    hot = [rack * SERVERS_OF_RACK + index for rack in HOT_RACKS for index in range(SERVERS_OF_RACK)]
    far = range(RACKS_OF_LOOP * SERVERS_OF_RACK, 2 * RACKS_OF_LOOP * SERVERS_OF_RACK)
    return Trial(
        name,
        SUBWAYS,
        {"kind": "matrix", "entries": [[names[a], names[b], 1.0] for a in hot for b in far]},
        LINK_BITS_PER_SEC,
        {
            "seconds": max(SECONDS * lab.brevity, LEAST_SECONDS),
            "settle_secs": SETTLE_SECS,
            "calibrate_secs": 0.5,
            "protocol": "udp",
            "connections": CONNECTIONS,
            "flow_bits_per_sec": FLOW_BITS_PER_SEC,
            "balance": balance,
            "timers": {"rebind_secs": REBIND_SECS},
        },
    )


def loads(lab: Lab, measured: Measured) -> list[float]:
    """Upward rate of each of the three ToRs, in Mb/s."""
    network = lab.engine.emulation_network(SUBWAYS)
    servers = {server["id"] for server in network["servers"]}
    tors = sorted({link["b"][0] for link in network["links"] if link["a"][0] in servers})
    carried = [item["ab_bits_per_sec"] for item in measured.report["per_link"]]
    of = zip(network["links"], carried, strict=True)
    up: dict[int, float] = dict.fromkeys(tors, 0.0)
    for link, bits in of:
        if link["a"][0] in up:
            up[link["a"][0]] += bits / 1e6
    return [up[tors[tor]] for tor in TORS]


def measure(lab: Lab) -> Outcome:
    result = lab.measure([trial(lab, EQUAL, "ecmp"), trial(lab, BY_LOAD, "lb")])
    equal, by_load = loads(lab, result[EQUAL]), loads(lab, result[BY_LOAD])
    left, shared, right = equal
    return Outcome(
        rows=[
            Row(
                "shared ToR by the mean of its neighbours, ECMP",
                "",
                2.0,
                ratio(2 * shared, left + right),
                1.7,
                2.3,
                0.1,
                DRAWN,
            ),
            Row("most by least loaded ToR, LB", "", 1.0, ratio(max(by_load), min(by_load)), 1.0, 1.2, 0.01, DRAWN),
        ],
        series=[line(EQUAL, TORS, equal), line(BY_LOAD, TORS, by_load)],
        axes=("ToR", "sent up (Mb/s)"),
        choices=[
            "the paper has no numbers of its own for the example: twice the load, and alike",
            f"two racks of {SERVERS_OF_RACK} servers with two ports send to the other loop, 64 UDP flows of 0.1 Mb/s a server; "
            "links of servers have 20 Mb/s, and no link is full",
            f"T_rebind is {REBIND_SECS:g} s: the paper's 10 ms on links a hundred times faster. Loads are those after {SETTLE_SECS:g} s",
        ],
    )


def ratio(first: float, other: float) -> float | None:
    return first / other if other else None
