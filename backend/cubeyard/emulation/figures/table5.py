"""Three racks that send to the fourth: trunks to one ToR (type 0) compared with cables to two (type
1). `[subways §8.2, Table 5]`

Links have a fifth of the testbed's rate and flows a fiftieth of its data, so that time runs ten
times as fast. Seconds are scaled to the testbed.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

import numpy as np
import orjson

from cubeyard.emulation.figures.lab import SEED, Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line

PREDICTED = "subways-table5"
TYPES = (0, 1)
RACKS = 4
SERVERS_OF_RACK = 4
CONNECTIONS = 4
"""Connections from each sender to each receiver."""
LINK_BITS_PER_SEC = 100e6
RATE_SCALE = 500e6 / LINK_BITS_PER_SEC
DATA_SCALE = 50
TIME_SCALE = DATA_SCALE / RATE_SCALE
FLOW_BYTES = 100e6
MTU = 1500
"""Short packets: with longer ones, the minimum windows of the 192 flows alone would fill the
queues."""
SEEDS = 3
LEAST_BREVITY = 0.5
"""Measurements shorter than this use one seed."""
SLACK = 3.0
SIMULATOR = {0: 171.3, 1: 47.6}
TESTBED = {0: 179.1, 1: 47.5}
BANDS = {0: (150.0, 185.0), 1: (42.0, 56.0)}
RATIOS = (3.1, 4.0)
TCP = "the testbed's queues, and the seeds of its hashes, are not known: they decide the tail"


def spec(wiring_type: int) -> Json:
    """The testbed: 16 servers with two ports, four ToRs oversubscribed 4:1, two aggregation
    switches."""
    size: Json = {"p": 2, "q": 2 * SERVERS_OF_RACK, "l": RACKS, "aggs_per_cluster": 2}
    return {"family": "subways", "type": wiring_type, **size, "server_gbps": 0.5, "uplink_gbps": 0.5}


def trial(lab: Lab, wiring_type: int, seed: int) -> Trial:
    """The trial with flows from every server of the racks 1 to 3 to every server of rack 0."""
    names = [server["name"] for server in lab.engine.emulation_network(spec(wiring_type))["servers"]]
    receivers, senders = names[:SERVERS_OF_RACK], names[SERVERS_OF_RACK:]
    expected = TESTBED[wiring_type] / TIME_SCALE * lab.brevity
    return Trial(
        f"type {wiring_type}, seed {seed}",
        spec(wiring_type),
        {"kind": "matrix", "entries": [[a, b, 1.0] for a in senders for b in receivers]},
        LINK_BITS_PER_SEC,
        {
            "flow_bytes": round(FLOW_BYTES / DATA_SCALE * lab.brevity),
            "seconds": max(SLACK * expected, 5.0),
            "settle_secs": 0.0,
            "calibrate_secs": 0.5,
            "mtu": MTU,
            "connections": CONNECTIONS,
        },
        expect_secs=expected,
        seed=seed,
    )


def measure(lab: Lab) -> Outcome:
    seeds = range(SEED, SEED + (SEEDS if lab.brevity > LEAST_BREVITY else 1))
    trials = {item: [trial(lab, item, seed) for seed in seeds] for item in TYPES}
    measured = lab.measure([item for of_type in trials.values() for item in of_type])
    result = {item: [measured[of.name] for of in of_type] for item, of_type in trials.items()}
    fluid = {row["name"]: row["ours"] for row in orjson.loads(lab.engine.figure_json(PREDICTED))["rows"]}
    ideal = {item: fluid[f"Type {item}, testbed"] for item in TYPES}
    return Outcome(
        rows=rows(
            {item: [tail_secs(each, lab.brevity) for each in result[item]] for item in TYPES},
            {item: fmean(crossing(each) for each in result[item]) for item in TYPES},
        ),
        series=[
            *(over(f"type {item}, measured", result[item][0], lab.brevity) for item in TYPES),
            *(
                points(name, of)
                for name, of in (("testbed", TESTBED), ("simulator", SIMULATOR), ("ideal fluid", ideal))
            ),
        ],
        axes=("time (s)", "flows that are over (%)"),
        choices=[
            "links of 100 Mb/s for the testbed's 500 Mb/s and a fiftieth of its data, so that time runs ten times as fast; seconds are "
            "told times ten",
            f"TCP Reno with packets of {MTU} bytes; a link's end queues 80 ms. The paper does not state its queues",
            f"a mean over {len(seeds)} seed{'s' if len(seeds) > 1 else ''}, from which each switch has a hash of its own; the "
            f"chart has the first. Flows are over at tenths of a second here: {TIME_SCALE / 10:g} s of the testbed",
            f"an ideal fluid over paths that are drawn takes {ideal[0]:.1f} s (type 0) and {ideal[1]:.1f} s (type 1)",
            "racks 1 and 3 share a ToR with rack 0 in type 1; rack 2 does not, and sends over aggregation switches",
        ],
    )


def rows(tails: dict[int, Sequence[float | None]], crossed: dict[int, float]) -> list[Row]:
    """Rows for the tails by type and seed, in seconds of the testbed, and for the share of traffic
    that crossed aggregation switches, in per cent."""
    means = {item: _mean(tails[item]) for item in TYPES}
    of = [("testbed", TESTBED), ("simulator", SIMULATOR)]
    matches = [
        Row(
            f"Type {item}, {name}",
            "s",
            paper[item],
            means[item],
            *BANDS[item],
            0.1,
            TCP,
            deviation=_deviation(tails[item]),
        )
        for item in TYPES
        for name, paper in of
    ]
    ratio = means[0] / means[1] if means[0] and means[1] else None
    matches += [
        Row(f"Type 0 over type 1, {name}", "times", paper[0] / paper[1], ratio, *RATIOS, 0.1, TCP) for name, paper in of
    ]
    # The share of senders that share no ToR with the receivers; counters include headers and
    # acknowledgements.
    shares = {0: (97.0, 103.0), 1: (30.0, 37.0)}
    return matches + [
        Row(f"Type {item}, of the data over aggregation switches", "%", None, crossed[item], *shares[item])
        for item in TYPES
    ]


def tail_secs(measured: Measured, brevity: float) -> float | None:
    """Time from the first flow's start to the last one's end, scaled to the testbed."""
    return None if measured.end_secs is None else measured.end_secs * TIME_SCALE / brevity


def crossing(measured: Measured) -> float:
    """Traffic that aggregation switches sent down to rack 0's ToRs, in per cent of what rack 0
    received."""
    links, carried = measured.network["links"], measured.report["per_link"]
    receivers = set(measured.network["servers"]["id"][:SERVERS_OF_RACK])
    ends = list(zip(links["a"], links["b"], strict=True))
    tors = {above for below, above in ends if below in receivers}
    down = [item["ba_bits_per_sec"] for item in carried]
    received = sum(bits for (below, _), bits in zip(ends, down, strict=True) if below in receivers)
    from_above = sum(bits for (below, _), bits in zip(ends, down, strict=True) if below in tors)
    return 100 * from_above / received if received else 0.0


def over(name: str, measured: Measured, brevity: float) -> Json:
    """The percentage of ended flows over time, as a line."""
    ends = np.sort(measured.ends_secs)
    done = ends[np.isfinite(ends)] * TIME_SCALE / brevity
    shares = 100 * np.arange(1, done.size + 1) / ends.size
    return line(name, done.round(3).tolist(), shares.round(3).tolist())


def points(name: str, secs: dict[int, float]) -> Json:
    """Points for the ends of all flows, as measured by others."""
    return line(name, sorted(secs.values()), [100.0] * len(secs), paper=True)


def _mean(sample: Sequence[float | None]) -> float | None:
    known = [item for item in sample if item is not None]
    return fmean(known) if known and len(known) == len(sample) else None


def _deviation(sample: Sequence[float | None]) -> float | None:
    known = [item for item in sample if item is not None]
    return stdev(known) if len(known) == len(sample) > 1 else None
