"""Schedules of random faults: the same seed draws the same faults, within their bounds, and never
on parts that are already broken."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.experiments.fault_schedules import drawn
from cubeyard.experiments.scenario import document, reading
from cubeyard.kit.errors import ProblemError
from tests.conftest import SMALL, examples
from tests.experiments.test_scenarios import API, FLOW

Json = dict[str, Any]
SPEC = {"topology": SMALL}
SCHEDULE: Json = {
    "kinds": ["cable-pulled", "switch-off"],
    "mean_interval_secs": 2.0,
    "mean_repair_secs": 1.5,
    "count": 5,
    "from_secs": 3.0,
    "seed": 11,
}
ASKED: Json = {"plan": SMALL, "workload": {"kind": "permutation"}, "engine": "emulation", "fault_schedules": [SCHEDULE]}


@st.composite
def schedules(draw: Any) -> Json:
    from_secs = draw(st.floats(0, 50))
    return {
        "kinds": draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4, unique=True)),
        "mean_interval_secs": draw(st.floats(0.1, 20)),
        "mean_repair_secs": draw(st.none() | st.floats(0.1, 50)),
        "count": draw(st.integers(1, 50)),
        "from_secs": from_secs,
        "until_secs": draw(st.none() | st.floats(from_secs, 200)),
        "seed": draw(st.integers(0, 2**53 - 1)),
    }


@given(st.lists(schedules(), min_size=1, max_size=2))
@settings(max_examples=examples(25))
def test_schedules_are_drawn_within_their_bounds(engine: Engine, each: list[Json]) -> None:
    request = {"fault_schedules": each, "faults": []}
    faults = drawn(engine, SPEC, request)
    assert faults == drawn(engine, SPEC, request)
    assert len(faults) <= sum(item["count"] for item in each)
    kinds = {kind for item in each for kind in item["kinds"]}
    ends: dict[str, list[tuple[float, float]]] = {}
    for fault in faults:
        assert fault["kind"] in kinds
        assert fault["at_secs"] >= min(item["from_secs"] for item in each)
        assert fault["at_secs"] <= max(
            float("inf") if item["until_secs"] is None else item["until_secs"] for item in each
        )
        until = float("inf") if fault["until_secs"] is None else fault["until_secs"]
        assert until > fault["at_secs"]
        (name,) = fault["target"]["names"]
        ends.setdefault(name, []).append((fault["at_secs"], until))
    if len(each) == 1:
        for times in ends.values():
            assert all(ended <= begun for (_, ended), (begun, _) in pairwise(times))
    struck = engine.fault_targets(SPEC, [{"target": item["target"]} for item in faults], 7)
    assert all(len(fault_target["nodes"]) + len(fault_target["links"]) == 1 for fault_target in struck)


def test_intervals_and_repairs_have_their_means(engine: Engine) -> None:
    schedule = {"kinds": ["down"], "mean_interval_secs": 10, "mean_repair_secs": 1, "count": 100}
    each = [drawn(engine, SPEC, {"fault_schedules": [schedule | {"seed": seed}]}) for seed in range(5)]
    assert sum(item[-1]["at_secs"] for item in each) / sum(len(item) for item in each) == pytest.approx(10, rel=0.15)
    lasts = [fault["until_secs"] - fault["at_secs"] for item in each for fault in item]
    assert sum(lasts) / len(lasts) == pytest.approx(1, rel=0.15)
    assert each[0] != each[1]


def test_what_is_drawn_is_told_before_and_kept_with_the_experiment(client: TestClient) -> None:
    listed = {"kind": "server-off", "target": {"names": ["00"]}, "at_secs": 1.0, "until_secs": 2.0}
    body = {**ASKED, "faults": [listed]}
    drawn_faults = client.post(f"{API}/experiments/estimate", json=body).json()["drawn_faults"]
    made = client.post(f"{API}/experiments", json=body).json()
    assert len(drawn_faults) == made["drawn_faults"] > 0
    assert made["faults"][0] == listed
    assert made["faults"][1:] == drawn_faults
    file = client.get(f"{API}/experiments/{made['id']}/scenario").text
    scenario = reading.read(file).scenario
    assert len(scenario.faults) == 1
    assert scenario.fault_schedules[0].model_dump(exclude_none=True) == SCHEDULE
    again = client.post(f"{API}/scenarios", json={"text": file}).json()
    assert again["content_hash"] == made["content_hash"]


def test_a_slice_is_struck_only_within(engine: Engine) -> None:
    part = {"servers": ["00", "01"]}
    request = {"fault_schedules": [SCHEDULE | {"kinds": ["server-off"], "count": 20}], "emulation": {"slice": part}}
    assert {name for item in drawn(engine, SPEC, request) for name in item["target"]["names"]} <= {"00", "01"}


def test_nothing_is_drawn_after_the_end_of_an_emulation(engine: Engine) -> None:
    request = {"fault_schedules": [SCHEDULE | {"count": 50}]}
    every = drawn(engine, SPEC, request)
    assert every[-1]["at_secs"] > 20
    ends = drawn(engine, SPEC, request | {"emulation": {"seconds": 20}})
    assert ends == [fault for fault in every if fault["at_secs"] < 20]


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"count": 1000}, "fault_schedules[0].count", "more than 100"),
        ({"kinds": ["gremlins"]}, "fault_schedules[0].kinds[0]", "no such kind"),
        ({"until_secs": 1}, "fault_schedules[0].until_secs", "before from_secs"),
        ({"mean_interval_secs": 0}, "fault_schedules[0].mean_interval_secs", "less than"),
    ],
)
def test_bad_schedules_are_refused_by_field(change: Json, field: str, told: str) -> None:
    scenario = FLOW | {"settings": {"engine": "emulation"}, "fault_schedules": [SCHEDULE | change]}
    with pytest.raises(ProblemError) as refused:
        reading.read(document.write(scenario))
    first = refused.value.errors[0]
    assert first.field == field
    assert told in first.message
    assert first.line is not None


def test_an_engine_of_one_state_takes_no_schedule(client: TestClient, engine: Engine) -> None:
    with pytest.raises(ProblemError, match="computes one state"):
        reading.read(document.write(FLOW | {"fault_schedules": [SCHEDULE | {"kinds": ["down"]}]}))
    many = [
        SCHEDULE | {"count": 100, "kinds": ["cable-pulled"], "mean_repair_secs": 0.1, "seed": seed} for seed in range(3)
    ]
    long = {**ASKED, "emulation": {"seconds": 3600}, "fault_schedules": many}
    refused = client.post(f"{API}/experiments", json=long)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "body.fault_schedules")
    with pytest.raises(ProblemError, match="nothing in this network"):
        drawn(
            engine,
            {"topology": {"family": "torus3d", "x": 3, "y": 3, "z": 3}},
            {"fault_schedules": [SCHEDULE | {"kinds": ["switch-off"]}]},
        )
