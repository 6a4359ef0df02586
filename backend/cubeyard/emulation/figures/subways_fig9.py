"""A shuffle on four upgrades of a network with one slow port per server: faster links, or an
additional second port. `[subways §8.4, Fig. 9]`"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.shuffles import (
    CHOICES,
    LINK_BITS_PER_SEC,
    SERVERS_OF_RACK,
    TCP,
    beside_fluid,
    ended,
    fluid_secs,
    job,
    spec,
    speedup,
    trial,
)

RACKS_OF_LOOP = 6
RACKS = 4
BEFORE = "one port of 10"
REPLACED = {25.0: "replaced by 25", 40.0: "replaced by 40"}
BALANCES = {"wcmp": "type 2", "lb": "type 2LB", "detour": "type 2D"}
BAND = 0.15
SPLIT = "10 and 25, other loop"
"""Name of the trial for the ports that flows take to servers with which they share no ToR."""
CONNECTIONS = 4
FLOW_BITS_PER_SEC = 1e4
SPLIT_SECS = 5.0
SHARE = 2 / 7
SHARE_BAND = 0.05
DRAWN = "1,024 flows choose a port each by hash"
BY_SWITCHES = "towards hot racks the switches above ToRs divide what has come to them, where the fluid's sources choose"


def single(gbps: float) -> Json:
    """The network with one port per server, and ToRs oversubscribed 4:1."""
    rates = {"server_gbps": gbps, "uplink_gbps": gbps}
    return spec(0, RACKS_OF_LOOP, 1, p=1, q=SERVERS_OF_RACK, aggs_per_cluster=1, **rates)


def beside(gbps: float) -> Json:
    """The network with a second port of this rate per server, to a ToR of a second cluster. Uplinks
    have the faster rate."""
    more = {"c": 2, "clusters": 2, "cluster_gbps": [10.0, gbps], "cores": 2}
    return spec(2, RACKS_OF_LOOP, 1, **more, uplink_gbps=gbps)


def asked(lab: Lab) -> dict[str, tuple[Json, Json, str]]:
    """Plan, job and balance of each shuffle."""
    plans = {BEFORE: (single(10.0), "ecmp")}
    plans.update({name: (single(gbps), "ecmp") for gbps, name in REPLACED.items()})
    plans.update({name: (beside(10.0), balance) for balance, name in BALANCES.items()})
    return {name: (plan, job(lab, plan, range(RACKS)), balance) for name, (plan, balance) in plans.items()}


def split_trial(lab: Lab) -> Trial:
    """The trial with flows from each server of the first racks to the same number of servers of the
    other loop, at a rate that fills no link."""
    plan = beside(25.0)
    names = [server["name"] for server in lab.engine.emulation_network(plan)["servers"]]
    count, loop = RACKS * SERVERS_OF_RACK, RACKS_OF_LOOP * SERVERS_OF_RACK
    entries = [[name, other, 1.0] for name in names[:count] for other in names[loop : loop + count]]
    return Trial(
        SPLIT,
        plan,
        {"kind": "matrix", "entries": entries},
        LINK_BITS_PER_SEC,
        {
            "seconds": SPLIT_SECS,
            "settle_secs": 1.0,
            "calibrate_secs": 0.0,
            "protocol": "udp",
            "connections": CONNECTIONS,
            "flow_bits_per_sec": FLOW_BITS_PER_SEC,
            "balance": "wcmp",
        },
    )


def slow_share(measured: Measured) -> float:
    """Share of the servers' traffic that departed by their slower ports."""
    links, servers = measured.network["links"], set(measured.network["servers"]["id"])
    slowest = min(links["rate_bits_per_sec"])
    sent = {True: 0.0, False: 0.0}
    for a, rate, carried in zip(links["a"], links["rate_bits_per_sec"], measured.report["per_link"], strict=True):
        if a in servers:
            sent[rate == slowest] += carried["ab_bits_per_sec"]
    total = sum(sent.values())
    return sent[True] / total if total else 0.0


def measure(lab: Lab) -> Outcome:
    shuffles = asked(lab)
    trials = [trial(lab, name, plan, workload, balance) for name, (plan, workload, balance) in shuffles.items()]
    result = lab.measure([*trials, split_trial(lab)])
    fluid = {name: fluid_secs(lab, *of) for name, of in shuffles.items()}
    ours = {name: speedup(result[BEFORE], result[name]) for name in shuffles if name != BEFORE}
    ideal = {name: fluid[BEFORE] / fluid[name] for name in ours}
    added = list(BALANCES.values())
    return Outcome(
        rows=rows(ours, ideal, slow_share(result[SPLIT])),
        series=[
            line("one network, measured", list(REPLACED), [ours[name] for name in REPLACED.values()]),
            line("one network, ideal fluid", list(REPLACED), [ideal[name] for name in REPLACED.values()]),
            *(line(f"10 and 10, {name}, measured", [20.0], [ours[name]]) for name in added),
            *(line(f"10 and 10, {name}, ideal fluid", [20.0], [ideal[name]]) for name in added),
            line("paper: one network", [25.0, 40.0], [2.5, 4.0], paper=True),
            line("paper: 10 and 10, type 2D", [20.0], [4.0], paper=True),
        ],
        axes=("rate of a server's ports together (Gb/s)", "speedup over one port of 10 Gb/s"),
        choices=[
            *CHOICES,
            f"{RACKS} of {RACKS_OF_LOOP} racks of a loop; every ToR 4:1. Ports of 10 and 25 Gb/s are 20 and 50 Mb/s here",
            f"which port flows take is counted at {CONNECTIONS} UDP flows of 10 kb/s from each of 16 servers to each of 16 of "
            "another loop: with servers that share a ToR flows take that one first",
            ended(result, shuffles),
        ],
    )


def rows(ours: dict[str, float | None], ideal: dict[str, float], share: float) -> list[Row]:
    """Speedups compared with the paper, and with the flow engine for the same scaled network."""
    reported = [near(f"{name} GbE", "x", gbps / 10, ours[name], BAND, TCP) for gbps, name in REPLACED.items()]
    reported.append(
        Row(
            "10 GbE beside the old, type 2D",
            "x",
            4.0,
            ours[BALANCES["detour"]],
            3.0,
            4.0 * (1 + BAND),
            1.0,
            BY_SWITCHES,
        )
    )
    balance_of = {name: balance for balance, name in BALANCES.items()}
    reported += [
        beside_fluid(f"{name}, by the ideal fluid", balance_of.get(name, "ecmp"), ideal[name], ours[name])
        for name in ideal
        if name != "type 2D"
    ]
    reported.append(
        Row(
            "of flows, those on the port of 10 beside 25",
            "",
            SHARE,
            share,
            SHARE - SHARE_BAND,
            SHARE + SHARE_BAND,
            reason=DRAWN,
        )
    )
    return reported
