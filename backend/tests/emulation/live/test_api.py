"""Requests to an emulated run over REST: live faults and the worker that injects them, and invalid
requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.emulation.faults.faults import NEVER
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.repository import OrderRepository
from cubeyard.emulation.runner import DatabaseSink
from cubeyard.emulation.setup.question import read
from cubeyard.engine import Engine
from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.kit.db import Database
from cubeyard.kit.embedded import EmbeddedPostgres
from cubeyard.runs.frames import Frames
from cubeyard.runs.lease import Lease
from tests.conftest import examples

Json = dict[str, Any]
API = "/api/v1"
TINY = {"family": "bcube", "n": 2, "k": 1}
ASKED = {
    "plan": TINY,
    "workload": {"kind": "permutation"},
    "engine": "emulation",
    "faults": [{"target": {"names": ["00"]}, "at_secs": 5}],
    "emulation": {"mode": "namespaces", "seconds": 9},
}
PULLED = {"kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}


@pytest.fixture
def run(client: TestClient) -> str:
    """The id of a run that stays queued, because there is no worker."""
    made = client.post(f"{API}/experiments", json=ASKED)
    assert made.status_code == 201, made.text
    return client.post(f"{API}/experiments/{made.json()['id']}/runs").json()["id"]


def sink_of(database: Database, engine: Engine, run: str, attempt: int = 2) -> DatabaseSink:
    """The sink of a worker's attempt at its start. These tests write no frames, and need no
    lease."""
    document = ExperimentCreate.model_validate(ASKED).model_dump(mode="json")
    question = read(engine, {**document, "plan": {"spec": TINY}})
    return DatabaseSink(database, engine, question, run, Frames(database, Lease(database, run, attempt, lambda: False)))


def test_orders_reach_the_worker_in_turn_and_its_answers_the_database(
    client: TestClient, database: Database, engine: Engine, run: str
) -> None:
    sink = sink_of(database, engine, run)
    reported = [
        client.post(f"{API}/runs/{run}/{path}", json=body)
        for path, body in (
            ("faults", PULLED),
            ("faults/l1/recover", None),
            ("faults/f1/recover", None),
            ("stop-all", None),
        )
    ]
    assert [item.status_code for item in reported] == [202] * 4
    orders = sink.orders()
    assert [(order.kind, order.fault.id if order.fault else order.fault_id) for order in orders] == [
        ("inject", "l1"), ("recover", "l1"), ("recover", "f1"), ("stop-all", ""),
    ]  # fmt: skip
    assert orders[0].fault is not None
    assert orders[0].fault.names == ["00/<0,0>"]
    assert [order.id for order in orders] == [item.json()["id"] for item in reported]
    assert sink.orders() == [], "each order is carried out once"
    sink.done(orders[0], {"ok": False, "reason": "not now"})
    with database.session() as session:
        row = session.get(OrderRow, orders[0].id)
        assert row is not None
        assert (row.outcome, row.obeyed_at is not None) == ({"ok": False, "reason": "not now"}, True)
        assert len(OrderRepository(session).waiting(run, 0)) == 3
    client.post(f"{API}/runs/{run}/faults", json=PULLED)
    again = sink_of(database, engine, run)
    assert again.orders() == [], "orders to an earlier attempt end with it"
    assert client.post(f"{API}/runs/{run}/faults", json=PULLED).json()["fault"] == "l3"
    assert [order.fault.id for order in again.orders() if order.fault] == ["l3"]


def test_an_upgrade_is_ordered_of_a_run_that_has_one(client: TestClient, run: str) -> None:
    refused = client.post(f"{API}/runs/{run}/upgrade")
    assert refused.status_code == 409
    assert "emulation.upgrade" in refused.json()["detail"]
    common = {"family": "subways", "type": 1, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
    upgrade = {"to": {**common, "p": 2, "q": 4}}
    emulation = {"mode": "namespaces", "upgrade": upgrade}
    request = {"plan": {**common, "p": 1, "q": 2}, "workload": {"kind": "permutation"}, "engine": "emulation"}
    made = client.post(f"{API}/experiments", json={**request, "emulation": emulation})
    assert made.status_code == 201, made.text
    other = client.post(f"{API}/experiments/{made.json()['id']}/runs").json()["id"]
    ordered = client.post(f"{API}/runs/{other}/upgrade")
    assert (ordered.status_code, ordered.json()["kind"]) == (202, "upgrade")
    assert (
        client.post(
            f"{API}/runs/{other}/faults", json={"kind": "cable-pulled", "target": {"names": ["0.0.0/<0,0.3>"]}}
        ).status_code
        == 202
    )


def test_orders_to_a_queued_run_are_carried_out_once_it_has_a_worker(
    client: TestClient, database: Database, engine: Engine, run: str
) -> None:
    for number in (1, 2):
        assert client.post(f"{API}/runs/{run}/faults", json=PULLED).json()["fault"] == f"l{number}"
    sink = sink_of(database, engine, run, attempt=1)
    assert [order.fault.id for order in sink.orders() if order.fault] == ["l1", "l2"]


def test_an_order_that_comes_while_an_attempt_begins_keeps_its_number(
    client: TestClient, database: Database, engine: Engine, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = OrderRepository.last

    def meanwhile(self: OrderRepository, run_id: str) -> int:
        result = last(self, run_id)
        assert client.post(f"{API}/runs/{run}/faults", json=PULLED).json()["fault"] == "l1"
        return result

    monkeypatch.setattr(OrderRepository, "last", meanwhile)
    assert [order.fault.id for order in sink_of(database, engine, run).orders() if order.fault] == ["l1"]


@contextmanager
def away(server: EmbeddedPostgres, database: Database) -> Iterator[None]:
    """Stops the database while the context lasts."""
    name = database.engine.url.database
    database.engine.dispose()
    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


def test_a_database_that_restarts_between_two_ticks_ends_no_session(
    client: TestClient, database: Database, engine: Engine, run: str, server: EmbeddedPostgres
) -> None:
    sink = sink_of(database, engine, run)
    client.post(f"{API}/runs/{run}/faults", json=PULLED)
    with away(server, database):
        assert sink.orders() == []
    (order,) = sink.orders()
    with away(server, database):
        sink.done(order, {"ok": True})
    assert sink.orders() == []
    with database.session() as session:
        row = session.get(OrderRow, order.id)
        assert row is not None
        assert row.outcome == {"ok": True}


def test_a_fault_that_ends_before_it_strikes_is_refused(client: TestClient, run: str) -> None:
    """Otherwise it would be injected and never recovered."""
    backwards = {**PULLED, "at_secs": 5, "until_secs": 4.9}
    for path, body, field in (
        (f"runs/{run}/faults", backwards, "body.until_secs"),
        ("experiments", {**ASKED, "faults": [backwards]}, "body.faults.0.until_secs"),
    ):
        answer = client.post(f"{API}/{path}", json=body)
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert (error["field"], error["value"]) == (field, 4.9)
        assert "not after at_secs, which is 5" in error["message"]
    assert client.post(f"{API}/runs/{run}/faults", json={**backwards, "until_secs": 5.01}).status_code == 202


NUMBERS = st.integers(-(2**70), 2**70) | st.floats() | st.sampled_from([0, 0.5, 1, 5, 1e9])
WORDS = (
    st.sampled_from(["00", "11", "<0,0>", "00/<0,0>", "R01", "all", "50% of servers", "", "\0", "\ud800", "é" * 300])
    | st.text()
)
ODD = NUMBERS | WORDS | st.none() | st.booleans() | st.lists(WORDS, max_size=3)
TARGETS = (
    st.fixed_dictionaries({"names": st.lists(WORDS, max_size=3)})
    | st.fixed_dictionaries({"selector": WORDS})
    | st.fixed_dictionaries({"kind": st.sampled_from(["server", "switch", "link", "level"]), "ratio": NUMBERS})
    | st.dictionaries(WORDS, ODD, max_size=2)
)
ANY_FAULT = st.fixed_dictionaries(
    {"target": TARGETS | ODD},
    optional={
        "kind": st.sampled_from(list(KINDS)) | ODD,
        **dict.fromkeys(
            ("at_secs", "until_secs", "rate_bits_per_sec", "loss_ratio", "delay_secs", "flap_secs", "odd"),
            NUMBERS | ODD,
        ),
    },
)
IDS = st.sampled_from(["l1", "f1", "f2", "f999999", "f0", "l-1", "F1", "%00", "é", "..", "f" + "1" * 400])
NAMES = st.sampled_from(["00", "0 0", "<0,0>", "é" * 40, "%00", "%ud800", "x" * 65, "..", "%2e%2e", "00%2f..", "1e400"])
CALLS = st.one_of(
    st.tuples(st.sampled_from(["faults", "faults/preview"]), ANY_FAULT | ODD),
    st.tuples(IDS.map(lambda item: f"faults/{item}/recover"), st.none()),
    st.tuples(NAMES.map(lambda item: f"servers/{item}"), st.none()),
)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CALLS, min_size=1, max_size=3))
def test_meaningless_input_is_refused_and_never_a_failure(
    client: TestClient, run: str, calls: list[tuple[str, Any]]
) -> None:
    for path, body in calls:
        # As text: a client may send NaN and half of a surrogate pair on the wire.
        content = json.dumps(body).encode()
        method = "GET" if path.startswith("servers") else "POST"
        headers = {"content-type": "application/json"}
        answer = client.request(method, f"{API}/runs/{run}/{path}", content=content, headers=headers)
        assert answer.status_code in (200, 202, 400, 404, 405, 409, 422, 503), (path, body, answer.text)
        if answer.status_code >= 400:
            assert answer.json()["detail"], (path, body)
        faults = client.get(f"{API}/runs/{run}/faults").json()["items"]
        if answer.status_code == 202:
            assert answer.json()["fault"] in [fault["id"] for fault in faults]


def test_ended_runs_and_runs_without_packets_accept_no_faults(client: TestClient, run: str) -> None:
    assert [item["state"] for item in client.get(f"{API}/runs/{run}/faults").json()["items"]] == ["waiting"]
    calls = [
        ("POST", "faults", PULLED),
        ("POST", "faults/f1/recover", None),
        ("POST", "stop-all", None),
        ("GET", "servers/00", None),
    ]
    flow = client.post(f"{API}/experiments", json={"plan": TINY, "workload": {"kind": "permutation"}}).json()["id"]
    other = client.post(f"{API}/experiments/{flow}/runs").json()["id"]
    assert client.post(f"{API}/runs/{run}/cancel").status_code in (200, 202)
    for result, code in ((run, "run-over"), (other, "no-emulation")):
        for method, path, body in calls:
            answer = client.request(method, f"{API}/runs/{result}/{path}", json=body)
            assert (answer.status_code, answer.json()["type"]) == (409, f"urn:cubeyard:problem:{code}")
    (never,) = client.get(f"{API}/runs/{run}/faults").json()["items"]
    assert (never["state"], never["at_secs"], never["reason"]) == ("failed", 5, NEVER)
    assert client.post(f"{API}/runs/{run}/faults/preview", json=PULLED).status_code == 200, "a preview injects nothing"
    assert client.post(f"{API}/runs/{'0' * 14}/stop-all").status_code == 404
