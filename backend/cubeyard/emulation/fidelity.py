"""Whether the numbers are the network's or the machine's: said with every run, with the reason.

CPU is elastic, so neither a busy machine nor a missing share of the ideal condemns a run alone. A pair measured alone shows
what the machine does when it has room; the run shows what is left of that. [ours]
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Json = dict[str, Any]
Verdict = Literal["faithful", "emulator-limited", "unknown"]

GOOD_SHARE = 0.95
"""Of what headers leave of the ideal: at or above it nothing was missing."""
MORE_THAN_FAIR = 1.03
"""Above it goodput passes the sum of max-min fair shares by more than measuring explains: TCP does not share so."""
BUSY_CPU = 0.90
"""Of all cores: above it the machine may have been what was missing."""


@dataclass(frozen=True)
class Calibration:
    """One pair alone, before the workload."""

    source: str
    destination: str
    goodput_bits_per_sec: float
    ideal_bits_per_sec: float
    """One link's rate: one connection takes one path."""

    @property
    def share(self) -> float:
        return self.goodput_bits_per_sec / self.ideal_bits_per_sec if self.ideal_bits_per_sec > 0 else 0.0

    def document(self) -> Json:
        return {**asdict(self), "achieved_over_ideal": round(self.share, 4)}


def judge(
    calibration: Calibration | None,
    achieved_over_ideal: float | None,
    cpu: float | None,
    header_efficiency: float,
    stalled_flows: int = 0,
) -> Json:
    """The verdict. All is of the time before the first fault: `achieved_over_ideal` with headers not taken off the ideal,
    and how many flows carried nothing.
    """
    verdict, reason = _verdict(calibration, achieved_over_ideal, cpu, header_efficiency, stalled_flows)
    return {
        "verdict": verdict,
        "reason": reason,
        "cpu": None if cpu is None else round(cpu, 4),
        "achieved_over_ideal": None if achieved_over_ideal is None else round(achieved_over_ideal, 4),
        "header_efficiency": round(header_efficiency, 4),
        "calibration": None if calibration is None else calibration.document(),
    }


def _verdict(
    calibration: Calibration | None, achieved: float | None, cpu: float | None, efficiency: float, stalled_flows: int
) -> tuple[Verdict, str]:
    if achieved is None:
        return "unknown", "Nothing was measured before the first fault."
    if cpu is None:
        return "unknown", "The CPU is not known."
    of_possible = achieved / efficiency
    told = f"{of_possible:.0%} of what headers leave of the ideal was reached at {cpu:.0%} CPU"
    if stalled_flows and cpu >= BUSY_CPU:
        return (
            "emulator-limited",
            f"{told}, and {stalled_flows} flows carried nothing: take slower links or fewer flows.",
        )
    if of_possible >= GOOD_SHARE:
        more = "more than fair shares add up to, because TCP gives more to flows with shorter paths."
        return "faithful", f"{told}: {more if of_possible > MORE_THAN_FAIR else 'nothing is missing.'}"
    return _why_missing(calibration, cpu, efficiency, told)


def _why_missing(calibration: Calibration | None, cpu: float, efficiency: float, told: str) -> tuple[Verdict, str]:
    """A pair alone tells whether the network or the machine lost it."""
    if calibration is None:
        return "unknown", f"{told}, and no pair was measured alone."
    pair = calibration.share / efficiency
    if pair < GOOD_SHARE:
        return "emulator-limited", f"Even one pair alone reached only {pair:.0%} of its link, and {told}."
    if cpu >= BUSY_CPU:
        return "emulator-limited", f"{told}, and one pair alone reached {pair:.0%}: take slower links or fewer flows."
    return "faithful", f"{told}, and one pair alone reached {pair:.0%}: what is missing, the network itself loses."
