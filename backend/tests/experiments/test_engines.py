"""The registry of engines: every list of them is read from it, and a request that an engine cannot
answer is refused."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.engine import Engine
from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.frames.catalog import PAYLOADS
from tests.conftest import described

API = "/api/v1"
TINY = {"family": "bcube", "n": 2, "k": 1}


def test_the_api_lists_every_engine_with_frames_and_faults_that_there_are(client: TestClient) -> None:
    items = client.get(f"{API}/engines").json()["items"]
    assert [item["name"] for item in items] == list(ENGINES)
    for item in items:
        assert set(item["frames"]) <= set(PAYLOADS)
        assert set(item["faults"]) <= set(KINDS)
    schemas = described()["components"]["schemas"]
    assert schemas["ExperimentCreate"]["properties"]["engine"]["enum"] == list(ENGINES)


def test_all_engines_together_know_every_kind_of_fault() -> None:
    assert {name for item in ENGINES.values() for name in item.faults} == set(KINDS)


@pytest.mark.parametrize("name", list(ENGINES))
def test_an_engine_refuses_what_it_does_not_know_and_takes_what_it_does(
    client: TestClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Kernels that cannot inject a kind are emulation/live/test_impossible.py's subject.
    monkeypatch.setattr("cubeyard.emulation.live.service.refuse_impossible", lambda *_: None)

    def asked(**fields: Any) -> Any:
        body = {"plan": TINY, "workload": {"kind": "permutation"}, "engine": name, **fields}
        return client.post(f"{API}/experiments", json=body)

    item = ENGINES[name]
    for kind in KINDS.values():
        target = {"server": "00", "switch": "<0,0>", "link": "00/<0,0>", "any": "00"}[kind.target]
        parameters = {parameter.name: parameter.default for parameter in kind.parameters}
        fault = {"kind": kind.name, "target": {"names": [target]}, **parameters}
        answer = asked(faults=[fault])
        assert answer.status_code == (201 if kind.name in item.faults else 422), (kind.name, answer.text)
        if answer.status_code == 422:
            assert "needs engine" in answer.json()["detail"]
    many = asked(seeds=[1, 2])
    assert many.status_code == (201 if item.computed else 422)
    settings = asked(emulation={"seconds": 5})
    assert settings.status_code == (201 if item.settings == "emulation" else 422)


def test_an_engine_that_does_not_exist_is_refused_with_those_that_do(client: TestClient) -> None:
    body = {"plan": TINY, "workload": {"kind": "permutation"}, "engine": "abacus"}
    answer = client.post(f"{API}/experiments", json=body)
    assert answer.status_code == 422
    assert ", ".join(ENGINES) in answer.json()["detail"]


def test_the_kinds_of_faults_are_the_engine_s(client: TestClient, engine: Engine) -> None:
    items = client.get(f"{API}/fault-kinds").json()["items"]
    for item, kind in zip(items, engine.fault_kinds, strict=True):
        assert item == {name: kind[name] for name in item}
        assert {"name", "title", "target", "effect", "predicted", "carries", "parameters"} <= set(item)


@pytest.mark.parametrize(
    ("emulation", "field", "value", "limit"),
    [
        ({"images": [{"image": "Bad Name"}]}, "body.emulation.images.0.image", "Bad Name", "[REGISTRY/]NAME[:TAG]"),
        (
            {"images": [{"image": "web", "environment": {"CUBEYARD_SERVER": "00"}}]},
            "body.emulation.images.0.environment",
            "{'CUBEYARD_SERVER': '00'}",
            "does not begin with CUBEYARD_",
        ),
    ],
)
def test_what_an_image_may_not_be_is_told_by_field_value_limit_and_fix(
    client: TestClient, emulation: dict[str, Any], field: str, value: str, limit: str
) -> None:
    body = {"plan": TINY, "workload": {"kind": "permutation"}, "engine": "emulation", "emulation": emulation}
    answer = client.post(f"{API}/experiments", json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], error["value"]) == (field, value)
    assert limit in error["limit"]
    assert error["hint"]
