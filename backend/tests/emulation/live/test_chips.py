"""The chip of one server of a live run over REST. The fabric is scripted; the chip is the engine's
model."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from cubeyard.engine import chip_model
from tests.chip.test_serverswitch import ipv4
from tests.emulation.live.test_services import API, fabric, new_run
from tests.emulation.scripted import Scripted

__all__ = ["fabric"]

Json = dict[str, Any]
BCUBE = {"family": "bcube", "n": 2, "k": 1}
BASE = 'SetUDLK(1, (B30-33)); SetVIfTable(1, "020000000001", NULL, 1); SetLookupTable(TCAM, 0, 1, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=1});'


@pytest.fixture
def run(client: TestClient) -> str:
    return new_run(client, BCUBE, emulation={"dataplane": "serverswitch-software", "mode": "namespaces"})


@pytest.fixture
def model(fabric: Scripted) -> Any:
    """The model that is the chip of every server."""
    model = chip_model(BASE)
    fabric.chip = lambda request: model.call(request)[0][4:]
    return model


def call(
    client: TestClient, run: str, method: str, path: str = "", body: Any = None, server: str = "10"
) -> tuple[int, Any]:
    result = client.request(method, f"{API}/runs/{run}/servers/{server}/chip{path}", json=body)
    return result.status_code, result.json() if result.content else None


def test_tables_are_read_changed_and_taken_back(client: TestClient, run: str, fabric: Scripted, model: Any) -> None:
    code, state = call(client, run, "GET")
    assert (code, state["server"], state["profile"]) == (200, "10", "bcm56338")
    assert state["udlks"] == [{"i": 1, "fields": "(B30-33)", "bytes": 4}]
    assert [(item["i"], item["own"]) for item in state["entries"]] == [(0, False)]
    assert fabric.calls[-1][1]["server"] == 2
    entry = {"value": "10.1.0.7", "mask": "ffffffff", "iudlk": 1, "action": {"act": "TO_CPU"}}
    code, made = call(client, run, "PATCH", "/tables/TCAM/9", entry)
    assert (code, made["value"], made["own"], made["hits"]) == (200, "0a010007", True, 0)
    assert model.receive(0, ipv4("10.1.0.7")) == []
    assert [port for port, _ in model.receive(0, ipv4("10.2.0.7"))] == [1]
    _, state = call(client, run, "GET")
    assert [(item["i"], item["hits"]) for item in state["entries"]] == [(0, 1), (9, 1)]
    code, vif = call(client, run, "PATCH", "/vif/1", {"dmac": None, "smac": "02:00:00:00:00:09", "oport": 2})
    assert (code, vif) == (200, {"i": 1, "dmac": None, "smac": "020000000009", "oport": 2, "own": True})
    assert [port for port, _ in model.receive(0, ipv4("10.2.0.7"))] == [2]
    assert call(client, run, "DELETE", "/vif/1") == (204, None)
    assert call(client, run, "DELETE", "/tables/TCAM/9") == (204, None)
    assert [port for port, _ in model.receive(0, ipv4("10.1.0.7"))] == [1]
    assert call(client, run, "POST", "/calls", {"calls": "SetVIfTable(7, NULL, NULL, 3);"}) == (204, None)
    code, text = call(client, run, "GET", "/text")
    assert "SetVIfTable(7, NULL, NULL, 3);" in text["program"]


def test_registers_packets_and_traces(client: TestClient, run: str, model: Any) -> None:
    packet = {"port": 4, "packet": ipv4("10.2.0.7").hex()}
    assert call(client, run, "POST", "/packets", packet) == (200, {"sent": True, "reason": None})
    lost = {"port": 4, "packet": ipv4("11.0.0.1").hex(":")}
    assert call(client, run, "POST", "/packets", lost) == (200, {"sent": False, "reason": "no-match"})
    assert call(client, run, "GET", "/registers/OUT_PACKETS_PORT1") == (
        200,
        {"server": "10", "name": "OUT_PACKETS_PORT1", "value": 1},
    )
    code, trace = call(client, run, "POST", "/trace", lost)
    assert (code, trace["outcome"], trace["reason"]) == (200, "discarded", "no-match")
    assert call(client, run, "GET", "/registers/DISCARDS_NO_MATCH")[1]["value"] == 1, "a trace counts nothing"
    cleared = call(client, run, "PUT", "/registers/DISCARDS_NO_MATCH", {"value": 0})
    assert cleared == (200, {"server": "10", "name": "DISCARDS_NO_MATCH", "value": 0})
    code, result = call(client, run, "GET", "/registers")
    assert (code, result["registers"]["OUT_PACKETS_PORT1"]) == (200, 1)


def test_packets_for_the_cpu_are_events(client: TestClient, run: str, fabric: Scripted, model: Any) -> None:
    packet, takes = ipv4("10.1.0.7"), []

    def answer(request: bytes) -> bytes:
        if request[0] != 8:
            return model.call(request)[0][4:]
        takes.append(request)
        if len(takes) > 1:
            fabric.fails.add("chip")
        return bytes([128, 1, 0, 0, 0]) + len(packet).to_bytes(2, "little") + b"\5" + packet

    fabric.chip = answer
    with client.stream("GET", f"{API}/runs/{run}/servers/00/chip/packets") as stream:
        lines = [line for line in stream.iter_lines() if line]
    data = [orjson.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert data[0] == {"port": 5, "packet": packet.hex()}
    assert "does not answer" in data[-1]["detail"]


@pytest.mark.usefixtures("model")
def test_invalid_requests_are_refused_with_a_reason(client: TestClient, run: str) -> None:
    for method, path, body, said in [
        ("PATCH", "/tables/TCAM/2048", {"value": "0a000001", "iudlk": 1, "action": {"act": "TO_CPU"}}, "table-full"),
        ("PATCH", "/tables/TCAM/9", {"value": "0a", "iudlk": 1, "action": {"act": "TO_CPU"}}, "key-length"),
        ("PATCH", "/tables/EM_MAC/9", {"value": '"; x', "action": {"act": "TO_CPU"}}, "value"),
        ("PATCH", "/tables/EM_MAC/9", {"value": "00", "action": {"act": "FLY"}}, "act"),
        ("PATCH", "/tables/NONE/9", {"value": "00", "action": {"act": "TO_CPU"}}, "table"),
        ("PATCH", "/tables/TCAM/-1", {"value": "00", "action": {"act": "TO_CPU"}}, "path.i"),
        ("DELETE", "/tables/TCAM/0", None, "entry-not-own"),
        ("PATCH", "/vif/1", {"oport": 9}, "oport"),
        ("DELETE", "/vif/1", None, "entry-not-own"),
        ("POST", "/calls", {"calls": "SetEverything(1);"}, "call-unknown"),
        ("POST", "/calls", {"calls": "x" * 20_000}, "body.calls"),
        ("POST", "/packets", {"port": 4, "packet": "0" * 29}, "packet"),
        ("POST", "/packets", {"port": 4, "packet": "xyz"}, "packet"),
        ("GET", "/registers/NOTHING", None, "register-unknown"),
        ("PUT", "/registers/L3_ENABLE", {"value": 7}, "register-value"),
        ("PUT", "/registers/L3_ENABLE", {"value": -1}, "value"),
    ]:
        code, problem = call(client, run, method, path, body)
        assert code == 422, (method, path)
        assert said in str(problem["errors"]), problem


def test_a_server_that_is_not_there_or_silent_is_named(client: TestClient, run: str, fabric: Scripted) -> None:
    assert call(client, run, "GET", server="77")[0] == 404
    assert call(client, "0" * 14, "GET")[0] == 404
    code, problem = call(client, run, "GET")
    assert (code, problem["type"]) == (409, "urn:cubeyard:problem:chip-silent")
    fabric.fails.add("chip")
    code, problem = call(client, run, "GET")
    assert code == 409
    assert "Server 10" in problem["detail"] or "server 10" in problem["detail"]
    fabric.fails.clear()
    fabric.chip = lambda _: bytes([128, 1, 0, 0, 0, 9])
    assert call(client, run, "GET")[0] == 409
