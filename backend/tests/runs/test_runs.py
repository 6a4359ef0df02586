"""Runs from start to end: frames, results, cancelling, failing, and workers that are really
killed."""

from __future__ import annotations

import csv
import io
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet
from sqlalchemy import text

from cubeyard.app import create_app
from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.db import Database
from cubeyard.kit.ids import new_id
from cubeyard.runs.reaper import RunReaper
from cubeyard.settings import Settings
from tests.conftest import PAPER, SMALL
from tests.runs.conftest import API, Json, ended, events_of, start, sweep, wait_for

Worker = Callable[..., subprocess.Popen[bytes]]
Another = Callable[[], AbstractContextManager[object]]


@pytest.fixture
def another_worker(settings: Settings, database: Database) -> Another:
    """A worker in this process, where its process is not the point."""
    app = create_app(settings, database=database, worker=True)
    return lambda: TestClient(app, base_url="http://localhost")


def frames(client: TestClient, run: str, after: int = 0) -> list[tuple[str, int, Json]]:
    """The stream of a run that has ended."""
    answer = client.get(f"{API}/runs/{run}/events", params={"after": after})
    assert answer.status_code == 200
    return [(name, seq, data) for name, seq, data in events_of(iter(answer.content.splitlines())) if seq is not None]


def whole(client: TestClient, run: Json) -> list[Json]:
    """The points of a run that succeeded, after checking that each came once, and all frames
    without a gap."""
    stream = frames(client, run["id"])
    assert [seq for _, seq, _ in stream] == list(range(1, run["last_seq"] + 1))
    got = sorted((data for name, _, data in stream if name == "point"), key=lambda point: point["point"])
    assert [point["point"] for point in got] == list(range(run["points_total"]))
    assert client.get(f"{API}/runs/{run['id']}/results").json()["points"] == got, "whoever came first"
    return got


def test_a_run_gives_what_the_engine_gives_at_once(working_client: TestClient) -> None:
    request = {"plan": SMALL, "routing": "bsr", "faults": [{"target": {"kind": "link", "ratio": 0.1}}]}
    run = start(working_client, **request, seeds=[5, 6, 7])
    assert (run["state"], run["points_total"], run["progress"], run["last_seq"]) == ("queued", 3, 0.0, 1)
    done = wait_for(working_client, run["id"], ended)
    assert (done["state"], done["attempts"], done["deaths"], done["progress"]) == ("succeeded", 1, 0, 1.0)
    got = whole(working_client, done)
    assert [point["seed"] for point in got] == [5, 6, 7]
    for point in got:
        body = {**request, "workload": {"kind": "all-to-all"}, "seed": point["seed"]}
        at_once = working_client.post(f"{API}/predict", json=body)
        assert at_once.status_code == 200, at_once.text
        assert at_once.json() == point["result"]
        assert point["result"]["flows"] + point["result"]["dropped_flows"] == 16 * 15
    stream = frames(working_client, run["id"])
    assert [data["state"] for name, _, data in stream if name == "state"] == ["queued", "running", "succeeded"]
    assert stream[2:] == frames(working_client, run["id"], after=2), "resuming is the same path"
    packed = working_client.get(run["events_url"], headers={"accept-encoding": "gzip, br"})
    assert "content-encoding" not in packed.headers, "an event that waits in a compressor is late"
    assert working_client.get(run["events_url"], headers={"Last-Event-ID": str(done["last_seq"])}).status_code == 204
    assert working_client.post(f"{API}/runs/{run['id']}/cancel").json() == done, (
        "cancelling what is over changes nothing"
    )


def test_a_closed_form_comes_out_of_a_run(working_client: TestClient) -> None:
    """A complete BCube carries n/(n-1) (N-1) of a link's rate. [bcube §3.6, Theorem 4]"""
    run = start(working_client, plan=SMALL, routing="bcube-fixed", link_gbps=1.0)
    (point,) = whole(working_client, wait_for(working_client, run["id"], ended))
    assert point["result"]["abt_gbps"] == pytest.approx(4 / 3 * 15)


