"""Packet streams end when the token of their reader is revoked. The fabric is scripted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from cubeyard.app import create_app
from cubeyard.kit.auth import revocation
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from tests.emulation.live.test_packets import API, HEADER, LINK, RELAYED, fabric, packet, run
from tests.emulation.scripted import Scripted

_ = fabric, run
TOKEN = "configured-token-of-the-operator"


@pytest.mark.parametrize("path", ["packets", "packets.pcapng"])
def test_a_stream_of_packets_ends_once_its_token_is_revoked(
    settings: Settings,
    database: Database,
    fabric: Scripted,
    run: str,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
) -> None:
    assert 2 * revocation.CHECK_SECS <= 5, "a shared answer may be one interval old"
    monkeypatch.setattr(revocation, "CHECK_SECS", 0.05)
    begun, over = threading.Event(), threading.Event()

    def parts(_: str, params: dict[str, Any]) -> Iterator[bytes]:
        if params.get("parts"):
            yield HEADER
            yield packet(RELAYED, 10**18)
            begun.set()
            over.wait(20)

    monkeypatch.setattr(fabric, "parts_of", parts)
    exposed = settings.model_copy(update={"host": "0.0.0.0", "token": SecretStr(TOKEN)})
    configured = {"authorization": f"Bearer {TOKEN}"}
    try:
        with (
            TestClient(create_app(exposed, database=database), base_url="http://10.0.0.9") as other,
            ThreadPoolExecutor(1) as pool,
        ):
            made = other.post(f"{API}/tokens", json={"name": "reader"}, headers=configured).json()
            headers = {"authorization": f"Bearer {made['token']}"}
            reading = pool.submit(other.get, f"{API}/runs/{run}/{path}", params=LINK, headers=headers)
            assert begun.wait(10)
            assert other.delete(f"{API}/tokens/{made['id']}", headers=configured).status_code == 204
            revoked_at = time.monotonic()
            answer = reading.result(10)
            assert time.monotonic() - revoked_at < 5
    finally:
        over.set()
    assert answer.status_code == 200
    if path == "packets":
        assert "The token was revoked" in answer.text
    else:
        assert answer.content.startswith(HEADER), "a file of packets ends without a message"
