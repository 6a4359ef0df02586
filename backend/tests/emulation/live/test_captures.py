"""Packet captures of a live run over REST, with a scripted fabric."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from typer.testing import CliRunner

from cubeyard.cli import capture as cli
from cubeyard.emulation.deploy.names import shell_command
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live import captures
from cubeyard.emulation.live.models import CaptureRow
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from tests.emulation.live.test_api import API, ASKED
from tests.emulation.scripted import Scripted, scripted

Json = dict[str, Any]
FILE = bytes(range(256))
CAPTURED = {"pcapng": FILE.hex(), "interface": "p0", "packets": 3, "missed": 0, "end": "secs"}


@pytest.fixture
def run(client: TestClient) -> str:
    made = client.post(f"{API}/experiments", json=ASKED).json()["id"]
    return client.post(f"{API}/experiments/{made}/runs").json()["id"]


@pytest.fixture
def fabric(settings: Settings) -> Iterator[Scripted]:
    with scripted(Place.of(settings).socket) as script:
        script.captured = CAPTURED.copy()
        yield script


def ended(client: TestClient, run: str) -> list[Json]:
    """The run's captures, after all have ended."""
    deadline = time.monotonic() + 10
    while True:
        items = client.get(f"{API}/runs/{run}/captures").json()["items"]
        if all(item["state"] != "running" for item in items) or time.monotonic() > deadline:
            return items
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("asked", "target", "named"),
    [
        ({"link": "00/<0,0>"}, {"link": 0}, "00/<0,0>"),
        ({"link": "<0,0>/00"}, {"link": 0}, "00/<0,0>"),
        ({"server": "01", "port": 1}, {"port": [1, 1]}, "01 p1"),
    ],
)
def test_a_capture_is_made_kept_and_downloaded(
    client: TestClient, run: str, fabric: Scripted, asked: Json, target: Json, named: str
) -> None:
    made = client.post(f"{API}/runs/{run}/captures", json={**asked, "max_secs": 1, "max_bytes": 5000})
    assert made.status_code == 202, made.text
    (result,) = ended(client, run)
    assert result["id"] == made.json()["id"]
    assert (result["state"], result["reason"]) == ("done", "")
    assert (result["packets"], result["size_bytes"], result["target"]) == (3, 256, named)
    (call,) = (params for method, params in fabric.calls if method == "capture")
    assert call == {
        "run": run, "target": target, "limits": {"max_bytes": 5000, "max_secs": 1.0, "packet_bytes": 65_535},
    }  # fmt: skip
    file = client.get(f"{API}/runs/{run}/captures/{result['id']}/file")
    assert (file.content, file.headers["content-type"]) == (FILE, "application/x-pcapng")
    assert ".pcapng" in file.headers["content-disposition"]
    assert client.delete(f"{API}/runs/{run}/captures/{result['id']}").status_code == 204
    assert client.get(f"{API}/runs/{run}/captures/{result['id']}/file").status_code == 404
    assert client.get(f"{API}/runs/{run}/captures").json()["items"] == []


def test_targets_outside_the_run_are_refused_by_field(client: TestClient, run: str) -> None:
    for asked, field in [
        ({"link": "00/11"}, "body.link"),
        ({"server": "99", "port": 0}, "body.server"),
        ({"server": "00", "port": 7}, "body.port"),
        ({"server": "00"}, "body"),
        ({}, "body"),
        ({"link": "00/<0,0>", "max_secs": 61}, "body.max_secs"),
        ({"link": "00/<0,0>", "max_bytes": 2**25}, "body.max_bytes"),
    ]:
        answer = client.post(f"{API}/runs/{run}/captures", json=asked)
        assert answer.status_code == 422, asked
        assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_capture_that_the_fabric_refuses_says_why(client: TestClient, run: str, fabric: Scripted) -> None:
    fabric.fails = {"capture"}
    client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"})
    (result,) = ended(client, run)
    assert (result["state"], result["size_bytes"]) == ("failed", None)
    assert "capture is not possible now" in result["reason"]
    file = client.get(f"{API}/runs/{run}/captures/{result['id']}/file")
    assert (file.status_code, file.json()["type"]) == (409, "urn:cubeyard:problem:no-file")


def test_without_a_fabric_a_capture_fails(client: TestClient, run: str) -> None:
    client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"})
    (result,) = ended(client, run)
    assert result["state"] == "failed"
    assert "does not answer" in result["reason"]


def test_a_run_has_a_bounded_number_of_captures(
    client: TestClient, run: str, fabric: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "MAX_CAPTURES", 2)
    codes = [client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"}).status_code for _ in range(3)]
    assert codes == [202, 202, 409]
    monkeypatch.setattr(captures, "MAX_CAPTURES", 9)
    monkeypatch.setattr(captures, "MAX_RUN_BYTES", 4 * 2**20)
    assert len(ended(client, run)) == 2
    assert client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"}).status_code == 409, (
        "512 bytes are taken"
    )


def test_a_capture_whose_process_is_gone_is_reported_as_failed(
    client: TestClient, run: str, database: Database, fabric: Scripted
) -> None:
    client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"})
    ended(client, run)
    with database.session() as session:
        long_ago = datetime.now(UTC) - timedelta(minutes=2)
        session.execute(update(CaptureRow).values(state="running", created_at=long_ago))
    (items,) = client.get(f"{API}/runs/{run}/captures").json()["items"]
    assert (items["state"], items["reason"]) == ("failed", captures.LOST)


def test_captures_go_with_their_run(client: TestClient, run: str, database: Database, fabric: Scripted) -> None:
    client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"})
    ended(client, run)
    client.post(f"{API}/runs/{run}/cancel")
    assert client.post(f"{API}/runs/{run}/captures", json={"link": "00/<0,0>"}).status_code == 409, "it is over"
    assert client.delete(f"{API}/runs/{run}").status_code == 204
    with database.session() as session:
        assert session.scalar(select(func.count()).select_from(CaptureRow)) == 0


def test_a_shell_is_opened_by_the_machine_s_own_tools() -> None:
    assert shell_command("0123456789", 5, "11", "namespaces") == "sudo ip netns exec cy-01234567-5 bash"
    command = shell_command("0123456789", 5, "1;2", "containers")
    assert command.endswith("{{.State.Pid}}' cubeyard-01234567-1-2)\" bash")


def test_the_command_line_gives_a_capture_to_the_program_behind_a_pipe(
    client: TestClient, run: str, fabric: Scripted, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "settings_of", lambda: settings)
    app = typer.Typer()
    app.command()(cli.capture)
    piped = CliRunner().invoke(app, [run, "--link", "00/<0,0>", "--seconds", "1", "-o", "-"])
    assert piped.exit_code == 0, piped.output
    assert piped.stdout_bytes == FILE, "the file alone"
    assert "3 packets of 00/<0,0>" in piped.stderr
    refused = CliRunner().invoke(app, [run, "--link", "00/<0,0>", "--seconds", "1", "-o", "/nowhere/x.pcapng"])
    assert refused.exit_code == 2
    assert "--output cannot be written" in refused.stderr
