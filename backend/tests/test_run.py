"""`cubeyard run` as a real process: it keeps confirmed data, and starts only where it is allowed
to."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubeyard.kit.embedded import EmbeddedPostgres
from tests.conftest import SMALL
from tests.processes import Server, command

PLANS = "/api/v1/plans"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cubeyard-run-") as folder:
        yield Path(folder)
        last = EmbeddedPostgres(Path(folder))
        last.start()
        last.stop()


def test_a_killed_server_and_a_killed_postgres_lose_no_saved_plan(home: Path) -> None:
    saved: list[str] = []
    with Server(home) as server:
        for number in range(3):
            status, plan = server.call("POST", PLANS, {"name": f"Plan {number}", "spec": SMALL})
            assert status == 201, server.said()
            saved.append(plan["id"])
        pinned = {"anchor": {"kind": "rack", "name": "R00"}, "text": "Kept through a kill"}
        status, note = server.call("POST", f"{PLANS}/{saved[0]}/notes", pinned)
        assert status == 201, server.said()
        server.process.kill()
        server.process.wait()
    with Server(home) as server:
        assert {item["id"] for item in server.call("GET", PLANS)[1]["items"]} == set(saved)
        assert server.call("GET", f"{PLANS}/{saved[0]}/notes")[1]["items"] == [note]
        items = server.call("GET", f"/api/v1/changes?plan={saved[0]}")[1]["items"]
        assert [(item["kind"], item["action"]) for item in items] == [("note", "created"), ("plan", "created")]
        status, plan = server.call("POST", PLANS, {"name": "After the first kill", "spec": SMALL})
        saved.append(plan["id"])
        pid = EmbeddedPostgres(home).running_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while (answer := server.call("GET", PLANS))[0] != 200:
            assert time.monotonic() < deadline, server.said()
            time.sleep(0.2)
        assert {item["id"] for item in answer[1]["items"]} == set(saved), "the same server goes on"
        assert server.call("GET", "/healthz")[0] == 200
        server.process.terminate()
        assert server.process.wait(timeout=30) == 0, server.said()
    assert EmbeddedPostgres(home).running_pid() is None, "a clean end stops the database"


@pytest.mark.parametrize(
    "one",
    [signal.SIGHUP, pytest.param(signal.SIGQUIT, marks=pytest.mark.long)],
    ids=["closed terminal", "quit"],
)
def test_a_closed_terminal_ends_a_server_as_cleanly_as_ctrl_c(home: Path, one: signal.Signals) -> None:
    with Server(home) as server:
        server.call("GET", PLANS, headers={"x-request-id": "trace-me"})
        server.process.send_signal(one)
        assert server.process.wait(timeout=60) == 0, server.said()
        lines = [json.loads(line) for line in server.said().splitlines()]
    (line,) = [item for item in lines if item.get("request_id") == "trace-me"]
    assert (line["event"], line["method"], line["path"], line["status"]) == ("request", "GET", PLANS, 200)
    assert line["timestamp"].endswith("Z"), "logs are JSON with ids of requests"
    assert EmbeddedPostgres(home).running_pid() is None


def test_the_world_is_let_in_with_a_token_only(home: Path) -> None:
    refused = command(home, "run", "--host", "0.0.0.0", "--port", "0", text=True)
    assert refused.returncode == 2
    assert "cubeyard token create" in refused.stderr
    assert refused.stdout == ""
    made = command(home, "token", "create", text=True)
    with Server(home, "--host", "0.0.0.0") as server:
        server.base = server.base.replace("0.0.0.0", "127.0.0.1")
        assert server.call("GET", PLANS)[0] == 401
        assert server.call("GET", PLANS, headers={"authorization": f"Bearer {made.stdout.strip()}"})[0] == 200
        server.process.send_signal(signal.SIGINT)
        server.process.wait(timeout=30)
