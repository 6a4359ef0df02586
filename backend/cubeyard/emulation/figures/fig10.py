"""Per-server throughput of four traffic patterns, BCube compared with the tree, with TCP.
`[bcube §7.5, Fig. 10]`"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
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
    transfer,
)

GIGABYTES = 10.0
SHUFFLED_GIGABYTES = 5.0
"""Data of the all-to-all: half of the paper's, because only the rate matters."""
CPU = "the testbed relayed by CPU; here the kernel does, and nearly nothing is lost"
FIRST_CHOICE = (
    "both transfers of the receivers begin at once and one takes a path through the source's busy link, until BSR looks for a "
    "better one after ten of the testbed's seconds; looking every two seconds gives 47.0 s and 1.87 times"
)
PATTERNS = ("one-to-one", "one-to-several", "one-to-all", "all-to-all")


def trials(brevity: float) -> list[Trial]:
    """Trials of both structures, one pattern after the other."""
    across = {"kind": "one-to-one", "source": "00", "destination": "13"}
    across_tree = {"kind": "one-to-one", "source": "0.0", "destination": "1.3"}
    several = {"kind": "one-to-several", "source": "00", "destinations": ["01", "10"]}
    several_tree = {"kind": "one-to-several", "source": "0.0", "destinations": ["0.1", "1.0"]}
    every, every_tree = ({"kind": "one-to-all", "source": source} for source in ("00", "0.0"))
    half, whole = GIGABYTES / 2, GIGABYTES

    def sent(name: str, spec: Json, workload: Json, gigabytes: float, secs: float, **more: object) -> Trial:
        return transfer(name, spec, workload, gigabytes, secs, brevity, **more)

    return [
        sent("one-to-one, BCube", BCUBE, across, half, 45.0, connections=2),
        sent("one-to-one, tree", TREE, across_tree, half, 87.0, connections=2),
        sent("one-to-several, BCube", BCUBE, several, half, 47.9, delivery="complete-graph"),
        sent("one-to-several, tree", TREE, several_tree, whole, 89.0, delivery="pipeline"),
        sent("one-to-all, BCube", BCUBE, every, half, 53.0, delivery="spanning-trees"),
        sent("one-to-all, tree", TREE, every_tree, whole, 97.0, delivery="pipeline"),
        all_to_all("all-to-all, BCube", BCUBE, brevity, SHUFFLED_GIGABYTES),
        all_to_all("all-to-all, tree", TREE, brevity, SHUFFLED_GIGABYTES),
    ]


def measure(lab: Lab) -> Outcome:
    result = lab.measure(trials(lab.brevity))
    gbps = {name: _gbps(lab, item) for name, item in result.items()}
    several = {name: _secs(lab, result[f"one-to-several, {name}"]) for name in ("BCube", "tree")}
    return Outcome(
        rows=[
            near("one-to-one, BCube", "Gb/s", 1.93, gbps["one-to-one, BCube"], 0.1),
            near("one-to-one, tree", "Gb/s", 0.99, gbps["one-to-one, tree"], 0.1),
            _ratio("one-to-one", 1.95, gbps, 1.7, 2.1),
            near("one-to-several, BCube", "s", 47.9, several["BCube"], 0.15, FIRST_CHOICE),
            near("one-to-several, tree", "s", 89.0, several["tree"], 0.15),
            _ratio("one-to-several", 1.9, gbps, 1.7, 2.1, FIRST_CHOICE),
            near("one-to-all, BCube", "Gb/s", 1.6, gbps["one-to-all, BCube"], 0.25, CPU),
            near("one-to-all, tree", "Gb/s", 0.88, gbps["one-to-all, tree"], 0.15, CPU),
            _ratio("one-to-all", 1.8, gbps, 1.7, 2.1),
            near("all-to-all, BCube", "Gb/s", 0.75, gbps["all-to-all, BCube"], 0.4, CPU),
            near("all-to-all, tree", "Gb/s", 0.26, gbps["all-to-all, tree"], 0.25),
            _ratio("all-to-all", 2.9, gbps, 2.5, 3.8),
        ],
        series=[
            line(f"{name}, measured", range(1, 5), [gbps[f"{pattern}, {name}"] for pattern in PATTERNS])
            for name in ("BCube", "tree")
        ]
        + [
            line("paper: BCube", range(1, 5), [1.93, GIGABYTES * GB * 8e-9 / 47.9, 1.6, 0.75], paper=True),
            line("paper: tree", range(1, 5), [0.99, GIGABYTES * GB * 8e-9 / 89.0, 0.88, 0.26], paper=True),
        ],
        axes=("1 one-to-one, 2 one-to-several, 3 one-to-all, 4 all-to-all", "throughput of a server (Gb/s)"),
        choices=[
            LINKS_CHOICE,
            TREE_CHOICE,
            "one-to-one: two connections with half the data each; the tree's to a server on another switch",
            "one-to-several: complete graph among 00, 01 and 10; the tree: a pipeline over servers on two switches",
            "one-to-all: two edge-disjoint spanning trees; the tree: a pipeline from server i to i+1",
            "all-to-all with half of the paper's data",
        ],
    )


def _secs(lab: Lab, measured: Measured) -> float | None:
    return None if measured.end_secs is None else paper_secs(measured.end_secs, lab.brevity)


def _gbps(lab: Lab, measured: Measured) -> float | None:
    """Throughput: the source's data (in an all-to-all each server's) divided by the duration."""
    if measured.end_secs is None:
        return None
    shuffle = measured.trial.workload["kind"] == "all-to-all"
    gigabytes = SHUFFLED_GIGABYTES if shuffle else GIGABYTES
    return paper_gbps(gigabytes * GB / DATA_SCALE * lab.brevity * 8 / measured.end_secs)


def _ratio(pattern: str, paper: float, gbps: dict[str, float | None], low: float, high: float, reason: str = "") -> Row:
    bcube, tree = gbps[f"{pattern}, BCube"], gbps[f"{pattern}, tree"]
    ours = bcube / tree if bcube and tree else None
    return Row(f"{pattern}, BCube over the tree", "times", paper, ours, low, high, 0.1, reason)
