"""Registers of a server's chip over REST, with a scripted fabric."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from tests.emulation.live.test_services import API, fabric, new_run
from tests.emulation.scripted import Scripted

__all__ = ["fabric"]

BCUBE = {"family": "bcube", "n": 2, "k": 1}
QUEUE, COUNTER = "OUTPUT_QUEUE_BYTES_PORT0", "IN_PACKETS_PORT1"


@pytest.fixture
def chip(client: TestClient, fabric: Scripted) -> str:
    """The path of the registers of server 00."""
    fabric.registers["registers"] = {QUEUE: 51_000, COUNTER: 7}
    run = new_run(client, BCUBE, emulation={"dataplane": "serverswitch", "mode": "namespaces"})
    return f"{API}/runs/{run}/servers/00/chip/registers"


def test_registers_are_read_and_written_by_name(client: TestClient, chip: str, fabric: Scripted) -> None:
    assert client.get(chip).json() == {"server": "00", "registers": {QUEUE: 51_000, COUNTER: 7}}
    assert client.get(f"{chip}/{QUEUE}").json() == {"server": "00", "name": QUEUE, "value": 51_000}
    result = client.put(f"{chip}/{COUNTER}", json={"value": 0})
    assert (result.status_code, result.json()["value"]) == (200, 0)
    request = [params for method, params in fabric.calls if method == "registers"]
    assert request[-1]["register"] == COUNTER
    assert {params["server"] for params in request} == {0}


def test_a_value_that_no_register_can_have_is_refused_by_its_field(client: TestClient, chip: str) -> None:
    for value in [-1, "x", None, 0.5]:
        result = client.put(f"{chip}/{COUNTER}", json={"value": value})
        assert result.status_code == 422, value
        assert result.json()["errors"][0]["field"] == "body.value"


def test_missing_objects_are_not_found(client: TestClient, chip: str, fabric: Scripted) -> None:
    assert client.get(f"{chip}/NONE").status_code == 404
    assert client.get(chip.replace("/00/", "/99/")).status_code == 404
    fabric.fails.add("registers")
    refused = client.get(chip)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:cubeyard:problem:no-registers")
