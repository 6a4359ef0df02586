"""Several workers at one run: threads that are made to meet, and real processes that are really
killed."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import cubeyard
import cubeyard.runs.lease
from cubeyard.app import create_app
from cubeyard.engine import Engine, OnPartial, OnProgress
from cubeyard.kit.db import Database
from cubeyard.kit.digests import digest_of
from cubeyard.runs.reaper import RunReaper
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.runner import RunRunner
from cubeyard.runs.sharing import Share
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.runs.conftest import API, Json, ended, start, sweep, wait_for
from tests.runs.test_runs import frames, whole

Worker = Callable[..., subprocess.Popen[bytes]]
WAIT_SECS = 60


class Held(Engine):
    """An engine that waits before each point, by its number among this engine's points."""

    def __init__(self, ask: Callable[[int], object]) -> None:
        super().__init__(Settings())
        self.points = 0
        self._ask = ask

    def predict_json(
        self, spec: Any, experiment: Any, on_progress: OnProgress | None = None, on_frame: OnPartial | None = None
    ) -> bytes:
        self.points += 1
        self._ask(self.points)
        return super().predict_json(spec, experiment, on_progress, on_frame)


def shared_run(client: TestClient, database: Database, **fields: Any) -> Json:
    """A run that starts in the lane in which workers share."""
    run = start(client, **fields)
    with database.session() as session:
        session.execute(text("UPDATE runs SET lane = 'long' WHERE id = :id"), {"id": run["id"]})
        session.execute(text("UPDATE procrastinate_jobs SET queue_name = 'runs'"))
    return run


@contextmanager
def at_work(database: Database, run: str, *engines: Engine) -> Iterator[list[threading.Thread]]:
    """A worker with each engine; all of them are through at the end."""
    threads = [threading.Thread(target=RunRunner(database, engine), args=(run,)) for engine in engines]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.join(WAIT_SECS)
        assert not thread.is_alive()


