"""A run on a machine that only its worker reaches: live features go through the worker, streams
fail with an error about the missing setting. The fabrics are scripted."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fastapi.testclient import TestClient

from cubeyard.emulation.deploy import shells
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.live import elsewhere, services
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.repository import EventRepository
from cubeyard.emulation.live.terminal.session import Terminals
from cubeyard.emulation.network.network import Network
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.repository import RunRepository
from tests.emulation.live.test_api import API, ASKED
from tests.emulation.live.test_captures import CAPTURED, FILE, ended
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
def worker(database: Database, run: str) -> Iterator[Scripted]:
    """The worker of the run, whose fabric is in another folder."""
    folder = Path(tempfile.mkdtemp(prefix="cyh-"))
    hosts = Hosts("owner", (Host("", folder / "fabric.sock"),))
    with scripted(folder / "fabric.sock") as fabric, elsewhere.answering(database, hosts, run):
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


def test_the_worker_captures_and_reads_programs(client: TestClient, run: str, worker: Scripted) -> None:
    worker.captured = CAPTURED.copy()
    assert client.get(f"{API}/runs/{run}/chip-program").json() == {"program": None}
    made = client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>", "max_secs": 1, "max_bytes": 5000})
    assert made.status_code == 202, made.text
    (result,) = ended(client, run)
    assert (result["state"], result["reason"], result["packets"]) == ("done", "", 3)
    assert client.get(f"{API}/runs/{run}/captures/{result['id']}/file").content == FILE
    assert {name for name, _ in worker.calls} >= {"program", "capture"}


def test_the_worker_passes_on_messages_to_every_server_at_once(database: Database, run: str, worker: Scripted) -> None:
    network = SimpleNamespace(servers={0: "00", 1: "01", 2: "10"})
    hosts = Hosts("owner", (Host("", Path("/nowhere/fabric.sock")),)).asking(partial(elsewhere._ask, database))
    worker.deaf = {2}
    message = services.Message(run, cast(Network, network), "cache", "get a", [0, 1, 2], every=True, after=0)
    assert services.send(hosts, message) == (["00", "01"], ["10"], True)
    assert [params["server"] for name, params in worker.calls if name == "tell"] == [0, 1, 2]
    with database.session() as session:
        assert session.query(OrderRow).count() == 0


@pytest.mark.parametrize(("method", "of"), [("destroy", ""), ("reap", ""), ("inspect", "0" * 14)])
def test_a_worker_carries_out_the_calls_of_live_features_for_its_run_alone(method: str, of: str) -> None:
    hosts = Hosts("owner", (Host("", Path("/nowhere/fabric.sock")),))
    question = {"host": "", "method": method, "secs": 1, "every": [{"run": of or "1" * 14}]}
    (outcome,) = elsewhere._carried_out(hosts, "1" * 14, question)["outcomes"]
    assert "is no call for run" in outcome["error"]["message"]


def test_errors_of_streams_name_the_missing_setting_and_the_host(
    client: TestClient, database: Database, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_container(*_: object) -> None:
        raise ProblemError(409, "no-container", "There is no such container.")

    monkeypatch.setattr(Terminals, "refusal", lambda *_: "")
    monkeypatch.setattr(shells, "check", no_container)
    for machine in ("the machine of its worker", "host far"):
        refused = client.get(f"{API}/runs/{run}/packets", params={"link": "00/<0,0>"})
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:cubeyard:problem:run-elsewhere")
        reason = client.get(f"{API}/runs/{run}/servers/00/terminal").json()["reason"]
        for words in (refused.json()["detail"], reason):
            assert f"come from {machine}, which this server does not reach" in words
            assert f"the same CUBEYARD_HOSTS, with {machine} in it" in words
        placed = {"name": ["far"], "of_server": [0] * 4}
        monkeypatch.setattr(EventRepository, "placed", lambda *_, placed=placed: placed)


def test_a_worker_that_does_not_answer_is_named(client: TestClient, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "ANSWER_SECS", 0.3)
    refused = client.get(f"{API}/runs/{run}/servers/00")
    assert refused.status_code == 503
    assert refused.json()["detail"].startswith(f"The worker of run {run} does not answer")
