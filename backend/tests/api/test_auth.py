"""The one auth rule: loopback needs nothing, any other bind address needs a token."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from starlette.concurrency import run_in_threadpool
from starlette.routing import Mount
from starlette.types import Message

from cubeyard.app import create_app
from cubeyard.kit.auth import revocation
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.db import Database
from cubeyard.kit.sse import EventStream
from cubeyard.settings import Settings
from tests.conftest import SMALL

PLANS = "/api/v1/plans"
HTML = {"accept": "text/html"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def exposed(settings: Settings, database: Database) -> Iterator[TestClient]:
    """As with `cubeyard run --host 0.0.0.0` and a configured token, seen by somebody on the
    network."""
    open_to_all = settings.model_copy(update={"host": "0.0.0.0", "token": _secret("configured-token")})
    app = create_app(open_to_all, database=database)
    with TestClient(app, base_url="http://10.0.0.7:8000", client=("10.1.2.3", 40000), follow_redirects=False) as client:
        yield client


def _secret(value: str) -> object:
    from pydantic import SecretStr

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
    assert exposed.get("/healthz").status_code == 200
    assert exposed.get(PLANS, headers=bearer("configured-token")).status_code == 200
    assert exposed.get(PLANS, headers={"host": "evil.example", **bearer("configured-token")}).status_code == 421


def test_tokens_are_made_used_and_revoked_and_only_their_hash_is_kept(exposed: TestClient, database: Database) -> None:
    made = exposed.post("/api/v1/tokens", json={"name": "nightly"}, headers=bearer("configured-token")).json()
    token = made["token"]
    assert len(token) > 40
    answer = exposed.post(f"{PLANS}/preview", json={"spec": SMALL}, headers=bearer(token))
    assert answer.status_code == 200
    listed = exposed.get("/api/v1/tokens", headers=bearer(token)).json()["items"]
    assert [one["name"] for one in listed] == ["nightly"]
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
    # All that the page loads is there without a token.
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
