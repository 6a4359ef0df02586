"""Whether the numbers are the network's or the machine's: said with every run, with the reason.

CPU is elastic, so neither a busy machine nor a missing share of the ideal condemns a run alone. A pair measured alone shows
what the machine does when it has room; the run shows what is left of that. What the paths that flows took allow is computed
beside the plan's prediction: it separates what the paths cost from what TCP does on them. [ours]
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Json = dict[str, Any]
Verdict = Literal["faithful", "host-limited", "unknown"]
Cause = Literal["none", "paths", "tcp", "machine", "unknown"]

GOOD_SHARE = 0.95
"""Of what headers leave of the ideal: at or above it nothing was missing."""
MORE_THAN_FAIR = 1.03
"""Above it goodput passes the sum of max-min fair shares by more than measuring explains: TCP does not share so."""
GOOD_ABT_SHARE = 0.75
"""Of the predicted ABT without headers: TCP alone leaves its slowest flow up to a fifth below its fair share. [measured]"""
BUSY_CPU = 0.90
"""Of all cores: above it the machine may have been what was missing."""
OTHER_PATHS = "flows took other paths than predicted."
LESS_WORK = "take slower links or fewer flows."


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


@dataclass(frozen=True)
class OverPaths:
    """The measurement beside what the paths that flows took allow, without headers: max-min fair rates over them."""

    goodput_bits_per_sec: float
    abt_bits_per_sec: float
    goodput_share: float
    """Of that goodput, measured."""
    abt_share: float
    """Of that ABT, measured."""
    least_flow_share: float
    """Of its own fair rate, of the flow that got least of it."""
    median_flow_share: float

    def document(self) -> Json:
        return {name: round(value, 0 if "bits" in name else 4) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Observed:
    """What a verdict is made of, all of the time before the first fault."""

    achieved_over_ideal: float | None
    """Goodput by the ideal with headers; None if nothing was measured."""
    cpu: float | None
    """Share of all cores in use."""
    header_efficiency: float
    stalled_flows: int = 0
    abt_over_predicted: float | None = None
    """Measured ABT by the plan's prediction without headers; None where flows are not held to it."""
    own_cpu: float | None = None
    """Share of all cores that this run used, the kernel's networking included."""
    over_paths: OverPaths | None = None
    short_flows_share: float = 0.0
    """Of all flows, those that no rate is held to: they are over before TCP has started up."""
    over_before: bool = False
    """All flows that a rate is held to had ended before anything was counted."""

    wait: bool = False
    """No rate is held to clients that wait for each response."""

    @property
    def of_achievable(self) -> float:
        return (self.achieved_over_ideal or 0.0) / self.header_efficiency

    @property
    def busy(self) -> bool:
        return self.cpu is not None and self.cpu >= BUSY_CPU


def judge(calibration: Calibration | None, observed: Observed) -> Json:
    """The verdict with its reason and its cause, and the numbers that they are made of."""
    verdict, cause, reason = _verdict(calibration, observed)
    reason += _left_out(observed)
    rounded = {"cpu": observed.cpu, "own_cpu": observed.own_cpu, "achieved_over_ideal": observed.achieved_over_ideal}
    return {
        "verdict": verdict,
        "cause": cause,
        "reason": reason,
        **{name: None if one is None else round(one, 4) for name, one in rounded.items()},
        "abt_over_predicted": None if observed.abt_over_predicted is None else round(observed.abt_over_predicted, 4),
        "over_paths": None if observed.over_paths is None else observed.over_paths.document(),
        "short_flows_share": round(observed.short_flows_share, 4),
        "header_efficiency": round(observed.header_efficiency, 4),
        "calibration": None if calibration is None else calibration.document(),
    }


