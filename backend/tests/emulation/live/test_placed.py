"""Calls for a live run go to the hosts named by its first frame, even if other hosts are ready now.
The fabrics are scripted."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.kit.db import Database
from cubeyard.runs.models import FrameRow
from cubeyard.settings import EmulationHost, Settings
from tests.emulation.live.test_api import API, ASKED
from tests.emulation.scripted import Scripted, scripted

Json = dict[str, Any]
LINK = {"link": "00/<0,0>"}
CALLS: dict[str, Callable[[TestClient, str], Any]] = {
    "inspect": lambda client, run: client.get(f"{API}/runs/{run}/servers/00"),
    "program": lambda client, run: client.get(f"{API}/runs/{run}/chip-program"),
    "capture": lambda client, run: client.post(f"{API}/runs/{run}/captures", json=LINK),
    "capture ": lambda client, run: client.get(f"{API}/runs/{run}/packets.pcapng", params={**LINK, "max_secs": 1}),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="cyh-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def settings(settings: Settings, folder: Path) -> Settings:
    hosts = tuple(
        EmulationHost(
            name=name, fabric=folder / f"{name}.sock", underlay=IPv4Address(f"10.0.0.{number}"), docker="ssh://x"
        )
        for number, name in enumerate(("a", "b"), 1)
    )
    return settings.model_copy(update={"hosts": hosts})


@pytest.fixture
def run(client: TestClient, database: Database) -> Callable[..., str]:
    def begun(*names: str) -> str:
        """A run whose four servers are on these hosts in turn."""
        made = client.post(f"{API}/experiments", json=ASKED).json()["id"]
        run = client.post(f"{API}/experiments/{made}/runs").json()["id"]
        hosts = {"name": list(names), "of_server": [server % len(names) for server in range(4)]}
        with database.session() as session:
            session.add(FrameRow(run_id=run, seq=2, kind="network", payload={"hosts": hosts}, size_bytes=1))
        return run

    return begun


@pytest.mark.parametrize("call", list(CALLS))
def test_a_run_s_servers_are_where_its_frame_says(
    client: TestClient, run: Callable[..., str], folder: Path, call: str
) -> None:
    with scripted(folder / "a.sock") as first, scripted(folder / "b.sock") as second:
        CALLS[call](client, run("b"))
        assert called(second, call.strip())
        assert first.calls == []


def test_a_host_of_the_run_that_is_not_ready_is_named(
    client: TestClient, run: Callable[..., str], folder: Path
) -> None:
    with scripted(folder / "a.sock") as first:
        refused = client.get(f"{API}/runs/{run('gone', 'a')}/servers/00")
        assert refused.status_code == 503
        assert "does not answer at gone: no ready fabric runs on it" in refused.json()["detail"]
        stream = client.get(f"{API}/runs/{run('gone')}/packets.pcapng", params=LINK)
        assert (stream.status_code, stream.json()["detail"]) == (503, refused.json()["detail"])
        assert first.calls == []


def called(fabric: Scripted, method: str) -> bool:
    """Whether the fabric gets this call. A capture is made only after the response."""
    deadline = time.monotonic() + 5
    while method not in [name for name, _ in fabric.calls]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
