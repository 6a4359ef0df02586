"""Hypotheses against results: held, broken, inconclusive or not tested, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from cubeyard.experiments.hypotheses import METRICS, AnyMetric, StatedHypothesis, Unit
from cubeyard.experiments.points import Point
from cubeyard.kit.models import Model

Json = dict[str, Any]
Outcome = Literal["held", "broken", "inconclusive", "not-tested"]
WORST: tuple[Outcome, ...] = ("broken", "inconclusive", "not-tested", "held")
"""The outcome of several hypotheses is the first of these that one of them has."""
EXIT_STATUS: dict[Outcome, int] = {"held": 0, "broken": 1, "inconclusive": 3, "not-tested": 4}
"""The same for every command that judges a run."""
NO_FAULT = "No fault was injected."
STRUCK = ("servers", "switches", "links", "degraded_links")
"""Counts in the `failures` of an engine's result."""
Baseline = Callable[[Point], Mapping[str, Any] | str]
"""The result of a point without its faults, or why there is none."""


class HypothesisVerdict(Model):
    """Whether one hypothesis held."""

    title: str = Field(examples=["ABT at least 60 % of baseline"])
    metric: AnyMetric
    bound: float
    unit: Unit
    outcome: Outcome = Field(
        description="`inconclusive`: it could not be judged; `not-tested`: what it is about did not happen. The sentence says why."
    )
    worst: float | None = Field(
        description="The value nearest to breaking it, or furthest beyond; null: there is none."
    )
    sentence: str


class RunVerdict(Model):
    """Whether every hypothesis held."""

    outcome: Outcome = Field(
        description="`broken` if any is broken, else `inconclusive` if any is, else `not-tested` if any is, else `held`; "
        "with no hypothesis `not-tested`."
    )
    hypotheses: list[HypothesisVerdict]
    not_injected: list[str] = Field(
        default=[],
        description="Faults that were planned and did not happen, each with its reason, and an upgrade that was not finished.",
    )
    off_schedule: list[str] = Field(
        default=[],
        description="Faults that began or ended otherwise than planned: late, cut short, too long, or not recovered.",
    )


def whole(
    each: Sequence[HypothesisVerdict], not_injected: Sequence[str] = (), off_schedule: Sequence[str] = ()
) -> RunVerdict:
    """The verdict of a run from its hypotheses' verdicts: the worst outcome."""
    outcomes = {verdict.outcome for verdict in each}
    worst: list[Outcome] = [outcome for outcome in WORST if outcome in outcomes]
    return RunVerdict(
        outcome=worst[0] if worst else "not-tested",
        hypotheses=list(each),
        not_injected=list(not_injected),
        off_schedule=list(off_schedule),
    )


def inconclusive(claim: StatedHypothesis, reason: str) -> HypothesisVerdict:
    """The verdict on a hypothesis that cannot be judged."""
    return _verdict(claim, "inconclusive", None, reason)


def _verdict(claim: StatedHypothesis, outcome: Outcome, worst: float | None, sentence: str) -> HypothesisVerdict:
    return HypothesisVerdict(
        title=claim.title,
        metric=claim.metric,
        bound=claim.bound,
        unit=claim.kind.unit,
        outcome=outcome,
        worst=worst,
        sentence=sentence,
    )


def of_points(
    claims: Sequence[StatedHypothesis], results: Iterable[tuple[Point, Mapping[str, Any]]], baseline: Baseline
) -> list[HypothesisVerdict]:
    """Each hypothesis at every point that an engine computed. Keeps of each point only the values
    that are judged."""
    values: list[list[tuple[Point, float | str]]] = [[] for _ in claims]
    planned = struck = False
    for point, result in results:
        planned = planned or any(fault["target"].get("ratio") != 0 for fault in point.experiment["faults"])
        struck = struck or _strikes(point, result)
        for claim, matches in zip(claims, values, strict=True):
            matches.append((point, _value(claim, point, result, baseline)))
    verdicts = [_over_points(claim, found) for claim, found in zip(claims, values, strict=True)]
    return verdicts if struck else [_without_fault(verdict, planned=planned) for verdict in verdicts]


def _strikes(point: Point, result: Mapping[str, Any]) -> bool:
    """Whether anything fails: a share may strike nothing. Packet results count no later faults."""
    if any(result.get("failures", {}).get(name) for name in STRUCK):
        return True
    later = point.experiment.get("engine") == "packet"
    return any("names" in fault["target"] or (later and fault["at_secs"] > 0) for fault in point.experiment["faults"])


def _without_fault(verdict: HypothesisVerdict, *, planned: bool) -> HypothesisVerdict:
    """Without a fault, a share of the baseline is not tested, nor a fault that struck nothing."""
    reason = "The faults strike nothing: their share of these devices is none." if planned else NO_FAULT
    if verdict.outcome == "held" and (planned or verdict.metric.endswith("-share")):
        return verdict.model_copy(update={"outcome": "not-tested", "worst": None, "sentence": f"Not tested. {reason}"})
    return verdict.model_copy(update={"sentence": f"{verdict.sentence} {reason}"})


def without_faults(point: Point) -> Point:
    """The same point before anything breaks."""
    experiment = {**point.experiment, "faults": [], "link_load": False}
    return replace(point, failure_kind=None, failure_ratio=None, experiment=experiment)


