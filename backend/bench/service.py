"""The service as a script meets it: a real server with its embedded PostgreSQL, over HTTP on the
loopback address."""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.engine import PAPER_CONTAINER
from bench.table import Row

KIBIBYTE = 1024
START_LIMIT_SECS = 90


@dataclass
class Server:
    """A running server: its port, and its process, whose CPU time can be read."""

    port: int
    pid: int
    connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def post(self, path: str, body: object, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
        reply = self.connection.getresponse()
        content = reply.read()
        if reply.status >= 300:
            raise SystemExit(f"POST {path} answered {reply.status}: {content[:2000].decode(errors='replace')}")
        return reply, content

    def cpu_secs(self) -> float:
        """CPU seconds of the server's process, all its threads, as the kernel counts them (in
        hundredths)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server() -> Iterator[Server]:
    """`cubeyard run` on a free port with a home of its own, ended kindly."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    program = Path(sys.executable).with_name("cubeyard")
    with tempfile.TemporaryDirectory(prefix="cubeyard-bench-") as home, Path(home, "log").open("wb") as log:
        environment = {**os.environ, "CUBEYARD_HOME": f"{home}/data", "CUBEYARD_LOG_LEVEL": "warning"}
        environment.pop("DATABASE_URL", None)
        process = subprocess.Popen([program, "run", "--port", str(port)], env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + START_LIMIT_SECS
            while not _healthy(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the server does not start:\n{Path(home, 'log').read_text()[-3000:]}")
                time.sleep(0.2)
            yield Server(port, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _specs() -> Iterator[dict[str, Any]]:
    """The paper's container again and again, each with another slack, so that no cache has seen
    it."""
    for step in itertools.count():
        yield {"topology": PAPER_CONTAINER, "cabling": {"slack_metres": round(0.5 + step / 1000, 3)}}


def plan_over_rest(running: Server, specs: Iterator[dict[str, Any]]) -> list[Row]:
    """Wall-clock time of a whole plan with everything the page draws, and the server's CPU time for
    the same calls."""
    everything = ["summary", "scene", "bom", "cables"]
    rows: list[Row] = []
    for name, include in (("summary", ["summary"]), ("everything the page draws", everything)):
        walls: list[float] = []
        running.post("/api/v1/plans/preview", {"spec": next(specs), "include": include})
        before = running.cpu_secs()
        for _ in range(15):
            body = {"spec": next(specs), "include": include}
            began = time.perf_counter()
            running.post("/api/v1/plans/preview", body)
            walls.append(time.perf_counter() - began)
        cpu = (running.cpu_secs() - before) / len(walls)
        note = f"{name}; the server's CPU time: {cpu * 1e3:.0f} ms"
        rows.append(Row("whole plan, over REST", statistics.median(walls) * 1e3, 120, "ceiling", "ms", note=note))
    return rows


def cables_payload(running: Server, specs: Iterator[dict[str, Any]]) -> Row:
    body = {"spec": next(specs), "include": ["cables"]}
    reply, content = running.post("/api/v1/plans/preview", body, **{"Accept-Encoding": "gzip"})
    sent = content if reply.headers.get("Content-Encoding") == "gzip" else gzip.compress(content)
    cables = json.loads(gzip.decompress(sent))["cables"]
    note = f"{cables['count']:,} cables in columns, with gzip"
    return Row("cables of the plan, on the wire", len(sent) / KIBIBYTE, 40, "ceiling", "KiB", note=note)


def workbook(running: Server, specs: Iterator[dict[str, Any]]) -> Row:
    taken: list[float] = []
    size = 0
    for _ in range(3):
        spec = next(specs)
        running.post("/api/v1/plans/preview", {"spec": spec, "include": ["summary"]})
        before = running.cpu_secs()
        size = len(running.post("/api/v1/exports/xlsx", {"spec": spec})[1])
        taken.append(running.cpu_secs() - before)
    note = f"8,192 cables, every sheet, {size / KIBIBYTE:,.0f} KiB"
    return Row("XLSX of the plan", statistics.median(taken), 2, "ceiling", "s", note=note)


def rows() -> list[Row]:
    specs = _specs()
    with server() as running:
        return [*plan_over_rest(running, specs), cables_payload(running, specs), workbook(running, specs)]
