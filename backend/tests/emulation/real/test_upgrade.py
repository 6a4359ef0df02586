"""An upgrade under traffic, with real packets: cables are plugged in or moved, and ports get
faster, while flows run. `[subways §4.3]`"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from .conftest import Command

pytestmark = pytest.mark.long

Left = Callable[[], dict[str, set[str]]]
COMMON = {"family": "subways", "type": 1, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
PAIRS = {"kind": "matrix", "entries": [["0.0.0", "1.0.0", 1.0], ["0.2.0", "1.2.0", 1.0]]}


def test_a_second_port_carries_as_much_again_and_no_connection_is_lost(emulate: Command, nothing_left: Left) -> None:
    after = json.dumps({**COMMON, "p": 2, "q": 4})
    result = emulate.run(
        "--spec", json.dumps({**COMMON, "p": 1, "q": 2}), "--upgrade-to", f"{after}@2", "--workload", json.dumps(PAIRS), "--connections", "16", "--link-rate", "20M",
        "--seconds", "9", "--settle", "1", "--calibrate", "0", "--mode", "namespaces",
    )  # fmt: skip
    upgrade = result["upgrade"]
    assert (upgrade["steps"], upgrade["steps_done"], upgrade["connections_lost"]) == (8, 8, 0)
    assert [event["step"] for event in result["events"] if event["kind"] == "upgrade"] == list(range(1, 9))
    windows = {name: window["goodput_bits_per_sec"] for name, window in result["windows"].items()}
    # A busy machine may carry less than the ports can, both before and after.
    assert windows["after"] > 1.4 * windows["before"], result["fidelity"]
    assert result["windows"]["after"]["stalled_flows"] == 0
    assert result["drops"] == {}
    assert result["predicted_steps"][-1]["failed"] == []


def test_type_2_and_faster_ports_after_type_1_lose_no_connection(emulate: Command, nothing_left: Left) -> None:
    """Uplinks are moved to the other cluster and all ports get 2.5 times as fast, in one work
    order."""
    ports = {**COMMON, "p": 2, "q": 4}
    after = {**ports, "type": 2, "c": 2, "server_gbps": 25, "uplink_gbps": 100}
    upgrade = json.dumps({"to": after, "at_secs": 1.5, "step_secs": 0.1})
    result = emulate.run(
        "--spec", json.dumps(ports), "--set", f"upgrade={upgrade}", "--workload", json.dumps(PAIRS), "--connections", "8", "--link-rate", "8M",
        "--seconds", "6", "--settle", "1", "--calibrate", "0", "--mode", "namespaces",
    )  # fmt: skip
    done = result["upgrade"]
    assert done["steps_done"] == done["steps"]
    assert done["connections_lost"] == 0
    reported = [event for event in result["events"] if event["kind"] == "upgrade"]
    assert sum(len(event.get("removed", [])) for event in reported) == 8
    windows = {name: window["goodput_bits_per_sec"] for name, window in result["windows"].items()}
    assert windows["after"] > 1.8 * windows["before"], result["fidelity"]
    assert result["windows"]["after"]["stalled_flows"] == 0
    # Removed cables carry nothing afterwards; their replacements carry traffic.
    assert result["predicted_steps"][-1]["degraded"] == []
    assert len(result["predicted_steps"][-1]["failed"]) == 8
