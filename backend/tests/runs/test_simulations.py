"""Runs of the packet engine: their frames, partial results, files, and the time until they are
cancelled."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet

from cubeyard.app import create_app
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.frames.checked import checked
from tests.runs.conftest import API, Json, ended, start, wait_for
from tests.runs.test_runs import frames

QUESTION: Json = {
    "plan": SMALL,
    "engine": "packet",
    "workload": {"kind": "permutation", "bytes": 300_000},
    "link_gbps": 1,
}
LONG: Json = {**QUESTION, "workload": {"kind": "all-to-all", "bytes": 1_000_000_000}}


@pytest.fixture
def working_client(settings: Settings, database: Database) -> Iterator[TestClient]:
    """With a worker inside, as `cubeyard run` has."""
    with TestClient(create_app(settings, database=database, worker=True), base_url="http://localhost") as opened:
        yield opened


def test_a_run_gives_what_is_simulated_at_once(working_client: TestClient) -> None:
    fault = {"at_secs": 0.001, "target": {"selector": "1 level-0 switch"}, "kind": "switch-silent"}
    request = {**QUESTION, "faults": [fault], "packet": {"rto_min_secs": 0.01, "link_heat": False}}
    run = start(working_client, **request, seeds=[5, 6])
    assert run["kind"] == "simulation"
    kept = working_client.get(f"{API}/experiments/{run['experiment_id']}").json()
    assert (kept["workload"], kept["packet"]) == (request["workload"], request["packet"])
    done = wait_for(working_client, run["id"], ended)
    assert done["state"] == "succeeded", done["reason"]
    points = [data for name, _, data in frames(working_client, run["id"]) if name == "simulation"]
    assert [point["seed"] for point in points] == [5, 6]
    for point in points:
        checked("simulation", point)
        at_once = working_client.post(f"{API}/simulate", json={**request, "seed": point["seed"]})
        assert at_once.json() == point["result"]
        assert point["result"]["timeouts"] > 0
        assert point["result"]["predicted"] is None
    rows = list(csv.DictReader(io.StringIO(working_client.get(f"{API}/runs/{run['id']}/results?format=csv").text)))
    assert [int(row["timeouts"]) for row in rows] == [point["result"]["timeouts"] for point in points]
    assert float(rows[0]["completion_max_secs"]) == points[0]["result"]["completion_secs"]["max"]
    report = working_client.get(f"{API}/runs/{run['id']}/report.html")
    assert report.status_code == 200, report.text
    assert "Completion times" in report.text
    assert "rto_min_secs" in report.text


def test_a_long_run_shows_what_there_is_and_ends_soon_when_cancelled(working_client: TestClient) -> None:
    run = start(working_client, **LONG)
    wait_for(working_client, run["id"], lambda now: now["last_seq"] >= 5)
    assert working_client.post(f"{API}/runs/{run['id']}/cancel").status_code == 200
    done = wait_for(working_client, run["id"], ended)
    assert done["state"] == "cancelled"
    partial = [data for name, _, data in frames(working_client, run["id"]) if name == "simulating"]
    assert len(partial) >= 2
    for item in partial:
        checked("simulating", item)
        sizes = item["result"]["bytes"]
        assert sizes["sent"] == sizes["received"] + sizes["dropped"] + sizes["in_flight"]
        # All links are used, in both directions.
        heat = item["result"]["link_heat"]
        assert (heat["links"], heat.get("names")) == (list(range(64)), None)
        assert all(len(row) == 64 and max(row) <= 1000 for row in heat["permille"])
        assert 0 < len(heat["permille"]) <= 64
    hops = [data["result"]["packet_hops"] for data in partial]
    assert hops == sorted(hops)
    assert partial[-1]["result"]["completion_secs"]["unfinished"] == 240


def flows_of(client: TestClient, run: str) -> list[Json]:
    answer = client.get(f"{API}/runs/{run}/flows")
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_each_flow_s_times_are_files_of_the_run(working_client: TestClient) -> None:
    run = start(working_client, **QUESTION, packet={"flow_times": True}, axes={"seeds": 2})
    done = wait_for(working_client, run["id"], ended)
    assert done["state"] == "succeeded", done["reason"]
    rows = flows_of(working_client, run["id"])
    points = [data for name, _, data in frames(working_client, run["id"]) if name == "simulation"]
    assert [(row["point"], row["seed"]) for row in rows[:: len(rows) // 2]] == [
        (str(point["point"]), str(point["seed"])) for point in points
    ]
    assert len(rows) == sum(point["result"]["flows"] for point in points)
    assert (
        max(float(row["completion_secs"]) for row in rows if row["point"] == "0")
        == points[0]["result"]["completion_secs"]["max"]
    )
    answer = working_client.get(f"{API}/runs/{run['id']}/flows", params={"format": "parquet"})
    table = parquet.read_table(io.BytesIO(answer.content))
    assert [{name: str(value) for name, value in row.items()} for row in table.to_pylist()] == rows
    plain = start(working_client, **QUESTION)
    wait_for(working_client, plain["id"], ended)
    refused = working_client.get(f"{API}/runs/{plain['id']}/flows")
    assert refused.status_code == 409
    assert "flow_times" in refused.json()["detail"]


def test_what_links_carry_in_time_is_left_out_of_several_points_unless_it_is_asked_for(
    working_client: TestClient,
) -> None:
    reported = []
    for packet in ({}, {"link_heat": True}):
        run = start(working_client, **QUESTION, packet=packet, seeds=[1, 2])
        wait_for(working_client, run["id"], ended)
        points = [data for name, _, data in frames(working_client, run["id"]) if name == "simulation"]
        reported.append([len(point["result"].get("link_heat", {}).get("names", [])) for point in points])
    assert reported[0] == [0, 0]
    assert len(reported[1]) == 2
    assert all(names > 32 for names in reported[1])


def test_the_times_of_flows_are_there_as_soon_as_they_are_over(working_client: TestClient) -> None:
    """Three short flows and a long one, which is not in the list when the run is cancelled."""
    flows = [["00", "01", 1_000_000, 0.0], ["02", "03", 1_000_000, 0.0], ["10", "13", 1_000_000, 0.0]]
    workload = {"kind": "listed", "flows": [*flows, ["30", "33", 50_000_000_000, 0.0]]}
    run = start(working_client, **{**QUESTION, "workload": workload}, packet={"flow_times": True})
    wait_for(working_client, run["id"], lambda now: now["last_seq"] >= 4 or ended(now))
    seen = flows_of(working_client, run["id"])
    working_client.post(f"{API}/runs/{run['id']}/cancel")
    wait_for(working_client, run["id"], ended)
    assert [row["flow"] for row in seen] == ["0", "1", "2"]
    assert all(float(row["completion_secs"]) > 0.008 for row in seen)
    assert flows_of(working_client, run["id"]) == seen


@pytest.mark.long
def test_many_flows_are_files_while_they_end(working_client: TestClient) -> None:
    """30,000 short flows, more than a partial frame lists, and a long one: each finished flow is
    listed once."""
    flows = [["00", "01", 1_000, at * 20e-6] for at in range(30_000)]
    workload = {"kind": "listed", "flows": [*flows, ["30", "33", 50_000_000_000, 0.0]]}
    run = start(working_client, **{**QUESTION, "workload": workload}, packet={"flow_times": True})
    wait_for(working_client, run["id"], lambda now: len(flows_of(working_client, run["id"])) > 25_000 or ended(now))
    working_client.post(f"{API}/runs/{run['id']}/cancel")
    wait_for(working_client, run["id"], ended)
    seen = flows_of(working_client, run["id"])
    numbers = [int(row["flow"]) for row in seen]
    assert 25_000 < len(numbers) == len(set(numbers)) <= 30_000
    assert all(0 < float(row["completion_secs"]) < 0.001 for row in seen)
    answer = working_client.get(f"{API}/runs/{run['id']}/flows", params={"format": "parquet"})
    assert parquet.read_table(io.BytesIO(answer.content)).num_rows == len(seen)
    kinds = {name for name, _, _ in frames(working_client, run["id"])}
    assert "flow-times" not in kinds


def test_the_estimate_tells_hops_and_memory(client: TestClient) -> None:
    answer = client.post(f"{API}/experiments/estimate", json={**LONG, "seeds": [1, 2]})
    assert answer.status_code == 200, answer.text
    reported = answer.json()
    assert reported["simulation"]["bytes"] == 2 * 240 * 1_000_000_000
    assert reported["simulation"]["packet_hops"] > 2 * 240 * 1_000_000_000 // 1460 * 4
    assert 0 < reported["simulation"]["memory_bytes"] < 100 << 20
    assert reported["secs"]["expected"] > 10
    refused = client.post(
        f"{API}/experiments/estimate", json={**LONG, "workload": {**LONG["workload"], "bytes": 10**12}}
    )
    assert refused.status_code == 422
    assert "Estimate" in refused.json()["detail"]


def test_a_run_is_judged_by_its_hypotheses(working_client: TestClient) -> None:
    hypotheses = [
        {"metric": "stalled-flows", "bound": 0},
        {"metric": "goodput-share", "bound": 0.999},
        {"metric": "completion-secs", "bound": 60},
    ]
    fault = {"at_secs": 0.001, "until_secs": 0.1, "target": {"selector": "1 level-0 switch"}, "kind": "switch-silent"}
    run = start(working_client, **QUESTION, faults=[fault], hypotheses=hypotheses)
    address = f"{API}/runs/{run['id']}"
    done = wait_for(working_client, run["id"], ended)
    assert done["state"] == "succeeded", done["reason"]
    matches = working_client.get(f"{address}/verdict").json()
    assert matches["outcome"] == "broken"
    assert [hypothesis["outcome"] for hypothesis in matches["hypotheses"]] == ["held", "broken", "held"]
    whole = working_client.post(f"{API}/simulate", json=QUESTION).json()["goodput_gbps"]
    result = working_client.get(done["results_url"]).json()["points"][0]["result"]
    assert matches["hypotheses"][1]["worst"] == pytest.approx(result["goodput_gbps"] / whole)
    suite = ElementTree.fromstring(working_client.get(f"{address}/verdict.xml").text)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    file = working_client.get(f"{address}/scenario")
    assert file.text == working_client.get(f"{API}/experiments/{run['experiment_id']}/scenario").text
