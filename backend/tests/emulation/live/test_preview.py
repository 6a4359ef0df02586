"""The predicted effect of a fault on a live run, over REST, in addition to that of current
faults."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.kit.db import Database
from cubeyard.runs.repository import RunRepository
from tests.conftest import SMALL

Json = dict[str, Any]
API = "/api/v1"
BOTH_WAYS = {"names": ["00/<0,0>", "00/<1,0>"]}
SLOW = {"kind": "link-rate", "rate_bits_per_sec": 1e7, "target": BOTH_WAYS}
LOSSY = {"kind": "link-loss", "loss_ratio": 0.5, "target": BOTH_WAYS}


@pytest.fixture
def run_id(client: TestClient) -> str:
    """A run that waits for its worker: 00 sends to 33, with a planned fault that slows its
    links."""
    request = {
        "plan": SMALL,
        "workload": {"kind": "one-to-one", "source": "00", "destination": "33"},
        "engine": "emulation",
        "link_gbps": 0.1,
        "faults": [{"at_secs": 3, **SLOW}],
    }
    made = client.post(f"{API}/experiments", json=request)
    assert made.status_code == 201, made.text
    return client.post(f"{API}/experiments/{made.json()['id']}/runs").json()["id"]


def goodputs(client: TestClient, run_id: str, fault: Json) -> tuple[float, float]:
    """Predicted goodput without and with the fault, in bits per second."""
    answer = client.post(f"{API}/runs/{run_id}/faults/preview", json=fault)
    assert answer.status_code == 200, answer.text
    result = answer.json()
    assert (result["flows"], result["lost_flows"]) == (1, 0)
    assert result["abt_bits_per_sec"] == pytest.approx(result["goodput_bits_per_sec"])
    return result["goodput_before_bits_per_sec"], result["goodput_bits_per_sec"]


def test_links_that_would_carry_less_are_previewed_so(client: TestClient, run_id: str) -> None:
    assert goodputs(client, run_id, LOSSY) == pytest.approx((1e8, 5e7))
    assert goodputs(client, run_id, SLOW) == pytest.approx((1e8, 1e7))
    item = {**SLOW, "target": {"names": ["00/<0,0>"]}}
    assert goodputs(client, run_id, item) == pytest.approx((1e8, 1e8)), "the other direction is not affected"
    late = {"kind": "link-delay", "delay_secs": 0.1, "target": BOTH_WAYS}
    assert goodputs(client, run_id, late) == pytest.approx((1e8, 1e8))


def test_degraded_links_are_counted_as_slow_and_not_as_failed(
    client: TestClient, database: Database, run_id: str
) -> None:
    def told(state: str) -> None:
        with database.session() as session:
            runs = RunRepository(session)
            row = runs.run(run_id, lock=True)
            assert row is not None
            runs.append(row, "fault", {"id": "f1", "state": state, "at_secs": 3.0}, 60)
            session.commit()

    told("injected")
    assert goodputs(client, run_id, LOSSY) == pytest.approx((1e7, 5e6))
    told("recovered")
    assert goodputs(client, run_id, LOSSY) == pytest.approx((1e8, 5e7))


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        ({"kind": "link-rate", "target": BOTH_WAYS}, "body.rate_bits_per_sec"),
        ({"kind": "down", "target": BOTH_WAYS, "loss_ratio": 0.1}, "body.loss_ratio"),
    ],
)
def test_a_number_that_does_not_suit_its_kind_is_refused(
    client: TestClient, run_id: str, fault: Json, where: str
) -> None:
    for path in ("faults", "faults/preview"):
        answer = client.post(f"{API}/runs/{run_id}/{path}", json=fault)
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == [where]


def test_a_target_that_does_not_exist_is_refused_before_anything_starts(client: TestClient, run_id: str) -> None:
    for target in [{"names": ["99"]}, {"names": ["00", "00/99"]}, {"names": ["00/11"]}]:
        for kind in ["server-killed", "cable-pulled", "down"]:
            fault = {"kind": kind, "target": target}
            request = {"plan": SMALL, "workload": {"kind": "permutation"}, "engine": "emulation"}
            whole = {"kind": "down", "target": {"names": ["00"]}}
            for path, body, where in (
                (f"runs/{run_id}/faults", fault, "body"),
                (f"runs/{run_id}/faults/preview", fault, "body"),
                ("experiments", {**request, "faults": [fault]}, "body.faults.0"),
                ("experiments", {**request, "faults": [whole, fault]}, "body.faults.1"),
            ):
                answer = client.post(f"{API}/{path}", json=body)
                assert answer.status_code == 422, answer.text
                assert answer.headers["content-type"].startswith("application/problem+json")
                assert [error["field"] for error in answer.json()["errors"]] == [f"{where}.target.names"]
