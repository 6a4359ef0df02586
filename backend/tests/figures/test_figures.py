"""Figures over the API: the engine's list, not yet run, run, and run again."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import time
from collections import Counter
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet

from cubeyard.engine import CancelledError, Engine
from cubeyard.kit.db import Database
from cubeyard.runs.repository import RunRepository
from cubeyard.settings import Settings
from tests.conftest import LONG_RUN
from tests.runs.conftest import API, ended, wait_for

QUICK = "bcube-table2"
FIGURES = [figure["id"] for figure in Engine(Settings()).figures]


def test_every_figure_is_listed_before_it_is_run(client: TestClient, engine: Engine) -> None:
    items = client.get(f"{API}/figures").json()["items"]
    computed = [(item["id"], item["title"], item["source"]) for item in items if item["basis"] == "modelled"]
    assert computed == [(figure["id"], figure["title"], figure["source"]) for figure in engine.figures]
    assert QUICK in {item["id"] for item in items}
    assert all((item["latest_run"], item["result_run"], item["agrees"]) == (None, None, None) for item in items)
    modelled = [item for item in items if item["basis"] == "modelled"]
    assert all(item["result_from"] == "reference" and item["verdicts"] for item in modelled), "no figure is empty"
    shown = client.get(f"{API}/figures/{QUICK}").json()
    assert shown["result"]["rows"]
    assert shown["expected_secs"] == shown["reference"]["secs"]
    for answer in (client.get(f"{API}/figures/mona-lisa"), client.post(f"{API}/figures/mona-lisa/runs", json={})):
        assert answer.status_code == 404
        assert QUICK in answer.json()["detail"]
    assert client.post(f"{API}/figures/{QUICK}/runs", json={"seeds": 0}).status_code == 422


def test_a_figure_s_run_becomes_its_result(working_client: TestClient) -> None:
    started = working_client.post(f"{API}/figures/{QUICK}/runs", json={})
    assert started.status_code == 202, started.text
    run = started.json()
    assert (run["kind"], run["figure"], run["points_total"]) == ("figure", QUICK, 1)
    done = wait_for(working_client, run["id"], ended)
    assert done["state"] == "succeeded", done["reason"]
    figure = working_client.get(f"{API}/figures/{QUICK}").json()
    assert figure["latest_run"] == done
    assert (figure["result_run"], figure["result_from"]) == (run["id"], "run")
    assert figure["agrees"] is True, "the reference is what this engine computes"
    rows = figure["result"]["rows"]
    assert len(rows) >= 3
    assert figure["verdicts"] == dict(Counter(row["verdict"] for row in rows))
    every = working_client.get(f"{API}/figures").json()
    listed = {item["id"]: item for item in every["items"]}[QUICK]
    assert listed["verdicts"] == figure["verdicts"]
    papers = {paper["paper"]: paper for paper in every["papers"]}
    counted = papers["bcube"]
    by_verdict: Counter[str] = Counter()
    for item in every["items"]:
        if item["source"].startswith("[bcube "):
            by_verdict.update(item["verdicts"])
    assert counted["agree"] == by_verdict["matches"] + by_verdict["within band"]
    assert (counted["bound"], counted["differ"]) == (by_verdict["bound holds"], by_verdict["differs"])
    predicted = [
        row for item in every["items"] if item["source"].startswith("[subways ")
        for row in working_client.get(f"{API}/figures/{item['id']}").json()["result"]["rows"] if row.get("predicted_by")
    ]  # fmt: skip
    assert {row["predicted_by"] for row in predicted} == {"flow engine", "packet engine"}
    assert all(row["paper"] is None and row["predicted"] is not None for row in predicted)
    of_subways = Counter[str]()
    for item in every["items"]:
        if item["source"].startswith("[subways "):
            of_subways.update(item["verdicts"])
    of_subways.subtract(row["verdict"] for row in predicted)
    assert papers["subways"]["differ"] == of_subways["differs"], "an engine's number is none of the paper's"
    assert papers["subways"]["agree"] == of_subways["matches"] + of_subways["within band"]
    # Every figure came with a result, those measured on another machine too; some numbers have no
    # figure.
    assert [item["id"] for item in every["items"] if item["result_from"] is None] == []
    assert counted["not_run"] == 0
    assert counted["absent"] > 0
    assert papers["serverswitch"]["not_run"] == 0
    results = working_client.get(f"{API}/runs/{run['id']}/results").json()
    assert (results["figure"], results["points"], results["complete"]) == (figure["result"], [], True)
    table = working_client.get(f"{API}/runs/{run['id']}/results", params={"format": "csv"})
    assert f'filename="{QUICK}.csv"' in table.headers["content-disposition"]
    assert [row["name"] for row in csv.DictReader(io.StringIO(table.text))] == [row["name"] for row in rows]
    typed = working_client.get(f"{API}/runs/{run['id']}/results", params={"format": "parquet"})
    assert parquet.read_table(io.BytesIO(typed.content)).column("ours").to_pylist() == [row["ours"] for row in rows]
    # A later run that is cancelled leaves the result standing; it may end before it is cancelled.
    later = working_client.post(f"{API}/figures/{QUICK}/runs", json={"seeds": 2}).json()
    working_client.post(f"{API}/runs/{later['id']}/cancel")
    state = wait_for(working_client, later["id"], ended)["state"]
    again = working_client.get(f"{API}/figures/{QUICK}").json()
    assert again["latest_run"]["id"] == later["id"]
    assert again["result_run"] == {"cancelled": run["id"], "succeeded": later["id"]}[state]
    assert again["result"]["provenance"]["seeds"] == ([0, 1] if state == "succeeded" else [0, 1, 2])
    assert [item["id"] for item in working_client.get(f"{API}/runs", params={"figure": QUICK}).json()["items"]] == [later["id"], run["id"]]  # fmt: skip


@pytest.mark.long
def test_a_slow_figure_grows_while_it_is_computed(working_client: TestClient, database: Database) -> None:
    run = working_client.post(f"{API}/figures/bcube-fig8-switch/runs", json={"seeds": 20}).json()["id"]

    def partials() -> list[Any]:
        with database.session() as session:
            frames = RunRepository(session).frames(run, 0)
        return [orjson.loads(frame.payload) for frame in frames if frame.kind == "figure"]

    deadline = time.monotonic() + 60
    while len(seen := partials()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert working_client.post(f"{API}/runs/{run}/cancel").status_code == 200
    first, second = (next(line for line in item["series"] if line["name"] == "Fat-tree") for item in seen[:2])
    assert first["x"][0] == 0
    assert len(first["x"]) < len(second["x"])
    assert second["y"][: len(first["y"])] == first["y"], "what is there stays"
    assert all(item["partial"] for item in seen)
    # Only the whole figure is a result.
    assert working_client.get(f"{API}/runs/{run}/results").json()["figure"] is None
    assert working_client.get(f"{API}/figures/bcube-fig8-switch").json()["result_from"] == "reference"


@pytest.mark.long
def test_a_figure_of_packets_runs_with_a_part_or_the_whole_of_its_data(working_client: TestClient) -> None:
    figure = "dcell-fig12-packets"
    reported = working_client.get(f"{API}/figures/{figure}").json()
    assert reported["parts"] == 200
    assert reported["whole_secs"] == 200 * reported["expected_secs"]
    part = wait_for(working_client, working_client.post(f"{API}/figures/{figure}/runs", json={}).json()["id"], ended)
    assert (part["state"], part["whole"]) == ("succeeded", False), part["reason"]
    shown = working_client.get(f"{API}/figures/{figure}").json()
    assert shown["agrees"] is True
    assert shown["result"]["provenance"]["parts"] == 200
    run = working_client.post(f"{API}/figures/{figure}/runs", json={"whole": True}).json()
    assert (run["whole"], run["expected_secs"]) == (True, reported["whole_secs"])

    def growing(run: Any) -> bool:
        """The run is running and has partial results."""
        return run["last_seq"] >= 3 or ended(run)

    seen = wait_for(working_client, run["id"], growing, 120)
    assert seen["state"] == "running", seen["reason"]
    working_client.post(f"{API}/runs/{run['id']}/cancel")
    after = working_client.get(f"{API}/figures/{figure}").json()
    assert after["result"] == shown["result"], "what was cancelled is no result"


def test_the_whole_data_is_refused_where_there_are_no_parts(client: TestClient) -> None:
    for figure in (QUICK, "dcell-fig11-measured"):
        answer = client.post(f"{API}/figures/{figure}/runs", json={"whole": True})
        assert answer.status_code == 422, answer.text
        assert [(error["field"], error["value"], error["limit"]) for error in answer.json()["errors"]] == [
            ("body.whole", True, "false")
        ]


@pytest.mark.parametrize("figure", FIGURES if LONG_RUN else FIGURES[::6])
@pytest.mark.parametrize("after_secs", [0.05, 0.8])
def test_every_figure_lets_go_within_a_second(engine: Engine, figure: str, after_secs: float) -> None:
    """Cancelled early, while it builds its networks, and in the middle. The time is CPU time, a
    second on two cores, because the machine is shared; a figure that ends sooner need not be
    cancelled."""
    began = time.monotonic()
    request: list[float] = []

    def until(*_: int) -> bool:
        if time.monotonic() - began < after_secs:
            return True
        request.append(sum(os.times()[:2]))
        return False

    with contextlib.suppress(CancelledError):
        engine.figure_json(figure, 20, until)
    assert not request or sum(os.times()[:2]) - request[0] < 2.0
