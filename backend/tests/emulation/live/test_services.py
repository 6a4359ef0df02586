"""Messages to services over REST. The fabric is scripted, and the tests write frames as a worker
would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.db import Database
from cubeyard.runs.repository import RunRepository
from cubeyard.settings import Settings
from tests.conftest import examples
from tests.emulation.live.test_api import ODD, WORDS
from tests.emulation.scripted import Scripted, scripted

Json = dict[str, Any]
API = "/api/v1"
TORUS = {"family": "torus3d", "x": 3, "y": 3, "z": 3}
SERVERS = 27
NAMES = ["aggregation", "benchmark", "cache", "distribution"]


def new_run(client: TestClient, plan: Json, **asked: Any) -> str:
    """The id of a run that stays queued, because there is no worker."""
    question = {"plan": plan, "workload": {"kind": "permutation"}, "engine": "emulation", **asked}
    made = client.post(f"{API}/experiments", json=question)
    assert made.status_code == 201, made.text
    return client.post(f"{API}/experiments/{made.json()['id']}/runs").json()["id"]


@pytest.fixture
def run(client: TestClient) -> str:
    return new_run(client, TORUS)


@pytest.fixture
def fabric(settings: Settings) -> Iterator[Scripted]:
    with scripted(Place.of(settings).socket) as script:
        yield script


def told(database: Database, run: str, *payloads: Json) -> None:
    """Writes ticks as a worker does."""
    with database.session() as session:
        repository = RunRepository(session)
        row = repository.run(run, lock=True)
        assert row is not None
        for payload in payloads:
            repository.append(row, "tick", payload, len(orjson.dumps(payload)))


def answer(server: int, text: str, service: str = "cache", at_nanos: int | None = None, **more: int) -> Json:
    cells = {"service": service, "answer": text, **more}
    typed = [{"name": name, "kind": "text", "value": value} for name, value in cells.items()]
    times = {"at_secs": 2.5, "at_nanos": at_nanos}
    return {"kind": "protocol", "name": "service-answer", "server": server, **times, "cells": typed}


def send(client: TestClient, run: str, service: str, **asked: Any) -> tuple[int, Json]:
    result = client.post(f"{API}/runs/{run}/services/{service}/messages", json=asked)
    return result.status_code, result.json()


def test_a_run_lists_its_services_with_messages_that_can_be_sent(client: TestClient, run: str) -> None:
    result = client.get(f"{API}/runs/{run}/services").json()
    assert sorted(item["name"] for item in result["items"]) == NAMES
    for item in result["items"]:
        assert item["messages"], item["name"]
        assert all(0 < len(form["example"]) <= result["max_message_bytes"] for form in item["messages"])
    other = new_run(client, {"family": "bcube", "n": 2, "k": 1})
    assert client.get(f"{API}/runs/{other}/services").json()["items"] == []
    code, problem = send(client, other, "cache", message="get a")
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:no-services")
    assert "BCube" in problem["detail"]


def test_an_invalid_message_is_refused_by_its_field(client: TestClient, run: str) -> None:
    for service, asked, field, limit in [
        ("cash", {"message": "get a"}, "path.service", "cache"),
        ("cache", {"message": "é" * 20_000}, "body.message", "30,720 bytes"),
        ("cache", {"message": "get a", "server": "nobody"}, "body.server", "a server of the run"),
        ("cache", {"message": ""}, "body.message", None),
        ("cache", {"message": "get a", "wait_secs": 11}, "body.wait_secs", None),
        ("cache", {"message": "get a", "answers": 0}, "body.answers", None),
        ("cache", {"message": "zero \0"}, "body.message", None),
        ("cache", {}, "body.message", None),
    ]:
        code, problem = send(client, run, service, **asked)
        assert code == 422, asked
        (error,) = problem["errors"]
        assert error["field"] == field
        assert error["message"]
        if limit is not None:
            assert limit in error["limit"]
            assert error["hint"], "the fix"


def test_a_message_goes_to_its_server_and_the_answers_are_those_that_are_recorded(
    client: TestClient, database: Database, run: str, fabric: Scripted
) -> None:
    told(database, run, {"events": [answer(0, "from before")]})

    def meanwhile(_params: Json) -> None:
        ticks = [
            {"events": [answer(7, "to an earlier message", at_nanos=1)]},
            {"events": [answer(3, "VALUE a ", parts_left=1), answer(3, "5 words", service="aggregation")]},
            {},
            {"events": [answer(5, "MISS a", at_nanos=2**62), answer(3, "long value")]},
        ]
        told(database, run, *ticks)

    fabric.on_tell = meanwhile
    code, result = send(client, run, "cache", message="get a", server="(0,1,0)", answers=2, wait_secs=5)
    assert code == 200, result
    assert (result["told"], result["silent"]) == (["(0,1,0)"], [])
    assert [(item["server"], item["answer"]) for item in result["answers"]] == [
        ("(0,1,2)", "MISS a"), ("(0,1,0)", "VALUE a long value"),
    ]  # fmt: skip
    (params,) = (params for method, params in fabric.calls if method == "tell")
    assert params == {"run": run, "server": 3, "service": "cache", "message": "get a"}


def test_a_message_to_every_server_names_those_that_do_not_answer(
    client: TestClient, database: Database, run: str, fabric: Scripted
) -> None:
    told(database, run, {})
    fabric.deaf = {4, 9}
    code, result = send(client, run, "aggregation", message="count 1 0,0,0 full\na", wait_secs=0)
    assert code == 200
    assert (len(result["told"]), result["silent"], result["answers"]) == (SERVERS - 2, ["(0,1,1)", "(1,0,0)"], [])
    code, problem = send(client, run, "cache", message="get a", server="(0,1,1)")
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:server-silent")
    assert "Server (0,1,1) does not answer" in problem["detail"]
    fabric.fails = {"tell"}
    assert send(client, run, "cache", message="get a", wait_secs=0)[0] == 409


def test_only_a_run_whose_packets_flow_takes_messages(client: TestClient, run: str, fabric: Scripted) -> None:
    code, problem = send(client, run, "cache", message="get a")
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:not-flowing"), "it has no worker yet"
    assert fabric.calls == []
    client.post(f"{API}/runs/{run}/cancel")
    code, problem = send(client, run, "cache", message="get a")
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:run-over")
    assert client.get(f"{API}/runs/{run}/services").status_code == 200, "an ended run has services"
    flow = client.post(f"{API}/experiments", json={"plan": TORUS, "workload": {"kind": "permutation"}}).json()["id"]
    other = client.post(f"{API}/experiments/{flow}/runs").json()["id"]
    assert send(client, other, "cache", message="get a")[1]["type"] == "urn:cubeyard:problem:no-emulation"
    assert send(client, "0" * 14, "cache", message="get a")[0] == 404


def test_without_a_fabric_nothing_is_sent(client: TestClient, database: Database, run: str) -> None:
    told(database, run, {})
    code, problem = send(client, run, "cache", message="get a", server="(0,0,0)")
    assert (code, problem["type"]) == (503, "urn:cubeyard:problem:fabric-gone")


SERVICES = st.sampled_from([*NAMES, "Cache", "%00", "..%2f", "é", "x" * 65])
MESSAGES = st.fixed_dictionaries(
    {"message": WORDS | ODD},
    optional={"server": st.sampled_from(["(0,0,0)", "(9,9,9)"]) | ODD, "wait_secs": ODD, "answers": ODD, "odd": ODD},
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SERVICES, MESSAGES | ODD)
def test_any_request_is_carried_out_or_refused_with_a_reason(
    client: TestClient, database: Database, run: str, fabric: Scripted, service: str, body: Any
) -> None:
    told(database, run, {"events": [answer(0, "again")]})
    fabric.on_tell = lambda _params: told(database, run, {"events": [answer(0, "again")]})
    # As text: a client may send NaN and half of a surrogate pair on the wire.
    content, headers = json.dumps(body).encode(), {"content-type": "application/json"}
    path = f"{API}/runs/{run}/services/{service}/messages"
    result = client.post(path, content=content, headers=headers)
    assert result.status_code in (200, 400, 404, 422), result.text
    if result.status_code >= 400:
        assert result.json()["detail"]
    else:
        assert result.json()["told"]