def _over_points(claim: StatedHypothesis, values: list[tuple[Point, float | str]]) -> HypothesisVerdict:
    kind = claim.kind
    known = [(point, value) for point, value in values if isinstance(value, float)]
    missing = [value for _, value in values if isinstance(value, str)]
    # Among equal values the first point counts, because points of a sweep arrive in any order.
    known.sort(key=lambda item: item[0].number)
    worst = (max if kind.most else min)(known, key=lambda item: item[1], default=None)
    at = f" at point {worst[0].number}" if worst is not None and len(values) > 1 else ""
    if worst is not None and kind.misses(worst[1], claim.bound):
        beyond = "more" if kind.most else "less"
        sentence = f"{kind.title}: {kind.text(worst[1])}{at}, {beyond} than {kind.text(claim.bound)}."
        return _verdict(claim, "broken", worst[1], sentence)
    if missing or worst is None:
        return _verdict(claim, "inconclusive", None, missing[0] if missing else "There is no result.")
    least = "" if len(values) == 1 else f" or {'less' if kind.most else 'more'} at all {len(values):,} points"
    return _verdict(claim, "held", worst[1], f"{kind.title}: {kind.text(worst[1])}{least}.")


def _value(claim: StatedHypothesis, point: Point, result: Mapping[str, Any], baseline: Baseline) -> float | str:
    """The metric at a point, in its unit, or why there is none."""
    metric = claim.metric
    if not metric.endswith("-share"):
        return _plain(metric, result)
    plain = metric.removesuffix("-share")
    now = _plain(plain, result)
    if isinstance(now, str):
        return now
    whole = result if not point.experiment["faults"] else baseline(point)
    before = whole if isinstance(whole, str) else _plain(plain, whole)
    if isinstance(before, str):
        return before
    return now / before if before > 0 else "The network carries nothing without faults either, so a share is undefined."


def _plain(metric: str, result: Mapping[str, Any]) -> float | str:
    times: Mapping[str, Any] = result.get("completion_secs") or {}
    matches: Any = None
    reason = f"The engine gave no {METRICS[metric].title.lower()}."
    if metric == "goodput":
        if "goodput_gbps" in result:
            return (result["goodput_gbps"] or 0.0) * 1e9  # null: no flow has a path
        matches = (result.get("maxmin") or {}).get("total_gbps")
        reason = "Max-min rates were not computed: set `max_min: true`."
    elif metric == "abt":
        matches = result.get("abt_gbps")
    elif metric == "stalled-flows":
        matches = result["dropped_flows"] + (times.get("unfinished") or 0)
    elif metric == "completion-secs":
        if result.get("dropped_flows") or times.get("unfinished"):
            return "Not every flow was complete at the end, so there is no longest completion time."
        matches = times.get("max", (result.get("completion") or {}).get("last_secs"))
        reason = "Flows without a size are never complete: give `flow_gigabits`, or the workload's `bytes`."
    elif metric == "latency-p99-secs":
        matches = (result.get("latency_secs") or {}).get("p99")
        reason = "Only workload `requests` has latencies."
    elif metric == "completion-p99-secs":
        matches = times.get("p99")
    else:
        matches = result.get(metric)
    if matches is None:
        return reason
    return float(matches) * (1e9 if METRICS[metric].unit == "bit/s" else 1.0)


def of_report(claims: Sequence[StatedHypothesis], report: Mapping[str, Any]) -> list[HypothesisVerdict]:
    """Each hypothesis of an emulation, as its report judged it."""
    reported = report.get("verdicts") or [report["verdict"]]
    matches = []
    for claim, verdict in zip(claims, reported, strict=False):
        # Older reports have `none`.
        outcome: Outcome = verdict["outcome"] if verdict["outcome"] in WORST else "not-tested"
        matches.append(_verdict(claim, outcome, verdict.get("worst"), verdict["sentence"]))
    return matches


def of_emulation(claims: Sequence[StatedHypothesis], report: Mapping[str, Any]) -> RunVerdict:
    """The verdict of an emulation's report."""
    missing = [missing_in_words(fault) for fault in report.get("not_injected") or []]
    missing += filter(None, [unfinished_in_words(report.get("upgrade"))])
    return whole(of_report(claims, report), missing, off_schedule_in_words(report.get("faults") or []))


def off_schedule_in_words(faults: Iterable[Mapping[str, Any]]) -> list[str]:
    """The faults of a report that began or ended otherwise than planned."""
    return [f"{_named(fault)} {' and '.join(parts)}." for fault in faults if (parts := _off_schedule(fault))]


def _off_schedule(fault: Mapping[str, Any]) -> list[str]:
    parts = []
    if "late_secs" in fault:
        parts.append(f"was injected {fault['late_secs']:.1f} s late")
    if "took_secs" in fault:
        parts.append(f"took {fault['took_secs']:.1f} s to inject")
    if "lasted_secs" in fault:
        parts.append(f"lasted {fault['lasted_secs']:.1f} of {fault['planned_secs']:.1f} s")
    if "not_recovered" in fault:
        parts.append(f"could not be recovered ({fault['not_recovered'].rstrip('.')})")
    elif "overran_secs" in fault:
        parts.append(f"ended {fault['overran_secs']:.1f} s late")
    return parts


def missing_in_words(fault: Mapping[str, Any]) -> str:
    """A fault that did not happen, of a report."""
    return f"{_named(fault)} was not injected: {fault['reason'].rstrip('.')}."


def _named(fault: Mapping[str, Any]) -> str:
    return f"{fault['id']} ({fault['kind']} of {', '.join(fault['targets'])})"


def unfinished_in_words(upgrade: Mapping[str, Any] | None) -> str:
    """The upgrade of a report, if the run ended before its last step; else empty."""
    if upgrade is None or upgrade["steps_done"] == upgrade["steps"]:
        return ""
    return f"The run ended after {upgrade['steps_done']} of {upgrade['steps']} steps of its upgrade."
