"""Exports at once and in the background: progress, cancelling, and workers that are really
killed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from cubeyard.engine import Engine
from cubeyard.exports import FORMATS
from cubeyard.exports.formats import STREAMED_CABLES
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from cubeyard.worker import ExportRunner
from tests.conftest import PAPER, SMALL
from tests.processes import PROGRAM, environment

Json = dict[str, Any]


def plan_of(client: TestClient, spec: Json) -> str:
    return client.post("/api/v1/plans", json={"name": "Yard \u00e4/b", "spec": spec}).json()["id"]


def start(client: TestClient, plan: str, format: str) -> Json:
    answer = client.post(f"/api/v1/plans/{plan}/exports/{format}/jobs")
    assert answer.status_code == 202, answer.text
    return answer.json()


def wait_for(client: TestClient, job: str, *states: str, seconds: float = 60) -> Json:
    deadline = time.monotonic() + seconds
    while True:
        now = client.get(f"/api/v1/jobs/{job}").json()
        if now["state"] in states:
            return now
        assert time.monotonic() < deadline, now
        time.sleep(0.02)


@pytest.fixture
def start_worker(settings: Settings, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """`cubeyard worker` processes; every one is gone at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def begin() -> subprocess.Popen[bytes]:
        here = environment(
            tmp_path, DATABASE_URL=str(settings.database_url), CUBEYARD_JOB_LEASE_SECS=str(settings.job_lease_secs)
        )
        with (tmp_path / f"worker{len(started)}.log").open("wb") as log:
            started.append(subprocess.Popen([*PROGRAM, "worker"], env=here, stderr=log))
        return started[-1]

    yield begin
    for item in started:
        item.kill()
        item.wait()


def test_every_format_streams_at_once(client: TestClient) -> None:
    plan = plan_of(client, SMALL)
    listed = client.get(f"/api/v1/plans/{plan}/exports").json()["items"]
    assert [item["name"] for item in listed] == list(FORMATS)
    for item in listed:
        answer = client.get(f"/api/v1/plans/{plan}/exports/{item['name']}")
        if item["name"] == "htsim":
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "topology.family")
            continue
        assert answer.status_code == 200, (item, answer.text[:300])
        assert answer.headers["content-type"].split(";")[0] == item["media_type"].split(";")[0]
        assert f".{item['extension']}" in answer.headers["content-disposition"]
        assert len(answer.content) > 100
    assert client.get(f"/api/v1/plans/{plan}/exports/docx").status_code == 404
    assert client.get(f"/api/v1/plans/{'0' * 14}/exports/csv").status_code == 404
    unsaved = client.post("/api/v1/exports/csv", json={"spec": SMALL, "name": "Yard \u00e4/b"})
    assert unsaved.content == client.get(f"/api/v1/plans/{plan}/exports/csv").content
    assert client.post("/api/v1/exports/csv", json={"spec": {"family": "bcube", "n": 1, "k": 1}}).status_code == 422


def test_a_job_ends_with_the_same_bytes_as_the_stream(working_client: TestClient) -> None:
    plan = plan_of(working_client, PAPER)
    job = start(working_client, plan, "json")
    assert job["state"] in ("queued", "running")
    done = wait_for(working_client, job["id"], "done", "failed")
    assert (done["state"], done["progress"], done["attempts"], done["error"]) == ("done", 1.0, 1, None)
    result = working_client.get(done["result_url"], headers={"accept-encoding": "identity"})
    assert result.content == working_client.get(f"/api/v1/plans/{plan}/exports/json").content
    assert int(result.headers["content-length"]) == done["size_bytes"] == len(result.content)
    assert quote(done["filename"]) in result.headers["content-disposition"]
    assert [item["id"] for item in working_client.get(f"/api/v1/plans/{plan}/jobs").json()["items"]] == [job["id"]]
    again = working_client.delete(f"/api/v1/jobs/{job['id']}").json()
    assert again["state"] == "done", "cancelling what is done changes nothing"


