"""Estimates of a run's points and duration, compared with real runs."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.app import create_app
from cubeyard.engine import Engine
from cubeyard.experiments.estimate import estimate
from cubeyard.experiments.points import points
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from tests.conftest import PAPER, SMALL
from tests.runs.conftest import API, MIDDLE, ended, start, sweep, wait_for

Json = dict[str, Any]
ESTIMATE = f"{API}/experiments/estimate"
ALL_TO_ALL = {"kind": "all-to-all"}


def asked(client: TestClient, **fields: Any) -> Json:
    answer = client.post(ESTIMATE, json={"plan": SMALL, "workload": ALL_TO_ALL, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_tells_what_there_is_to_compute_and_saves_nothing(client: TestClient) -> None:
    dcell = {"family": "dcell", "n": 4, "k": 1}
    fault = {"target": {"names": ["00"]}}
    axes = {"topologies": [SMALL, dcell], "failure": {"kind": "switch", "ratios": [0, 0.25]}, "seeds": 3}
    reported = asked(client, axes=axes, workload={"kind": "incast", "count": 5}, faults=[])
    assert (reported["points"], reported["flows"]) == (12, 12 * 5)
    outlined = [
        (topology["title"], topology["routing"], topology["flows"], topology["failed"])
        for topology in reported["topologies"]
    ]
    none = {"servers": 0, "switches": 0, "links": 0, "degraded_links": 0}
    assert outlined == [("BCube(4,1)", "bsr", 5, none), ("DCell(4,1)", "dfr", 5, none)]
    failing = asked(client, faults=[fault], seeds=[1, 2])
    assert failing["topologies"][0]["failed"] == {"servers": 1, "switches": 0, "links": 0, "degraded_links": 0}
    assert (failing["points"], failing["flows"]) == (2, 2 * 16 * 15)
    assert client.get(f"{API}/experiments").json()["items"] == []
    made = client.post(
        f"{API}/experiments", json={"plan": SMALL, "workload": ALL_TO_ALL, "faults": [fault], "seeds": [1, 2]}
    )
    assert made.json()["content_hash"] == failing["content_hash"]


def test_what_is_small_is_measured_to_its_end_and_the_run_takes_about_so_long(
    settings: Settings, database: Database
) -> None:
    with TestClient(create_app(settings, database=database, worker=True), base_url="http://localhost") as client:
        reported = asked(client, **sweep(25))
        assert reported["basis"] == "measured"
        assert reported["secs"]["low"] <= reported["secs"]["expected"] <= reported["secs"]["high"]
        run = start(client, **sweep(25))
        wait_for(client, run["id"], lambda now: now["state"] == "running")
        began = time.monotonic()
        assert wait_for(client, run["id"], ended)["state"] == "succeeded"
        took_secs = time.monotonic() - began
    # Real time is the subject: an estimate is of the clock. The machine may be busy at one time and
    # not at the other: hence 3.
    assert reported["secs"]["low"] / 3 <= took_secs <= reported["secs"]["high"] * 3


def test_what_is_large_is_begun_and_extrapolated(client: TestClient) -> None:
    axes = {"failure": {"kind": "switch", "ratios": [0, 0.2]}, "seeds": 100}
    began = time.monotonic()
    reported = asked(client, plan=PAPER, axes=axes, routing="bsr-greedy")
    assert time.monotonic() - began < reported["secs"]["low"] / 2, "it takes a moment, however long the run"
    assert reported["basis"] == "extrapolated"
    assert reported["points"] == 200
    assert reported["flows"] == 200 * 2048 * 2047
    assert reported["secs"]["expected"] > 10


def test_fair_rates_of_many_flows_have_no_upper_bound(client: TestClient) -> None:
    reported = asked(client, plan=PAPER, max_min=True)
    assert reported["secs"]["high"] is None
    assert reported["secs"]["expected"] > 0


@pytest.mark.parametrize("ratios", [None, [0.1], [0.2, 0, 0.1]])
def test_the_measured_points_are_the_least_and_the_most_failed(ratios: list[float] | None) -> None:
    """Checked by the calls to the engine, which is replaced by a recorder."""
    document: Json = {
        "plan": {"spec": {"topology": MIDDLE}},
        "workload": ALL_TO_ALL,
        **dict.fromkeys(("routing", "link_gbps", "max_min", "flow_gigabits")),
        "faults": [],
        "engine": "flow",
        "link_load": False,
        "seeds": [5, 6],
        "axes": {"topologies": None, "seeds": 3, "failure": ratios and [{"kind": "switch", "ratios": ratios}]},
    }
    seen: list[Json] = []

    class Recorder(Engine):
        def predict_in_turn(self, spec: Any, experiment: Any, on_progress: Any = None) -> bytes:
            seen.append(experiment)
            return super().predict_in_turn(spec, experiment, on_progress)

    result = estimate(Recorder(Settings()), document, [{"keeps_paths": True, "flows": 216 * 215}])
    assert result.whole
    assert result.low_secs < result.expected_secs < (result.high_secs or 0)
    every = [point.experiment for point in points(document)]
    assert all(item in every for item in seen)
    wanted = sorted({min(ratios), max(ratios)}) if ratios else [None]
    assert [item["faults"][0]["target"]["ratio"] if item["faults"] else 0 for item in seen] == [
        ratio or 0 for ratio in wanted
    ]
