"""Number of links in the trees that joins create, on a torus of 64 servers.
`[camcube §3.2, Fig. 2]`"""

from __future__ import annotations

from statistics import mean

from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, Row, line
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import (
    SEEDS,
    Members,
    around,
    at_paper_size,
    at_this_size,
    join,
    joined,
    lines_of,
    told,
    torus,
    trial,
    within,
)

FIGURE = "camcube-fig2"
SIDE = 4
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0)
TREES = 5
BASE, OWN = "join-routed", "join"


def measure(lab: Lab) -> Outcome:
    seeds = max(round(TREES * lab.brevity), 1)
    drawn = [Members.draw(SIDE**3, share, seed) for share in SHARES for seed in range(seeds)]
    trees: dict[str, list[set[tuple[int, int]]]] = {OWN: [], BASE: []}

    def talk(to: Talk) -> None:
        for group, item in enumerate(drawn):
            for offset, verb in enumerate((OWN, BASE)):
                trees[verb].append(join(to, SIDE, 2 * group + offset, item.root, item.members, verb))

    lab.measure([trial("joins", SIDE, talk, 1.6 * len(drawn))])
    request = [{"root": item.root, "members": item.members, "seed": at} for at, item in enumerate(drawn)]
    models = lab.engine.torus_services(torus(SIDE), {"joins": request})["joins"]
    differ = {
        verb: sum(len(tree ^ _edges(model[name])) for tree, model in zip(trees[verb], models, strict=True))
        for verb, name in ((OWN, "own"), (BASE, "base"))
    }
    gains = [1 - len(own) / max(len(base), 1) for own, base in zip(trees[OWN], trees[BASE], strict=True)]
    modelled = [1 - len(model["own"]) / len(model["base"]) for model in models]
    by_share = [_of(share, drawn, gains) for share in SHARES]
    models_by_share = [_of(share, drawn, modelled) for share in SHARES]
    by_links = {
        share: [item.saved for item in joined(lab, SIDE, [item for item in drawn if item.share == share])[1]]
        for share in SHARES[:-1]
    }
    edges = sum(len(tree) for tree in trees[OWN])
    by_drawn = sum(len(_edges(model["base"]) ^ _edges(model["base_drawn"])) for model in models)
    return Outcome(
        rows=[
            told(
                f"of {edges} links of the service's trees, other than the model's",
                "",
                float(differ[OWN]),
                0.0,
                0.0,
                "edge for edge",
            ),
            told(
                f"of {sum(len(tree) for tree in trees[BASE])} links of the base's trees, other than the model's",
                "",
                float(differ[BASE]),
                0.0,
                float(by_drawn),
                "the first free link: one that is busy with another join is passed over. Were each link drawn from all on shortest "
                f"paths, {by_drawn} would be others",
            ),
            Row("reduction when all servers join", "", 0.0, by_share[-1], -0.001, 0.001, 0.001),
            *(
                within(
                    f"reduction when {share:.0%} of the servers join",
                    "",
                    ours,
                    around(model, by_links[share]),
                    by_links[share],
                    f"of the same {seeds} trees, links drawn {SEEDS} times",
                )
                for share, ours, model in zip(SHARES[:-1], by_share, models_by_share, strict=False)
            ),
        ],
        series=[
            line("64 servers, measured", SHARES, by_share),
            line("64 servers, the model of the same joins", SHARES, models_by_share),
            *lines_of(at_this_size(lab, FIGURE, SIDE), "64 servers, flow engine"),
            *lines_of(at_paper_size(lab, FIGURE), "8,000 servers, flow engine"),
            line("paper: all servers join", [1.0], [0.0], paper=True),
        ],
        axes=("share of servers that join", "share of links saved"),
        choices=[
            f"64 servers; at each share {seeds} drawn roots and members, who join by the service's protocol and, another group, by the "
            "routing service. Links are those that joins crossed, from the counters of each port",
            "idle links are polled in a fixed order, so the base takes the first link on a shortest path: the base of the computed figure",
        ],
    )


def _edges(tree: list[list[int]]) -> set[tuple[int, int]]:
    return {(child, parent) for child, parent in tree}


def _of(share: float, drawn: list[Members], gains: list[float]) -> float:
    return mean(gain for members, gain in zip(drawn, gains, strict=True) if members.share == share)