def test_results_as_a_table(working_client: TestClient) -> None:
    axes = {"topologies": [SMALL, {"family": "dcell", "n": 4, "k": 1}], "failure": {"kind": "server", "ratios": [0, 0.2]}, "seeds": 2}  # fmt: skip
    run = start(working_client, plan=SMALL, axes=axes)
    done = wait_for(working_client, run["id"], ended)
    got = whole(working_client, done)
    answer = working_client.get(f"{API}/runs/{run['id']}/results", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == len(got) == 8
    for row, point in zip(sorted(rows, key=lambda row: int(row["point"])), got, strict=True):
        assert row["title"] == ["BCube(4,1)", "DCell(4,1)"][point["topology"]]
        assert float(row["abt_gbps"]) == point["result"]["abt_gbps"]
        assert float(row["path_hops_mean"]) == point["result"]["path_hops"]["mean"]
        assert row["failure_ratio"] == str(point["failure_ratio"])
    typed = working_client.get(f"{API}/runs/{run['id']}/results", params={"format": "parquet"})
    assert typed.headers["content-type"] == "application/vnd.apache.parquet"
    table = parquet.read_table(io.BytesIO(typed.content))
    assert table.column_names == list(rows[0])
    assert table.schema.metadata[b"cubeyard.run"].decode() == run["id"]
    for row, reported in zip(table.to_pylist(), rows, strict=True):
        assert {name: "" if value is None else str(value) for name, value in row.items()} == {
            name: f"{float(text)}" if text and name == "path_hops_max" else text for name, text in reported.items()
        }
    for ending, same in (("csv", answer), ("parquet", typed)):
        file = working_client.get(f"{API}/runs/{run['id']}/results.{ending}")
        assert (file.content, file.headers["content-type"]) == (same.content, same.headers["content-type"])
    assert working_client.get(f"{API}/runs/{run['id']}/results", params={"format": "docx"}).status_code == 422


def test_what_the_engine_refuses_fails_with_its_words(working_client: TestClient, database: Database) -> None:
    """Such a request is rejected at creation; a run that an older engine accepted fails when it is
    run, with the reason."""
    good = start(working_client, plan=SMALL)
    wait_for(working_client, good["id"], ended)
    with database.session() as session:
        experiment = ExperimentRepository(session).experiment(good["experiment_id"])
        assert experiment is not None
        document = {**experiment.document, "routing": "carrier-pigeon"}
        kept = {"kind": "prediction", "content_hash": "", "document": document, "points": 1}
        row = ExperimentRow(id=new_id(), name="Of old", topologies=experiment.topologies, **kept)
        ExperimentRepository(session).add(row)
        old = row.id
    run = working_client.post(f"{API}/experiments/{old}/runs").json()
    failed = wait_for(working_client, run["id"], ended)
    assert failed["state"] == "failed"
    assert "carrier-pigeon" in failed["reason"]
    results = working_client.get(f"{API}/runs/{run['id']}/results").json()
    assert (results["complete"], results["points"]) == (False, [])


def test_a_prediction_that_takes_long_is_to_be_a_run(settings: Settings, database: Database) -> None:
    hasty = settings.model_copy(update={"predict_secs": 0.1})
    with TestClient(create_app(hasty, database=database), base_url="http://localhost") as client:
        hard = {"plan": PAPER, "routing": "bsr", "faults": [{"target": {"kind": "switch", "ratio": 0.1}}]}
        answer = client.post(f"{API}/predict", json={**hard, "workload": {"kind": "all-to-all"}})
    assert answer.status_code == 422
    assert answer.json()["type"].endswith("too-long")


def test_runs_are_listed_by_what_they_are(client: TestClient, database: Database) -> None:
    first, second = start(client, plan=SMALL), start(client, **sweep(1, SMALL))
    client.post(f"{API}/runs/{first['id']}/cancel")

    def listed(**wanted: str | list[str]) -> list[str]:
        return [item["id"] for item in client.get(f"{API}/runs", params=wanted).json()["items"]]

    assert listed() == [second["id"], first["id"]]
    assert listed(state="cancelled") == [first["id"]]
    assert listed(kind="sweep") == [second["id"]]
    assert listed(state=["cancelled", "queued"]) == [second["id"], first["id"]]
    assert listed(state=["cancelled", "queued"], kind="prediction") == [first["id"]]
    assert listed(q="switch FAIL") == [second["id"]]
    assert listed(experiment=first["experiment_id"]) == [first["id"]]
    page = client.get(f"{API}/runs", params={"limit": 1}).json()
    assert listed(cursor=page["next"]) == [first["id"]]
    with database.session() as session:  # the cancelled one is out of the queue
        assert session.scalar(text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'")) == 1
    for path in (f"/runs/{'0' * 14}", f"/runs/{'0' * 14}/events", f"/runs/{'0' * 14}/results"):
        assert client.get(API + path).status_code == 404
    assert client.post(f"{API}/experiments/{'0' * 14}/runs").status_code == 404


def test_what_is_over_can_be_forgotten(client: TestClient, database: Database) -> None:
    run = start(client, plan=SMALL, seeds=[1, 2])
    experiment = f"{API}/experiments/{run['experiment_id']}"
    other = client.post(f"{experiment}/runs").json()
    client.post(f"{API}/runs/{run['id']}/cancel")
    for path in (f"{API}/runs/{other['id']}", experiment):
        refused = client.delete(path)
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:cubeyard:problem:still-running")
        assert f"/runs/{other['id']}/cancel" in refused.json()["detail"], "it says what to do"
    assert client.get(f"{API}/runs/{run['id']}").status_code == 200, "all of an experiment's runs or none"
    assert client.delete(f"{API}/runs/{run['id']}").status_code == 204
    for answer in (client.get(f"{API}/runs/{run['id']}"), client.delete(f"{API}/runs/{run['id']}")):
        assert answer.status_code == 404
    client.post(f"{API}/runs/{other['id']}/cancel")
    assert client.delete(experiment).status_code == 204
    assert client.get(experiment).status_code == client.delete(experiment).status_code == 404
    with database.session() as session:
        for table in ("experiments", "runs", "run_frames"):
            assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 0


def test_old_runs_are_forgotten_when_that_is_set(client: TestClient, database: Database) -> None:
    old, late, busy = (start(client, plan=SMALL)["id"] for _ in range(3))
    results = [client.post(f"{API}/figures/bcube-table2/runs", json={}).json()["id"] for _ in range(2)]
    with database.session() as session:
        end = "UPDATE runs SET state = 'succeeded', finished_at = clock_timestamp() - make_interval(days => :days) WHERE id = :id"  # fmt: skip
        for run, days in ((old, 31), (late, 29), (results[0], 40), (results[1], 35)):
            session.execute(text(end), {"id": run, "days": days})

    def kept(days: float | None) -> set[str]:
        RunReaper(database, lease_secs=60, attempts=3, keep_days=days).once()
        return {item["id"] for item in client.get(f"{API}/runs").json()["items"]}

    assert kept(None) == {old, late, busy, *results}, "off unless it is set"
    assert kept(30) == {late, busy, results[1]}, "the figure's latest result stays"
    assert kept(1) == {busy, results[1]}


def test_cancelling_stops_the_engine_within_a_second(working_client: TestClient) -> None:
    """Measured in CPU time of this process, in which the worker runs: a second on two cores,
    however busy the machine is."""
    long = start(working_client, plan=PAPER, routing="bsr", faults=[{"target": {"kind": "switch", "ratio": 0.1}}], seeds=list(range(100)))  # fmt: skip
    wait_for(working_client, long["id"], lambda run: run["state"] == "running" and run["progress"] > 0)
    short = start(working_client, plan=SMALL)
    request = sum(os.times()[:2])
    cancelled = working_client.post(f"{API}/runs/{long['id']}/cancel").json()
    assert cancelled["state"] == "cancelled"
    assert frames(working_client, long["id"])[-1][2]["state"] == "cancelled"
    # The worker does one run at a time: it has let go of the long one when it begins the short one.
    wait_for(working_client, short["id"], lambda run: run["state"] != "queued")
    assert sum(os.times()[:2]) - request < 2.0
    assert wait_for(working_client, short["id"], ended)["state"] == "succeeded"
    after = working_client.get(f"{API}/runs/{long['id']}").json()
    assert after == cancelled, "nothing is written any more"


@pytest.mark.long
def test_a_sweep_whose_workers_are_killed_loses_and_repeats_nothing(client: TestClient, start_worker: Worker) -> None:
    """One works, one waits to take over, and five in turn are killed at a moment of chance: more
    than a run's own death limit."""
    chance = random.Random()
    run = start(client, **sweep(50))
    assert run["points_total"] == 200
    at_work, killed_at = start_worker(), list[int]()
    for _ in range(5):
        # The run must progress first, so that the test's kills, and not the run, are the cause of
        # the workers' deaths.
        before = killed_at[-1] if killed_at else 0
        wait_for(client, run["id"], lambda now, goal=before + 1: now["points_done"] >= goal)
        next_one, goal = start_worker(), before + chance.randint(1, 12)
        wait_for(client, run["id"], lambda now, goal=goal: now["points_done"] >= goal)
        time.sleep(chance.random() * 0.05)
        at_work.kill()
        at_work.wait()
        killed_at.append(client.get(f"{API}/runs/{run['id']}").json()["points_done"])
        at_work = next_one
    done = wait_for(client, run["id"], ended)
    assert done["state"] == "succeeded", (done["reason"], killed_at)
    assert done["attempts"] >= 6, killed_at
    got = whole(client, done)
    ratios = [0, 0.05, 0.1, 0.15]
    assert [(point["seed"], point["failure_ratio"]) for point in got] == [(seed, r) for seed in range(7, 57) for r in ratios]  # fmt: skip
    # The same run by undisturbed workers gives the same numbers.
    again = client.post(f"{API}/experiments/{run['experiment_id']}/runs").json()
    assert whole(client, wait_for(client, again["id"], ended)) == got


@pytest.mark.long
def test_two_hundred_runs_complete_although_workers_are_killed(client: TestClient, start_worker: Worker) -> None:
    """The same with a run for each point: the queue loses none of them, and no two workers do the
    same one."""
    chance = random.Random()
    experiment = start(client, plan=SMALL)["experiment_id"]
    runs = [client.post(f"{API}/experiments/{experiment}/runs").json()["id"] for _ in range(199)]

    def finished() -> int:
        first = client.get(f"{API}/runs", params={"experiment": experiment, "limit": 200, "state": "succeeded"}).json()
        return len(first["items"])

    for victim in (start_worker(), start_worker(), start_worker()):
        goal = min(finished() + chance.randint(1, 30), 200)
        deadline = time.monotonic() + 60
        while finished() < goal:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        victim.kill()
        victim.wait()
    start_worker()
    for run in runs:
        done = wait_for(client, run, ended, 90)
        assert (done["state"], done["points_done"]) == ("succeeded", 1), done["reason"]
        assert len(whole(client, done)) == 1


def test_a_run_that_kills_every_worker_fails_with_its_reason(
    client: TestClient, database: Database, settings: Settings, start_worker: Worker, another_worker: Another
) -> None:
    run = start(client, plan=PAPER, max_min=True, seeds=[1, 2])  # the first point takes a while
    with database.session() as session:  # as if workers had died at it already
        session.execute(text("UPDATE runs SET deaths = :n"), {"n": settings.job_attempts - 1})
    worker = start_worker()
    wait_for(client, run["id"], lambda now: now["state"] == "running")
    worker.kill()
    worker.wait()
    with another_worker():
        failed = wait_for(client, run["id"], ended)
    assert (failed["state"], failed["reason"]) == ("failed", "The worker died 3 times in a row at this run.")
    assert failed["points_done"] == len(client.get(f"{API}/runs/{run['id']}/results").json()["points"])
    with database.session() as session:
        deadline = time.monotonic() + 10
        while session.scalar(text("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")):
            assert time.monotonic() < deadline, "nothing of it stays in the queue"
            time.sleep(0.1)


def test_a_worker_told_to_stop_hands_its_run_on_at_once(
    client: TestClient, start_worker: Worker, another_worker: Another
) -> None:
    run = start(client, **sweep(100))
    worker = start_worker()
    wait_for(client, run["id"], lambda now: now["points_done"] > 3)
    worker.terminate()
    assert worker.wait(timeout=10) == 0
    waiting = client.get(f"{API}/runs/{run['id']}").json()
    assert (waiting["state"], waiting["deaths"]) == ("queued", 0)
    assert 3 < waiting["points_done"] < 400
    with another_worker():
        wait_for(client, run["id"], lambda now: now["points_done"] > waiting["points_done"])
        assert client.post(f"{API}/runs/{run['id']}/cancel").json()["attempts"] == 2


@pytest.mark.long
def test_a_run_that_the_queue_lost_is_found_again(client: TestClient, database: Database, start_worker: Worker) -> None:
    run = start(client, plan=SMALL)
    with database.session() as session:  # as if somebody had emptied the queue
        session.execute(text("DELETE FROM procrastinate_events"))
        session.execute(text("DELETE FROM procrastinate_jobs"))
    start_worker()
    assert wait_for(client, run["id"], ended)["state"] == "succeeded"


def test_a_worker_that_lost_its_run_writes_nothing_more(working_client: TestClient, database: Database) -> None:
    """The fence: an old attempt that wakes up after its lease finds that the run is another's."""
    run = start(working_client, **sweep(500))
    wait_for(working_client, run["id"], lambda now: now["points_done"] > 2)
    with database.session() as session:
        session.execute(text("UPDATE runs SET attempts = attempts + 1"))  # as another worker's begin does
    # Real time: nothing announces that the old attempt has stopped, only that it writes no more.
    time.sleep(0.6)
    reached = working_client.get(f"{API}/runs/{run['id']}").json()["last_seq"]
    time.sleep(0.5)
    assert working_client.get(f"{API}/runs/{run['id']}").json()["last_seq"] == reached
    # Nobody renews the lease now, so the run goes round and on.
    wait_for(working_client, run["id"], lambda now: now["last_seq"] > reached + 3)
    working_client.post(f"{API}/runs/{run['id']}/cancel")


def test_frames_cannot_be_changed_nor_doubled(working_client: TestClient, database: Database) -> None:
    wait_for(working_client, start(working_client, plan=SMALL)["id"], ended)
    with pytest.raises(Exception, match="immutable"), database.engine.begin() as connection:
        connection.execute(text("UPDATE run_frames SET payload = '{}'"))
    copy = "INSERT INTO run_frames (run_id, seq, kind, point, payload, size_bytes) SELECT run_id, seq + :up, kind, point, payload, size_bytes FROM run_frames WHERE point = 0"  # fmt: skip
    for up in (0, 100):
        with pytest.raises(Exception, match="duplicate key"), database.engine.begin() as connection:
            connection.execute(text(copy), {"up": up})


def test_many_start_and_cancel_at_once(working_client: TestClient) -> None:
    runs = [start(working_client, plan=SMALL, seeds=[seed])["id"] for seed in range(12)]
    cancels = [threading.Thread(target=working_client.post, args=(f"{API}/runs/{run}/cancel",)) for run in runs[::2]]
    for cancel in cancels:
        cancel.start()
    for cancel in cancels:
        cancel.join()
    for run in runs:
        done = wait_for(working_client, run, ended)
        assert done["state"] in {"succeeded", "cancelled"}
        stream = frames(working_client, run)
        assert [seq for _, seq, _ in stream] == list(range(1, done["last_seq"] + 1))
        states: list[Any] = [data["state"] for name, _, data in stream if name == "state"]
        assert states[-1] == done["state"]
