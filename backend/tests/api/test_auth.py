"""The one auth rule: loopback needs nothing, any other bind address needs a token."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr, ValidationError
from sqlalchemy import text
from starlette.concurrency import run_in_threadpool
from starlette.routing import Mount
from starlette.testclient import WebSocketDenialResponse
from starlette.types import Message

from cubeyard.app import ROUTES, create_app
from cubeyard.kit.auth import revocation
from cubeyard.kit.auth.reads import only_reads
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.auth.slowing import FORGET_SECS, MOST_SECS, Slowing
from cubeyard.kit.db import Database
from cubeyard.kit.sse import EventStream
from cubeyard.serve import configuration
from cubeyard.settings import Settings
from tests.conftest import SMALL

PLANS = "/api/v1/plans"
HTML = {"accept": "text/html"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def exposed(settings: Settings, database: Database) -> Iterator[TestClient]:
    """A client on the network calls a server started with `--host 0.0.0.0` and a token."""
    open_to_all = settings.model_copy(update={"host": "0.0.0.0", "token": _secret("configured-token")})
    app = create_app(open_to_all, database=database)
    with TestClient(app, base_url="http://10.0.0.7:8000", client=("10.1.2.3", 40000), follow_redirects=False) as client:
        yield client


def _secret(value: str) -> object:
    return SecretStr(value)


def test_nothing_is_told_without_a_token(exposed: TestClient) -> None:
    for method, path in [
        ("GET", PLANS),
        ("POST", f"{PLANS}/preview"),
        ("GET", "/metrics"),
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/v1/nothing"),
    ]:
        answer = exposed.request(method, path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
    for wrong in ("wrong", "", "configured-token-not"):
        assert exposed.get(PLANS, headers=bearer(wrong)).status_code == 401
    assert exposed.get(PLANS, headers={b"authorization": b"Bearer \xff\xe9"}).status_code == 401
    assert [exposed.get(path).status_code for path in ("/healthz", "/livez")] == [200, 200]
    assert exposed.get(PLANS, headers=bearer("configured-token")).status_code == 200
    assert exposed.get(PLANS, headers={"host": "evil.example", **bearer("configured-token")}).status_code == 421


def test_tokens_are_made_used_and_revoked_and_only_their_hash_is_kept(exposed: TestClient, database: Database) -> None:
    made = exposed.post("/api/v1/tokens", json={"name": "nightly"}, headers=bearer("configured-token")).json()
    token = made["token"]
    assert len(token) > 40
    answer = exposed.post(f"{PLANS}/preview", json={"spec": SMALL}, headers=bearer(token))
    assert answer.status_code == 200
    listed = exposed.get("/api/v1/tokens", headers=bearer(token)).json()["items"]
    assert [item["name"] for item in listed] == ["nightly"]
    assert listed[0]["last_used_at"] is not None
    assert "token" not in listed[0]
    with database.session() as session:
        rows = str(session.execute(text("SELECT * FROM tokens")).all())
    assert token not in rows
    assert exposed.delete(f"/api/v1/tokens/{made['id']}", headers=bearer(token)).status_code == 204
    assert exposed.get(PLANS, headers=bearer(token)).status_code == 401
    assert exposed.delete(f"/api/v1/tokens/{made['id']}", headers=bearer("configured-token")).status_code == 404


def test_a_browser_logs_in_once_and_gets_a_cookie_no_script_can_read(exposed: TestClient) -> None:
    sent = exposed.get("/plans/new?topology=bcube", headers=HTML)
    assert sent.status_code == 303
    assert sent.headers["location"] == "/login?next=%2Fplans%2Fnew%3Ftopology%3Dbcube"
    page = exposed.get(sent.headers["location"], headers=HTML)
    assert 'value="/plans/new?topology=bcube"' in page.text
    # All assets of the page are available without a token.
    loaded = re.findall(r'(?:href|src)="(/[^"]*)"', page.text)
    assert loaded == ["/icon.svg"]
    assert exposed.get(loaded[0]).status_code != 401
    assert exposed.get("/assets/index.js").status_code == 401
    assert exposed.post("/login", data={"token": "wrong"}).status_code == 401
    origin = {"origin": "http://10.0.0.7:8000"}
    answer = exposed.post(
        "/login", data={"token": "configured-token", "next": "/plans/new?topology=bcube"}, headers=origin
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/plans/new?topology=bcube")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert exposed.get(PLANS).status_code == 200
    assert exposed.post(f"{PLANS}/preview", json={"spec": SMALL}, headers=origin).status_code == 200
    foreign = exposed.post(f"{PLANS}/preview", json={"spec": SMALL}, headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403, "the cookie does not help a page elsewhere"
    kept = exposed.cookies["cubeyard_session"]
    assert exposed.post("/logout", headers=origin).status_code == 303
    assert exposed.get(PLANS, headers={"cookie": f"cubeyard_session={kept}"}).status_code == 401


def test_a_session_says_whose_it_is(exposed: TestClient, client: TestClient) -> None:
    session = "/api/v1/session"
    assert client.get(session).json() == {"needed": False, "logged_in": False, "token": None}
    made = exposed.post("/api/v1/tokens", json={"name": "laptop"}, headers=bearer("configured-token")).json()
    with_token = exposed.get(session, headers=bearer(made["token"])).json()
    assert with_token == {"needed": True, "logged_in": False, "token": "laptop"}
    assert exposed.get(session).status_code == 401
    exposed.post("/login", data={"token": made["token"]})
    assert exposed.get(session).json() == {"needed": True, "logged_in": True, "token": "laptop"}
    exposed.post("/logout", headers={"origin": "http://10.0.0.7:8000"})
    assert exposed.get(session).status_code == 401
    exposed.post("/login", data={"token": "configured-token"})
    assert exposed.get(session).json() == {"needed": True, "logged_in": True, "token": None}


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/x\r\nset-cookie: a=b", ""],
)
def test_a_login_sends_nobody_elsewhere(exposed: TestClient, wanted: str) -> None:
    answer = exposed.post("/login", data={"token": "configured-token", "next": wanted})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_session_ends_with_its_token_with_its_time_and_with_a_new_configuration(
    exposed: TestClient, database: Database, settings: Settings
) -> None:
    made = exposed.post("/api/v1/tokens", json={"name": "browser"}, headers=bearer("configured-token")).json()
    exposed.post("/login", data={"token": made["token"]})
    assert exposed.get(PLANS).status_code == 200
    exposed.delete(f"/api/v1/tokens/{made['id']}", headers=bearer("configured-token"))
    assert exposed.get(PLANS).status_code == 401

    exposed.post("/login", data={"token": "configured-token"})
    assert exposed.get(PLANS).status_code == 200
    cookie = {"cookie": f"cubeyard_session={exposed.cookies['cubeyard_session']}"}
    other = settings.model_copy(update={"host": "0.0.0.0", "token": _secret("another-token")})
    with TestClient(create_app(other, database=database), base_url="http://10.0.0.7:8000") as again:
        assert again.get(PLANS, headers=cookie).status_code == 401
    with database.session() as session:
        session.execute(text("UPDATE sessions SET expires_at = now() - interval '1 second'"))
    assert exposed.get(PLANS).status_code == 401


def test_on_loopback_a_wrong_token_is_still_wrong(client: TestClient) -> None:
    assert client.get(PLANS).status_code == 200
    assert client.get(PLANS, headers=bearer("wrong")).status_code == 401


def test_a_stream_ends_once_its_token_is_revoked(
    exposed: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 2 * revocation.CHECK_SECS <= 5
    monkeypatch.setattr(revocation, "CHECK_SECS", 0.05)
    made = exposed.post("/api/v1/tokens", json={"name": "reader"}, headers=bearer("configured-token")).json()
    app: Any = exposed.app
    app.routes.insert(0, Mount("/endless", EventStream(_endless())))

    async def read() -> tuple[float, list[Message]]:
        sent: list[Message] = []
        revoked_at = 0.0

        async def send(message: Message) -> None:
            nonlocal revoked_at
            sent.append(message)
            if len(sent) == 3:
                revoked_at = time.monotonic()
                await run_in_threadpool(_revoke, database, made["id"])

        headers = [(b"host", b"10.0.0.7:8000"), (b"authorization", f"Bearer {made['token']}".encode())]
        scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET", "path": "/endless/x", "raw_path": b"/endless/x"}  # fmt: skip
        whole = {**scope, "query_string": b"", "headers": headers, "client": ("10.1.2.3", 40000), "scheme": "http"}
        await asyncio.wait_for(exposed.app(whole, _never, send), 20)
        return time.monotonic() - revoked_at, sent

    secs, sent = asyncio.run(read())
    assert secs < 2
    assert (sent[0]["status"], sent[-1].get("more_body", False)) == (200, False)
    assert b"event: revoked" in sent[-1]["body"]
    assert b"The token was revoked" in sent[-1]["body"]


async def _endless() -> AsyncGenerator[bytes]:
    while True:
        yield b": more\n\n"
        await asyncio.sleep(0.01)


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def _revoke(database: Database, token: str) -> None:
    with database.session() as session:
        AuthService(session, None).revoke(token)


def _made(client: TestClient, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/tokens", json={"name": "laptop", **more}, headers=bearer("configured-token"))
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_read_only_token_computes_and_reads_and_changes_nothing(exposed: TestClient) -> None:
    made = _made(exposed, read_only=True)
    assert (made["read_only"], made["expires_at"]) == (True, None)
    ours = bearer(made["token"])
    assert exposed.get(PLANS, headers=ours).status_code == 200
    assert exposed.post(f"{PLANS}/preview", json={"spec": SMALL}, headers=ours).status_code == 200
    refused = exposed.post(PLANS, json={"name": "x", "spec": SMALL}, headers=ours)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:cubeyard:problem:read-only-token")
    assert exposed.post("/api/v1/tokens", json={"name": "more"}, headers=ours).status_code == 403
    assert exposed.delete(f"/api/v1/tokens/{made['id']}", headers=ours).status_code == 403
    with pytest.raises(WebSocketDenialResponse) as shell:
        exposed.websocket_connect(
            "ws://10.0.0.7/api/v1/runs/0a1b2c3d4e5f6g/servers/00/terminal", headers=ours
        ).__enter__()
    assert shell.value.status_code == 403
    # The same by its session.
    exposed.post("/login", data={"token": made["token"]})
    assert exposed.get(PLANS).status_code == 200
    assert exposed.post(PLANS, json={"name": "x", "spec": SMALL}).status_code == 403
    assert exposed.post("/logout").status_code == 303


def test_paths_that_a_read_only_token_may_post_to_exist() -> None:
    paths = [route.path for route in ROUTES if "POST" in (getattr(route, "methods", None) or ())]
    allowed = {path for path in paths if only_reads("http", "POST", path)}
    assert {path.removeprefix("/api/v1") for path in allowed} == {
        "/topologies/import", "/compare", "/plans/preview", "/plans/paths", "/search", "/life", "/service-trials",
        "/plans/{id}/revisions/{revision}/as-built", "/exports/{format}", "/scenarios/read", "/scenarios/write",
        "/predict", "/simulate", "/experiments/estimate", "/emulation/profile", "/emulation/fit",
        "/emulation/upgrades", "/runs/{id}/faults/preview", "/runs/{id}/servers/{name}/chip/trace",
        "/chip/check", "/chip/trace", "/chip/portland", "/logout",
    }  # fmt: skip


def test_a_token_expires_and_its_sessions_too(exposed: TestClient, database: Database) -> None:
    made = _made(exposed, expires_in_days=2)
    until = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=1.9) < until <= timedelta(days=2)
    exposed.post("/login", data={"token": made["token"]})
    assert exposed.get(PLANS).status_code == exposed.get(PLANS, headers=bearer(made["token"])).status_code == 200
    with database.session() as session:
        session.execute(text("UPDATE tokens SET expires_at = now() WHERE id = :id"), {"id": made["id"]})
    assert exposed.get(PLANS).status_code == 401
    assert exposed.get(PLANS, headers=bearer(made["token"])).status_code == 401
    assert exposed.post("/login", data={"token": made["token"]}).status_code == 401


@pytest.mark.parametrize("name", ["this machine", "Command Line ", "configured token", "\uff52evoked token"])
def test_a_token_has_no_name_of_the_change_log(exposed: TestClient, name: str) -> None:
    answer = exposed.post("/api/v1/tokens", json={"name": name}, headers=bearer("configured-token"))
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], error["value"]) == ("body.name", name)
    assert "command line" in error["limit"]
    assert error["hint"]


def test_a_short_token_of_the_configuration_is_refused_with_the_least_length() -> None:
    with pytest.raises(ValidationError, match="the token has 15 characters; it must have at least 16"):
        Settings(token=SecretStr("a" * 15))
    assert Settings(token=SecretStr("a" * 16)).token is not None


def test_wrong_tokens_are_answered_later_and_later(exposed: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(secs: float) -> None:
        waited.append(secs)

    monkeypatch.setattr("cubeyard.kit.auth.slowing.asyncio.sleep", sleep)
    for number in range(5):
        if number % 2:
            assert exposed.post("/login", data={"token": "wrong"}).status_code == 401
        else:
            assert exposed.get(PLANS, headers=bearer("wrong")).status_code == 401
    assert waited == [0, 0, 0, 0.5, 1]
    assert exposed.get(PLANS, headers=bearer("configured-token")).status_code == 200
    assert len(waited) == 5
    slowing = Slowing()
    assert [slowing.count("a", 0.0) for _ in range(30)][-1] == MOST_SECS
    assert slowing.count("b", 0.0) == slowing.count("a", FORGET_SECS) == 0


@pytest.mark.parametrize(("peer", "secure"), [("10.0.0.2", True), ("10.0.1.2", False)])
def test_only_a_trusted_proxy_says_who_calls_and_that_tls_is_used(
    settings: Settings, database: Database, peer: str, secure: bool
) -> None:
    proxied = settings.model_copy(
        update={"trusted_proxies": ["10.0.0.0/24"], "token": SecretStr("configured-token"), "allowed_hosts": ["plans"]}
    )
    assert proxied.exposed
    app = create_app(proxied, database=database)
    config = configuration(app, proxied)
    config.load()
    forwarded = {"x-forwarded-for": "127.0.0.1" if not secure else "192.0.2.7", "x-forwarded-proto": "https"}
    with TestClient(app), TestClient(
        config.loaded_app, base_url="http://plans", client=(peer, 40000), headers=forwarded, follow_redirects=False
    ) as client:  # fmt: skip
        assert client.get(PLANS).status_code == 401
        answer = client.post("/login", data={"token": "configured-token"})
    assert answer.status_code == 303
    assert ("secure" in answer.headers["set-cookie"].lower()) == secure
    assert ("strict-transport-security" in answer.headers) == secure


def test_a_proxy_is_named_by_its_address() -> None:
    with pytest.raises(ValidationError, match="give addresses or networks"):
        Settings.model_validate({"trusted_proxies": "proxy.example.org"})
