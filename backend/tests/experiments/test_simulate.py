"""`POST /simulate`: a simulation at once, and what it refuses."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

API = "/api/v1"
QUESTION: dict[str, Any] = {
    "plan": {"family": "bcube", "n": 4, "k": 1},
    "workload": {"kind": "permutation", "bytes": 200_000},
    "link_gbps": 1,
}


def test_a_small_workload_is_simulated_at_once(client: TestClient) -> None:
    first = client.post(f"{API}/simulate", json={**QUESTION, "packet": {"subflows": 2}})
    assert first.status_code == 200, first.text
    document = first.json()
    assert document["flows"] == 16
    assert document["engine"] == "packet"
    assert document["choices"]["subflows"] == 2
    sizes = document["bytes"]
    assert sizes["sent"] == sizes["received"] + sizes["dropped"] + sizes["in_flight"]
    again = client.post(f"{API}/simulate", json={**QUESTION, "packet": {"subflows": 2}})
    assert again.content == first.content


def test_what_cannot_be_simulated_is_refused_by_field(client: TestClient) -> None:
    for changed, field in [
        ({"workload": {"kind": "permutation", "bytes": 10**12}}, "body.workload.bytes"),
        ({"packet": {"hop_delay_secs": 0}}, "body.packet.hop_delay_secs"),
        ({"packet": {"recovery": "hope"}}, "body.packet.recovery"),
        ({"engine": "flow"}, "body.engine"),
    ]:
        answer = client.post(f"{API}/simulate", json={**QUESTION, **changed})
        assert answer.status_code == 422, (changed, answer.text)
        assert answer.json()["errors"][0]["field"] == field, answer.text


def test_settings_of_packets_belong_to_that_engine(client: TestClient) -> None:
    answer = client.post(f"{API}/predict", json={**QUESTION, "packet": {"subflows": 2}})
    assert answer.status_code == 422
    assert "packet" in answer.text
    engines = {item["name"]: item for item in client.get(f"{API}/engines").json()["items"]}
    assert engines["packet"]["settings"] == "packet"
    assert engines["flow"]["settings"] is None
    assert {"subflows", "mtu_bytes", "transport"} <= {item["name"] for item in engines["packet"]["form"]}
    assert "switch-silent" in engines["packet"]["faults"]
    assert "server-frozen" not in engines["packet"]["faults"]
