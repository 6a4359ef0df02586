"""A POST with an `Idempotency-Key` is done once for each token."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from cubeyard.app import ROUTES, create_app
from cubeyard.kit import unit_of_work
from cubeyard.kit.db import Database
from cubeyard.kit.idempotency.repository import KeyRepository
from cubeyard.kit.routing import LateRoute
from cubeyard.settings import Settings
from tests.conftest import SMALL, described

PLANS = "/api/v1/plans"
KEY = {"Idempotency-Key": "c9b1c1a2-1d0e"}


def body(name: str) -> dict[str, Any]:
    return {"name": name, "spec": SMALL}


def count(client: TestClient) -> int:
    return len(client.get(PLANS).json()["items"])


def test_a_repeated_request_gets_the_first_answer_and_another_with_its_key_is_refused(client: TestClient) -> None:
    first = client.post(PLANS, json=body("one"), headers=KEY)
    again = client.post(PLANS, json=body("one"), headers=KEY)
    assert (again.status_code, again.content) == (201, first.content)
    assert {**again.headers, "x-request-id": ""} == {**first.headers, "x-request-id": ""}
    refused = client.post(PLANS, json=body("two"), headers=KEY)
    assert refused.status_code == 422
    error = refused.json()["errors"][0]
    assert (error["field"], error["value"]) == ("header.Idempotency-Key", KEY["Idempotency-Key"])
    assert error["limit"]
    assert error["hint"]
    elsewhere = client.post("/api/v1/experiments", json=body("one"), headers=KEY)
    assert elsewhere.status_code == 422
    assert count(client) == 1


def test_a_failed_request_is_not_kept(client: TestClient) -> None:
    wrong = {"name": "one", "spec": {"family": "bcube", "n": 0, "k": 1}}
    assert client.post(PLANS, json=wrong, headers=KEY).status_code == 422
    assert client.post(PLANS, json=body("one"), headers=KEY).status_code == 201


@pytest.mark.parametrize("key", ["", " x", "é", "x" * 256, "a\x7f"])
def test_a_key_that_is_none_is_refused(client: TestClient, key: str) -> None:
    answer = client.post(PLANS, json=body("one"), headers={b"idempotency-key": key.encode("latin-1")})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "header.Idempotency-Key"


def test_the_second_of_two_at_once_is_told_to_wait(client: TestClient, database: Database) -> None:
    with database.session() as session:
        assert KeyRepository(session).hold("", KEY["Idempotency-Key"])
        second = client.post(PLANS, json=body("one"), headers=KEY)
    assert (second.status_code, second.headers["retry-after"]) == (409, "1")
    assert client.post(PLANS, json=body("one"), headers=KEY).status_code == 201


def test_a_key_ends_after_a_day_and_old_ones_are_deleted(client: TestClient, database: Database) -> None:
    keys = [{"Idempotency-Key": name} for name in ("a", "b")]
    for key in keys:
        assert client.post(PLANS, json=body("one"), headers=key).status_code == 201
    with database.session() as session:
        session.execute(text("UPDATE idempotency_keys SET at = at - interval '25 hours'"))
    assert client.post(PLANS, json=body("two"), headers=keys[0]).status_code == 201
    with database.session() as session:
        assert session.scalars(text("SELECT key FROM idempotency_keys")).all() == ["a"]
    assert count(client) == 3


def test_each_token_has_its_keys_and_no_secret_is_kept(settings: Settings, database: Database) -> None:
    app = create_app(settings.model_copy(update={"token": None}), database=database)
    with TestClient(app, base_url="http://localhost") as client:
        tokens = [client.post("/api/v1/tokens", json={"name": name}).json()["token"] for name in ("ann", "bob")]
        for token in tokens:
            headers = {**KEY, "authorization": f"Bearer {token}"}
            for _ in range(2):
                assert client.post(PLANS, json=body(token[:8]), headers=headers).status_code == 201
        assert count(client) == 2
        made = client.post("/api/v1/tokens", json={"name": "eve"}, headers=KEY)
        again = client.post("/api/v1/tokens", json={"name": "eve"}, headers=KEY)
        assert (made.status_code, again.status_code) == (201, 409)
        assert again.json()["type"].endswith("secret-not-kept")
        assert len(client.get("/api/v1/tokens").json()["items"]) == 3
    with database.session() as session:
        assert made.json()["token"] not in str(session.execute(text("SELECT * FROM idempotency_keys")).all())


def test_every_creating_post_describes_the_header() -> None:
    reference = {"$ref": "#/components/parameters/IdempotencyKey"}
    having = {
        operation["operationId"]
        for path in described()["paths"].values()
        for operation in path.values()
        if reference in operation.get("parameters", ())
    }
    assert having == {
        "create_book", "create_book_version", "create_experiment", "create_experiment_from_scenario", "create_plan",
        "create_plan_note", "create_run_note", "create_token", "create_webhook", "import_prices", "inject_fault", "recover_fault",
        "revert_plan", "start_capture", "start_export_job", "start_figure_run", "start_run", "stop_all", "test_webhook",
        "upgrade_run",
    }  # fmt: skip
    routes = [
        route for route in ROUTES if isinstance(route, LateRoute) and route._options.get("operation_id") in having
    ]
    assert len(routes) == len(having)
    assert [route.path for route in routes if not in_one_transaction(route.dependant)] == []


def in_one_transaction(part: Any) -> bool:
    """Whether an endpoint has the request's transaction, which holds the key."""
    return part.call is unit_of_work._unit_of_work or any(map(in_one_transaction, part.dependencies))
