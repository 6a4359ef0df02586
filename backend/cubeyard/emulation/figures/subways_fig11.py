"""A shuffle of four racks with two, three and four ports per server: its speedup over type 0 with
the same number of ports. `[subways §8.6, Fig. 11]`"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cubeyard.emulation.figures.lab import Json, Lab
from cubeyard.emulation.figures.rows import Outcome, Row, line
from cubeyard.emulation.figures.shuffles import (
    CHOICES,
    SERVERS_OF_RACK,
    beside_fluid,
    ended,
    fluid_secs,
    job,
    spec,
    speedup,
    trial,
)

RACKS_OF_LOOP = 6
RACKS = 4
PORTS = (2, 3, 4)
FLOW_BYTES = 2.4e6
"""Three times as much as in other figures: with fewer bytes, a job would end before LB has rebound
a few times."""
VARIANTS = ((1, "ecmp", "Type 1"), (1, "lb", "Type 1LB"))
WORDS = "the text gives no number here, only what grows and what shrinks"


def name_of(title: str, ports: int) -> str:
    return f"{title}, {ports} ports"


def asked(lab: Lab) -> dict[str, tuple[Json, Json, str]]:
    """Plan, job and balance of each shuffle. The number of aggregation switches grows with the
    ports, to keep ToRs at 4:1."""
    result = {}
    for ports in PORTS:
        more: Json = {"p": ports, "q": ports * SERVERS_OF_RACK, "aggs_per_cluster": ports}
        for wiring_type, balance, title in ((0, "ecmp", "Type 0"), *VARIANTS):
            plan = spec(wiring_type, RACKS_OF_LOOP, 1, **more)
            result[name_of(title, ports)] = (plan, job(lab, plan, range(RACKS)), balance)
    return result


def measure(lab: Lab) -> Outcome:
    shuffles = asked(lab)
    result = lab.measure([trial(lab, name, *of, FLOW_BYTES) for name, of in shuffles.items()])
    fluid = {name: fluid_secs(lab, *of, FLOW_BYTES) for name, of in shuffles.items()}
    ours: dict[str, list[float | None]] = {}
    ideal: dict[str, list[float]] = {}
    for _, _, title in VARIANTS:
        pairs = [(name_of("Type 0", ports), name_of(title, ports)) for ports in PORTS]
        ours[title] = [speedup(result[before], result[after]) for before, after in pairs]
        ideal[title] = [fluid[before] / fluid[after] for before, after in pairs]
    return Outcome(
        rows=rows(ours, ideal),
        series=[
            *(line(f"{title}, measured", PORTS, of) for title, of in ours.items()),
            *(line(f"{title}, ideal fluid", PORTS, of) for title, of in ideal.items()),
        ],
        axes=("ports per server", "speedup over type 0"),
        choices=[
            *CHOICES,
            f"2.4 MB a flow here: a job lasts some ten periods of LB. {RACKS} of {RACKS_OF_LOOP} racks of a loop in one cluster; two, three and four ports for the paper's two, four and six, and as "
            "many aggregation switches. Each point stands beside type 0 with as many ports",
            ended(result, shuffles),
        ],
    )


def rows(ours: Mapping[str, Sequence[float | None]], ideal: Mapping[str, Sequence[float]]) -> list[Row]:
    """Rows for the text's claims, then for the flow engine's speedups of the same scaled
    network."""
    plain, by_load = ours["Type 1"], ours["Type 1LB"]
    adds = [b / a if a and b else None for a, b in zip(plain, by_load, strict=True)]
    shrinks = adds[-1] / adds[0] if adds[0] and adds[-1] else None
    grows = plain[-1] / plain[0] if plain[0] and plain[-1] else None
    matches = [
        Row("what LB adds, 4 ports over 2: less than", "x", None, shrinks, 0.0, 1.0, reason=WORDS),
        Row("type 1, 4 ports over 2: more than", "x", None, grows, 1.0, 3.0, reason=WORDS),
    ]
    return matches + [
        beside_fluid(f"{name_of(title, ports)}, by the ideal fluid", balance, expected, got)
        for _, balance, title in VARIANTS
        for ports, expected, got in zip(PORTS, ideal[title], ours[title], strict=True)
    ]
