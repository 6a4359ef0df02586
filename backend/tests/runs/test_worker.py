"""The tasks of a worker, apart from its runs."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

import cubeyard.worker
from cubeyard.app import create_app
from cubeyard.emulation.runner import EmulationRunner
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.reaper import RunReaper
from cubeyard.settings import Settings


def test_a_host_that_answers_nothing_keeps_no_job_of_dead_workers_waiting(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, over = threading.Event(), threading.Event()
    looks = 0

    def reap(_: EmulationRunner) -> None:
        silent.set()
        over.wait(30)

    def once(_: RunReaper) -> None:
        nonlocal looks
        looks += silent.is_set()

    monkeypatch.setattr(EmulationRunner, "reap", reap)
    monkeypatch.setattr(RunReaper, "once", once)
    often = settings.model_copy(update={"job_lease_secs": 0.6})
    with TestClient(create_app(often, database=database, worker=True), base_url="http://localhost"):
        try:
            deadline = time.monotonic() + 20
            while looks < 3:
                assert time.monotonic() < deadline, "the reaper of jobs waits for the one of emulations"
                time.sleep(0.05)
        finally:
            over.set()


def test_a_worker_waits_while_the_tables_are_of_another_version(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def refuse_other(_: object) -> None:
        calls.append("compare")
        if len(calls) < 3:
            raise ProblemError(503, "other-schema", "The tables are of another version.")

    async def run_worker(*given: Any, **_: Any) -> None:
        calls.append("work")
        given[3].set()

    monkeypatch.setattr(cubeyard.worker, "refuse_other", refuse_other)
    monkeypatch.setattr(cubeyard.worker, "run_worker", run_worker)
    monkeypatch.setattr(cubeyard.worker, "RESTART_AFTER_SECS", 0.01)
    database: Any = SimpleNamespace(engine=None, embedded=None)
    engine: Any = None

    async def supervised() -> None:
        await asyncio.wait_for(cubeyard.worker.supervise(settings, database, engine, asyncio.Event()), 10)

    asyncio.run(supervised())
    assert calls == ["compare", "compare", "compare", "work"]
