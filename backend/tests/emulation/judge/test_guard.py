"""The rates of the last second, and the hypothesis that they are tested against."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.judge.guard import DELAYED_SHARE, Guard, Guards, Struck
from cubeyard.emulation.measure.window import Reading, Window
from cubeyard.experiments.hypotheses import Hypothesis, Metric

TICK_SECS = 0.125
"""A length of ticks without rounding errors."""
METRICS: tuple[Metric, ...] = get_args(Metric)
MOST = ("stalled-flows", "latency-p99-secs")
STRUCK = Struck(any=True)


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0]), max_size=30),
    st.integers(0, 2**32),
    st.sets(st.integers(0, 3)),
    st.sets(st.integers(0, 3)),
)
def test_a_reading_is_the_mean_of_the_fewest_last_ticks_that_are_a_second(
    secs_each: list[float], seed: int, dead: set[int], done: set[int]
) -> None:
    window, draws = Window(4), np.random.default_rng(seed)
    ticks = [(secs, draws.integers(0, 3, 4).tolist()) for secs in secs_each]
    for secs, carried in ticks:
        window.add(secs, carried)
    last: list[tuple[float, list[int]]] = []
    while len(last) < len(ticks) and sum(secs for secs, _ in last) < 1 - 1e-6:
        last = ticks[-len(last) - 1 :]
    sums = [sum(carried[flow] for _, carried in last) for flow in range(4)]
    alive = [item for flow, item in enumerate(sums) if flow not in dead | done]
    secs = max(sum(secs for secs, _ in last), 1e-9)
    reading = window.read(dead, done)
    assert reading.goodput_bits_per_sec == pytest.approx(8 * sum(sums) / secs)
    assert reading.abt_bits_per_sec == pytest.approx(8 * len(alive) * min(alive, default=0) / secs)
    assert reading.stalled_flows == sum(sums[flow] == 0 for flow in {0, 1, 2, 3} - done)


def test_a_flow_that_lost_an_end_is_no_bottleneck_and_one_that_is_done_not_even_stalled() -> None:
    window = Window(3)
    window.add(1.0, [100, 0, 300])
    assert window.read() == Reading(400 * 8, 0, 1)
    assert window.read({1}) == Reading(400 * 8, 2 * 100 * 8, 1)
    assert window.read(done={1}) == Reading(400 * 8, 2 * 100 * 8, 0)
    assert window.read({0, 1, 2}) == Reading(400 * 8, 0, 1), "all flows have died"
    assert Window(1).read() == Reading(0, 0, 1), "before the first tick"


def reading(metric: Metric, value: int) -> Reading:
    """A reading in which this metric has the value. For a share, the baseline is 100."""
    name = metric.removesuffix("-share").replace("-", "_")
    return Reading(
        value if name == "goodput" else 1e6,
        value if name == "abt" else 1e6,
        value if "stalled" in name else 99,
        value if "latency" in name else 1e6,
    )


def watched(hypothesis: Hypothesis, values: list[int]) -> tuple[Guard, list[bool]]:
    """A guard that got a mean of 100 before the fault and these values after it; and its
    results."""
    guard = Guard(hypothesis)
    for item in (50, 150, 100):
        guard.before(reading(hypothesis.metric, item))
    every = [reading(hypothesis.metric, value) for value in values]
    return guard, [guard.watch(i * TICK_SECS, TICK_SECS, item) for i, item in enumerate(every)]


@given(
    st.sampled_from(METRICS),
    st.integers(1, 6),
    st.booleans(),
    st.lists(st.sampled_from([40, 49, 50, 51, 60]), max_size=30),
)
def test_it_is_broken_by_the_first_violation_that_lasts(
    metric: Metric, lasts: int, abort: bool, values: list[int]
) -> None:
    share = 100 if metric.endswith("-share") else 1
    most = metric in MOST
    hypothesis = Hypothesis(metric=metric, bound=50 / share, for_secs=lasts * TICK_SECS, abort=abort)
    guard, reported = watched(hypothesis, values)
    wrong = [value > 50 if most else value < 50 for value in values]
    broken = next((i for i in range(len(values)) if i + 1 >= lasts and all(wrong[i + 1 - lasts : i + 1])), None)
    assert guard.broken_at_secs == (None if broken is None else broken * TICK_SECS)
    assert reported == [abort and i == broken for i in range(len(values))], "it is reported once"
    assert guard.violations == sum(wrong)
    assert guard.worst == (((max if most else min)(values) / share) if values else None)
    left = "not-tested" if len(values) < lasts else "inconclusive" if wrong[-1] else "held"
    assert guard.outcome(STRUCK) == (left if broken is None else "broken")


@pytest.mark.parametrize("metric", METRICS)
def test_a_busy_machine_is_no_excuse_where_the_model_does_not_meet_the_hypothesis_either(metric: Metric) -> None:
    most = metric in MOST
    bad, good = (60, 40) if most else (40, 60)
    bound = 0.5 if metric.endswith("-share") else 50

    def outcome(expected: list[int]) -> str:
        guard = Guard(Hypothesis(metric=metric, bound=bound, for_secs=len(expected) * TICK_SECS))
        guard.before(reading(metric, 100))
        for i, item in enumerate(expected):
            guard.watch(i * TICK_SECS, TICK_SECS, reading(metric, bad), 1.0, reading(metric, item))
        return guard.outcome(STRUCK)

    assert outcome([good] * 4) == "inconclusive"
    assert outcome([bad] * 4) == "broken"
    assert outcome([good, bad, bad, bad]) == "broken", "a reading covers the second before it"


def test_a_share_of_an_empty_baseline_is_unknown() -> None:
    guard = Guard(Hypothesis(bound=0.5))
    assert not guard.watch(0.0, 10.0, Reading(0.0, 0.0, 3))
    guard.before(Reading(0.0, 0.0, 3))
    assert not guard.watch(0.1, 10.0, Reading(0.0, 0.0, 3))
    result = guard.document(STRUCK)
    assert (result["outcome"], result["worst"], result["violations"]) == ("not-tested", None, 0)
    assert result["sentence"] == "Goodput was not tested. Nothing was received before the first fault."


@pytest.mark.parametrize("metric", METRICS)
def test_a_share_is_not_tested_without_a_fault_and_an_absolute_bound_is_judged(metric: Metric) -> None:
    most = metric in MOST
    guard = Guard(Hypothesis(metric=metric, bound=0.5 if metric.endswith("-share") else 50, for_secs=0.25))
    guard.before(reading(metric, 100))
    for number in range(4):
        guard.watch(number * 0.125, 0.125, reading(metric, 40 if most else 60), struck=False)
    result = guard.document(Struck())
    assert result["outcome"] == ("not-tested" if metric.endswith("-share") else "held")
    assert result["sentence"].endswith("No fault was injected.")


@pytest.mark.parametrize("value", [60, 40])
def test_a_fault_that_did_not_happen_leaves_a_hypothesis_untested_but_not_one_that_is_broken(value: int) -> None:
    guard, _ = watched(Hypothesis(metric="goodput", bound=50, for_secs=0.25), [value] * 3)
    missing = "f2 (link-loss of 00/<0,0>) was not injected: this kernel has no netem"
    short = "f1 was injected 5.0 s late and ended after 0.1 of 3 s."
    assert guard.document(Struck(True, (missing,)))["sentence"].endswith(missing)
    broken = value == 40
    assert guard.outcome(Struck(True, (missing,))) == ("broken" if broken else "not-tested")
    cut = Struck(True, off_schedule=(short,), cut_short=True)
    assert guard.outcome(cut) == ("broken" if broken else "inconclusive")
    assert short in guard.document(cut)["sentence"]


@pytest.mark.parametrize(("overran_at_secs", "outcome"), [(0.1, "inconclusive"), (0.125, "broken")])
def test_a_violation_that_lasted_because_a_fault_overran_is_inconclusive(overran_at_secs: float, outcome: str) -> None:
    guard, _ = watched(Hypothesis(metric="goodput", bound=50, for_secs=0.25), [40, 40])
    late = "f1 (cable-pulled of 00/<0,0>) ended 3.5 s late."
    result = guard.document(Struck(True, off_schedule=(late,), overran_at_secs=overran_at_secs))
    assert (result["outcome"], result["broken_at_secs"]) == (outcome, 0.125)
    assert result["sentence"].endswith(f"(until 0.1 s). {late}")
    assert (
        watched(Hypothesis(metric="goodput", bound=50, for_secs=0.25), [60, 60])[0].outcome(
            Struck(True, overran_at_secs=overran_at_secs)
        )
        == "held"
    ), "under a longer fault than planned"


@pytest.mark.parametrize(
    ("values", "outcome", "sentence"),
    [
        ([60], "not-tested", "Goodput was not tested: 0.1 s were watched, and only 0.25 s below 5e-05 Mb/s break it."),
        ([40], "not-tested", "Goodput was not tested: 0.1 s were watched, and only 0.25 s below 5e-05 Mb/s break it."),
        (
            [60, 40],
            "inconclusive",
            "Goodput was below 5e-05 Mb/s for the last 0.1 s: the run ended before that lasted 0.25 s.",
        ),
        ([40, 60], "held", "Goodput stayed at or above 5e-05 Mb/s, or recovered within 0.25 s."),
    ],
)
def test_hypotheses_without_time_for_a_violation_are_not_tested_and_unfinished_violations_are_inconclusive(
    values: list[int], outcome: str, sentence: str
) -> None:
    guard, _ = watched(Hypothesis(metric="goodput", bound=50, for_secs=0.25), values)
    result = guard.document(STRUCK)
    assert (result["outcome"], result["sentence"]) == (outcome, sentence)


def test_a_run_without_a_hypothesis_says_so() -> None:
    guard = Guard(None)
    assert guard.watch(0.0, 1.0, Reading(0.0, 0.0, 3)) is False
    assert guard.outcome(STRUCK) == "none"
    assert guard.document(STRUCK) == {"outcome": "none", "sentence": "The run had no hypothesis."}


@pytest.mark.parametrize(
    ("metric", "bound", "value", "sentence", "unit"),
    [
        ("goodput", 50, 60, "Goodput stayed at or above 5e-05 Mb/s, or recovered within 0.25 s.", "bit/s"),
        ("abt", 50, 40, "ABT stayed below 5e-05 Mb/s for 0.25 s (until 0.1 s).", "bit/s"),
        ("goodput-share", 0.5, 40, "Goodput stayed below 50 % of baseline for 0.25 s (until 0.1 s).", "of baseline"),
        ("abt-share", 0.5, 60, "ABT stayed at or above 50 % of baseline, or recovered within 0.25 s.", "of baseline"),
        (
            "latency-p99-secs",
            50,
            60,
            "The 99th percentile of latencies stayed above 50 s for 0.25 s (until 0.1 s).",
            "s",
        ),
        ("stalled-flows", 50, 60, "The number of stalled flows stayed above 50 for 0.25 s (until 0.1 s).", "flows"),
    ],
)
def test_the_verdict_in_words(metric: Metric, bound: float, value: int, sentence: str, unit: str) -> None:
    guard, _ = watched(Hypothesis(metric=metric, bound=bound, for_secs=0.25), [value, value])
    broken = "(until" in sentence
    assert guard.document(STRUCK) == {
        "outcome": "broken" if broken else "held",
        "sentence": sentence,
        "metric": metric,
        "bound": bound,
        "for_secs": 0.25,
        "abort": True,
        "unit": unit,
        "worst": value / 100 if metric.endswith("-share") else value,
        "violations": 2 if broken else 0,
        "broken_at_secs": 0.125 if broken else None,
    }


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_a_violation_at_a_busy_machine_is_inconclusive(cpu: list[float]) -> None:
    guard = Guard(Hypothesis(metric="goodput", bound=50, for_secs=0.5, abort=False))
    assert not guard.watch(0.0, 0.25, reading("goodput", 60), 1.0)
    for number, item in enumerate(cpu):
        guard.watch((number + 1) * 0.25, 0.25, reading("goodput", 40), item)
    busy = (cpu[0] + cpu[1]) / 2
    assert guard.delayed == pytest.approx(busy), "the share of the violation until it had lasted too long"
    assert guard.outcome(STRUCK) == ("inconclusive" if guard.delayed >= DELAYED_SHARE else "broken")
    late = Struck(True, off_schedule=("f1 was late.",))
    assert guard.document(late)["sentence"].endswith("f1 was late."), "whatever the outcome"
    assert ("this machine may have been the limit" in guard.document(STRUCK)["sentence"]) is (
        guard.outcome(STRUCK) == "inconclusive"
    )


LIMITED = "Even one pair alone reached only 60% of its link."


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("good", "foreseen", "outcome"), [(True, False, "held"), (False, False, "inconclusive"), (False, True, "broken")]
)
def test_a_host_limited_run_proves_no_failure_nor_a_share(
    metric: Metric, outcome: str, *, good: bool, foreseen: bool
) -> None:
    is_share = metric.endswith("-share")
    values = {True: 40, False: 60} if metric in MOST else {True: 60, False: 40}
    guard = Guard(Hypothesis(metric=metric, bound=0.5 if is_share else 50, for_secs=0.25))
    guard.before(reading(metric, 100))
    for number in range(2):
        expected = reading(metric, values[not foreseen])
        guard.watch(number * TICK_SECS, TICK_SECS, reading(metric, values[good]), 0.0, expected)
    result = guard.document(Struck(True, off_schedule=("f1 was late.",), host_limited=LIMITED))
    assert result["outcome"] == ("inconclusive" if is_share and good else outcome)
    assert ("But this machine limited the run: Even one pair" in result["sentence"]) is (is_share and good)
    assert (", but this machine limited the run: Even one pair" in result["sentence"]) is (outcome == "inconclusive")
    assert result["sentence"].endswith("f1 was late.")
    assert guard.outcome(STRUCK) == ("held" if good else "broken"), "on a machine that did not limit the run"


def test_several_hypotheses_are_tested_and_the_worst_is_reported_first() -> None:
    guards = Guards(
        [
            Hypothesis(metric="goodput", bound=10, for_secs=0.25),
            Hypothesis(metric="stalled-flows", bound=0, for_secs=0.25, abort=False),
            Hypothesis(metric="abt", bound=50, for_secs=0.25),
        ]
    )
    low = Reading(60.0, 40.0, 0)
    assert [guards.watch(number * 0.25, 0.25, low) for number in range(2)] == [True, False], "once"
    assert [document["outcome"] for document in guards.documents(STRUCK)] == ["held", "held", "broken"]
    assert guards.document(STRUCK) == guards.documents(STRUCK)[2]
    assert Guards([]).document(STRUCK) == Guard(None).document(STRUCK)
    assert Guards([]).documents(STRUCK) == []
