"""A thread that hangs is noticed while the others live: its run goes to another worker, and the
worker's beat stops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from cubeyard.kit.db import Database
from cubeyard.runs import lease as leases
from cubeyard.runs.lease import HUNG_SECS, Lease, OverError, Watch
from cubeyard.runs.models import RunRow
from cubeyard.settings import Settings
from cubeyard.worker import Counted, LongLane, Reaper
from tests.runs.conftest import start


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(leases, "time", clock)
    return clock


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_run_whose_thread_hangs_loses_its_lease(client: TestClient, database: Database, clock: Clock) -> None:
    run = start(client)["id"]

    def beat_at() -> Any:
        with database.session() as session:
            return session.scalar(select(RunRow.heartbeat_at).where(RunRow.id == run))

    with database.session() as session:
        session.execute(update(RunRow).where(RunRow.id == run).values(state="running", attempts=1))
    watch = Watch()
    lease = Lease(database, run, 1, lambda: False, every_secs=0.05, watch=watch)
    with lease.renewed():
        for _ in range(2):
            clock.now += HUNG_SECS - 1
            before = beat_at()
            lease.check()
            wait(lambda before=before: beat_at() != before)
        assert watch.hung == []
        clock.now += HUNG_SECS + 1
        assert watch.hung == [f"run {run}"]
        wait(lambda: f"lease-{run}" not in {thread.name for thread in threading.enumerate()})
        with pytest.raises(OverError):
            lease.check()
    assert watch.hung == []


def reaper(settings: Settings, hang: Callable[[], Any], watch: Watch, stopping: asyncio.Event) -> Any:
    nothing: Any = None
    emulations: Any = SimpleNamespace(reap=hang)
    return Reaper(settings, nothing, nothing, emulations, watch).run_emulations(stopping)


def long_lane(_: Settings, hang: Callable[[], Any], watch: Watch, stopping: asyncio.Event) -> Any:
    ear: Any = SimpleNamespace(shows=frozenset())
    return LongLane(ear, lambda *_: asyncio.create_task(stopping.wait()), hang, Counted(lambda _: None), watch).run()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("work", "name"), [(reaper, "reaper of emulations"), (long_lane, "probe of emulations")], ids=["reaper", "probe"]
)
def test_a_regular_call_that_hangs_is_noticed(
    settings: Settings, clock: Clock, work: Callable[..., Any], name: str
) -> None:
    began, over, watch = threading.Event(), threading.Event(), Watch()

    def hang() -> frozenset[Any]:
        began.set()
        over.wait(30)
        return frozenset()

    async def worked() -> None:
        stopping = asyncio.Event()
        task = asyncio.create_task(work(settings, hang, watch, stopping))
        assert await asyncio.to_thread(began.wait, 20)
        assert watch.hung == []
        clock.now += HUNG_SECS + 1
        assert watch.hung == [name]
        over.set()
        stopping.set()
        await asyncio.wait_for(task, 20)
        assert watch.hung == []

    asyncio.run(worked())