def _verdict(calibration: Calibration | None, seen: Observed) -> tuple[Verdict, Cause, str]:
    if seen.achieved_over_ideal is None:
        return "unknown", "unknown", _why_nothing(seen)
    if seen.cpu is None:
        return "unknown", "unknown", "The CPU is not known."
    told = f"Without faults, {seen.of_achievable:.0%} of achievable goodput was reached at {_cpu(seen)}"
    if seen.stalled_flows and seen.busy:
        return "host-limited", "machine", f"{told}, and {seen.stalled_flows} flows carried nothing: {LESS_WORK}"
    if seen.of_achievable >= GOOD_SHARE:
        return _whole(seen, told)
    return _why_missing(calibration, seen, told)


def _why_nothing(seen: Observed) -> str:
    if seen.short_flows_share == 1.0:
        return "No flow lasts long enough for its rate to be judged."
    if seen.wait:
        return "Clients that wait for each response have no rate that they are held to."
    if seen.over_before:
        return "Every flow that lasts long enough to be judged ended while the flows settled."
    return "Nothing was measured before the first fault."


def _left_out(seen: Observed) -> str:
    """Transfers that are over before TCP has started up say nothing of the network or the machine."""
    if seen.short_flows_share == 0.0:
        return ""
    return f" Left out are {seen.short_flows_share:.0%} of the flows: they end before TCP has reached its rate."


def _cpu(seen: Observed) -> str:
    own = "" if seen.own_cpu is None else f" ({seen.own_cpu:.0%} by this run)"
    return f"{seen.cpu:.0%} host CPU{own}"


def _whole(seen: Observed, told: str) -> tuple[Verdict, Cause, str]:
    """Goodput lacks nothing: the slowest flow may."""
    abt = seen.abt_over_predicted
    if abt is None or abt >= GOOD_ABT_SHARE:
        more = "more than fair shares add up to, because TCP gives more to flows with shorter paths."
        why = more if seen.of_achievable > MORE_THAN_FAIR else "nothing is missing."
        return "faithful", "none", f"{told}: {why}{_busy_but(seen)}"
    told = f"{told}, but ABT reached only {abt:.0%} of the prediction"
    paths = seen.over_paths
    if paths is not None:
        told = f"{told}, and {paths.abt_share:.0%} of what the paths taken allow"
        if paths.abt_share >= GOOD_ABT_SHARE:
            return "faithful", "paths", f"{told}: {OTHER_PATHS}"
    if seen.busy:
        return "host-limited", "machine", f"{told}: {LESS_WORK}"
    if paths is None:
        return "faithful", "unknown", f"{told}: the slowest flow gets less than its fair share, by its path or by TCP."
    return "faithful", "tcp", f"{told}: TCP gives the slowest flow less than its fair share. Fair queues would not."


def _busy_but(seen: Observed) -> str:
    """A host that others keep busy is not the limit of flows that reach their rates."""
    return " The host was busy then, but it was not the limit." if seen.busy else ""


def _why_missing(calibration: Calibration | None, seen: Observed, told: str) -> tuple[Verdict, Cause, str]:
    """A pair alone tells whether the network or the machine lost it."""
    paths = seen.over_paths
    if paths is not None and paths.goodput_share >= GOOD_SHARE and paths.abt_share >= GOOD_ABT_SHARE:
        of_paths = f"{told}, and {paths.goodput_share:.0%} of what the paths taken allow"
        abt = seen.abt_over_predicted
        if abt is not None and abt < GOOD_ABT_SHARE:
            of_paths += (
                f"; ABT reached {abt:.0%} of the prediction, and {paths.abt_share:.0%} of what these paths allow"
            )
        return "faithful", "paths", f"{of_paths}: {OTHER_PATHS}"
    if calibration is None:
        return "unknown", "unknown", f"{told}, and no pair was measured alone."
    pair = calibration.share / seen.header_efficiency
    if pair < GOOD_SHARE:
        reason = f"{told}. Even one pair alone reached only {pair:.0%} of its link."
        return "host-limited", "machine", reason
    if seen.busy:
        return "host-limited", "machine", f"{told}, and one pair alone reached {pair:.0%}: {LESS_WORK}"
    reason = f"{told}, and one pair alone reached {pair:.0%}: what is missing, the network itself loses."
    return "faithful", "unknown" if paths is None else "tcp", reason
