"""Requests never lock a run's row, which the worker needs for each tick. Simultaneous orders remain
separate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text, update

from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.repository import OrderRepository
from cubeyard.engine import Engine
from cubeyard.kit.db import Database
from cubeyard.runs.frames import own
from cubeyard.runs.lease import Lease
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import RunRepository
from cubeyard.settings import Settings
from tests.emulation.live.test_api import API, PULLED, run
from tests.emulation.scripted import scripted

__all__ = ["run"]

Json = dict[str, Any]
ATTEMPT = 1


@pytest.fixture
def tick(database: Database, run: str) -> Callable[[], int]:
    """Returns a function that writes a tick of the run as its worker does, and fails instead of
    waiting. It returns the frame's number."""
    with database.session() as session:
        session.execute(update(RunRow).where(RunRow.id == run).values(state="running", attempts=ATTEMPT))
    lease = Lease(database, run, ATTEMPT, lambda: False)

    def write() -> int:
        with database.session() as session:
            session.execute(text("SET LOCAL lock_timeout = '50ms'"))
            repository = RunRepository(session)
            row = own(repository, lease)
            repository.append(row, "tick", {}, 2)
            return row.last_seq

    return write


@pytest.fixture
def written(tick: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Writes a tick each time a request builds a network or computes a prediction; yields the
    frames' numbers."""
    matches: list[int] = []
    for name in ("emulation_network", "predict_json"):
        slow = getattr(Engine, name)

        def meanwhile(self: Engine, *given: Any, slow: Any = slow, **named: Any) -> Any:
            matches.append(tick())
            return slow(self, *given, **named)

        monkeypatch.setattr(Engine, name, meanwhile)
    yield matches
    assert matches, "nothing took long"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "faults", None), ("POST", "faults/preview", PULLED), ("POST", "faults", PULLED)],
    ids=["faults", "preview", "inject"],
)
def test_ticks_are_written_while_a_request_computes(
    client: TestClient, run: str, written: list[int], method: str, path: str, body: Json | None
) -> None:
    answer = client.request(method, f"{API}/runs/{run}/{path}", json=body)
    assert answer.status_code in (200, 202), answer.text
    assert written == sorted(set(written))


def test_ticks_are_written_while_a_frozen_server_is_inspected(
    client: TestClient, run: str, settings: Settings, tick: Callable[[], int]
) -> None:
    written: list[int] = []
    with scripted(Place.of(settings).socket) as fabric:
        fabric.fails = {"inspect"}
        answered = fabric.answer

        def answer(method: str, params: Json) -> Json:
            if method == "inspect":
                written.append(tick())
            return answered(method, params)

        fabric.answer = answer
        silent = client.get(f"{API}/runs/{run}/servers/00")
    assert (silent.status_code, silent.json()["type"]) == (409, "urn:cubeyard:problem:server-silent")
    assert len(written) == 1


def test_faults_injected_at_once_get_numbers_of_their_own(
    client: TestClient, run: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = OrderRepository.injected

    def slowly(self: OrderRepository, run_id: str) -> Any:
        result = counted(self, run_id)
        self._session.execute(
            text("SELECT pg_sleep(0.02)")
        )  # without a lock, other clients would count the same orders now
        return result

    monkeypatch.setattr(OrderRepository, "injected", slowly)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: client.post(f"{API}/runs/{run}/faults", json=PULLED), range(6)))
    assert sorted(answer.json()["fault"] for answer in answers) == [f"l{number}" for number in range(1, 7)]
    with database.session() as session:
        ids = [(order.id, order.fault_id) for order in OrderRepository(session).injected(run)]
    assert sorted(ids) == ids
    assert [fault for _, fault in ids] == [f"l{number}" for number in range(1, 7)]


def test_a_live_fault_is_resolved_once_and_kept(client: TestClient, run: str, database: Database) -> None:
    """The worker injects the fault at the devices that the API returned, even if the engine would
    later draw others."""
    drawn = {"kind": "cable-pulled", "target": {"kind": "link", "ratio": 0.3}}
    reported = client.post(f"{API}/runs/{run}/faults", json=drawn).json()
    with database.session() as session:
        (order,) = OrderRepository(session).injected(run)
        assert order.fault is not None
        strikes = [*order.fault["strikes"], {**order.fault["strikes"][0], "id": "l1.9", "name": "11/<1,1>"}]
        session.execute(update(OrderRow).values(fault={**order.fault, "strikes": strikes}))
    listed = client.get(f"{API}/runs/{run}/faults").json()["items"]
    assert listed[-1]["targets"] == [*(target["name"] for target in reported["targets"]), "11/<1,1>"]
    with database.session() as session:
        session.execute(update(OrderRow).values(fault=None))
    older = client.get(f"{API}/runs/{run}/faults").json()["items"]
    assert older[-1]["targets"] == [target["name"] for target in reported["targets"]], (
        "a row from before faults were kept"
    )
