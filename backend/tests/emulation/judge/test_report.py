"""The fidelity of a session's numbers, and the consequences of each fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.judge.consequences import Consequences
from cubeyard.emulation.judge.fidelity import (
    BUSY_CPU,
    GOOD_ABT_SHARE,
    GOOD_SHARE,
    MORE_THAN_FAIR,
    Calibration,
    Observed,
    OverPaths,
    judge,
)
from cubeyard.emulation.judge.guard import Guards
from cubeyard.emulation.judge.report import make
from cubeyard.emulation.measure.recorder import Part, Recorder
from cubeyard.engine import Engine
from cubeyard.experiments.hypotheses import Hypothesis, StatedHypothesis
from cubeyard.experiments.scenario.verdict import of_emulation
from tests.emulation.measure.test_events import chosen
from tests.emulation.measure.test_measures import TINY, busy_frame
from tests.emulation.setup.test_question import question

Json = dict[str, Any]
PULLED = {"kind": "cable-pulled", "targets": ["00/<0,0>"], "until_secs": None}


def pair(share: float | None) -> Calibration | None:
    return None if share is None else Calibration("00", "01", share * 1e8, 1e8)


@pytest.mark.parametrize(
    ("alone", "achieved", "cpu", "stalled", "verdict", "reason"),
    [
        (
            0.9, GOOD_SHARE, 0.99, 0, "faithful",
            "Without faults, 95% of achievable goodput was reached at 99% host CPU: nothing is missing. The host was "
            "busy then, but it was not the limit.",
        ),
        (None, MORE_THAN_FAIR, 0.5, 0, "faithful", "Without faults, 103% of achievable goodput was reached at 50% host CPU: nothing is missing."),
        (
            None, 1.04, 0.5, 0, "faithful",
            "Without faults, 104% of achievable goodput was reached at 50% host CPU: more than fair shares add up to, because TCP "
            "gives more to flows with shorter paths.",
        ),
        (
            0.98, 1.1, BUSY_CPU, 3, "host-limited",
            "Without faults, 110% of achievable goodput was reached at 90% host CPU, and 3 flows carried nothing: 30% of its ticks "
            "were late.",
        ),
        (0.98, 1.0, 0.89, 3, "faithful", "Without faults, 100% of achievable goodput was reached at 89% host CPU: nothing is missing."),
        (
            None, 0.8, 0.5, 0, "unknown",
            "Without faults, 80% of achievable goodput was reached at 50% host CPU, and no pair was measured alone.",
        ),
        (
            0.7, 0.6, 0.5, 0, "host-limited",
            "Without faults, 60% of achievable goodput was reached at 50% host CPU. Even one pair alone reached only 70% of "
            "its link.",
        ),
        (
            GOOD_SHARE, 0.8, BUSY_CPU, 0, "host-limited",
            "Without faults, 80% of achievable goodput was reached at 90% host CPU, and one pair alone reached 95%: 30% of its ticks "
            "were late.",
        ),
        (
            0.98, 0.8, 0.89, 0, "faithful",
            "Without faults, 80% of achievable goodput was reached at 89% host CPU, and one pair alone reached 98%: the network itself "
            "loses the rest.",
        ),
        (0.98, None, 0.5, 0, "unknown", "Nothing was measured before the first fault."),
        (0.98, 0.8, None, 0, "unknown", "The CPU is not known."),
    ],
)  # fmt: skip
def test_the_fidelity_verdict(
    alone: float | None, achieved: float | None, cpu: float | None, stalled: int, verdict: str, reason: str
) -> None:
    late = 0.3 if cpu == BUSY_CPU else 0.0
    result = judge(pair(alone), Observed(achieved, cpu, 1.0, stalled, late_ticks=late))
    assert (result["verdict"], result["reason"]) == (verdict, reason)


@pytest.mark.parametrize(
    ("delays", "words"),
    [
        ({"late_ticks": 0.12}, "12% of its ticks were late."),
        ({"wait_secs": 0.014}, "its processes waited 14 ms each time for a processor."),
        ({"backlog_drops": 1234}, "the kernel's backlog lost 1,234 packets."),
        ({"late_ticks": 0.05, "wait_secs": 0.004}, ""),
    ],
)
@pytest.mark.parametrize("cpu", [0.2, 1.0])
def test_the_run_s_own_delays_tell_the_machine_from_the_network_not_its_load(
    delays: Json, words: str, cpu: float
) -> None:
    result = judge(pair(0.98), Observed(0.7, cpu, 1.0, own_cpu=0.3, over_paths=over_paths(0.5, 0.7), **delays))
    assert (result["verdict"], result["cause"]) == (("host-limited", "machine") if words else ("faithful", "tcp"))
    assert words in result["reason"]
    whole = judge(pair(0.98), Observed(0.97, cpu, 1.0, **delays))
    assert (whole["verdict"], whole["cause"]) == ("faithful", "none"), "nothing is missing"


def test_advice_is_given_only_where_it_helps() -> None:
    tcp = Observed(0.98, 1.0, 1.0, abt_over_predicted=0.27, over_paths=over_paths(0.3))
    assert judge(pair(0.98), tcp)["advice"] == "fair-queues"
    assert judge(pair(0.98), tcp)["reason"].endswith(" Run again with fair queues.")
    assert judge(pair(0.98), replace(tcp, fair_queues=True))["advice"] is None
    late = Observed(0.7, 1.0, 1.0, late_ticks=0.5, own_cpu=0.9)
    assert judge(pair(0.98), late)["advice"] == "less-work"
    assert judge(pair(0.98), replace(late, own_cpu=0.3))["advice"] is None, "other programs keep the machine busy"


def test_neighbours_declared_dead_without_a_fault_are_a_reason_of_their_own() -> None:
    seen = Observed(1.0, 0.25, 1.0, abt_over_predicted=0.62, over_paths=over_paths(0.8), deaths=4)
    result = judge(pair(0.98), seen)
    assert (result["verdict"], result["cause"]) == ("unknown", "neighbours")
    assert result["reason"].endswith("but neighbours were declared dead 4 times without a fault.")
    late = judge(pair(0.98), replace(seen, late_ticks=0.4))
    assert (late["verdict"], late["cause"]) == ("host-limited", "machine")


def over_paths(abt: float, goodput: float = 1.0) -> OverPaths:
    """Measured values as shares of the rates that the paths allow."""
    return OverPaths(1e9, 8e8, goodput, abt, abt, 1.0)


@pytest.mark.parametrize(
    ("cpu", "abt", "of_paths", "verdict", "cause", "says"),
    [
        (0.5, 0.32, None, "faithful", "unknown", "ABT reached only 32% of the prediction: the slowest flow"),
        (0.5, 0.32, 0.4, "faithful", "tcp", "and 40% of what the paths taken allow: TCP gives the slowest flow less"),
        (0.95, 0.32, 0.4, "faithful", "tcp", "and 40% of what the paths taken allow: TCP gives the slowest flow less"),
        (0.5, 0.32, GOOD_ABT_SHARE, "faithful", "paths", "75% of what the paths taken allow: flows took other paths"),
        (0.95, 0.32, 0.9, "faithful", "paths", "90% of what the paths taken allow: flows took other paths"),
        (0.95, GOOD_ABT_SHARE, 0.4, "faithful", "none", "more than fair shares"),
        (0.95, None, None, "faithful", "none", "more than fair shares"),
    ],
)
def test_a_verdict_looks_at_abt_as_well_as_goodput(
    cpu: float, abt: float | None, of_paths: float | None, verdict: str, cause: str, says: str
) -> None:
    """The total goodput is always complete: other flows have what the slowest flow lacks."""
    paths = None if of_paths is None else over_paths(of_paths)
    result = judge(pair(0.98), Observed(1.16, cpu, 1.0, 0, abt, over_paths=paths))
    assert (result["verdict"], result["cause"]) == (verdict, cause)
    assert says in result["reason"]
    assert result["abt_over_predicted"] == abt


@pytest.mark.parametrize(
    ("cpu", "alone", "goodput_of_paths", "verdict", "cause"),
    [
        (0.98, 0.6, 0.96, "faithful", "paths"),
        (0.98, 0.98, 0.8, "host-limited", "machine"),
        (0.5, 0.98, 0.8, "faithful", "tcp"),
        (0.5, 0.7, 0.8, "host-limited", "machine"),
    ],
)
def test_goodput_that_the_paths_do_not_allow_is_not_missing(
    cpu: float, alone: float, goodput_of_paths: float, verdict: str, cause: str
) -> None:
    late = 0.3 if cpu > BUSY_CPU else 0.0
    result = judge(pair(alone), Observed(0.8, cpu, 1.0, over_paths=over_paths(0.9, goodput_of_paths), late_ticks=late))
    assert (result["verdict"], result["cause"]) == (verdict, cause)


def test_missing_goodput_says_what_became_of_abt_too() -> None:
    result = judge(pair(0.98), Observed(0.89, 0.5, 1.0, 0, 0.57, over_paths=over_paths(0.76, 0.98)))
    assert (
        "and 98% of what the paths taken allow; ABT reached 57% of the prediction, and 76% of what these paths allow: "
        "flows took other paths than predicted." in result["reason"]
    )


def test_a_busy_host_reports_the_share_of_the_run() -> None:
    result = judge(pair(0.98), Observed(1.0, 0.98, 1.0, own_cpu=0.31))
    assert result["verdict"] == "faithful"
    assert (
        "at 98% host CPU (31% by this run): nothing is missing. The host was busy then, but it was not"
        in result["reason"]
    )
    assert (result["cpu"], result["own_cpu"]) == (0.98, 0.31)


@given(st.lists(st.tuples(st.sampled_from(["before", "during", "after"]), st.integers(1, 30)), min_size=1, max_size=3))
def test_abt_of_the_whole_run_lies_between_those_of_its_stretches(
    engine: Engine, stretches: list[tuple[Part, int]]
) -> None:
    recorder, number = Recorder(question(engine, TINY, "permutation")), 0
    for at, (part, ticks) in enumerate(stretches):
        for _ in range(ticks):
            number += 1
            frame = busy_frame(number, 4, 8, 4)
            # In each part of the run, another flow is the slowest.
            frame["flows"]["bytes"] = [10_000 * (1 + (row + at) % 4) for row in range(4)]
            tick, secs = recorder.take({**frame, "at_secs": number / 10})
            recorder.count(tick, secs, number / 10, part)
    result = report(recorder)
    each = [window["abt_bits_per_sec"] for window in result["windows"].values()]
    assert min(each) - 1 <= result["total"]["abt_bits_per_sec"] <= max(each) + 1
    assert result["abt_bits_per_sec"] == result["total"]["abt_bits_per_sec"]


def test_abt_is_of_the_flows_that_are_not_cut_off(engine: Engine) -> None:
    recorder = Recorder(question(engine, TINY, "permutation"))
    for number in range(1, 21):
        frame = busy_frame(number, 4, 8, 4)
        frame["flows"]["bytes"] = [0, 125_000, 125_000, 125_000]
        tick, secs = recorder.take({**frame, "at_secs": number / 10})
        reading = recorder.count(tick, secs, number / 10, "during", set(), {0})
    assert reading.abt_bits_per_sec == pytest.approx(3e7)
    result = report(recorder)["windows"]["during"]
    assert (result["abt_bits_per_sec"], result["cut_off_flows"]) == (3e7, 1)
    assert recorder.payload(tick, 2.0, "during").get("cut_off_flows") == 1


def test_a_verdict_comes_with_what_it_is_made_of() -> None:
    result = judge(Calibration("00", "01", 87_654_321, 1e8), Observed(0.8123456, 0.4567891, 0.98765432))
    assert {name: item for name, item in result.items() if name != "reason"} == {
        "verdict": "host-limited",
        "cause": "machine",
        "advice": None,
        "deaths": 0,
        "late_ticks": 0.0,
        "wait_secs": None,
        "backlog_drops": 0,
        "cpu": 0.4568,
        "own_cpu": None,
        "over_paths": None,
        "short_flows_share": 0.0,
        "achieved_over_ideal": 0.8123,
        "abt_over_predicted": None,
        "header_efficiency": 0.9877,
        "calibration": {
            "source": "00",
            "destination": "01",
            "goodput_bits_per_sec": 87_654_321,
            "ideal_bits_per_sec": 1e8,
            "achieved_over_ideal": 0.8765,
        },
    }
    assert "only 89% of its link" in result["reason"], "headers do not count as missing"
    assert "82% of achievable goodput" in result["reason"]
    nothing = judge(Calibration("00", "01", 1.0, 0.0), Observed(None, None, 0.9))
    assert nothing["cpu"] is nothing["achieved_over_ideal"] is None
    assert nothing["calibration"]["achieved_over_ideal"] == 0.0


def recorded(
    engine: Engine, ticks: int, *, dead: set[int] | None = None, cpu: float = 0.5, **emulation: Any
) -> Recorder:
    """Records `ticks` ticks before any fault; in each, every column has the numbers of a busy
    frame."""
    recorder = Recorder(question(engine, workload="permutation", emulation=emulation))
    for number in range(1, ticks + 1):
        tick, secs = recorder.take({**busy_frame(number, 16, 32, 16), "host": {"cpu": cpu}})
        recorder.count(tick, secs, number / 10, "before", dead or set())
    return recorder


def report(recorder: Recorder, faults: list[Json] | None = None) -> Json:
    return make(recorder, Guards([]), pair(0.98), faults or [], ended="done", timings={})


@pytest.mark.parametrize("mtu", [1280, 1500, 9000])
def test_flows_at_a_pace_of_their_own_are_not_meant_to_reach_the_ideal(engine: Engine, mtu: int) -> None:
    """Each flow has a given rate of 10 Mb/s, and carries exactly that."""
    result = report(recorded(engine, 30, protocol="udp", flow_bits_per_sec=1e7, mtu=mtu))["fidelity"]
    assert result["verdict"] == "faithful"
    assert result["reason"].startswith("Without faults, 100% of achievable goodput")
    assert result["achieved_over_ideal"] == pytest.approx(result["header_efficiency"])


@pytest.mark.parametrize(("ticks", "verdict"), [(0, "unknown"), (9, "unknown"), (10, "faithful")])
def test_less_than_a_second_before_the_first_fault_is_worth_nothing(engine: Engine, ticks: int, verdict: str) -> None:
    result = report(recorded(engine, ticks, cpu=0.95))
    assert result["fidelity"]["verdict"] == verdict
    assert result["windows"].keys() == ({"before"} if ticks else set())
    assert result["fidelity"]["cpu"] == (0.95 if ticks >= 10 else None)


def test_a_measurement_is_compared_with_the_rates_that_its_paths_allow(engine: Engine) -> None:
    recorder = Recorder(question(engine, TINY, "permutation"))
    flows, links = recorder.question.flows, 8
    direct = {flow.id: [flow.source, flow.destination] for flow in flows}
    taken = {row: path if _adjacent(path) else _by(path) for row, path in direct.items()}
    recorder.events.paths.update(taken)
    fair = recorder.question.rates_over([taken[flow.id] for flow in flows])
    for number in range(1, 21):
        frame = busy_frame(number, 4, links, len(flows))
        frame["flows"]["bytes"] = [int(rate * recorder.question.network.header_efficiency / 80) for rate in fair]
        tick, secs = recorder.take({**frame, "at_secs": number / 10})
        recorder.count(tick, secs, number / 10, "before")
    result = report(recorder)["fidelity"]["over_paths"]
    assert result["abt_share"] == pytest.approx(1.0, rel=1e-3)
    assert result["goodput_share"] == pytest.approx(1.0, rel=1e-3)
    assert result["least_flow_share"] == pytest.approx(1.0, rel=1e-3)
    nothing = Recorder(question(engine, TINY, "permutation"))
    assert nothing.paths_before.fair_rates(nothing.question.rates_over) is None


def _adjacent(path: list[int]) -> bool:
    """Whether two servers of a BCube(2,1) differ in one digit."""
    return (path[0] ^ path[1]) in (1, 2)


def _by(path: list[int]) -> list[int]:
    return [path[0], path[0] ^ 1, path[1]]


def test_a_session_in_which_every_flow_died_is_reported(engine: Engine) -> None:
    result = report(recorded(engine, 20, dead=set(range(16))))
    assert result["abt_bits_per_sec"] == result["total"]["least_abt_bits_per_sec"] == 0
    assert result["aggregate_goodput_bits_per_sec"] == pytest.approx(16 * 1e7)


def test_the_whole_report(engine: Engine) -> None:
    recorder = Recorder(question(engine, TINY, "permutation"))
    frame = {**busy_frame(1, 4, 8, 4), "drops": {"ttl": 1, "no_route": 2}}
    frame["flows"]["bytes"] = [100_000, 125_000, 125_000, 125_000]
    for number in range(1, 25):
        tick, secs = recorder.take({**frame, "tick": number, "at_secs": number / 10})
        part: Part = "before" if number <= 12 else "during" if number <= 15 else "after"
        recorder.count(tick, secs, number / 10, part)
    events = recorder.events
    moved = {**chosen(0, "path-switched"), "at_nanos": 123_456_789}
    events.hear([moved, *[{"kind": "probed", "server": 2, "took_nanos": 1_500_000}] * 4], 2.0)
    events.hear([{"kind": "probed", "server": 2, "took_nanos": 2_345_678}, *[{"kind": "x", "server": 3}] * 503], 2.0)
    events.hear([{"kind": "x", "server": 99}] * 501, 2.0)
    faults = [
        {"id": "f1", **PULLED, "at_nanos": 4, "at_secs": 0.9, "injected_at_secs": 0.9, "recovered_at_secs": None},
        {
            "id": "f2",
            **PULLED,
            "at_nanos": 200_000_000,
            "at_secs": 0.2,
            "injected_at_secs": 0.2,
            "recovered_at_secs": None,
        },
    ]
    result = make(recorder, Guards([]), pair(0.98), faults, ended="aborted", timings={"up_secs": 0.5})
    rate, slowest = 1e7, 8e6
    goodput = 3 * rate + slowest
    window = {
        "secs": 1.2, "goodput_bits_per_sec": goodput, "least_goodput_bits_per_sec": goodput,
        "abt_bits_per_sec": 4 * slowest, "least_abt_bits_per_sec": 4 * slowest, "stalled_flows": 0, "most_stalled_flows": 0, "cut_off_flows": 0,
        "retransmits": 576,
        "drops": 36, "queue_drops": 576, "cpu": 0.7,
    }  # fmt: skip
    short = {"least_goodput_bits_per_sec": None, "least_abt_bits_per_sec": None, "most_stalled_flows": None}
    network, flows = recorder.question.network, recorder.question.flows
    assert result == {
        "ended": "aborted",
        "verdict": {"outcome": "none", "sentence": "The run had no hypothesis."},
        "verdicts": [],
        "aggregate_goodput_bits_per_sec": goodput,
        "ideal_bits_per_sec": round(sum(flow.ideal_bits_per_sec for flow in flows)),
        "header_efficiency": round((9000 - 36 - 52) / 9014, 4),
        "abt_bits_per_sec": 4 * slowest,
        "predicted": recorder.question.prediction.document(),
        "total": {**window, "secs": 2.4, "retransmits": 48 * 24, "drops": 72, "queue_drops": 1152},
        "windows": {
            "before": window,
            "during": {**window, **short, "secs": 0.3, "retransmits": 144, "drops": 9, "queue_drops": 144},
            "after": {**window, **short, "secs": 0.9, "retransmits": 432, "drops": 27, "queue_drops": 432},
        },
        "fidelity": judge(
            pair(0.98),
            Observed(
                goodput / sum(flow.ideal_bits_per_sec for flow in flows), 0.7, network.header_efficiency, 0,
                4 * slowest / (recorder.question.prediction.abt_bits_per_sec * network.header_efficiency),
            ),
        ),
        "faults": [
            {
                **faults[0], "detected_secs": None, "first_move_secs": None, "last_move_secs": None, "moves": 0,
                "recovered_secs": 1.1,
            },
            {
                **faults[1], "detected_secs": None, "first_move_secs": None, "last_move_secs": None, "moves": 0,
                "recovered_secs": None, "already_down": True,
            },
        ],
        "not_injected": [],
        "path_switches": 1,
        "probing": {"rounds": 5, "mean_secs": 0.001669},
        "events_left_out": [{"server": "11", "count": 3}, {"server": "", "count": 1}],
        "drops": {"no-route": 48, "ttl": 24},
        "per_server": recorder.per_server(),
        "per_link": recorder.per_link(),
        "per_flow": recorder.per_flow(),
        "series": {
            "at_secs": [0.1, 1.0, 2.0],
            "goodput_bits_per_sec": [goodput] * 3,
            "abt_bits_per_sec": [4 * slowest] * 3,
        },
        "timings": {"up_secs": 0.5},
    }  # fmt: skip
    assert orjson.loads(orjson.dumps(result)) == result, "plain numbers and text"
    assert list(result["drops"]) == ["no-route", "ttl"]
    assert result["per_flow"][1] == {
        "flow": 1,
        "source": network.servers[flows[1].source],
        "destination": network.servers[flows[1].destination],
        "goodput_bits_per_sec": rate,
        "ideal_bits_per_sec": round(flows[1].ideal_bits_per_sec),
    }


def test_a_host_limited_run_leaves_a_share_of_its_baseline_open(engine: Engine) -> None:
    recorder = recorded(engine, 20)
    full, claim = recorder.reading, Hypothesis(metric="goodput-share", bound=0.9, for_secs=0.5)
    outcomes = []
    for share in (0.98, 0.6):
        guards = Guards([claim])
        guards.before(full)
        for number in range(10):
            guards.watch(number / 10, 0.1, full)
        faults = [
            {"id": "f1", **PULLED, "at_nanos": 4, "at_secs": 1.3, "injected_at_secs": 1.3, "recovered_at_secs": 2.0}
        ]
        result = make(recorder, guards, pair(share), faults, ended="done", timings={})
        outcomes.append((result["fidelity"]["verdict"], result["verdict"]["outcome"]))
    assert outcomes[1] == ("host-limited", "inconclusive")
    assert outcomes[0][1] == "held"


@pytest.mark.parametrize(("done", "outcome"), [(8, "held"), (3, "not-tested"), (0, "not-tested")])
def test_an_upgrade_that_was_not_finished_leaves_each_hypothesis_untested(
    engine: Engine, done: int, outcome: str
) -> None:
    recorder = recorded(engine, 20)
    claim = StatedHypothesis(metric="goodput", bound=1.0)
    guards = Guards([Hypothesis(metric="goodput", bound=1.0, for_secs=0.5)])
    for number in range(10):
        guards.watch(number / 10, 0.1, recorder.reading)
    upgrade = {"title": "to p 2", "steps": 8, "steps_done": done, "began_at_secs": 1.0 if done else None}
    report = make(recorder, guards, pair(0.98), [], ended="done", timings={}, upgrade=upgrade)
    missing = [] if done == 8 else [f"The run ended after {done} of 8 steps of its upgrade."]
    assert report["verdict"]["outcome"] == outcome
    assert all(sentence in report["verdict"]["sentence"] for sentence in missing)
    verdict = of_emulation([claim], report)
    assert (verdict.outcome, verdict.not_injected) == (outcome, missing), "as `scenario run` judges it"


def test_the_goodput_is_back_when_a_whole_second_after_the_fault_is_nearly_as_before(engine: Engine) -> None:
    recorder = recorded(engine, 20)
    full = recorder.parts["before"].goodput_bits_per_sec
    recorder.series = [(float(at), share * full, 0.0) for at, share in enumerate([1, 1, 1, 1, 0.4, 0.94, 0.96, 0.5, 1])]
    times = (1.5, 2.0, 2.5, 6.5, 7.5)
    faults = [{**PULLED, "at_nanos": 5, "injected_at_secs": at, "recovered_at_secs": None} for at in times]
    each = [Consequences(recorder, [fault]).documents()[0] for fault in faults]
    back = {at: document["recovered_secs"] for at, document in zip(times, each, strict=True)}
    assert back == {1.5: 1.5, 2.0: 4.0, 2.5: 3.5, 6.5: 1.5, 7.5: None}
    (short,) = Consequences(recorded(engine, 9), faults[:1]).documents()
    assert short["recovered_secs"] is None, "nothing to compare with"