def test_a_large_export_is_answered_with_a_job_and_then_with_its_file(
    working_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(working_client, SMALL)
    address = f"/api/v1/plans/{plan}/exports/csv"
    whole = working_client.get(address).content
    cables = len(whole.splitlines()) - 1
    monkeypatch.setattr("cubeyard.jobs.service.cables_at_once", lambda _: cables)
    assert working_client.get(address).status_code == 200, "at the bound it is written at once"
    monkeypatch.setattr("cubeyard.jobs.service.cables_at_once", lambda _: cables - 1)
    reported = working_client.head(address, follow_redirects=False)
    assert (reported.status_code, reported.content, "location" in reported.headers) == (202, b"", False)
    assert working_client.get(f"/api/v1/plans/{plan}/jobs").json()["items"] == [], "who only asks starts no job"
    answer = working_client.get(address, follow_redirects=False)
    assert answer.status_code in (202, 303)
    if answer.status_code == 202:
        job = answer.json()
        assert answer.headers["location"] == f"/api/v1/jobs/{job['id']}"
        assert int(answer.headers["retry-after"]) >= 1
        wait_for(working_client, job["id"], "done")
    done = working_client.get(address, follow_redirects=False)
    assert done.status_code == 303
    part = working_client.get(done.headers["location"], headers={"range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, whole[10:20])
    assert working_client.get(address).content == whole, "a client that follows redirects has the file"
    assert len(working_client.get(f"/api/v1/plans/{plan}/jobs").json()["items"]) == 1, "all requests share a job"
    assert working_client.get(address, params={"stream": "true"}, follow_redirects=False).content == whole
    reported = working_client.head(address, follow_redirects=False)
    assert (reported.status_code, reported.headers["location"]) == (303, done.headers["location"])
    tag = reported.headers["etag"]
    assert working_client.get(address, headers={"if-none-match": tag}, follow_redirects=False).status_code == 304


def test_a_client_may_ask_for_a_job_at_any_size(client: TestClient) -> None:
    plan = plan_of(client, SMALL)
    address = f"/api/v1/plans/{plan}/exports/csv"
    first = client.get(address, headers={"prefer": "respond-async"})
    assert (first.status_code, first.headers["preference-applied"]) == (202, "respond-async")
    assert first.json()["state"] == "queued"
    again = client.get(address, headers={"prefer": "respond-async, wait=10"})
    assert again.json()["id"] == first.json()["id"], "who asks twice does not make it twice"
    client.delete(f"/api/v1/jobs/{first.json()['id']}")
    fresh = client.get(address, headers={"prefer": "respond-async"}).json()
    assert fresh["id"] != first.json()["id"], "a cancelled job is not joined"
    client.patch(f"/api/v1/plans/{plan}", json={"name": "Another"})
    renamed = client.get(address, headers={"prefer": "respond-async"}).json()
    assert renamed["filename"] != fresh["filename"]


def test_every_format_says_up_to_which_size_it_is_written_at_once(client: TestClient) -> None:
    listed = {item["name"]: item["cables_at_once"] for item in client.get("/api/v1/exports").json()["items"]}
    assert all(0 < bound <= STREAMED_CABLES for bound in listed.values())
    assert listed["pdf"] < listed["xlsx"] < listed["csv"]


def test_a_queued_job_can_be_cancelled_and_has_no_result(client: TestClient, database: Database) -> None:
    job = start(client, plan_of(client, SMALL), "csv")
    assert client.get(f"/api/v1/jobs/{job['id']}/result").status_code == 409
    assert client.delete(f"/api/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    with database.session() as session:
        assert session.scalar(text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'")) == 0
    assert client.get(f"/api/v1/jobs/{'0' * 14}").status_code == 404
    assert client.post(f"/api/v1/plans/{'0' * 14}/exports/csv/jobs").status_code == 404
    assert client.post(f"/api/v1/plans/{job['plan_id']}/exports/docx/jobs").status_code == 404


def test_a_running_job_notices_that_it_was_cancelled(
    client: TestClient, settings: Settings, database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(client, plan_of(client, SMALL), "csv")["id"]
    pieces: list[int] = []

    def slow(*_: object) -> Iterator[bytes]:
        for number in range(5):
            if number == 2:
                client.delete(f"/api/v1/jobs/{job}")
            pieces.append(number)
            yield b"x" * 300_000

    monkeypatch.setattr("cubeyard.worker.render", slow)
    ExportRunner(settings, database, engine)(job)
    assert client.get(f"/api/v1/jobs/{job}").json()["state"] == "cancelled"
    assert pieces == [0, 1, 2], "it stops at the next piece"
    with database.session() as session:
        assert session.scalar(text("SELECT count(*) FROM export_chunks")) == 0


def test_a_renderer_that_fails_fails_its_job_with_words(
    client: TestClient, settings: Settings, database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(client, plan_of(client, SMALL), "csv")["id"]

    def broken(*_: object) -> Iterator[bytes]:
        yield b"begun"
        raise ValueError("the pen is dry")

    monkeypatch.setattr("cubeyard.worker.render", broken)
    ExportRunner(settings, database, engine)(job)
    failed = client.get(f"/api/v1/jobs/{job}").json()
    assert (failed["state"], failed["error"]) == ("failed", "ValueError: the pen is dry")
    ExportRunner(settings, database, engine)(job)
    assert client.get(f"/api/v1/jobs/{job}").json()["attempts"] == 1, "a finished job is not done again"


@pytest.mark.long
def test_a_killed_worker_s_job_goes_to_another_and_ends_well(
    client: TestClient, start_worker: Callable[[], subprocess.Popen[bytes]]
) -> None:
    plan = plan_of(client, PAPER)
    job = start(client, plan, "pdf")["id"]
    first = start_worker()
    wait_for(client, job, "running")
    first.kill()
    first.wait()
    assert client.get(f"/api/v1/jobs/{job}").json()["state"] == "running", "killed in the middle"
    start_worker()
    done = wait_for(client, job, "done", "failed", seconds=120)
    assert (done["state"], done["attempts"]) == ("done", 2)
    assert client.get(done["result_url"]).content.startswith(b"%PDF")


@pytest.mark.long
def test_a_job_that_kills_every_worker_fails_and_is_never_stuck(
    client: TestClient, settings: Settings, database: Database, start_worker: Callable[[], subprocess.Popen[bytes]]
) -> None:
    job = start(client, plan_of(client, PAPER), "pdf")["id"]
    with database.session() as session:  # as if two workers had died at it already
        session.execute(text("UPDATE export_jobs SET attempts = :n"), {"n": settings.job_attempts - 1})
    worker = start_worker()
    wait_for(client, job, "running")
    worker.kill()
    worker.wait()
    start_worker()
    failed = wait_for(client, job, "failed", "done", seconds=60)
    assert (failed["state"], failed["error"]) == ("failed", "The worker died 3 times at this job.")
    deadline = time.monotonic() + 10  # the reaper takes it out of the queue once it is failed
    with database.session() as session:
        while session.scalar(text("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")):
            assert time.monotonic() < deadline, "nothing of it stays in the queue"
            time.sleep(0.1)


def test_a_job_that_the_queue_lost_is_found_again(working_client: TestClient, database: Database) -> None:
    plan = plan_of(working_client, SMALL)
    job = start(working_client, plan, "csv")["id"]
    wait_for(working_client, job, "done")
    with database.session() as session:  # as if somebody had emptied the queue
        session.execute(
            text("UPDATE export_jobs SET state = 'queued', created_at = now() - interval '1 hour', started_at = NULL")
        )
    assert wait_for(working_client, job, "done")["attempts"] == 3


@pytest.mark.long
def test_a_worker_told_to_stop_leaves_cleanly(
    start_worker: Callable[[], subprocess.Popen[bytes]], client: TestClient
) -> None:
    worker = start_worker()
    done = wait_for(client, start(client, plan_of(client, SMALL), "csv")["id"], "done")
    assert done["attempts"] == 1
    worker.terminate()
    assert worker.wait(timeout=20) == 0
