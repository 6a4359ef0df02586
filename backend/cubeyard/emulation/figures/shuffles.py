"""Shuffles over Subways with a few servers per rack on slow links: trials, and the flow engine's
results for the same network. `[subways §8.3]`"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import mean

import orjson

from cubeyard.emulation.figures.lab import SEED, Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import FLOW_ENGINE, Row, near
from cubeyard.emulation.setup.prediction import ends_secs
from cubeyard.emulation.setup.question import read

SERVERS_OF_RACK = 4
LINK_BITS_PER_SEC = 20e6
FLOW_BYTES = 800e3
MTU = 1500
"""Short packets: with longer ones, the minimum windows of some hundred flows would fill the
queues."""
REBIND_SECS = 1.6
"""T_rebind: five round trips over four full queues of 80 ms. The paper's 10 ms, on links that are
500 times slower here, would be 5 s, half of a job."""
SETTLE_SECS = 0.0
SLACK = 4.0
PLAN_GBPS = 10.0
"""The planned rate that corresponds to LINK_BITS_PER_SEC."""
SCHEMES = {"ecmp": "subways-ecmp", "wcmp": "subways-wcmp", "lb": "subways-adaptive", "detour": "subways-detour"}
"""The flow engine's routing for each balance."""
MOVING = ("lb", "detour")
"""Balances whose controllers move flows. With the others, each flow keeps the path of its hash,
which is known."""
OWN_BAND, SCHEME_BAND = 0.1, 0.15
"""Bands of speedups relative to the fluid model. Measured jobs of flows that keep their paths take
2 to 9 % longer than in the fluid model. `[measured]`"""
CHOICES = (
    f"{SERVERS_OF_RACK} servers a rack for 15, links of 20 Mb/s for 10 Gb/s, and 0.8 MB for the 15 MB that a mapper sends to a reducer",
    f"TCP Reno with packets of {MTU} bytes; a link's end queues 80 ms, at least 128 KiB. All flows start together, as in the paper",
    f"LB and D rebind every {REBIND_SECS:g} s, five round trips over full queues, where the paper's 10 ms would be 5 s; a job is over when its last flow is",
    "the ideal fluid's flows take the paths that the kernel's hashes give them; with LB and D the flow engine's own controllers move them, and it is the mean over seeds of drawn paths. It has no headers",
)
FLUID_SEEDS = 16
"""With randomly drawn paths, the end of the last flow has a standard deviation of 10 to 14 % over
seeds."""
MOVED = (
    f"controllers here see what TCP sends, every {REBIND_SECS:g} s of a job of some seconds; the fluid's see exact rates, and move flows from paths "
    f"that are drawn, not hashed: its mean over {FLUID_SEEDS} seeds, which differ by 10 to 14 %"
)
TCP = "some hundred TCP flows share a link: the last one's losses and timeouts are in it"


def spec(wiring_type: int, racks: int, loops: int, **more: object) -> Json:
    """A cluster with `loops` loops of `racks` racks, and ToRs oversubscribed 4:1."""
    size: Json = {"p": 2, "q": 2 * SERVERS_OF_RACK, "l": racks, "loops_per_cluster": loops, "aggs_per_cluster": 2}
    rates = {"server_gbps": PLAN_GBPS, "uplink_gbps": PLAN_GBPS}
    return {"family": "subways", "type": wiring_type, **size, **rates, **more}


def job(lab: Lab, of: Json, racks: Sequence[int]) -> Json:
    """All-to-all among the servers of these racks, which are counted over all loops."""
    names = [server["name"] for server in lab.engine.emulation_network(of)["servers"]]
    per_rack = of["q"] // of["p"]
    return {
        "kind": "shuffle",
        "servers": [names[rack * per_rack + index] for rack in racks for index in range(per_rack)],
    }


def fluid_secs(lab: Lab, of: Json, workload: Json, balance: str, flow_bytes: float = FLOW_BYTES) -> float:
    """The job's duration by the flow engine, with the same network, rates and amount of data: over
    the fixed paths of its flows or, if flows move, with the engine's controllers."""
    if balance not in MOVING:
        question = read(lab.engine, _trial("", of, workload, balance, flow_bytes * lab.brevity, 1.0).document())
        ends = [(flow.source, flow.destination) for flow in question.flows]
        network, settings = question.network, question.settings
        return max(ends_secs(lab.engine, network, SEED, settings, ends, flow_bytes * lab.brevity))
    # Computed at the planned rates with a scaled amount of data, because the rates of links can
    # differ.
    question = {
        "workload": workload,
        "routing": SCHEMES[balance],
        "flow_gigabits": flow_bytes * lab.brevity * 8e-9 * PLAN_GBPS * 1e9 / LINK_BITS_PER_SEC,
        "max_min": True,
    }
    seeds = range(SEED, SEED + FLUID_SEEDS)
    result = (orjson.loads(lab.engine.predict_json(of, {**question, "seeds": [seed]})) for seed in seeds)
    return mean(float(item["completion"]["last_secs"]) for item in result)


def trial(lab: Lab, name: str, of: Json, workload: Json, balance: str, flow_bytes: float = FLOW_BYTES) -> Trial:
    """The trial of the job with real packets."""
    expected = fluid_secs(lab, of, workload, balance, flow_bytes)
    item = _trial(name, of, workload, balance, flow_bytes * lab.brevity, max(SLACK * expected, 10.0))
    return replace(item, expect_secs=1.3 * expected)


def _trial(name: str, of: Json, workload: Json, balance: str, flow_bytes: float, secs: float) -> Trial:
    rates = [of["uplink_gbps"], *of.get("cluster_gbps", [of["server_gbps"]])]
    return Trial(
        name,
        of,
        workload,
        min(rates) / PLAN_GBPS * LINK_BITS_PER_SEC,
        {
            "flow_bytes": round(flow_bytes),
            "seconds": secs,
            "settle_secs": SETTLE_SECS,
            "calibrate_secs": 0.5,
            "mtu": MTU,
            "balance": balance,
            **({"timers": {"rebind_secs": REBIND_SECS}} if balance in MOVING else {}),
        },
    )


def beside_fluid(name: str, balance: str, ideal: float, ours: float | None) -> Row:
    """A measured speedup compared with the fluid model's for the same network."""
    moved = balance in MOVING
    return near(
        name, "x", ideal, ours, SCHEME_BAND if moved else OWN_BAND, MOVED if moved else TCP, predicted_by=FLOW_ENGINE
    )


def speedup(before: Measured, after: Measured) -> float | None:
    """The speedup of the last flow's end; None if a job was not complete in time."""
    if before.end_secs is None or after.end_secs is None:
        return None
    return before.end_secs / after.end_secs


def ended(results: dict[str, Measured], names: Iterable[str]) -> str:
    """How long each job took, as text."""
    secs = ((name, results[name].end_secs) for name in names)
    return "the jobs took " + ", ".join(
        f"{name}: {'longer than their time' if item is None else f'{item:.1f} s'}" for name, item in secs
    )
