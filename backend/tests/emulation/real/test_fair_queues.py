"""Fair queues at the ends of links give every flow its share of its path, and they work together
with faults of links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Command

pytestmark = pytest.mark.long

SPEC = '{"family": "bcube", "n": 2, "k": 1}'


def test_the_slowest_flow_gets_its_share_and_a_silent_cut_is_counted(
    emulate: Command, nothing_left: Callable[[], Any]
) -> None:
    report = emulate.run(
        *("--spec", SPEC, "--mode", "namespaces", "--queues", "fair", "--link-rate", "40M"),
        *("--seconds", "12", "--settle", "3", "--calibrate", "0"),
        *("--fault", "cable-cut-silent=00/<0,0>@6-8", "--fault", "link-rate:10M=11/<1,1>@10"),
    )
    fidelity = report["fidelity"]
    # With one queue for all flows the value is 0.2: nothing is lost, so TCP's windows determine the
    # shares.
    assert fidelity["over_paths"]["least_flow_share"] > 0.5, fidelity
    assert fidelity["own_cpu"] <= fidelity["cpu"] + 0.1
    assert [fault["kind"] for fault in report["faults"]] == ["cable-cut-silent", "link-rate"]
    dropped = {link["link"]: link["ab_drops"] + link["ba_drops"] for link in report["per_link"]}
    assert dropped["00/<0,0>"] > 0, "packets dropped by the cut are counted"
    assert report["faults"][0]["recovered_at_secs"] is not None
