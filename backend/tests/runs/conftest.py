"""Workers and servers as real processes, and followers of streams: fast, slow, and with a bad
connection."""

from __future__ import annotations

import http.client
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from fastapi.testclient import TestClient

from cubeyard.settings import Settings
from tests.processes import PROGRAM, Server, environment

Json = dict[str, Any]
API = "/api/v1"
MIDDLE = {"family": "bcube", "n": 6, "k": 2}
"""216 servers: a point takes some ten milliseconds."""
LEASE_SECS = 1.0


@pytest.fixture
def start_worker(settings: Settings, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`cubeyard worker` processes; every one is gone at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str, **more: str) -> subprocess.Popen[bytes]:
        given = {"DATABASE_URL": str(settings.database_url), "CUBEYARD_JOB_LEASE_SECS": str(LEASE_SECS), **more}
        with (tmp_path / f"worker{len(started)}.log").open("wb") as log:
            command = [*PROGRAM, "worker", *arguments]
            started.append(subprocess.Popen(command, env=environment(tmp_path, **given), stderr=log))
        return started[-1]

    yield begin
    for item in started:
        item.kill()
        item.wait()


@pytest.fixture
def live(settings: Settings, tmp_path: Path) -> Iterator[Server]:
    """`cubeyard run` over the test's database, with its worker inside."""
    with Server(tmp_path / "live", DATABASE_URL=str(settings.database_url)) as server:
        yield server


def start(client: TestClient, **fields: Any) -> Json:
    """A run of a new experiment."""
    body = {"plan": MIDDLE, "workload": {"kind": "all-to-all"}, **fields}
    made = client.post(f"{API}/experiments", json=body)
    assert made.status_code == 201, made.text
    answer = client.post(f"{API}/experiments/{made.json()['id']}/runs")
    assert answer.status_code == 202, answer.text
    return answer.json()


def sweep(seeds: int, spec: Json = MIDDLE) -> Json:
    return {"plan": spec, "axes": {"failure": {"kind": "switch", "ratios": [0, 0.05, 0.1, 0.15]}, "seeds": seeds}}


def wait_for(client: TestClient, run: str, until: Callable[[Json], bool], seconds: float = 40) -> Json:
    deadline = time.monotonic() + seconds
    while True:
        now = client.get(f"{API}/runs/{run}").json()
        if until(now):
            return now
        assert time.monotonic() < deadline, now
        time.sleep(0.02)


def ended(run: Json) -> bool:
    return run["state"] in {"succeeded", "failed", "cancelled"}


def events_of(lines: Iterator[bytes]) -> Iterator[tuple[str, int | None, Json]]:
    """Name, number and data of each event, parsed as in the standard."""
    name, number, data = "message", None, b""
    for raw in lines:
        line = raw.rstrip(b"\r\n")
        if not line:
            if data:
                yield name, number, orjson.loads(data)
            name, number, data = "message", None, b""
        elif line.startswith(b"event:"):
            name = line[6:].strip().decode()
        elif line.startswith(b"id:"):
            number = int(line[3:])
        elif line.startswith(b"data:"):
            data += line[5:].strip()


@dataclass
class Follower:
    """One client of a stream. It keeps what it got, and comes back with its last number when it was
    cut off."""

    base: str
    run: str
    pause_secs: float = 0.0
    cut_after: int | None = None
    """Disconnects after this number of events, every time."""
    got: list[tuple[int, str, Json]] = field(default_factory=list)
    progress: list[Json] = field(default_factory=list)
    connections: int = 0

    def follow(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while self._once():
            assert time.monotonic() < deadline, (self.connections, len(self.got))

    def _once(self) -> bool:
        """False when the server reports the end of the stream."""
        self.connections += 1
        place = urlsplit(self.base)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        try:
            headers = {"Last-Event-ID": str(self.got[-1][0])} if self.got else {}
            connection.request("GET", f"{API}/runs/{self.run}/events", headers=headers)
            answer = connection.getresponse()
            if answer.status == 204:
                return False
            assert answer.status == 200, answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            here = 0
            for name, number, data in events_of(iter(answer.readline, b"")):
                if number is None:
                    self.progress.append(data)
                    continue
                self.got.append((number, name, data))
                here += 1
                time.sleep(self.pause_secs)
                if self.cut_after is not None and here >= self.cut_after:
                    return True
            return True
        finally:
            connection.close()
