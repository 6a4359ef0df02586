"""The fat-tree that a plan is compared with."""

from __future__ import annotations

from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.experiments.reference import fat_tree_for


@given(st.integers(2, 100_000))
def test_it_is_the_smallest_that_holds_them(servers: int) -> None:
    spec = fat_tree_for(servers)
    half = spec["ports"] // 2
    assert servers <= spec["servers"] < servers + half
    assert spec["servers"] % half == 0
    assert 2 * (half - 1) ** 3 < servers <= 2 * half**3


def test_the_api_plans_it(client: TestClient) -> None:
    result = client.get("/api/v1/predict/reference", params={"servers": 2048}).json()
    assert result["spec"] == {"family": "fat_tree", "ports": 22, "layers": 3, "servers": 2057}
    assert result["servers"] == result["spec"]["servers"]
    answer = client.post("/api/v1/predict", json={"plan": result["spec"], "workload": {"kind": "all-to-all"}})
    assert answer.status_code == 200
    assert answer.json()["servers"] == result["servers"]
    refused = client.get("/api/v1/predict/reference", params={"servers": 1})
    assert refused.status_code == 422
