"""A fat-tree whose switches are switching chips, with real packets: PortLand through the whole
stack, and its failures.

The paths of packets, and that hosts see PMACs, are tested with the fabric
(`emulator/crates/fabric/tests/chips.rs`).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Command

Left = Callable[[], dict[str, set[str]]]

FAT_TREE = '{"family":"fat_tree","ports":4,"layers":3}'
SHORT = ("--settle", "1", "--calibrate", "0.5")
QUESTION = (
    "--spec",
    FAT_TREE,
    "--dataplane",
    "serverswitch",
    "--workload",
    "permutation",
    "--link-rate",
    "20M",
    *SHORT,
)


def test_a_core_that_is_off_is_led_around(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(*QUESTION, "--seconds", "12", "--fault", "switch-off=<2,00>@4-8")
    windows = result["windows"]
    for name, window in windows.items():
        assert window["stalled_flows"] == 0, (name, window)
    (fault,) = result["faults"]
    assert fault["moves"] > 0, "the path of some flow used that core switch"
    assert fault["last_move_secs"] < 0.2, "tables change with the carrier"
    assert fault["detected_secs"] < 1.0, "the switches next to it lose carriers"
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0
    assert windows["before"]["goodput_bits_per_sec"] > 0.75 * result["ideal_bits_per_sec"], result["fidelity"]


@pytest.mark.long
def test_a_silent_aggregation_switch_is_found_by_hellos(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(*QUESTION, "--seconds", "12", "--mode", "namespaces", "--fault", "switch-silent=<1,00>@3-8")
    (fault,) = result["faults"]
    assert 0.09 < fault["detected_secs"] < 1.0, "three hellos, 50 ms apart"
    assert fault["moves"] > 0
    for name in ("before", "during", "after"):
        assert result["windows"][name]["stalled_flows"] == 0, name


@pytest.mark.long
def test_a_killed_server_is_found_again_by_arp(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(*QUESTION, "--seconds", "12", "--fault", "server-killed=011@3-6")
    others = [flow for flow in result["per_flow"] if "011" not in (flow["source"], flow["destination"])]
    assert len(others) == 14
    assert min(other["goodput_bits_per_sec"] for other in others) > 0
    assert result["windows"]["after"]["stalled_flows"] <= 2, "the flow that it sends and the one that it receives"
