"""The options of a form for upgrades under traffic: each with its work order, or the reason why it
is impossible."""

from __future__ import annotations

from typing import Any

import pytest

from cubeyard.emulation.setup.upgrade_options import upgrades_of
from cubeyard.engine import Engine
from tests.conftest import SMALL

from .test_upgrade import AFTER, BEFORE, COMMON, TYPE_2

Json = dict[str, Any]


def by_name(engine: Engine, spec: Json, to: Json | None = None) -> dict[str, Json]:
    return {upgrade["name"]: upgrade for upgrade in upgrades_of(engine, spec, to)}


def test_a_small_network_can_become_all_three(engine: Engine) -> None:
    result = by_name(engine, BEFORE)
    assert list(result) == ["ports", "type-2", "rates"]
    assert [item["reason"] for item in result.values()] == [None] * 3
    assert result["ports"]["to"] == AFTER
    assert {step["switch"] for step in result["ports"]["steps"]} == {
        f"<0,{loop}.{tor}>" for loop in "01" for tor in "0123"
    }
    assert sum(len(step["plug_in"]) for step in result["ports"]["steps"]) == 16
    moved = result["type-2"]["steps"]
    assert sum(len(step["take_out"]) for step in moved) == sum(len(step["plug_in"]) for step in moved) == 8
    assert {rate for step in result["rates"]["steps"] for rate in step["gbps"]} == {25, 100}
    assert result["rates"]["title"] == "Ports of 25 instead of 10 Gb/s"


def test_switches_that_follow_from_a_plan_s_rates_stay(engine: Engine) -> None:
    """If the numbers were derived again, more ports would require more, and different, switches."""
    spec = {"family": "subways", "type": 1, "p": 1, "q": 4, "l": 4, "clusters": 2, "tor_oversubscription": 1.0}
    result = by_name(engine, spec)
    assert [item["reason"] for item in result.values()] == [None] * 3


@pytest.mark.parametrize(
    ("spec", "name", "said"),
    [
        ({**BEFORE, "p": 4, "q": 4}, "ports", "p may be at most l"),
        ({**COMMON, "type": 1, "p": 1, "q": 2, "clusters": 1}, "type-2", "changes no cable"),
        (TYPE_2, "type-2", "changes no cable"),
        ({"family": "fat_tree", "ports": 4}, "rates", "Only Subways"),
        (SMALL, "ports", "Only Subways"),
    ],
)
def test_impossible_options_have_a_reason(engine: Engine, spec: Json, name: str, said: str) -> None:
    item = by_name(engine, spec)[name]
    assert said in item["reason"]
    assert item["steps"] == []


def test_another_plan_is_told_like_those_that_are_offered(engine: Engine) -> None:
    other = {**AFTER, "server_gbps": 25}
    assert by_name(engine, BEFORE, AFTER).keys() == {"ports", "type-2", "rates"}
    steps = by_name(engine, BEFORE, other)["other"]["steps"]
    assert all(step["plug_in"] and step["faster"] and step["gbps"] == [25] for step in steps)
