"""Decides whether the network or the machine limited the numbers; every run reports it with the
reason.

CPU is elastic, so neither a busy machine nor a goodput below the ideal alone makes a run
host-limited. A run is host-limited only if the machine delayed it (late ticks, long waits for a
processor, packets lost in the kernel's backlog), or if a single pair measured alone, without
machine load, does not reach its link's rate. Max-min rates over the flows' actual paths, compared
with the plan's prediction, separate the cost of the paths from the effect of TCP. [ours]
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Json = dict[str, Any]
Verdict = Literal["faithful", "host-limited", "unknown"]
Cause = Literal["none", "paths", "tcp", "machine", "neighbours", "unknown"]
Advice = Literal["fair-queues", "less-work"]

GOOD_SHARE = 0.95
"""From this share of the achievable goodput (the ideal without headers), the goodput counts as
complete."""
MORE_THAN_FAIR = 1.03
"""Above this, goodput exceeds the sum of max-min fair shares by more than errors of measurement:
then TCP does not share fairly."""
GOOD_ABT_SHARE = 0.75
"""Required share of the predicted ABT without headers. TCP alone leaves its slowest flow up to a
fifth below its fair share. [measured]"""
BUSY_CPU = 0.90
"""The share of all cores above which the machine can be the limit."""
OWN_CPU = 0.4
"""Share of all cores. Above it, slower links or fewer flows would help. [measured]"""
LATE_TICKS = 0.1
"""Limit for the share of late ticks. The fabric reads counters ten times per second, which samples
how long processes wait for a processor."""
LONG_WAIT_SECS = 0.01
"""Limit for the average wait for a processor: the time of a full queue of a 100 Mb/s link."""
OTHER_PATHS = "flows took other paths than predicted."


@dataclass(frozen=True)
class Calibration:
    """The measurement of a single pair before the workload."""

    source: str
    destination: str
    goodput_bits_per_sec: float
    ideal_bits_per_sec: float
    """Rate of one link, since one connection takes one path."""

    @property
    def share(self) -> float:
        return self.goodput_bits_per_sec / self.ideal_bits_per_sec if self.ideal_bits_per_sec > 0 else 0.0

    def document(self) -> Json:
        return {**asdict(self), "achieved_over_ideal": round(self.share, 4)}


@dataclass(frozen=True)
class OverPaths:
    """The measurement compared with max-min fair rates over the flows' actual paths, without
    headers."""

    goodput_bits_per_sec: float
    abt_bits_per_sec: float
    goodput_share: float
    """Measured goodput relative to that of the fair rates."""
    abt_share: float
    """Measured ABT relative to that of the fair rates."""
    least_flow_share: float
    """Smallest ratio of a flow's rate to its fair rate."""
    median_flow_share: float

    def document(self) -> Json:
        return {name: round(value, 0 if "bits" in name else 4) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Observed:
    """The inputs of a verdict, all from the time before the first fault."""

    achieved_over_ideal: float | None
    """Goodput relative to the ideal with headers; None if nothing was measured."""
    cpu: float | None
    """Share of all cores in use."""
    header_efficiency: float
    stalled_flows: int = 0
    abt_over_predicted: float | None = None
    """Measured ABT relative to the plan's prediction without headers; None if flows have no
    expected rate."""
    own_cpu: float | None = None
    """Share of all cores that this run used, including the kernel's networking."""
    over_paths: OverPaths | None = None
    short_flows_share: float = 0.0
    """Share of flows that end before TCP has left slow start, and thus have no expected rate."""
    over_before: bool = False
    """Whether all flows with an expected rate had ended before anything was counted."""

    wait: bool = False
    """Whether clients wait for each response, so that they have no expected rate."""
    deaths: int = 0
    """How often a neighbour was declared dead without a fault."""
    late_ticks: float = 0.0
    """Share of the ticks that were more than half a tick late."""
    wait_secs: float | None = None
    """Mean wait of the run's processes for a processor; None if it is unknown."""
    backlog_drops: int = 0
    """Packets that the kernel dropped because a processor was behind with its work."""
    fair_queues: bool = False
    """Whether queues are already fair."""

    @property
    def delays(self) -> str:
        """How this machine delayed the run, in words; empty if it did not."""
        parts = []
        if self.late_ticks >= LATE_TICKS:
            parts.append(f"{self.late_ticks:.0%} of its ticks were late")
        if self.wait_secs is not None and self.wait_secs >= LONG_WAIT_SECS:
            parts.append(f"its processes waited {self.wait_secs * 1e3:.0f} ms each time for a processor")
        if self.backlog_drops:
            parts.append(f"the kernel's backlog lost {self.backlog_drops:,} packets")
        return ", and ".join(parts)

    @property
    def of_achievable(self) -> float:
        return (self.achieved_over_ideal or 0.0) / self.header_efficiency

    @property
    def busy(self) -> bool:
        return self.cpu is not None and self.cpu >= BUSY_CPU


def judge(calibration: Calibration | None, observed: Observed) -> Json:
    """The verdict with its reason and cause, and the numbers behind it."""
    verdict, cause, reason = _verdict(calibration, observed)
    reason += _left_out(observed)
    advice = _advice(cause, observed)
    reason += ADVICE[advice] if advice is not None else ""
    rounded = {"cpu": observed.cpu, "own_cpu": observed.own_cpu, "achieved_over_ideal": observed.achieved_over_ideal}
    return {
        "verdict": verdict,
        "cause": cause,
        "reason": reason,
        "advice": advice,
        "deaths": observed.deaths,
        "late_ticks": round(observed.late_ticks, 4),
        "wait_secs": None if observed.wait_secs is None else round(observed.wait_secs, 5),
        "backlog_drops": observed.backlog_drops,
        **{name: None if item is None else round(item, 4) for name, item in rounded.items()},
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
    words = f"Without faults, {seen.of_achievable:.0%} of achievable goodput was reached at {_cpu(seen)}"
    if seen.deaths:
        words = f"{words}, but neighbours were declared dead {_times(seen.deaths)} without a fault"
        return _limited(seen, words) if seen.delays else ("unknown", "neighbours", f"{words}.")
    if seen.stalled_flows and seen.delays:
        return _limited(seen, f"{words}, and {seen.stalled_flows} flows carried nothing")
    if seen.of_achievable >= GOOD_SHARE:
        return _whole(seen, words)
    return _why_missing(calibration, seen, words)


ADVICE: dict[Advice, str] = {
    "fair-queues": " Run again with fair queues.",
    "less-work": " Take slower links or fewer flows.",
}


def _advice(cause: Cause, seen: Observed) -> Advice | None:
    if cause == "tcp" and not seen.fair_queues:
        return "fair-queues"
    return "less-work" if cause == "machine" and (seen.own_cpu or 0.0) >= OWN_CPU else None


def _limited(seen: Observed, words: str) -> tuple[Verdict, Cause, str]:
    return "host-limited", "machine", f"{words}: {seen.delays}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _why_nothing(seen: Observed) -> str:
    if seen.short_flows_share == 1.0:
        return "No flow lasts long enough for its rate to be judged."
    if seen.wait:
        return "Clients that wait for each response have no rate that they are held to."
    if seen.over_before:
        return "Every flow that lasts long enough to be judged ended while the flows settled."
    return "Nothing was measured before the first fault."


def _left_out(seen: Observed) -> str:
    """A sentence about flows that were left out: flows that end before TCP has left slow start show
    nothing about the network or the machine."""
    if seen.short_flows_share == 0.0:
        return ""
    return f" Left out are {seen.short_flows_share:.0%} of the flows: they end before TCP has reached its rate."


def _cpu(seen: Observed) -> str:
    own = "" if seen.own_cpu is None else f" ({seen.own_cpu:.0%} by this run)"
    return f"{seen.cpu:.0%} host CPU{own}"


def _whole(seen: Observed, words: str) -> tuple[Verdict, Cause, str]:
    """The verdict for complete goodput; the slowest flow may still lack some."""
    abt = seen.abt_over_predicted
    if abt is None or abt >= GOOD_ABT_SHARE:
        more = "more than fair shares add up to, because TCP gives more to flows with shorter paths."
        why = more if seen.of_achievable > MORE_THAN_FAIR else "nothing is missing."
        return "faithful", "none", f"{words}: {why}{_busy_but(seen)}"
    words = f"{words}, but ABT reached only {abt:.0%} of the prediction"
    paths = seen.over_paths
    if paths is not None:
        words = f"{words}, and {paths.abt_share:.0%} of what the paths taken allow"
        if paths.abt_share >= GOOD_ABT_SHARE:
            return "faithful", "paths", f"{words}: {OTHER_PATHS}"
    if paths is None:
        return "faithful", "unknown", f"{words}: the slowest flow gets less than its fair share, by its path or by TCP."
    return "faithful", "tcp", f"{words}: TCP gives the slowest flow less than its fair share."


def _busy_but(seen: Observed) -> str:
    """A sentence for a busy host whose flows reach their rates: then the host was not the limit."""
    return " The host was busy then, but it was not the limit." if seen.busy else ""


def _why_missing(calibration: Calibration | None, seen: Observed, words: str) -> tuple[Verdict, Cause, str]:
    """The verdict for missing goodput: the single-pair baseline shows whether the network or the
    machine was the limit."""
    paths = seen.over_paths
    if paths is not None and paths.goodput_share >= GOOD_SHARE and paths.abt_share >= GOOD_ABT_SHARE:
        of_paths = f"{words}, and {paths.goodput_share:.0%} of what the paths taken allow"
        abt = seen.abt_over_predicted
        if abt is not None and abt < GOOD_ABT_SHARE:
            of_paths += (
                f"; ABT reached {abt:.0%} of the prediction, and {paths.abt_share:.0%} of what these paths allow"
            )
        return "faithful", "paths", f"{of_paths}: {OTHER_PATHS}"
    if calibration is None:
        return "unknown", "unknown", f"{words}, and no pair was measured alone."
    pair = calibration.share / seen.header_efficiency
    if pair < GOOD_SHARE:
        reason = f"{words}. Even one pair alone reached only {pair:.0%} of its link."
        return "host-limited", "machine", reason
    if seen.delays:
        return _limited(seen, f"{words}, and one pair alone reached {pair:.0%}")
    reason = f"{words}, and one pair alone reached {pair:.0%}: the network itself loses the rest."
    return "faithful", "unknown" if paths is None else "tcp", reason
