"""The part that is chosen of too large a plan can be started: for every family, from plans of
thousands of servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.emulation.setup.test_fitting import leaves_and_spines

from .conftest import Command

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]
LARGE: list[Json] = [
    {"family": "bcube", "n": 8, "k": 3, "servers": 2048},
    leaves_and_spines(40, 20),
]
LARGE_TOO: list[Json] = [
    {"family": "torus3d", "x": 16, "y": 16, "z": 8},
    {"family": "dcell", "n": 8, "k": 2, "servers": 2048},
    {"family": "fat_tree", "ports": 8, "layers": 5, "servers": 2048},
    {"family": "tree", "edge_ports": 48, "servers": 2048},
    {"family": "leaf_spine", "leaves": 64, "spines": 4, "servers_per_leaf": 32},
    {"family": "subways", "type": 1, "p": 2, "q": 32, "l": 16, "clusters": 4, "loops_per_cluster": 2},
    {"family": "torus2d", "x": 64, "y": 32},
    {"family": "jellyfish", "switches": 128, "ports": 32, "servers_per_switch": 16},
    {"family": "dragonfly", "a": 16, "p": 8, "h": 8, "groups": 16},
]


@pytest.mark.parametrize(
    "spec",
    [
        *(pytest.param(spec, id=spec["family"]) for spec in LARGE),
        *(pytest.param(spec, id=spec["family"], marks=pytest.mark.long) for spec in LARGE_TOO),
    ],
)
def test_the_chosen_part_of_a_large_plan_sends_real_packets(emulate: Command, nothing_left: Left, spec: Json) -> None:
    result = emulate.run(
        "--spec", json.dumps(spec), "--fit", "--workload", "permutation", "--mode", "namespaces", "--link-rate", "2M", "--seconds", "4", "--settle", "1",
        "--calibrate", "0.5",
    )  # fmt: skip
    assert result["aggregate_goodput_bits_per_sec"] > 0
    assert 15 < len({flow["source"] for flow in result["per_flow"]}) <= 64
