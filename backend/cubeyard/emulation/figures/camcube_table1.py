"""Links of the aggregation service on the testbed's torus of 27 servers, counted on the links.
`[camcube §3.4, Table 1]`"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, Row
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import (
    STRESS,
    TESTBED,
    Stress,
    aggregate,
    at_paper_size,
    send_to_one,
    told,
    torus,
    trial,
)

FIGURE = "camcube-table1"
EXPECT_SECS = 4.0
SEEDS = 100
"""Number of seeds for the routing service's choice of links, for the band of expected values."""
NAMES = {"none": "Aggregation, none", "full": "Aggregation, full", "routed": "Routing service"}


def measure(lab: Lab) -> Outcome:
    result: dict[str, Stress] = {}
    sums: dict[str, str] = {}

    def talk(to: Talk) -> None:
        for job, mode in enumerate(("none", "full"), start=1):
            hops, sums[mode] = aggregate(to, TESTBED, job, mode)
            result[mode] = Stress.of(hops.values())
        result["routed"] = Stress.of(send_to_one(to, TESTBED).values())

    lab.measure([trial("Table 1", TESTBED, talk, EXPECT_SECS)])
    request = {"aggregation": {"root": 0, "seeds": SEEDS}}
    computed = lab.engine.torus_services(torus(TESTBED), request)["aggregation"]
    models = {
        "none": [Stress.computed(computed["none"])],
        "full": [Stress.computed(computed["full"])],
        # Idle links are polled in the fixed order of the axes, which gives the same links as
        # without aggregation.
        "routed": [Stress.computed(item) for item in [computed["none"], *computed["routed"]]],
    }
    paper = {row["name"]: row for row in at_paper_size(lab, FIGURE)["rows"]}
    return Outcome(
        rows=[
            *(
                _row(
                    f"{NAMES[mode]}: {cell}", result[mode].cells[at], [model.cells[at] for model in models[mode]], paper
                )
                for mode in NAMES
                for at, cell in enumerate(STRESS)
            ),
            told("pairs of other keys in the sum, none", "", _keys(sums["none"]), 27.0, 27.0, "one of every server"),
            told("pairs in the sum of the one key, full", "", _count(sums["full"]), 27.0, 27.0, "one of every server"),
        ],
        choices=[
            "27 servers instead of 8,000; every server sends one pair to (0,0,0). A link's packets are those that its end has sent for "
            "the service, from the counters of each port; hellos and link state are not among them",
            "the routing service is the benchmark service's plainest function F: the next key is the destination",
            f"of the routing service's free links {SEEDS} draws of the model give the band, and the fixed order in which links are polled that "
            "are all idle, as here: then the routing service takes the links of the aggregation without merging",
        ],
    )


def _row(name: str, ours: float, models: list[float], paper: dict[str, dict[str, float]]) -> Row:
    at_8000 = paper[name]
    low, high = min(models), max(models)
    model = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    why = f"the model at this size: {model}; of 8,000 servers {at_8000['ours']:g}, in the paper {at_8000['paper']:g}"
    return told(name, "", ours, low, high, why)


def _keys(answer: str) -> float:
    return float(len(answer.splitlines()) - 1)


def _count(answer: str) -> float:
    return float(answer.rsplit(maxsplit=1)[-1])
