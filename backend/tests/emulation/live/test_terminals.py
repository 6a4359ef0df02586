"""Who may open a terminal over a WebSocket, and errors that occur before any container is used."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from starlette.testclient import WebSocketDenialResponse

from cubeyard.app import create_app
from cubeyard.emulation.deploy import shells
from cubeyard.emulation.live.terminal import endpoints, session
from cubeyard.kit.auth import revocation
from cubeyard.kit.auth.guard import COOKIE
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.emulation.live.test_api import API, ASKED

Json = dict[str, Any]
TOKEN = "a-configured-token"


@pytest.fixture
def run(client: TestClient) -> str:
    request = {**ASKED, "emulation": {**ASKED["emulation"], "mode": "containers"}}  # pyright: ignore[reportGeneralTypeIssues]
    made = client.post(f"{API}/experiments", json=request).json()["id"]
    return client.post(f"{API}/experiments/{made}/runs").json()["id"]


def end_of(client: TestClient, run: str, *, subprotocols: list[str] | None = None, **headers: str) -> Json:
    """The only message of a terminal that is not opened."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"host": client.base_url.host, **named}
    address = f"{API}/runs/{run}/servers/00/terminal"
    with client.websocket_connect(address, subprotocols=subprotocols, headers=sent) as socket:
        message = socket.receive_json()
        assert message["type"] == "end"
        assert socket.accepted_subprotocol == ("cubeyard" if subprotocols else None)
        return message


def refusal(client: TestClient, run: str, **headers: str) -> tuple[int, Json]:
    with pytest.raises(WebSocketDenialResponse) as denied:
        end_of(client, run, **headers)
    return denied.value.status_code, denied.value.json()


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


def test_a_missing_engine_is_reported_with_the_reason(client: TestClient, run: str) -> None:
    assert "The Docker engine does not answer" in end_of(client, run)["reason"]
    state = client.get(f"{API}/runs/{run}/servers/00/terminal").json()
    assert (state["available"], state["open"], state["limit"]) == (False, 0, 8)
    assert "there is no /nowhere/docker.sock" in state["reason"]
    assert client.get(f"{API}/changes", params={"kind": "terminal"}).json()["items"] == [], "none was opened"


def test_a_page_from_elsewhere_is_refused(client: TestClient, run: str) -> None:
    status, problem = refusal(client, run, origin="https://evil.example")
    assert (status, problem["type"]) == (403, "urn:cubeyard:problem:foreign-origin")
    status, problem = refusal(client, run, host="evil.example")
    assert (status, problem["type"]) == (421, "urn:cubeyard:problem:wrong-host")
    assert refusal(client, run, sec_fetch_site="cross-site")[0] == 403
    assert end_of(client, run, origin="http://localhost")["reason"]


def test_other_machines_need_a_token_for_a_terminal_too(settings: Settings, database: Database, run: str) -> None:
    exposed = settings.model_copy(update={"host": "0.0.0.0", "token": SecretStr(TOKEN)})
    with TestClient(create_app(exposed, database=database), base_url="http://10.0.0.9") as other:
        status, problem = refusal(other, run)
        assert (status, problem["type"]) == (401, "urn:cubeyard:problem:token-needed")
        assert refusal(other, run, authorization="Bearer wrong")[0] == 401
        assert "Docker" in end_of(other, run, authorization=f"Bearer {TOKEN}")["reason"]
        # As the page sends the token: a browser cannot set headers of a WebSocket.
        assert "Docker" in end_of(other, run, subprotocols=["cubeyard", f"bearer.{TOKEN}"])["reason"]
        with pytest.raises(WebSocketDenialResponse) as denied:
            end_of(other, run, subprotocols=["cubeyard", "bearer.wrong"])
        assert denied.value.status_code == 401
        logged_in = other.post("/login", data={"token": TOKEN, "next": "/"}, follow_redirects=False)
        assert logged_in.status_code == 303
        cookie = f"{COOKIE}={logged_in.cookies[COOKIE]}"
        assert "Docker" in end_of(other, run, cookie=cookie)["reason"]
        assert refusal(other, run, cookie=cookie, origin="https://evil.example")[0] == 403


