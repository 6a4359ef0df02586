"""Every live feature of a run whose servers are pods on two nodes, by the Service's address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.installed import left
from tests.cluster.machines import Cluster, wait
from tests.cluster.service import Service
from tests.cluster.test_service import EMULATED

Json = dict[str, Any]
FIRST, LAST = "00", "33"
"""A server of each node."""
DEPLOYED = 0.15
"""A run's progress when its packets flow."""


@pytest.fixture(scope="module")
def run(service: Service, cluster: Cluster) -> Iterator[str]:
    """A run in which packets flow."""
    settings = {**EMULATED["emulation"], "seconds": 90}
    run = service.start_run({**EMULATED, "faults": [], "emulation": settings})
    service.wait("the first tick", lambda: service.run(run)["progress"] > DEPLOYED)
    yield run
    service.request("POST", f"/api/v1/runs/{run}/cancel")
    service.ended(run)
    wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=60)


@pytest.mark.parametrize("server", [FIRST, LAST])
def test_a_server_is_inspected(service: Service, run: str, server: str) -> None:
    state = service.get(f"/api/v1/runs/{run}/servers/{server}")
    assert state["server"] == server
    assert state["sections"]
    assert state["shell"].startswith("kubectl "), state["shell"]


@pytest.mark.parametrize("server", [FIRST, LAST])
def test_packets_are_watched(service: Service, run: str, server: str) -> None:
    question = f"server={server}&port=0&max_secs=3"
    file = service.request("GET", f"/api/v1/runs/{run}/packets.pcapng?{question}")
    assert file.status == 200, file
    assert file.body.startswith("\n\r\r\n")
    assert len(file.body) > 1000, "packets after the header"
    words = service.request("GET", f"/api/v1/runs/{run}/packets?{question}")
    assert words.status == 200, words
    assert "event: packets" in words.body
    assert "The stream reached its limit of time." in words.body


def test_packets_are_captured(service: Service, run: str) -> None:
    made = service.request("POST", f"/api/v1/runs/{run}/captures", {"server": LAST, "port": 1, "max_secs": 2})
    assert made.status == 202, made

    def done() -> Json | None:
        (item,) = service.get(f"/api/v1/runs/{run}/captures")["items"]
        return item if item["state"] != "running" else None

    item = service.wait("the capture", done)
    assert (item["state"], item["packets"] > 0) == ("done", True), item
    assert service.request("GET", f"/api/v1/runs/{run}/captures/{item['id']}/file").status == 200


def test_a_terminal_refers_to_kubectl(service: Service, run: str) -> None:
    state = service.get(f"/api/v1/runs/{run}/servers/{LAST}/terminal")
    assert not state["available"]
    assert "kubectl" in state["reason"]


def test_a_live_fault_is_injected_and_recovered(service: Service, run: str) -> None:
    ordered = service.request(
        "POST", f"/api/v1/runs/{run}/faults", {"kind": "cable-pulled", "target": {"names": [f"{LAST}/<1,3>"]}}
    )
    assert ordered.status == 202, ordered
    fault = ordered.body["fault"]

    def is_in(state: str) -> bool:
        items = service.get(f"/api/v1/runs/{run}/faults")["items"]
        return [item["state"] for item in items if item["id"] == fault] == [state]

    service.wait("the fault", lambda: is_in("injected"))
    assert service.request("POST", f"/api/v1/runs/{run}/faults/{fault}/recover").status == 202
    service.wait("its end", lambda: is_in("recovered"))


def test_a_run_is_kept_as_a_scenario_that_can_be_run(service: Service, run: str) -> None:
    file = service.request("GET", f"/api/v1/runs/{run}/scenario")
    assert file.status == 200, file
    again = service.request("POST", "/api/v1/scenarios", {"text": file.body})
    assert again.status == 201, again
    assert again.body["engine"] == "emulation"
