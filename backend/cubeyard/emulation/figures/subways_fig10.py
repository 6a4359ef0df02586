"""A shuffle of six racks in loops of two, three and four: its speedup over type 0 with the same
hardware. `[subways §8.5, Fig. 10]`"""

from __future__ import annotations

from cubeyard.emulation.figures.lab import Json, Lab, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.shuffles import CHOICES, TCP, beside_fluid, ended, fluid_secs, job, spec, speedup, trial

RACKS = 6
LOOPS = {2: 3, 3: 2, 4: 2}
"""Number of loops for the job, by size of the loops."""
BALANCES = {"ecmp": "Type 1", "lb": "Type 1LB"}
BEFORE = "type 0"
BAND = 0.15
PAPER = {("ecmp", 2): 1.3, ("ecmp", 3): 1.64, ("lb", 3): 1.85}


def asked(lab: Lab) -> dict[tuple[str, int], tuple[Json, Json]]:
    """Plan and job by balance and size of loop; type 0 has size 0."""
    plans = {("ecmp", 0): spec(0, RACKS, 1)}
    plans.update({(balance, size): spec(1, size, LOOPS[size]) for balance in BALANCES for size in LOOPS})
    return {key: (plan, job(lab, plan, range(RACKS))) for key, plan in plans.items()}


def name_of(balance: str, size: int) -> str:
    return f"{BALANCES[balance]}, loops of {size}" if size else BEFORE


def trials(lab: Lab) -> list[Trial]:
    return [trial(lab, name_of(*key), plan, workload, key[0]) for key, (plan, workload) in asked(lab).items()]


def measure(lab: Lab) -> Outcome:
    result = lab.measure(trials(lab))
    fluid = {key: fluid_secs(lab, plan, workload, key[0]) for key, (plan, workload) in asked(lab).items()}
    ours = {key: speedup(result[BEFORE], result[name_of(*key)]) for key in fluid if key[1]}
    ideal = {key: fluid["ecmp", 0] / secs for key, secs in fluid.items() if key[1]}
    return Outcome(
        rows=rows(ours, ideal),
        series=[
            *(
                line(f"{title}, measured", list(LOOPS), [ours[item, size] for size in LOOPS])
                for item, title in BALANCES.items()
            ),
            *(
                line(f"{title}, ideal fluid", list(LOOPS), [ideal[item, size] for size in LOOPS])
                for item, title in BALANCES.items()
            ),
            line("paper: Type 1", [2, 3], [1.3, 1.64], paper=True),
            line("paper: Type 1LB", [3], [1.85], paper=True),
        ],
        axes=("racks of a loop", "speedup over type 0"),
        choices=[
            *CHOICES,
            f"{RACKS} racks with 552 flows: three loops of two, two of three, or two of four, of which the second has two idle racks",
            ended(result, result),
        ],
    )


def rows(ours: dict[tuple[str, int], float | None], ideal: dict[tuple[str, int], float]) -> list[Row]:
    """Speedups compared with the paper, and with the flow engine for the same scaled network."""
    reported = [
        near(f"l = {size}, {BALANCES[item]}", "x", paper, ours[item, size], BAND, TCP)
        for (item, size), paper in PAPER.items()
    ]
    result = ours["ecmp", 4], ours["ecmp", 3]
    ratio = result[0] / result[1] if result[0] and result[1] else None
    reported.append(Row("Type 1 at l = 4 over l = 3: less than", "x", None, ratio, 0.0, 1.0, reason=TCP))
    reported += [
        beside_fluid(f"l = {size}, {BALANCES[item]}, by the ideal fluid", item, ideal[item, size], ours[item, size])
        for item, size in ideal
    ]
    return reported
