"""The two lanes of runs: short runs do not wait for long ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

import cubeyard.worker
from cubeyard.app import create_app
from cubeyard.kit.db import Database
from cubeyard.runs.models import RunRow
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
    told = states(working, long["id"])
    assert [one["state"] for one in told] == ["queued", "running", "queued", "running", "succeeded"]
    assert told[2]["reason"] == "It takes longer than 0.4 s. It goes on in the lane for long runs."
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


def test_measuring_waits_in_the_long_lane(idle: TestClient) -> None:
    figure = idle.post(f"{API}/figures/bcube-failover/runs", json={}).json()
    assert figure["queue"]["lane"] == "long"
