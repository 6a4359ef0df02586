"""All-to-all among the twenty servers of a DCell_1 over time, compared with a two-level tree, with
TCP. `[dcell §7.3, Fig. 12]`

Links are twenty times slower than the testbed's and the amount of data is a two-thousandth, so that
time runs a hundred times as fast. Results are scaled to the testbed.
"""

from __future__ import annotations

import numpy as np
import orjson

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.testbed import GB

PREDICTED = "dcell-fig12"
DCELL: Json = {"family": "dcell", "n": 4, "k": 1}
TREE: Json = {"family": "tree", "edge_ports": 4, "root_ports": 8, "servers": 20}
GIGABYTES = 5.0
LINK_BITS_PER_SEC = 50e6
RATE_SCALE = 1e9 / LINK_BITS_PER_SEC
DATA_SCALE = 2000
TIME_SCALE = DATA_SCALE / RATE_SCALE
EXPECTED_SECS = {"DCell": 1700.0, "tree": 4000.0}
SLACK = 3.0
MTU = 9000
WINDOW_SECS = 0.25
ONE_HOP = 20
"""Number of connections, in both directions, between servers joined by a level-1 cable."""
CPU = "the testbed's CPUs were at 100 % with forwarding; here the kernel relays on slower links"
PAUSE = "switches of the testbed hold senders up by flow control; bridges here drop, so that connections within a switch go on"


def _trial(name: str, spec: Json, brevity: float) -> Trial:
    expected = EXPECTED_SECS[name] / TIME_SCALE * brevity
    settings: Json = {
        "flow_bytes": round(GIGABYTES * GB / DATA_SCALE * brevity),
        "seconds": max(SLACK * expected, 10.0),
        "settle_secs": 0.0,
        "calibrate_secs": 0.5,
        "mtu": MTU,
    }
    return Trial(name, spec, {"kind": "all-to-all"}, LINK_BITS_PER_SEC, settings, expect_secs=expected)


def measure(lab: Lab) -> Outcome:
    result = lab.measure([_trial("DCell", DCELL, lab.brevity), _trial("tree", TREE, lab.brevity)])
    dcell, tree = result["DCell"], result["tree"]
    dcell_secs, tree_secs = (_paper_secs(lab, item.end_secs) for item in (dcell, tree))
    ratio = tree_secs / dcell_secs if dcell_secs and tree_secs else None
    first, share = _one_hop(dcell)
    predicted = orjson.loads(lab.engine.figure_json(PREDICTED, 1))
    return Outcome(
        rows=[
            near("DCell is over", "s", 2270.0, dcell_secs, 0.4, CPU),
            near("the tree is over", "s", 4460.0, tree_secs, 0.4, PAUSE),
            Row("the tree's time over DCell's", "times", 1.96, ratio, 1.8, 2.5, 0.01, CPU),
            Row("one-hop connections of level 1 among the first 20 that are over", "", 20.0, first, 18.0, 20.0, 1.0),
            Row("they are over after this share of the time", "%", 15.4, share, 7.0, 20.0, 0.1),
            Row("DCell's greatest throughput", "Gb/s", 9.6, _peak(lab, dcell), 9.6, 22.0, 0.1, CPU),
            Row("the tree's greatest throughput", "Gb/s", 3.6, _peak(lab, tree), 3.6, 12.0, 0.1, PAUSE),
        ],
        series=[
            _curve(lab, "DCell, measured", dcell),
            _curve(lab, "tree, measured", tree),
            *({**item, "name": f"{item['name']}, ideal fluid"} for item in predicted["series"] if not item["paper"]),
            *(item for item in predicted["series"] if item["paper"]),
        ],
        axes=("time (s)", "aggregate throughput (Gb/s)"),
        choices=[
            "links of 50 Mb/s for the testbed's 1 Gb/s and a two-thousandth of its data: time runs a hundred times as fast; rates "
            "and seconds are told as of the testbed",
            "the tree is bridges alone on the same shaped links: its servers forward nothing and have no DCN header",
            f"a point of a measured line is the mean of {WINDOW_SECS:g} s here",
        ],
    )


def _paper_secs(lab: Lab, secs: float | None) -> float | None:
    return None if secs is None else secs * TIME_SCALE / lab.brevity


def _gbps(bits_per_sec: float) -> float:
    """Rate in Gb/s, scaled to the testbed's links."""
    return bits_per_sec * RATE_SCALE / 1e9


def _one_hop(measured: Measured) -> tuple[float | None, float | None]:
    """For connections over a single level-1 cable: how many of them are among the first ONE_HOP to
    end, and when the last of them ended, in per cent of the whole time."""
    end = measured.end_secs
    if end is None:
        return None, None
    flows, servers = measured.network["flows"], measured.network["servers"]
    links, ids = measured.network["links"], set(servers["id"])
    joined = {frozenset(ends) for ends in zip(links["a"], links["b"], strict=True) if ids >= set(ends)}
    pairs = list(zip(flows["source"], flows["destination"], strict=True))
    direct = np.array([frozenset(pair) in joined for pair in pairs])
    ends = measured.ends_secs
    first = np.argsort(ends, kind="stable")[:ONE_HOP]
    return float(direct[first].sum()), float(100 * ends[direct].max() / end)


def _curve(lab: Lab, name: str, measured: Measured) -> Json:
    x, y = measured.curve(WINDOW_SECS * lab.brevity)
    return line(name, [item * TIME_SCALE / lab.brevity for item in x], [_gbps(item) for item in y])


def _peak(lab: Lab, measured: Measured) -> float | None:
    _, y = measured.curve(WINDOW_SECS * lab.brevity)
    return _gbps(max(y)) if y else None
