"""A shuffle of growing jobs, in one loop and divided between two: its speedup over type 0 with the
same hardware. `[subways §8.3, Fig. 8]`"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Json, Lab
from cubeyard.emulation.figures.rows import Outcome, line
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

RACKS_OF_LOOP = 4
ONE_LOOP = (2, 3, 4)
"""Numbers of racks of a job. With one rack, no traffic leaves the ToR, so no wiring is faster."""
TWO_LOOPS = (1, 2)
"""Racks of a job in each of two loops in different clusters."""
CLUSTERS: Json = {"clusters": 2, "cores": 2}
SPREAD: Json = {"c": 2}
"""Type 2: the ToRs of a loop alternate between two clusters."""
PEAK, CROSS_PEAK = 3.1, 2.7
"""The paper's speedups in loops of 12: for jobs of 60 of 180 servers, and for type 2D over two
clusters."""

Variant = tuple[int, str, str]
IN_ONE: list[Variant] = [(1, "ecmp", "Type 1"), (1, "lb", "Type 1LB")]
IN_TWO: list[Variant] = [(2, "ecmp", "Type 2"), (2, "lb", "Type 2LB"), (2, "detour", "Type 2D")]


def name_of(title: str, loops: int, racks: int) -> str:
    return f"{title}, {loops * racks * SERVERS_OF_RACK} servers in {'one loop' if loops == 1 else 'two loops'}"


def asked(lab: Lab) -> dict[str, tuple[Json, Json, str]]:
    """Plan, job and balance of each shuffle."""
    result = {}
    for loops, sizes, variants in ((1, ONE_LOOP, IN_ONE), (2, TWO_LOOPS, IN_TWO)):
        for size in sizes:
            racks = [loop * RACKS_OF_LOOP + rack for loop in range(loops) for rack in range(size)]
            for wiring_type, balance, title in [(0, "ecmp", "Type 0"), *variants]:
                more = {**(CLUSTERS if loops == 2 else {}), **(SPREAD if wiring_type == 2 else {})}
                plan = spec(wiring_type, RACKS_OF_LOOP, 1, **more)
                result[name_of(title, loops, size)] = (plan, job(lab, plan, racks), balance)
    return result


def measure(lab: Lab) -> Outcome:
    shuffles = asked(lab)
    result = lab.measure([trial(lab, name, *of) for name, of in shuffles.items()])
    fluid = {name: fluid_secs(lab, *of) for name, of in shuffles.items()}
    rows, series = [], []
    for loops, sizes, variants in ((1, ONE_LOOP, IN_ONE), (2, TWO_LOOPS, IN_TWO)):
        servers = [loops * size * SERVERS_OF_RACK for size in sizes]
        before = [name_of("Type 0", loops, size) for size in sizes]
        for _, balance, title in variants:
            after = [name_of(title, loops, size) for size in sizes]
            ours = [speedup(result[item], result[other]) for item, other in zip(before, after, strict=True)]
            ideal = [fluid[item] / fluid[other] for item, other in zip(before, after, strict=True)]
            rows += [
                beside_fluid(name, balance, *row)
                for name, row in zip(after, zip(ideal, ours, strict=True), strict=True)
            ]
            where = "one loop" if loops == 1 else "two loops"
            series += [
                line(f"{title}, {where}, measured", servers, ours),
                line(f"{title}, {where}, ideal fluid", servers, ideal),
            ]
    return Outcome(
        rows=rows,
        series=series,
        axes=("servers of the job", "speedup over type 0"),
        choices=[
            *CHOICES,
            f"loops of {RACKS_OF_LOOP} racks, ToRs 4:1: the paper's loops of 12 at 5:1 peak at {PEAK} for 60 of 180 servers in one "
            f"loop, and at {CROSS_PEAK} for type 2D over two. Beside each speedup stands the flow engine's of this network",
            "towards hot racks the switches above ToRs divide what has come to them, where the fluid's sources choose",
            ended(result, shuffles),
        ],
    )
