"""Inspection of a run on a machine that only its worker reaches; the fabrics are scripted."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.live import elsewhere
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.service import network_of
from cubeyard.engine import Engine
from cubeyard.kit.db import Database
from cubeyard.runs.repository import RunRepository
from tests.emulation.live.test_api import API, ASKED
from tests.emulation.live.test_inspection import KNOWN
from tests.emulation.scripted import Scripted, scripted


@pytest.fixture
def run(client: TestClient, database: Database) -> str:
    made = client.post(f"{API}/experiments", json=ASKED).json()["id"]
    run: str = client.post(f"{API}/experiments/{made}/runs").json()["id"]
    with database.session() as session:
        row = RunRepository(session).run(run)
        assert row is not None
        row.state = "running"
    return run


@pytest.fixture
def worker(client: TestClient, database: Database, engine: Engine, run: str) -> Iterator[Scripted]:
    """The worker of the run, with its fabric in another folder."""
    folder = Path(tempfile.mkdtemp(prefix="cyh-"))
    experiment = client.get(f"{API}/runs/{run}").json()["experiment_id"]
    network = network_of(engine, client.get(f"{API}/experiments/{experiment}").json())
    hosts = Hosts("owner", (Host("", folder / "fabric.sock"),))
    with scripted(folder / "fabric.sock") as fabric, elsewhere.answering(database, hosts, network, run, "containers"):
        fabric.inspected = KNOWN
        yield fabric
    shutil.rmtree(folder)


def test_the_worker_inspects_servers_and_switches_where_this_server_has_no_fabric(
    client: TestClient, database: Database, run: str, worker: Scripted
) -> None:
    state = client.get(f"{API}/runs/{run}/servers/00")
    assert state.status_code == 200, state.text
    assert state.json()["counts"] == KNOWN["counts"]
    assert client.get(f"{API}/runs/{run}/switches/<0,0>").json()["switch"] == "<0,0>"
    assert client.get(f"{API}/runs/{run}/servers/99").status_code == 404
    worker.fails.add("inspect")
    refused = client.get(f"{API}/runs/{run}/servers/00")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("Server 00 does not answer")
    with database.session() as session:
        assert session.query(OrderRow).count() == 0


def test_a_worker_that_does_not_answer_is_named(client: TestClient, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "ANSWER_SECS", 0.3)
    refused = client.get(f"{API}/runs/{run}/servers/00")
    assert refused.status_code == 503
    assert refused.json()["detail"].startswith(f"The worker of run {run} does not answer")
