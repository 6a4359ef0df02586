"""How many of the four services use each link while all run at the same time, on a torus of 64
servers. `[camcube §3.5, Fig. 5]`"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import mean

from cubeyard.emulation.figures.camcube_fig2 import OWN
from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, line
from cubeyard.emulation.figures.talk import Talk, newer
from cubeyard.emulation.figures.torus import (
    SEEDS,
    Members,
    at_paper_size,
    at_this_size,
    key,
    lines_of,
    store,
    told,
    torus,
    trial,
    within,
)

FIGURE = "camcube-fig5"
SIDE = 4
SERVERS = SIDE**3
PAIRS = SERVERS // 8
"""The paper has 1,000 pairs for 8,000 servers."""
JOINED = 0.5
PACKETS = 200
PAYLOAD = 1000
FILE = "a line of the file\n" * 500
SERVICES = ("benchmark", "cache", "distribution", "aggregation")
OBJECT = "object"
ALONE_SECS = 1.0
"""Duration before and after the services: all four end within a second, but the fidelity of the
flow needs more ticks."""


def measure(lab: Lab) -> Outcome:
    used: dict[str, dict[tuple[int, int], int]] = {}
    hops: list[tuple[int, int]] = []

    def talk(to: Talk) -> None:
        hops.extend(to.hops)
        to.watch(ALONE_SECS)
        used.update(_all_at_once(to))
        to.watch(ALONE_SECS)

    lab.measure([trial("four services at once", SIDE, talk, 12.0 + 2 * ALONE_SECS)])
    by_number = [0] * (len(SERVICES) + 1)
    for hop in hops:
        by_number[sum(hop in used[service] for service in SERVICES)] += 1
    shares = [count / len(hops) for count in by_number]
    small, paper_size = at_this_size(lab, FIGURE, SIDE, 10), at_paper_size(lab, FIGURE, 3)
    first, drawn = (_model(lab, first_way=first_way) for first_way in (True, False))
    most = max(range(len(shares)), key=shares.__getitem__)
    most_by_model = [max(range(len(item.links)), key=item.links.__getitem__) for item in (*first, *drawn)]
    where = "the model of what links carry here, answers of lookups and joins too, over {} seeds: {}"
    used_by = [100 * len(used[service]) / len(hops) for service in SERVICES]
    return Outcome(
        rows=[
            told(
                "services of most links",
                "",
                float(most),
                float(min(most_by_model)),
                float(max(most_by_model)),
                f"the paper: one; {where.format(SEEDS, _shares([mean(each) for each in zip(*(item.links for item in first), strict=True)]))}",
            ),
            within(
                "links of one service, share of those used",
                "%",
                100 * shares[1] / max(1 - shares[0], 1e-9),
                [item.of_used for item in first],
                [item.of_used for item in drawn],
                "the paper: the majority, of 8,000 servers",
            ),
            within(
                "links of three or four services over those of one",
                "x",
                (shares[3] + shares[4]) / max(shares[1], 1e-9),
                [item.many for item in first],
                [item.many for item in drawn],
                "few, the text says of 8,000 servers; a small torus has more of them",
            ),
            *(
                within(
                    f"links that {name} uses",
                    "%",
                    used_by[at],
                    [item.services[at] for item in first],
                    [item.services[at] for item in drawn],
                    "of all directions of links",
                )
                for at, name in enumerate(("TCP/IP", "the cache", "VM distribution", "aggregation"))
            ),
        ],
        series=[
            line("64 servers, measured", [float(at) for at in range(len(shares))], shares),
            *lines_of(small, "64 servers, model"),
            *lines_of(paper_size, "8,000 servers, model"),
        ],
        axes=("services that use a link", "share of links"),
        choices=[
            f"64 servers, all at once: {PAIRS} drawn pairs by disjoint paths, one object looked up by every server, half of the servers in a "
            "tree through which a file comes, all servers to one root with full aggregation",
            "a service uses a link if its counter of that port has risen; of the tree, joins and data both count, each in its direction",
        ],
    )


@dataclass(frozen=True)
class Modelled:
    """The model's results for one seed, in the order of `SERVICES`."""

    services: list[float]
    """Share of the links that each service uses, in percent."""
    links: list[float]
    """Shares of the links used by none, one, two, three and all services."""

    @property
    def of_used(self) -> float:
        return 100 * self.links[1] / (1 - self.links[0])

    @property
    def many(self) -> float:
        return (self.links[3] + self.links[4]) / self.links[1]


def _model(lab: Lab, *, first_way: bool) -> list[Modelled]:
    question = {"together": {"seeds": SEEDS, "first_way": first_way}}
    together = lab.engine.torus_services(torus(SIDE), question)["together"]
    return [Modelled([100 * share for share in item["services"]], item["links"]) for item in together]


def _all_at_once(talk: Talk) -> dict[str, dict[tuple[int, int], int]]:
    draws = random.Random(7)  # noqa: S311 - the same every time
    store(talk, [OBJECT])
    drawn = Members.draw(SERVERS, JOINED, 1)
    before = talk.hops_sent(SERVICES)
    pairs = [draws.sample(range(SERVERS), 2) for _ in range(PAIRS)]
    for source, destination in pairs:
        talk.tell(source, "benchmark", f"send {key(SIDE, destination)} disjoint {PACKETS} {PAYLOAD}")
    for member in drawn.members:
        talk.tell(member, "distribution", f"{OWN} 1 {key(SIDE, drawn.root)}")
    for server in range(SERVERS):
        talk.tell(server, "aggregation", f"count 1 {key(SIDE, 0)} full\npair")
        talk.tell(server, "cache", f"hops {OBJECT}")
    talk.tell(drawn.root, "distribution", f"send 1 {key(SIDE, drawn.root)}\n{FILE}")
    wanted = {"benchmark": len(set(map(tuple, pairs))), "aggregation": 1, "cache": SERVERS}
    wanted["distribution"] = len([member for member in drawn.members if member != drawn.root])
    talk.answers_of(wanted)
    after = talk.hops_sent(SERVICES)
    return {service: newer(after[service], before[service]) for service in SERVICES}


def _shares(model: list[float]) -> str:
    return ", ".join(f"{100 * share:.0f} % of {number}" for number, share in enumerate(model))
