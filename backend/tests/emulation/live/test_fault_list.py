"""A run's list of faults keeps the planned times, however a fault ends."""

from __future__ import annotations

import html
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.app import create_app
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.db import Database
from cubeyard.runs.repository import RunRepository
from cubeyard.settings import Settings
from tests.emulation.live.test_services import API, new_run
from tests.emulation.scripted import scripted

Json = dict[str, Any]
PULLED = {"kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
PLANNED = {"at_secs": 2.0, "until_secs": 4.0}
LIVE = {"at_secs": 18.77, "until_secs": 19.77}


@pytest.mark.parametrize(
    ("frames", "state", "reason"),
    [
        ([], "waiting", ""),
        ([("injected", 2.013)], "injected", ""),
        ([("injected", 2.013), ("recovered", 4.015)], "recovered", ""),
        ([("injected", 9.2), ("recovered", 11.2)], "recovered", ""),
        ([("failed", 2.013)], "failed", "inject is not possible now"),
    ],
)
def test_times_are_the_planned_ones(
    client: TestClient, database: Database, frames: list[tuple[str, float]], state: str, reason: str
) -> None:
    run = new_run(client, {"family": "bcube", "n": 2, "k": 1}, faults=[{**PULLED, **PLANNED}])
    ordered = client.post(f"{API}/runs/{run}/faults", json={**PULLED, "at_secs": 3, "until_secs": 4}).json()["fault"]
    with database.session() as session:
        repository = RunRepository(session)
        row = repository.run(run, lock=True)
        assert row is not None
        for now, secs in frames:
            outcome = {"ok": not reason, **({"reason": reason} if reason else {})}
            for id_, times in (("f1", PLANNED), (ordered, LIVE)):
                frame = {**times, "id": id_, "state": now, "planned_secs": times["at_secs"], "at_secs": secs, **outcome}
                repository.append(row, "fault", frame, 60)
        session.commit()
    scheduled, live = client.get(f"{API}/runs/{run}/faults").json()["items"]
    assert (scheduled["at_secs"], scheduled["until_secs"]) == (2.0, 4.0)
    if frames:
        assert (live["at_secs"], live["until_secs"]) == (LIVE["at_secs"], LIVE["until_secs"])
    for fault in (scheduled, live):
        assert (fault["state"], fault["reason"]) == (state, reason)


@pytest.mark.parametrize("fails", [True, False])
def test_a_fault_that_fails_or_is_late_while_packets_flow_is_named_on_every_surface(
    settings: Settings, database: Database, *, fails: bool
) -> None:
    there = settings.model_copy(update={"fabric_start": False})
    fault = {**PULLED, "at_secs": 0.2}
    question = {
        "plan": {"family": "bcube", "n": 2, "k": 1}, "workload": {"kind": "permutation"}, "engine": "emulation", "faults": [fault],
        "emulation": {"mode": "namespaces", "seconds": 0.8, "settle_secs": 0, "calibrate_secs": 0},
    }  # fmt: skip
    app = create_app(there, database=database, worker=True)
    with scripted(Place.of(there).socket) as fabric, TestClient(app, base_url="http://localhost") as client:
        fabric.fails, fabric.delays = ({"inject"}, {}) if fails else (set(), {"inject": 0.3})
        fabric.probed = {"namespaces": True, "bridges": True, "htb": True}  # required by workers
        experiment = client.post(f"{API}/experiments", json=question).json()["id"]
        address = f"{API}/runs/{client.post(f'{API}/experiments/{experiment}/runs').json()['id']}"
        latest = time.monotonic() + 60
        while (run := client.get(address).json())["state"] in ("queued", "running"):
            assert time.monotonic() < latest, run
            time.sleep(0.1)
        named = run["reason"]
        verdict = client.get(f"{address}/verdict").json()
        assert (run["state"], verdict["outcome"]) == ("succeeded", "not-tested")
        assert html.escape(named) in client.get(f"{address}/report.html").text
        if not fails:
            assert named.startswith("f1 (cable-pulled of 00/<0,0>) ")
            assert "s to inject" in named
            assert verdict["off_schedule"] == [named]
            return
        assert named == "f1 (cable-pulled of 00/<0,0>) was not injected: inject is not possible now. Wait."
        assert verdict["not_injected"] == [named]
        (listed,) = client.get(f"{address}/faults").json()["items"]
        assert (listed["state"], listed["reason"], listed["at_secs"]) == (
            "failed",
            "inject is not possible now. Wait.",
            0.2,
        )
