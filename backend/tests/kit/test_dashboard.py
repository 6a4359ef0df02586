"""The dashboard queries only metrics that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fastapi.testclient import TestClient

from tests.conftest import SMALL

BOARD = Path(__file__).resolve().parents[3] / "deploy" / "grafana" / "cubeyard.json"


def test_every_metric_of_the_dashboard_is_told(client: TestClient) -> None:
    client.post("/api/v1/plans/preview", json={"spec": SMALL})
    reported = set(re.findall(r"^# TYPE (cubeyard_\w+)", client.get("/metrics").text, re.MULTILINE))
    request = {
        re.sub(r"_bucket$", "", name)
        for panel in json.loads(BOARD.read_text())["panels"]
        for target in panel["targets"]
        for name in re.findall(r"cubeyard_\w+", target["expr"])
    }
    assert len(request) >= 12
    assert request <= reported
