"""Links with reduced capacity: from then on, the measurement matches the flow engine's
prediction."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Command

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]
ONE_SWITCH = '{"family":"bcube","n":4,"k":0}'
"""Four servers on one switch, so that a flow cannot avoid its link."""
TWO_LEVELS = '{"family":"bcube","n":4,"k":1}'
QUIET = ("--link-rate", "50M", "--mode", "namespaces", "--settle", "1", "--calibrate", "0")


def flow(source: str, destination: str) -> str:
    return json.dumps({"kind": "one-to-one", "source": source, "destination": destination})


def measured(report: Json, from_secs: float, until_secs: float) -> float:
    """Mean goodput in an interval, by the report's series, in bits per second."""
    series = zip(report["series"]["at_secs"], report["series"]["goodput_bits_per_sec"], strict=True)
    # The entry of a second has the time of the second's end.
    within = [goodput for at, goodput in series if from_secs + 1.0 <= at <= until_secs]
    assert within, report["series"]
    return sum(within) / len(within)


def test_a_link_at_a_tenth_carries_a_tenth_as_predicted(emulate: Command, nothing_left: Left) -> None:
    slower = "link-rate:5M=0/<0,>@2"
    result = emulate.run(
        "--spec", ONE_SWITCH, "--workload", flow("0", "3"), "--seconds", "5", "--fault", slower, *QUIET
    )
    whole, (step,) = result["predicted"], result["predicted_steps"]
    assert step["at_secs"] == pytest.approx(2, abs=0.3)
    assert step["degraded"] == [{"link": "0/<0,>", "kind": "link-rate", "rate_bits_per_sec": 5e6}]
    assert [item["ideal_bits_per_sec"] for item in (whole, step)] == pytest.approx([50e6, 5e6])
    # These intervals begin after packets have arrived that were in flight when the link became
    # slower.
    for ideal, since, until in ((50e6, 0.0, 2.0), (5e6, 2.5, 5.5)):
        goodput = measured(result, since, until)
        assert goodput == pytest.approx(ideal * result["header_efficiency"], rel=0.1), result["series"]


@pytest.mark.long
def test_a_flow_goes_around_a_link_at_a_tenth_as_predicted(emulate: Command, nothing_left: Left) -> None:
    """The path from 00 to 01 over their switch is the shorter one, until its link has less capacity
    than the longer path."""
    slower = "link-rate:5M=00/<0,0>@1.5"
    soon = ("--set", 'timers={"adapt_secs":0.5}')
    result = emulate.run(
        "--spec", TWO_LEVELS, "--workload", flow("00", "01"), "--seconds", "5", "--fault", slower, *soon, *QUIET
    )
    (step,) = result["predicted_steps"]
    assert step["ideal_bits_per_sec"] == pytest.approx(50e6)
    (fault,) = result["faults"]
    assert fault["moves"] >= 1
    goodput = measured(result, 2.5, 5.5)
    assert goodput == pytest.approx(50e6 * result["header_efficiency"], rel=0.1), result["series"]
