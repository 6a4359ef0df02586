"""Programs for the chips of a live run over REST, with a scripted fabric."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.emulation.live.repository import EventRepository
from cubeyard.engine import Engine
from cubeyard.settings import Settings
from tests.emulation.live.test_services import API, fabric, new_run
from tests.emulation.scripted import Scripted

__all__ = ["fabric"]

Json = dict[str, Any]
BCUBE = {"family": "bcube", "n": 2, "k": 1}


def commit(client: TestClient, run: str, program: Any) -> tuple[int, Json]:
    result = client.post(f"{API}/runs/{run}/chip-program", json={"program": program})
    return result.status_code, result.json()


@pytest.fixture
def run(client: TestClient) -> str:
    return new_run(client, BCUBE, emulation={"dataplane": "serverswitch", "mode": "namespaces"})


@pytest.fixture
def flowing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the run look as if its worker had started the traffic."""
    monkeypatch.setattr(EventRepository, "flowing", lambda *_: True)


@pytest.mark.usefixtures("flowing")
def test_a_program_is_committed_at_once(client: TestClient, run: str, fabric: Scripted) -> None:
    program = Engine(Settings()).chip_bcube(BCUBE)
    fabric.programs = {"servers": 4, "micros": 1500}
    assert commit(client, run, program) == (200, {"servers": 4, "micros": 1500})
    (params,) = (params for method, params in fabric.calls if method == "program")
    assert params == {"run": run, "program": program}
    fabric.programs = {"program": "j = 0;"}
    assert client.get(f"{API}/runs/{run}/chip-program").json() == {"program": "j = 0;"}
    fabric.fails.add("program")
    assert client.get(f"{API}/runs/{run}/chip-program").status_code == 409
    code, problem = commit(client, run, program)
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:not-committed")


@pytest.mark.usefixtures("flowing")
def test_an_invalid_commit_is_refused_by_its_field(client: TestClient, run: str, fabric: Scripted) -> None:
    for program in ["SetUDLK(9, (B0));", "", "x" * 20_000, "zero \0", 5, None]:
        code, problem = commit(client, run, program)
        assert code == 422, program
        assert problem["errors"][0]["field"] == "body.program"
        assert not [method for method, _ in fabric.calls if method == "program"]


def test_a_run_without_chips_or_traffic_takes_no_program(client: TestClient, run: str, fabric: Scripted) -> None:
    code, problem = commit(client, run, "j = 0;")
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:not-flowing")
    other = new_run(client, BCUBE)
    code, problem = commit(client, other, "j = 0;")
    assert code == 422
    assert "no chip to program" in problem["errors"][0]["message"]
    assert commit(client, "0" * 14, "j = 0;")[0] == 404
    assert not fabric.calls
