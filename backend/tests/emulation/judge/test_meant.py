"""Flows of limited size: compared with the bytes that they should carry, and left out if they end
before TCP has started up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.emulation.judge.meant import START_UP_SECS, meant_of
from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.engine import Engine
from tests.conftest import examples
from tests.emulation.judge.test_report import report
from tests.emulation.measure.test_measures import busy_frame
from tests.emulation.setup.test_question import question

Json = dict[str, Any]
FLOWS, LINKS, TICKS = 16, 32, 30


def recorded(engine: Engine, carries: float, settle_ticks: int = 0, **emulation: Any) -> Recorder:
    """Records three seconds on a busy machine, after some ticks that do not count. Each flow
    carries its ideal rate until it ends. `carries` is its size, in seconds at the fastest flow's
    rate; the slowest flows have half of that rate."""
    request = question(engine, workload="permutation")
    rates = np.array([flow.ideal_bits_per_sec * request.network.header_efficiency / 8 for flow in request.flows])
    assert rates.min() == rates.max() / 2
    size = max(1, round(rates.max() * carries))
    recorder = Recorder(question(engine, workload="permutation", emulation={**emulation, "flow_bytes": size}))
    left = np.full(rates.size, size)
    for number in range(1, settle_ticks + TICKS + 1):
        now = np.minimum(left, (rates / 10).astype(int))
        left -= now
        frame = {**busy_frame(number, 16, LINKS, FLOWS), "host": {"cpu": 0.95}}
        frame["flows"]["bytes"] = now.tolist()
        tick, secs = recorder.take(frame)
        if number > settle_ticks:
            recorder.count(tick, secs, number / 10, "before")
    return recorder


@settings(max_examples=examples(20))
@given(seconds=st.floats(1.01, 6.0), settle_ticks=st.integers(0, 9))
def test_a_transfer_that_is_over_early_lacks_nothing(engine: Engine, seconds: float, settle_ticks: int) -> None:
    """On a busy machine, missing traffic would make the run host-limited."""
    fidelity = report(recorded(engine, seconds, settle_ticks))["fidelity"]
    assert (fidelity["verdict"], fidelity["short_flows_share"]) == ("faithful", 0.0)
    assert fidelity["achieved_over_ideal"] == pytest.approx(fidelity["header_efficiency"], rel=0.02)


@pytest.mark.parametrize("seconds", [0.01, 0.3, 0.49 * START_UP_SECS])
def test_a_transfer_shorter_than_the_start_up_of_tcp_condemns_no_run(engine: Engine, seconds: float) -> None:
    fidelity = report(recorded(engine, seconds))["fidelity"]
    assert (fidelity["verdict"], fidelity["short_flows_share"], fidelity["achieved_over_ideal"]) == (
        "unknown",
        1.0,
        None,
    )
    assert fidelity["reason"].endswith("Left out are 100% of the flows: they end before TCP has reached its rate.")


def test_only_the_flows_that_are_too_short_are_left_out(engine: Engine) -> None:
    fidelity = report(recorded(engine, 0.8))["fidelity"]
    assert fidelity["verdict"] == "faithful"
    assert 0 < fidelity["short_flows_share"] < 1
    assert f"Left out are {fidelity['short_flows_share']:.0%} of the flows" in fidelity["reason"]


def test_datagrams_have_no_start_up(engine: Engine) -> None:
    short = recorded(engine, 0.3, protocol="udp", flow_bits_per_sec=1e11)
    assert report(short)["fidelity"]["short_flows_share"] == 0.0


def test_a_flow_that_ended_before_anything_counted_is_not_stalled(engine: Engine) -> None:
    recorder = recorded(engine, 0.9, settle_ticks=20)
    meant = meant_of(recorder, recorder.parts["before"])
    assert (meant.stalled_flows, meant.achieved) == (0, None)


def test_flows_that_end_while_they_settle_are_why_nothing_was_measured(engine: Engine) -> None:
    fidelity = report(recorded(engine, 2.0, settle_ticks=50))["fidelity"]
    assert (fidelity["verdict"], fidelity["short_flows_share"]) == ("unknown", 0.0)
    assert fidelity["reason"] == "Every flow that lasts long enough to be judged ended while the flows settled."
