"""Packets with each service's own protocol, compared with the routing service, on a torus of 64
servers. `[camcube §3.5, Fig. 4]`"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from statistics import mean

from cubeyard.emulation.figures.camcube_fig2 import BASE, OWN
from cubeyard.emulation.figures.camcube_fig3 import BATCH, draw, model
from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, Row, line
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import (
    MODEL_SEED,
    SEEDS,
    Members,
    aggregate,
    around,
    at_paper_size,
    at_this_size,
    flood,
    join,
    joined,
    look_up,
    send_to_one,
    spread,
    store,
    told,
    torus,
    trial,
    within,
)

FIGURE = "camcube-fig4"
SIDE = 4
SERVERS = SIDE**3
SERVICES = ("TCP/IP", "VM 0.1", "VM 0.5", "Cache", "Aggregation")
DESTINATIONS = 12
MILLIS = 300
PAYLOAD = 1400
LOOKUPS = 900
TREES = 3
TREE_SHARES = {"VM 0.1": 0.1, "VM 0.5": 0.5}
AGAINST = "{}: own protocol over the routing service"
MEETING = (
    "on paths this short the routing service loses few packets where its paths meet, and the longer disjoint paths are not made up "
    "for: in the figure's 8,000 servers they are"
)
FEW = "members this few and near share hardly a link, by whatever way they join"


@dataclass
class Counts:
    """Packets on links for one service: with its own protocol, and with the routing service."""

    own: list[float] = field(default_factory=list)
    base: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return mean(self.own) / mean(self.base)


def measure(lab: Lab) -> Outcome:
    result = {service: Counts() for service in SERVICES}
    destinations = random.Random(7).sample(range(1, SERVERS), max(round(DESTINATIONS * lab.brevity), 2))  # noqa: S311
    lookups = draw(max(round(LOOKUPS * lab.brevity), 120), 11)
    trees = max(round(TREES * lab.brevity), 1)

    def talk(to: Talk) -> None:
        for destination in destinations:
            for counts, mode in ((result["TCP/IP"].base, "routed"), (result["TCP/IP"].own, "disjoint")):
                sent = flood(to, SIDE, destination, mode, MILLIS, PAYLOAD, count=True)
                counts.append(sent.carried / sent.packets)
        group = 0
        for service, share in TREE_SHARES.items():
            for seed in range(trees):
                drawn = Members.draw(SERVERS, share, seed)
                for counts, verb in ((result[service].base, BASE), (result[service].own, OWN)):
                    counts.append(len(join(to, SIDE, group, drawn.root, drawn.members, verb)))
                    group += 1
        store(to, sorted({name for _, name in lookups}))
        for begin in range(0, len(lookups), BATCH):
            batch = lookups[begin : begin + BATCH]
            result["Cache"].base += look_up(to, batch, "straight")
            result["Cache"].own += look_up(to, batch)
        result["Aggregation"].base.append(sum(send_to_one(to, SIDE).values()))
        result["Aggregation"].own.append(sum(aggregate(to, SIDE, 1, "full")[0].values()))

    lab.measure([trial("services one by one", SIDE, talk, 2.0 * len(destinations) + 0.012 * len(lookups) + 25)])
    small = {item["name"]: item["y"][0] for item in at_this_size(lab, FIGURE, SIDE)["series"]}
    paper_size = {item["name"]: item["y"][0] for item in at_paper_size(lab, FIGURE)["series"]}
    cache = _cache(lab, result["Cache"].ratio, len(lookups), small["Cache"], paper_size["Cache"])
    x = [float(at) for at in range(1, len(SERVICES) + 1)]
    return Outcome(
        rows=[
            _tcp(lab, result["TCP/IP"].ratio, len(destinations), small["TCP/IP"], paper_size["TCP/IP"]),
            *(
                _trees(lab, service, share, result[service].ratio, trees, paper_size[service])
                for service, share in TREE_SHARES.items()
            ),
            cache,
            told(
                AGAINST.format("Aggregation"),
                "x",
                result["Aggregation"].ratio,
                small["Aggregation"],
                small["Aggregation"],
                f"packets of both are counted by the distances: {small['Aggregation']:.3f} at this size; of 8,000 servers "
                f"{paper_size['Aggregation']:.2f}, in the paper less than 1",
            ),
        ],
        series=[
            line("64 servers, measured", x, [result[service].ratio for service in SERVICES]),
            line("64 servers, model", x, [small[service] for service in SERVICES]),
            line("8,000 servers, model", x, [paper_size[service] for service in SERVICES]),
        ],
        axes=(
            ", ".join(f"{at} {service}" for at, service in enumerate(SERVICES, start=1)),
            "packets over the routing service's (x)",
        ),
        choices=[
            f"64 servers. TCP/IP: to {len(destinations)} drawn servers, {MILLIS / 1000:g} s each way of sending; packets on all links for one "
            "that arrived. What the routing service loses is not sent again; the ratio is the same",
            f"VM: links that joins crossed, of {trees} drawn trees; cache: links that {len(lookups)} lookups crossed until they hit, answers "
            "not counted; aggregation: one key of every server to (0,0,0)",
        ],
    )


def _tcp(lab: Lab, ours: float, destinations: int, every: float, paper_size: float) -> Row:
    """TCP compared with the model for the same number of random destinations."""
    reached = lab.engine.torus_services(torus(SIDE), {"source": 0})["source"]
    draws = random.Random(MODEL_SEED)  # noqa: S311 - the same every time
    samples = [draws.sample(reached, destinations) for _ in range(SEEDS)]

    def ratios(carried: str, delivered: str) -> list[float]:
        own = [mean(item["carried_by_paths"] / item["paths"] for item in sample) for sample in samples]
        base = [mean(item[carried] / item[delivered] for item in sample) for sample in samples]
        return [item / other for item, other in zip(own, base, strict=True)]

    first = ratios("carried_by_first_ways", "delivered_by_first_ways")
    why = (
        f"{destinations} destinations each, over {SEEDS} seeds; of all destinations {every:.2f}, of 8,000 servers {paper_size:.2f}, in the paper "
        f"less than 1. Higher here: {MEETING}"
    )
    return within(AGAINST.format("TCP/IP"), "x", ours, first, ratios("carried", "delivered"), why)


def _trees(lab: Lab, service: str, share: float, ours: float, trees: int, paper_size: float) -> Row:
    """A service's trees compared with the model of the same trees."""
    first, by_links = joined(lab, SIDE, [Members.draw(SERVERS, share, seed) for seed in range(trees)])
    drawn = [link.ratio for link in by_links]
    why = (
        f"of the same {trees} trees, links drawn {SEEDS} times; of 8,000 servers {paper_size:.2f}, in the paper less than 1. "
        f"Higher here: {FEW}"
    )
    return within(AGAINST.format(service), "x", ours, around(first.ratio, drawn), drawn, why)


def _cache(lab: Lab, ours: float, lookups: int, many: float, paper_size: float) -> Row:
    """The cache compared with the model for the same number of lookups: copies are made on demand,
    so the ratio decreases with that number."""
    first, drawn = (model(lab, lookups, first_way=first_way) for first_way in (True, False))
    low, high = spread([item.ratio for item in first])
    ratios = [mean(item.ratio for item in each) for each in (first, drawn)]
    why = (
        f"the model of {lookups} lookups whose packets take the first of several links: {ratios[0]:.2f}; with drawn links {ratios[1]:.2f}. The figure's "
        f"800,000 lookups among 8 million keys give {many:.2f} at this size, when most find a copy, and {paper_size:.2f} of 8,000 servers; in the "
        "paper less than 1"
    )
    return told(AGAINST.format("Cache"), "x", ours, low, high, why)