def entries(database: Database) -> int:
    with database.session() as session:
        return session.scalars(text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'")).one()


@pytest.mark.parametrize("workers", [2, 4])
def test_the_bytes_are_the_same_however_many_workers_there_are(
    client: TestClient, database: Database, workers: int
) -> None:
    request = {**sweep(8, SMALL), "name": "Shared"}
    alone = shared_run(client, database, **request)
    RunRunner(database, Engine(Settings()))(alone["id"])
    again = client.post(f"{API}/experiments/{alone['experiment_id']}/runs").json()["id"]
    with database.session() as session:
        session.execute(text("UPDATE runs SET lane = 'long' WHERE id = :id"), {"id": again})
    met = threading.Barrier(workers)
    engines = [Held(lambda number: met.wait(WAIT_SECS) if number == 1 else None) for _ in range(workers)]
    with at_work(database, again, *engines):
        pass
    assert all(item.points > 0 for item in engines)
    done = client.get(f"{API}/runs/{again}").json()
    assert (done["state"], done["attempts"], done["points_done"], done["progress"]) == ("succeeded", 1, 32, 1.0)
    assert whole(client, done) == whole(client, client.get(f"{API}/runs/{alone['id']}").json())
    for form in ("csv", "json"):
        first, second = (
            client.get(f"{API}/runs/{run}/results", params={"format": form}).content for run in (alone["id"], again)
        )
        if form == "json":  # the run's own lines come before the points
            first, second = (item.partition(b',"points":')[2] for item in (first, second))
        assert first == second
    with database.session() as session:
        assert session.scalars(text("SELECT count(*) FROM run_chunks")).one() == 0
    assert entries(database) == 0, "nobody is asked for any more"


def test_a_worker_whose_chunk_was_given_on_writes_nothing_of_it(client: TestClient, database: Database) -> None:
    """The worker was only slow: its lease ended before its point."""
    run = shared_run(client, database, **sweep(4, SMALL))["id"]
    begun, go = threading.Event(), threading.Event()

    def stall(number: int) -> None:
        if number == 1:
            begun.set()
            assert go.wait(WAIT_SECS)

    slow, quick = Held(stall), Held(lambda _: None)
    with at_work(database, run, slow):
        assert begun.wait(WAIT_SECS)
        with database.session() as session:
            session.execute(text("UPDATE run_chunks SET heartbeat_at = heartbeat_at - interval '1 hour'"))
        RunReaper(database, lease_secs=600, attempts=3).once()
        assert client.get(f"{API}/runs/{run}").json()["state"] == "running", "the run has its heart still"
        with at_work(database, run, quick):
            pass
        done = client.get(f"{API}/runs/{run}").json()
        assert (done["state"], done["points_done"], quick.points) == ("succeeded", 16, 16)
        go.set()
    assert client.get(f"{API}/runs/{run}").json() == done, "nothing was written after the end"
    whole(client, done)


def test_workers_that_die_at_the_same_points_end_the_run(client: TestClient, database: Database) -> None:
    """The run fails, independent of the other workers."""
    run = shared_run(client, database, **sweep(4, SMALL))["id"]
    begun, go = threading.Event(), threading.Event()

    def stall(_: int) -> None:
        begun.set()
        assert go.wait(WAIT_SECS)

    with at_work(database, run, Held(stall)):
        assert begun.wait(WAIT_SECS)
        with database.session() as session:
            session.execute(text("UPDATE run_chunks SET deaths = 2, heartbeat_at = heartbeat_at - interval '1 hour'"))
        RunReaper(database, lease_secs=600, attempts=3).once()
        go.set()
    failed = client.get(f"{API}/runs/{run}").json()
    assert (failed["state"], failed["reason"]) == ("failed", "The worker died 3 times in a row at this run.")
    assert failed["points_done"] == 0


def test_an_answer_that_is_lost_after_the_commit_doubles_nothing(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shared_run(client, database, **sweep(6, SMALL))["id"]
    commit, lost = Share._commit, []

    def cut(self: Share, *given: Any) -> Any:
        held = commit(self, *given)
        if len(lost) < 3 and held is not None:
            lost.append(held)
            raise OperationalError("COMMIT", None, Exception("the connection was lost"))
        return held

    monkeypatch.setattr(Share, "_commit", cut)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    RunRunner(database, Engine(Settings()))(run)
    assert len(lost) == 3
    done = client.get(f"{API}/runs/{run}").json()
    assert (done["state"], done["points_done"]) == ("succeeded", 24)
    whole(client, done)


def test_a_worker_leaves_a_shared_run_for_one_that_waits(client: TestClient, database: Database) -> None:
    run = shared_run(client, database, **sweep(8, SMALL))["id"]
    met, go = threading.Barrier(3), threading.Event()

    def meet(number: int) -> None:
        if number == 1:
            met.wait(WAIT_SECS)
            assert go.wait(WAIT_SECS)

    first, second = Held(meet), Held(meet)
    with at_work(database, run, first, second) as threads:
        met.wait(WAIT_SECS)
        waiting = shared_run(client, database, **sweep(1, SMALL))["id"]
        go.set()
        for thread in threads:
            thread.join(WAIT_SECS)
        assert min(first.points, second.points) == 1, "one of them left after the points that it had"
    assert client.get(f"{API}/runs/{run}").json()["state"] == "succeeded"
    assert client.get(f"{API}/runs/{waiting}").json()["state"] == "queued"


def test_the_rest_is_estimated_from_the_workers_that_there_are(client: TestClient, database: Database) -> None:
    """A quarter took one worker 100 s; four of them need 75 s for the rest, however long ago it
    began."""
    run = shared_run(client, database, **sweep(2, SMALL))["id"]
    with database.session() as session:
        values = {"id": run}
        session.execute(
            text(
                "UPDATE runs SET state = 'running', attempts = 1, progress = 0.25, points_done = 2, next_point = 6,"
                " work_secs = 100, started_at = clock_timestamp() - interval '1 day' WHERE id = :id"
            ),
            values,
        )
        chunk = "INSERT INTO run_chunks (run_id, first, until, holder, since) VALUES (:id, :first, :first + 1, :first, clock_timestamp())"
        for first in range(2, 6):
            session.execute(text(chunk), {**values, "first": first})
    remaining_secs = client.get(f"{API}/runs/{run}").json()["remaining_secs"]
    assert remaining_secs == pytest.approx(75, abs=2)


def test_who_ends_a_run_wakes_its_workers(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for a beat: here there is none."""
    monkeypatch.setattr(cubeyard.runs.lease, "BEAT_SECS", 3600.0)
    calm = settings.model_copy(update={"job_lease_secs": 36000.0})
    with TestClient(create_app(calm, database=database, worker=True), base_url="http://localhost") as client:
        request = {"plan": SMALL, "engine": "packet", "link_gbps": 1}
        endless = start(client, **request, workload={"kind": "all-to-all", "bytes": 1_000_000_000})["id"]
        wait_for(client, endless, lambda run: run["last_seq"] >= 3)
        client.post(f"{API}/runs/{endless}/cancel")
        behind = start(client, plan=SMALL)["id"]
        assert wait_for(client, behind, ended)["state"] == "succeeded", "the worker has let go"
        assert client.get(f"{API}/runs/{endless}").json()["state"] == "cancelled"


@pytest.mark.long
def test_a_killed_worker_of_a_shared_run_loses_and_doubles_no_point(
    client: TestClient, database: Database, start_worker: Worker
) -> None:
    """One of two workers is killed at a random moment, while it holds a chunk; the other takes over
    that chunk."""
    chance = random.Random()
    run = shared_run(client, database, **sweep(50))
    workers = [start_worker() for _ in range(2)]
    deadline = time.monotonic() + WAIT_SECS
    holders = 0
    while holders < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
        with database.session() as session:
            holders = session.scalars(text("SELECT count(holder) FROM run_chunks")).one()
    goal = client.get(f"{API}/runs/{run['id']}").json()["points_done"] + chance.randint(1, 40)
    wait_for(client, run["id"], lambda now: now["points_done"] >= min(goal, 200))
    victim = chance.choice(workers)
    victim.kill()
    victim.wait()
    done = wait_for(client, run["id"], ended, 120)
    assert done["state"] == "succeeded", done["reason"]
    ratios = [0, 0.05, 0.1, 0.15]
    got = [(point["seed"], point["failure_ratio"]) for point in whole(client, done)]
    assert got == [(seed, ratio) for seed in range(7, 57) for ratio in ratios]
    assert [data["state"] for name, _, data in frames(client, run["id"]) if name == "state"][-1] == "succeeded"


@pytest.mark.long
def test_a_worker_until_idle_ends_and_has_two_connections(
    client: TestClient, database: Database, settings: Settings, start_worker: Worker
) -> None:
    run = shared_run(client, database, **sweep(20))["id"]
    other = start(client, plan=SMALL)["id"]
    named = f"{settings.database_url}{'&' if '?' in str(settings.database_url) else '?'}application_name=counted"
    worker = start_worker("--until-idle", DATABASE_URL=named)
    most = 0
    while worker.poll() is None:
        with database.session() as session:
            counted = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted'"
            most = max(most, session.scalars(text(counted)).one())
        time.sleep(0.01)
    assert worker.returncode == 0
    assert most == 2
    for item in (run, other):
        assert client.get(f"{API}/runs/{item}").json()["state"] == "succeeded"


def test_workers_of_another_build_do_not_share_a_run(client: TestClient, database: Database, engine: Engine) -> None:
    """Their points need not be the same bytes."""
    run = start(client, **sweep(4))
    runner = RunRunner(database, engine)
    for build, joins in ((engine.build_version, True), (f"{engine.version}+0123456789abcdef", False)):
        with database.session() as session:
            row = RunRepository(session).run(run["id"], lock=True)
            assert row is not None
            row.state, row.lane, row.engine_version = "running", "long", build
            assert (runner._join(session, row, build) is not None) is joins


@pytest.mark.parametrize("same", [True, False])
def test_a_run_that_another_build_began_is_not_continued(
    client: TestClient, database: Database, engine: Engine, same: bool
) -> None:
    """A worker stops in the middle of a sweep, and the next worker is of another build."""
    run = shared_run(client, database, **sweep(2, SMALL))
    first = Held(lambda point: stopping.set() if point == 4 else None)
    stopping = threading.Event()
    RunRunner(database, first, stopping.is_set)(run["id"])
    half = client.get(f"{API}/runs/{run['id']}").json()
    assert half["state"] == "queued"
    assert 0 < half["points_done"] < half["points_total"]

    class Other(Engine):
        @property
        def build_version(self) -> str:
            return super().build_version if same else "0.1.0+other"

    RunRunner(database, Other(Settings()))(run["id"])
    over = client.get(f"{API}/runs/{run['id']}").json()
    if same:
        assert over["state"] == "succeeded"
        return
    assert (over["state"], over["engine_version"]) == ("failed", engine.build_version)
    for words in (engine.build_version, "0.1.0+other", "Start the run again."):
        assert words in over["reason"]
    assert over["points_done"] == half["points_done"]


def test_a_build_is_another_one_with_other_python_sources(engine: Engine, tmp_path: Path) -> None:
    assert engine.build_version.startswith(f"{engine.version}+")
    assert engine.build_version.endswith(f".{digest_of(Path(cubeyard.__file__).parent)}")
    (tmp_path / "runs").mkdir()
    digests = set()
    for name, content in (("a.py", "1"), ("a.py", "2"), ("runs/b.py", "2"), ("runs/b.py", "")):
        (tmp_path / name).write_text(content)
        digests.add(digest_of(tmp_path))
    assert len(digests) == 4
    (tmp_path / "runs" / "b.pyc").write_text("3")
    assert digest_of(tmp_path) in digests