def test_terminals_can_be_turned_off_and_namespaces_have_none(
    settings: Settings, database: Database, client: TestClient, run: str
) -> None:
    off = settings.model_copy(update={"terminals": False})
    with TestClient(create_app(off, database=database), base_url="http://localhost") as other:
        assert end_of(other, run)["reason"] == "Terminals are turned off here (CUBEYARD_TERMINALS)."
    made = client.post(f"{API}/experiments", json=ASKED).json()["id"]
    plain = client.post(f"{API}/experiments/{made}/runs").json()["id"]
    assert "containers only" in end_of(client, plain)["reason"]
    nobody = "0" * 14
    assert f"run {nobody}" in end_of(client, nobody)["reason"]


class Silent:
    """A shell that prints nothing until it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.sizes = 0

    def read(self) -> bytes:
        self.closed.wait(20)
        return b""

    def write(self, data: bytes) -> None: ...

    def resize(self, columns: int, rows: int) -> None:  # noqa: ARG002
        self.sizes += 1

    def state(self) -> str:
        return "running"

    def exit_code(self) -> int | None:
        return None

    def close(self) -> None:
        self.closed.set()


def test_a_shell_ends_once_its_token_is_revoked(
    settings: Settings, database: Database, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Silent()
    monkeypatch.setattr(endpoints, "_shell", lambda *_: shell)
    assert 2 * revocation.CHECK_SECS <= 5
    monkeypatch.setattr(revocation, "CHECK_SECS", 0.05)
    exposed = settings.model_copy(update={"host": "0.0.0.0", "token": SecretStr(TOKEN)})
    with TestClient(create_app(exposed, database=database), base_url="http://10.0.0.9") as other:
        configured = {"authorization": f"Bearer {TOKEN}"}
        made = other.post(f"{API}/tokens", json={"name": "operator"}, headers=configured).json()
        sent = {"host": "10.0.0.9", "authorization": f"Bearer {made['token']}"}
        with other.websocket_connect(f"{API}/runs/{run}/servers/00/terminal", headers=sent) as socket:
            assert socket.receive_json()["state"] == "running"
            assert other.delete(f"{API}/tokens/{made['id']}", headers=configured).status_code == 204
            assert "The token was revoked" in socket.receive_json()["reason"]
    assert shell.closed.is_set()


@pytest.mark.parametrize("pauses_during_the_script", [False, True])
def test_a_shell_that_is_closed_in_a_frozen_server_ends_after_the_fault(
    monkeypatch: pytest.MonkeyPatch, pauses_during_the_script: bool
) -> None:
    states = ["running"] * pauses_during_the_script + ["paused"] * 3 + ["running"]
    scripts: list[tuple[str, ...]] = []
    reaped = threading.Event()

    def script(_shell: shells.Shell, _api: object, *words: str) -> str:
        scripts.append(words)
        if states:
            raise ProblemError(503, "docker-gone", "The container is paused.")
        reaped.set()
        return ""

    monkeypatch.setattr(shells, "LOOK_SECS", 0.01)
    monkeypatch.setattr(shells, "_api", lambda _engine: nullcontext())
    monkeypatch.setattr(shells.Shell, "state", lambda _shell: states.pop(0))
    monkeypatch.setattr(shells.Shell, "_script", script)
    shell = object.__new__(shells.Shell)
    ours, theirs = socket.socketpair()
    vars(shell).update(_engine="", _mark="m", _number="7", _socket=ours, _response=ours, _api=theirs)
    shell.close()
    assert reaped.wait(5)
    assert scripts[-1] == (shells.REAP, "m", "7")
    assert len(scripts) == 1 + pauses_during_the_script


def test_a_new_size_is_not_typing(
    settings: Settings, database: Database, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Silent()
    monkeypatch.setattr(endpoints, "_shell", lambda *_: shell)
    monkeypatch.setattr(session, "LOOK_SECS", 0.05)
    idle = settings.model_copy(update={"terminal_idle_secs": 0.5})
    with TestClient(create_app(idle, database=database), base_url="http://localhost") as other:
        address = f"{API}/runs/{run}/servers/00/terminal"
        with other.websocket_connect(address, headers={"host": "localhost"}) as socket:
            assert socket.receive_json()["state"] == "running"
            deadline = time.monotonic() + 2
            while time.monotonic() < deadline and not shell.closed.is_set():
                socket.send_json({"type": "resize", "columns": 80, "rows": 24})
                time.sleep(0.1)
            assert "nothing was typed for 0.5 s" in socket.receive_json()["reason"]
    assert shell.sizes > 1
