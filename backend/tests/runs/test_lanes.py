"""The lanes of runs: short runs do not wait for long ones, and real packets wait for a worker that
can emulate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text, update

import cubeyard.worker
from cubeyard.app import create_app
from cubeyard.emulation.deploy.probe import with_workers
from cubeyard.emulation.deploy.schemas import Capability, Machine
from cubeyard.emulation.runner import EmulationRunner
from cubeyard.engine import Engine
from cubeyard.kit.db import Database
from cubeyard.kit.ear import SIGNS, Sign
from cubeyard.runs.frames import Frames
from cubeyard.runs.models import RunRow
from cubeyard.runs.queue import QUEUES, Lane
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.runs.conftest import API, Json, ended, events_of, start, sweep, wait_for

QUICK_SECS = 0.4


@pytest.fixture
def idle(settings: Settings, database: Database) -> Iterator[TestClient]:
    """A server without a worker."""
    with TestClient(create_app(settings, database=database), base_url="http://localhost") as opened:
        yield opened


@pytest.fixture
def working(settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(cubeyard.worker, "QUICK_SECS", QUICK_SECS)
    with TestClient(create_app(settings, database=database, worker=True), base_url="http://localhost") as opened:
        yield opened


def states(client: TestClient, run: str) -> list[Json]:
    answer = client.get(f"{API}/runs/{run}/events", params={"after": 0})
    return [data for name, _, data in events_of(iter(answer.content.splitlines())) if name == "state"]


@pytest.mark.long
def test_a_run_that_takes_long_moves_and_lets_a_short_one_pass(working: TestClient) -> None:
    long = start(working, **sweep(seeds=60))
    assert long["queue"]["lane"] == "quick"
    wait_for(working, long["id"], lambda run: run["attempts"] == 2)
    other = start(working, **sweep(seeds=60), name="Behind it")
    short = start(working, plan=SMALL)
    done = wait_for(working, short["id"], ended)
    over = wait_for(working, long["id"], ended, seconds=90)
    behind = wait_for(working, other["id"], ended, seconds=90)
    assert [run["state"] for run in (done, over, behind)] == ["succeeded"] * 3
    assert done["finished_at"] < behind["finished_at"], "the short one passed the one that was queued before it"
    assert (over["state"], over["points_done"], over["attempts"], over["deaths"]) == ("succeeded", 240, 2, 0)
    reported = states(working, long["id"])
    assert [state["state"] for state in reported] == ["queued", "running", "queued", "running", "succeeded"]
    assert reported[2]["reason"] == "It takes longer than 0.4 s. It goes on in the lane for long runs."
    points = working.get(f"{API}/runs/{long['id']}/results").json()["points"]
    assert sorted(point["point"] for point in points) == list(range(240))


def test_a_queued_run_tells_its_place(idle: TestClient) -> None:
    runs = [start(idle, plan=SMALL) for _ in range(3)]
    places = [idle.get(f"{API}/runs/{run['id']}").json()["queue"] for run in runs]
    assert places == [
        {"lane": "quick", "before": before, "wait_secs": wait} for before, wait in ((0, 0.0), (1, None), (2, None))
    ]
    idle.post(f"{API}/runs/{runs[0]['id']}/cancel")
    assert idle.get(f"{API}/runs/{runs[0]['id']}").json()["queue"] is None
    assert idle.get(f"{API}/runs/{runs[2]['id']}").json()["queue"]["before"] == 1


@pytest.mark.parametrize(("took_secs", "lane"), [(2.0, "quick"), (61.0, "long")])
def test_what_took_long_before_starts_in_the_long_lane(
    idle: TestClient, database: Database, took_secs: float, lane: str
) -> None:
    first = start(idle, plan=SMALL)
    assert first["expected_secs"] is None
    with database.session() as session:
        row = session.get(RunRow, first["id"])
        assert row is not None
        times = {"started_at": row.created_at, "finished_at": row.created_at + timedelta(seconds=took_secs)}
        session.execute(update(RunRow).where(RunRow.id == row.id).values(state="succeeded", **times))
    again = start(idle, plan=SMALL)
    assert (again["expected_secs"], again["queue"]["lane"]) == (took_secs, lane)
    behind = start(idle, plan=SMALL)
    assert behind["queue"] == {"lane": lane, "before": 1, "wait_secs": took_secs}
    assert start(idle, plan=SMALL, link_gbps=2.0)["expected_secs"] is None, "another question"
    figure = idle.post(f"{API}/figures/bcube-table2/runs", json={}).json()
    assert figure["queue"]["lane"] == "quick"


def test_measuring_waits_in_a_lane_of_its_own(idle: TestClient) -> None:
    figure = idle.post(f"{API}/figures/bcube-failover/runs", json={}).json()
    assert figure["queue"]["lane"] == "real"


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> set[Sign]:
    """How workers can emulate. A run lasts until it is cancelled."""
    able: set[Sign] = set()

    def run(_: EmulationRunner, run_id: str, document: Json, frames: Frames) -> str:
        del run_id, document
        while True:
            frames.lease.check()
            time.sleep(0.02)

    monkeypatch.setattr(EmulationRunner, "can_emulate", lambda _: frozenset(able))
    monkeypatch.setattr(EmulationRunner, "run", run)
    monkeypatch.setattr(cubeyard.worker, "UNABLE_SECS", 0.1)
    monkeypatch.setattr(cubeyard.worker, "ABLE_SECS", 0.1)
    return able


def workers(client: TestClient) -> dict[str, int]:
    return client.get(f"{API}/emulation").json()["workers"]


def word_of_workers(client: TestClient) -> str:
    parts = {part["name"]: part["reason"] for part in client.get(f"{API}/emulation").json()["capabilities"]}
    return parts["workers"]


def until(is_so: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


EMULATED = {"plan": SMALL, "engine": "emulation", "emulation": {"seconds": 2, "mode": "namespaces"}}
IN_CONTAINERS = {**EMULATED, "emulation": {"seconds": 2}}
WITH_IMAGES = {**EMULATED, "emulation": {"seconds": 2, "images": [{"image": "nginx:1.29"}]}}


def test_real_packets_wait_for_a_worker_that_can_emulate(able: set[Sign], working: TestClient) -> None:
    run = start(working, **EMULATED)
    predicted = start(working, plan=SMALL)
    assert wait_for(working, predicted["id"], ended)["state"] == "succeeded"
    waiting = working.get(f"{API}/runs/{run['id']}").json()
    assert (waiting["state"], waiting["queue"]) == ("queued", {"lane": "real", "before": 0, "wait_secs": 0.0})
    assert set(workers(working).values()) == {0}
    assert word_of_workers(working) == "No worker can emulate now. Runs wait until one can."
    able.add("namespaces")
    wait_for(working, run["id"], lambda run: run["state"] == "running")
    until(lambda: workers(working) == {"namespaces": 1, "containers": 0, "images": 0})
    working.post(f"{API}/runs/{run['id']}/cancel")
    able.clear()
    until(lambda: set(workers(working).values()) == {0})


def test_runs_wait_for_a_worker_that_can_do_their_kind(able: set[Sign], working: TestClient) -> None:
    """A worker without Docker, or without images of users, leaves such runs to others."""
    able.add("namespaces")
    contained, imaged = (start(working, **question) for question in (IN_CONTAINERS, WITH_IMAGES))
    plain = start(working, **EMULATED)
    assert [run["queue"]["lane"] for run in (contained, imaged, plain)] == ["real-containers", "real-images", "real"]
    steps: list[tuple[Json, Sign, list[Json]]] = [
        (plain, "containers", [contained, imaged]),
        (contained, "images", [imaged]),
    ]
    for run, ability, waiting in steps:
        wait_for(working, run["id"], lambda run: run["state"] == "running")
        for other in waiting:
            left = working.get(f"{API}/runs/{other['id']}").json()
            assert (left["state"], left["attempts"]) == ("queued", 0)
        able.add(ability)
        working.post(f"{API}/runs/{run['id']}/cancel")
    wait_for(working, imaged["id"], lambda run: run["state"] == "running")
    until(lambda: workers(working) == {"namespaces": 1, "containers": 1, "images": 1})
    able.discard("images")
    working.post(f"{API}/runs/{imaged['id']}/cancel")
    until(lambda: workers(working) == {"namespaces": 1, "containers": 1, "images": 0})


MACHINE = Machine(
    ready=True,
    modes=["containers", "namespaces"],
    capabilities=[],
    fabric=None,
    cores=1,
    memory_free_bytes=1,
    max_servers=1,
)
LACKING = Capability(name="", title="", available=False, reason="", fix="", needed=False)


@pytest.mark.parametrize(
    ("counts", "off", "reason"),
    [
        ((0, 0, 0), "", "No worker can emulate now. Runs wait until one can."),
        (
            (1, 0, 0),
            "",
            "No worker can run servers as containers or run images of users now. Such runs wait until one can.",
        ),
        ((2, 1, 0), "", "No worker can run images of users now. Such runs wait until one can."),
        ((2, 1, 0), "images", "2 can emulate now."),
        ((1, 0, 0), "docker", "1 can emulate now."),
        ((2, 1, 1), "", "2 can emulate now."),
    ],
)
def test_the_word_of_workers_is_true_for_each_need(counts: tuple[int, int, int], off: str, reason: str) -> None:
    machine = MACHINE.model_copy(update={"capabilities": [LACKING.model_copy(update={"name": off})] if off else []})
    part = with_workers(machine, dict(zip(SIGNS, counts, strict=True))).capabilities[-1]
    assert (part.reason, part.available) == (reason, reason.endswith("can emulate now.") and any(counts))


@pytest.mark.parametrize(
    ("modes", "images", "signs"),
    [
        (["namespaces"], True, {"namespaces"}),
        (["containers", "namespaces"], False, {"namespaces", "containers"}),
        (["containers", "namespaces"], True, {"namespaces", "containers", "images"}),
        ([], True, set()),
    ],
)
def test_a_worker_can_emulate_as_its_own_probe_and_settings_say(
    settings: Settings,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    modes: list[str],
    images: bool,
    signs: set[str],
) -> None:
    def probed(_: Settings, *, works: bool) -> Machine:
        assert works, "its own engine and rights, not what another process found"
        return MACHINE.model_copy(update={"modes": modes})

    monkeypatch.setattr("cubeyard.emulation.deploy.probe.probe", probed)
    runner = EmulationRunner(settings.model_copy(update={"user_images": images}), database, Engine(settings))
    assert runner.can_emulate() == signs


def test_a_cancelled_run_frees_its_worker_at_once(able: set[Sign], working: TestClient) -> None:
    able.add("namespaces")
    first, second = (start(working, **EMULATED, name=name) for name in ("First", "Second"))
    wait_for(working, first["id"], lambda run: run["state"] == "running")
    assert working.get(f"{API}/runs/{second['id']}").json()["queue"]["before"] == 1
    working.post(f"{API}/runs/{first['id']}/cancel")
    wait_for(working, second["id"], lambda run: run["state"] == "running", seconds=3)
    working.post(f"{API}/runs/{second['id']}/cancel")


@pytest.mark.parametrize(
    ("lane", "question", "right"), [("long", EMULATED, "real"), ("real", IN_CONTAINERS, "real-containers")]
)
def test_a_run_that_an_older_version_queued_for_other_workers_waits_in_the_right_lane(
    able: set[Sign],
    idle: TestClient,
    database: Database,
    settings: Settings,
    lane: Lane,
    question: Json,
    right: str,
) -> None:
    able.update({"namespaces"} if lane == "real" else ())
    run = start(idle, **question)
    with database.session() as session:
        session.execute(text("UPDATE procrastinate_jobs SET queue_name = :queue"), {"queue": QUEUES[lane]})
        session.execute(update(RunRow).values(lane=lane))
    with TestClient(create_app(settings, database=database, worker=True), base_url="http://localhost") as client:
        moved = wait_for(client, run["id"], lambda run: run["queue"]["lane"] == right)
    assert (moved["state"], moved["attempts"]) == ("queued", 0)
