"""How many of the four services use each link, all at once on a torus of 64 servers. `[camcube §3.5, Fig. 5]`"""

from __future__ import annotations

import random

from cubeyard.emulation.figures.camcube_fig2 import OWN
from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, line
from cubeyard.emulation.figures.talk import Talk, newer
from cubeyard.emulation.figures.torus import Members, at_paper_size, at_this_size, key, lines_of, store, told, trial

FIGURE = "camcube-fig5"
SIDE = 4
SERVERS = SIDE**3
PAIRS = SERVERS // 8
"""1,000 pairs of 8,000 servers."""
JOINED = 0.5
PACKETS = 200
PAYLOAD = 1000
FILE = "a line of the file\n" * 500
SERVICES = ("benchmark", "cache", "distribution", "aggregation")
OBJECT = "object"
ANSWERS = "answers of lookups cross links too; the computed figure counts lookups alone"


def measure(lab: Lab) -> Outcome:
    used: dict[str, dict[tuple[int, int], int]] = {}
    hops: list[tuple[int, int]] = []

    def talk(to: Talk) -> None:
        hops.extend(to.hops)
        used.update(_all_at_once(to))

    lab.measure([trial("four services at once", SIDE, talk, 12.0)])
    by_number = [0] * (len(SERVICES) + 1)
    for hop in hops:
        by_number[sum(hop in used[service] for service in SERVICES)] += 1
    shares = [count / len(hops) for count in by_number]
    small, paper_size = at_this_size(lab, FIGURE, SIDE, 10), at_paper_size(lab, FIGURE, 3)
    model = small["series"][0]["y"]
    most = max(range(len(shares)), key=shares.__getitem__)
    of_used = 100 * shares[1] / max(1 - shares[0], 1e-9)
    model_of_used = 100 * model[1] / (1 - model[0])
    return Outcome(
        rows=[
            told(
                "services of most links",
                "",
                float(most),
                0.0,
                2.0,
                f"the paper: one; {_shares(model)} by the model at this size",
            ),
            told(
                "links of one service, share of those used",
                "%",
                of_used,
                0.0,
                100.0,
                f"the model at this size: {model_of_used:.0f} %; the paper: the majority, of 8,000 servers. {ANSWERS}",
            ),
            told(
                "links of three or four services over those of one",
                "x",
                (shares[3] + shares[4]) / max(shares[1], 1e-9),
                0.0,
                1.0,
                "few, the text says of 8,000 servers; a small torus has more of them",
            ),
            *(
                told(
                    f"links that {name} uses",
                    "%",
                    100 * len(used[service]) / len(hops),
                    0.0,
                    100.0,
                    "of all directions of links",
                )
                for service, name in zip(
                    SERVICES, ("TCP/IP", "the cache", "VM distribution", "aggregation"), strict=True
                )
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
