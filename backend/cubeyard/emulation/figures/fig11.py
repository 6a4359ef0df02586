"""All-to-all among sixteen servers over time, BCube compared with the tree, with TCP.
`[bcube §7.5, Fig. 11]`"""

from __future__ import annotations

import orjson

from cubeyard.emulation.figures.lab import Json, Lab, Measured
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.testbed import (
    BCUBE,
    DATA_SCALE,
    GB,
    LINKS_CHOICE,
    TREE,
    TREE_CHOICE,
    all_to_all,
    paper_gbps,
    paper_secs,
)

PREDICTED = "bcube-fig11"
WINDOW_SECS = 0.5
SERVERS = 16
CPU = "the testbed's CPUs were busy with relaying: its links carried 626 Mb/s each. Here the kernel relays"


def measure(lab: Lab) -> Outcome:
    result = lab.measure([all_to_all("BCube", BCUBE, lab.brevity), all_to_all("tree", TREE, lab.brevity)])
    bcube, tree = result["BCube"], result["tree"]
    bcube_secs, tree_secs = _over(lab, bcube), _over(lab, tree)
    rate_bcube, rate_tree = (_server_mbps(lab, item) for item in (bcube, tree))
    predicted = orjson.loads(lab.engine.figure_json(PREDICTED, 1))
    ratio = tree_secs / bcube_secs if bcube_secs and tree_secs else None
    return Outcome(
        rows=[
            near("BCube is over", "s", 114.0, bcube_secs, 0.3, CPU),
            near("the tree is over", "s", 332.0, tree_secs, 0.2),
            Row("BCube is faster than the tree", "times", 2.9, ratio, 2.5, 3.8, 0.1, "the paper says about 3 times"),
            near("BCube, each server", "Mb/s", 750.0, rate_bcube, 0.4, CPU),
            near("the tree, each server", "Mb/s", 260.0, rate_tree, 0.25),
            near(
                "the tree's connections within a switch are over",
                "s",
                39.0,
                _local_secs(lab, tree),
                0.4,
                "TCP flows of short way take what those over the root leave; an ideal fluid is over at 23 s",
            ),
        ],
        series=[
            _curve(lab, "BCube, measured", bcube),
            _curve(lab, "tree, measured", tree),
            *({**item, "name": f"{item['name']}, ideal fluid"} for item in predicted["series"] if not item["paper"]),
            *(item for item in predicted["series"] if item["paper"]),
        ],
        axes=("time (s)", "total throughput (Gb/s)"),
        choices=[LINKS_CHOICE, TREE_CHOICE, f"a point of a measured line is the mean of {WINDOW_SECS:g} s here"],
    )


def _over(lab: Lab, measured: Measured) -> float | None:
    return None if measured.end_secs is None else paper_secs(measured.end_secs, lab.brevity)


def _server_mbps(lab: Lab, measured: Measured) -> float | None:
    """Rate of each server, averaged over the whole transfer."""
    if measured.end_secs is None:
        return None
    sent_bytes = 10.0 * GB / DATA_SCALE * lab.brevity
    return paper_gbps(sent_bytes * 8 / measured.end_secs) * 1e3


def _local_secs(lab: Lab, tree: Measured) -> float | None:
    """When the last connection between two servers on one switch has ended."""
    flows, servers = tree.network["flows"], tree.network["servers"]
    names = dict(zip(servers["id"], servers["name"], strict=True))
    edge = {item: name.split(".")[0] for item, name in names.items()}
    local = [
        i
        for i, ends in enumerate(zip(flows["source"], flows["destination"], strict=True))
        if edge[ends[0]] == edge[ends[1]]
    ]
    last = float(tree.ends_secs[local].max())
    return paper_secs(last, lab.brevity) if last < float("inf") else None


def _curve(lab: Lab, name: str, measured: Measured) -> Json:
    x, y = measured.curve(WINDOW_SECS * lab.brevity)
    return line(name, [paper_secs(item, lab.brevity) for item in x], [paper_gbps(item) for item in y])
