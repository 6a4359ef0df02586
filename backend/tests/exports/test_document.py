"""The JSON document can be read again and plans the same plan."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cubeyard.engine import Engine
from cubeyard.plans.view import PlanView
from tests.exports import plans


@pytest.mark.parametrize("name", list(plans.SPECS))
def test_its_spec_plans_the_same_plan_again(
    name: str, engine: Engine, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    document = json.loads(rendered("json", name))
    assert (document["format"], document["format_version"]) == ("cubeyard-plan", 1)
    again = engine.plan(document["spec"], plans.book(engine, document["spec"]["catalog"]))
    assert again.plan_hash == document["plan_hash"] == plan(name).plan_hash


def test_it_holds_every_column(plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]) -> None:
    document, view = json.loads(rendered("json", "paper")), plan("paper")
    cables = document["cables"]
    assert cables["count"] == 8192
    assert cables["routes"] == view.routes
    for name, column in view.cables.items():
        assert cables["columns"][name] == column.tolist()
    assert cables["columns"]["near_label"] == view.near_labels
    assert cables["columns"]["b_port_name"] == view.b_port_names
    assert {len(column) for column in cables["columns"].values()} == {8192}
    assert document["summary"]["counts"]["servers"] == 2048
    assert document["scene"]["racks"]["name"] == view.rack_names
    assert document["bom"]["lines"] == view.bom["lines"]
