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
    found = emulate.run(*QUESTION, "--seconds", "12", "--fault", "switch-off=<2,00>@4-8")
    windows = found["windows"]
    for name, window in windows.items():
        assert window["stalled_flows"] == 0, (name, window)
    (fault,) = found["faults"]
    assert fault["moves"] > 0, "some flow's path went over that core"
    assert fault["last_move_secs"] < 0.2, "tables change with the carrier"
    assert fault["detected_secs"] < 1.0, "the switches beside it lose carriers"
    assert min(one["goodput_bits_per_sec"] for one in found["per_flow"]) > 0
    assert windows["before"]["goodput_bits_per_sec"] > 0.75 * found["ideal_bits_per_sec"], found["fidelity"]


@pytest.mark.long
def test_a_silent_aggregation_switch_is_found_by_hellos(emulate: Command, nothing_left: Left) -> None:
    found = emulate.run(*QUESTION, "--seconds", "12", "--mode", "namespaces", "--fault", "switch-silent=<1,00>@3-8")
    (fault,) = found["faults"]
    assert 0.09 < fault["detected_secs"] < 1.0, "three hellos, 50 ms apart"
    assert fault["moves"] > 0
    for name in ("before", "during", "after"):
        assert found["windows"][name]["stalled_flows"] == 0, name


@pytest.mark.long
def test_a_killed_server_is_found_again_by_arp(emulate: Command, nothing_left: Left) -> None:
    found = emulate.run(*QUESTION, "--seconds", "12", "--fault", "server-killed=011@3-6")
    others = [one for one in found["per_flow"] if "011" not in (one["source"], one["destination"])]
    assert len(others) == 14
    assert min(one["goodput_bits_per_sec"] for one in others) > 0
    assert found["windows"]["after"]["stalled_flows"] <= 2, "the flow that it sends and the one that it receives"
