"""The API keeps its description: schemathesis finds no 5xx and no answer outside its schema. Bounded in count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from cubeyard.app import create_app
from cubeyard.emulation.place import Place
from cubeyard.engine import Engine
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.emulation.scripted import scripted

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES_AN_OPERATION = 12


@pytest.fixture(scope="module")
def contract_client(server: Any, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One database for all of it: what one operation left, the next one finds. And a fabric that knows no packets."""
    import psycopg

    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE contract TEMPLATE {template}".encode())
    settings = Settings(database_url=server.url("contract"), fabric_dir=tmp_path_factory.mktemp("fabric"))
    database = Database(settings)
    app = create_app(settings, database=database)
    with (
        scripted(Place.of(settings).socket) as fabric,
        TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client,
    ):
        fabric.inspected = {"neighbours": [], "flows": [], "failed_links": [], "drops": {}, "refused": {}}
        fabric.inspected |= {"own_bytes": 1, "relayed_bytes": 2}
        yield client
    database.close()


@pytest.fixture(scope="module")
def known(contract_client: TestClient) -> dict[str, str]:
    """Ids that exist, so that not every generated path ends at 404."""
    plan = contract_client.post("/api/v1/plans", json={"name": "Contract", "spec": SMALL}).json()["id"]
    job = contract_client.post(f"/api/v1/plans/{plan}/exports/csv/jobs").json()["id"]
    asked = {"plan": SMALL, "workload": {"kind": "all-to-all"}}
    experiment = contract_client.post("/api/v1/experiments", json=asked).json()["id"]
    run = contract_client.post(f"/api/v1/experiments/{experiment}/runs").json()["id"]
    contract_client.post(f"/api/v1/runs/{run}/cancel")  # nobody works here: the stream of a waiting run would not end
    asked = {
        **asked,
        "plan": {"family": "bcube", "n": 2, "k": 1},
        "engine": "emulation",
        "faults": [{"target": {"names": ["00"]}}],
    }
    emulated = contract_client.post("/api/v1/experiments", json=asked).json()["id"]
    emulation = contract_client.post(f"/api/v1/experiments/{emulated}/runs").json()["id"]
    return {"plan": plan, "jobs": job, "experiments": experiment, "runs": run, "emulation": emulation}


schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())


@schema.parametrize()
@hypothesis_settings(
    max_examples=EXAMPLES_AN_OPERATION,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_operation_keeps_its_description(case: Any, contract_client: TestClient, known: dict[str, str]) -> None:
    parameters = case.path_parameters or {}
    if case.method == "DELETE":
        parameters = {}  # the plan that the others look at stays
    room = _room(case)
    for name in ("id", "other"):
        if name in parameters:
            parameters[name] = known.get(room, known["plan"])
    if room == "emulation" and "fault" in parameters:
        parameters["fault"] = "f1"
    response = contract_client.request(**_request(case))
    case.validate_response(response, checks=CHECKS)


def _room(case: Any) -> str:
    """Whose ids an operation takes: `/api/v1/<room>/...`, but what is asked of a run with real packets is under `runs`."""
    if "emulation" in case.operation.definition.raw.get("tags", []):
        return "emulation"
    _, _, room = case.path.removeprefix("/").partition("api/v1/")
    return room.split("/")[0]


def _request(case: Any) -> dict[str, Any]:
    made = case.as_transport_kwargs(base_url="http://localhost")
    if isinstance(made.get("data"), bytes | str):
        made["content"] = made.pop("data")
    wanted = {"method", "url", "headers", "params", "json", "content", "data"}
    return {key: value for key, value in made.items() if value is not None and key in wanted}


def test_the_checks_see_a_broken_promise(contract_client: TestClient, known: dict[str, str]) -> None:
    """A test of the test: the same call passes as it is, and not with a field gone."""
    case = schema["/api/v1/plans/{id}"]["GET"].Case(path_parameters={"id": known["plan"]})
    response = contract_client.request(**_request(case))
    assert response.status_code == 200
    case.validate_response(response, checks=CHECKS)
    body = response.json()
    del body["summary"]["counts"]["servers"]
    response._content = json.dumps(body).encode()
    with pytest.raises(BaseExceptionGroup):
        case.validate_response(response, checks=CHECKS)


def test_every_operation_is_named_described_and_answers_with_a_model() -> None:
    described = create_app(Settings()).openapi()
    seen: set[str] = set()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert operation["summary"]
            for status, response in operation["responses"].items():
                if int(status) < 400 and status != "204":
                    assert response["content"]
                    for content in response["content"].values():
                        assert content["schema"], (method, path, status)
            if path.startswith("/api/"):
                assert {"400", "401", "403", "422", "500"} <= set(operation["responses"]), (method, path)


def test_the_plan_schema_and_the_engine_agree(contract_client: TestClient, engine: Engine) -> None:
    assert contract_client.get("/api/v1/schema/plan").json() == engine.plan_schema
