"""Common handling of every request: hosts, origins, limits, ids, errors, headers, compression,
pages."""

from __future__ import annotations

import asyncio
import gzip
import re
from pathlib import Path
from typing import Any

import brotli
import psycopg
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from procrastinate.exceptions import ConnectorException
from pydantic import SecretStr
from starlette.testclient import WebSocketDenialResponse
from starlette.types import Message, Receive, Scope, Send

from cubeyard.app import create_app
from cubeyard.kit.asgi import BodyLimits
from cubeyard.kit.auth.guard import host_name
from cubeyard.kit.db import Database
from cubeyard.kit.embedded import EmbeddedPostgresError
from cubeyard.kit.errors import Problem
from cubeyard.settings import Settings, is_loopback
from tests.conftest import SMALL, described

PLANS = "/api/v1/plans"


def problem_of(answer: object, status: int) -> Problem:
    assert answer.status_code == status, answer.text  # type: ignore[attr-defined]
    assert answer.headers["content-type"] == "application/problem+json"  # type: ignore[attr-defined]
    problem = Problem.model_validate(answer.json())  # type: ignore[attr-defined]
    assert problem.status == status
    assert problem.request_id == answer.headers["x-request-id"]  # type: ignore[attr-defined]
    return problem


def test_a_foreign_host_name_is_not_us(client: TestClient) -> None:
    """DNS rebinding: a page's own name pointed at this machine."""
    for host in [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "192.168.1.5",
        "",
        "a b",
        "u@localhost",
        "localhost:x",
    ]:
        problem_of(client.get(PLANS, headers={"host": host}), 421)


def test_each_host_name_of_the_server_is_accepted(client: TestClient) -> None:
    for host in ["localhost", "LOCALHOST:5173", "127.0.0.1:8000", "[::1]:8000", "127.8.8.8"]:
        assert client.get(PLANS, headers={"host": host}).status_code == 200, host


def test_no_page_elsewhere_changes_anything(client: TestClient) -> None:
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost:9999",
        "http://localhost.evil.example",
        "file://localhost",
        "http://[",
        "",
    ]:
        for method in ["POST", "PATCH", "DELETE", "PUT"]:
            answer = client.request(method, PLANS, headers={"origin": origin, "content-type": "text/plain"})
            assert "ALLOWED_ORIGINS" in problem_of(answer, 403).detail
            assert "access-control-allow-origin" not in answer.headers


def test_pages_of_ours_may(client: TestClient, settings: Settings, database: Database) -> None:
    body = {"name": "Yard", "spec": SMALL}
    assert client.post(PLANS, json=body, headers={"origin": "http://localhost"}).status_code == 201
    assert (
        client.post(PLANS, json=body, headers={"origin": "http://127.0.0.1:5173", "host": "127.0.0.1:5173"}).status_code
        == 201
    )
    assert client.post(PLANS, json=body, headers={"sec-fetch-site": "same-origin"}).status_code == 201
    problem_of(client.post(PLANS, json=body, headers={"sec-fetch-site": "cross-site"}), 403)
    named = settings.model_copy(update={"allowed_origins": ["https://yard.example"], "allowed_hosts": ["yard.example"]})
    with TestClient(create_app(named, database=database), base_url="http://localhost") as other:
        headers = {"origin": "https://yard.example"}
        assert other.post(PLANS, json=body, headers=headers).status_code == 201
        assert other.get(PLANS, headers={"host": "yard.example"}).status_code == 200


def test_nobody_from_elsewhere_is_let_in_by_mistake(settings: Settings, database: Database) -> None:
    """Somebody bound the application to the world without telling it."""
    app = create_app(settings, database=database)
    with TestClient(app, base_url="http://localhost", client=("10.1.2.3", 40000)) as stranger:
        assert problem_of(stranger.get(PLANS), 403).type.endswith("not-local")


@given(header=st.text(max_size=40))
@hypothesis_settings(deadline=None)
def test_host_headers_never_crash_the_door(header: str) -> None:
    name = host_name(header)
    assert name is None or (name == name.lower() and "@" not in name and "/" not in name)


@pytest.mark.parametrize(("host", "inside"), [("127.0.0.1", True), ("::1", True), ("[::1]", True), ("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example", False)])  # fmt: skip
def test_loopback_is_known_from_the_world(host: str, inside: bool) -> None:
    assert is_loopback(host) is inside


def test_a_body_that_is_too_long_is_read_to_its_end_so_that_the_answer_is_seen() -> None:
    output: list[Message] = []
    parts = [{"type": "http.request", "body": b"x" * 10, "more_body": more} for more in (True, True, False)]

    async def receive() -> Message:
        return parts.pop(0)

    async def send(message: Message) -> None:
        output.append(message)

    headers = [(b"content-length", b"30"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": PLANS, "headers": headers, "query_string": b"", "state": {}}
    limits = BodyLimits(_unused, max_bytes=20, tables={}, max_table_bytes=20)
    asyncio.run(limits(scope, receive, send))
    assert (output[0]["status"], parts) == (413, [])


async def _unused(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("a refused body reaches no app")


def test_bodies_are_limited_and_typed(client: TestClient, settings: Settings) -> None:
    long = b'{"name": "' + b"x" * settings.max_body_bytes + b'"}'
    json_type = {"content-type": "application/json"}
    problem_of(client.post(PLANS, content=long, headers=json_type), 413)
    problem_of(client.post(PLANS, content=iter([long[:1000], long[1000:]]), headers=json_type), 413)  # no length said
    typed = client.post(PLANS, content=b"name=x", headers={"content-type": "text/plain"})
    problem_of(typed, 415)
    assert typed.headers["accept"] == "application/json"
    problem_of(client.post(PLANS, content=b"<x/>", headers={"content-type": "application/xml"}), 415)
    assert client.post(PLANS, content=b'{"name": "x", "spec": {"family": "bcube", "n": 4, "k": 1}}', headers={"content-type": "application/merge-patch+json; charset=utf-8"}).status_code == 201  # fmt: skip


def test_errors_name_the_field_the_value_the_limit_and_the_fix(client: TestClient) -> None:
    problem = problem_of(client.get(PLANS, params={"limit": 1000}), 422)
    (error,) = problem.errors
    assert (error.field, error.value, error.limit) == ("query.limit", "1000", "at most 200")
    assert error.hint
    assert problem.instance == PLANS
    (zero,) = problem_of(client.get(PLANS, params={"q": "\0"}), 422).errors
    assert zero.message == "Text cannot hold the zero character"
    (unknown,) = problem_of(client.post(PLANS, json={"name": "x", "spec": SMALL, "colour": 1}), 422).errors
    assert unknown.field == "body.colour"
    assert "spelling" in (unknown.hint or "")


def test_what_is_not_there_and_what_cannot_be_done_are_problems_too(client: TestClient) -> None:
    problem_of(client.get("/api/v1/nothing"), 404)
    problem_of(client.get("/api/v2/plans"), 404)
    answer = client.put(PLANS, json={})
    problem_of(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD, POST"
    assert client.put(f"{PLANS}/0a1b2c3d4e5f6g", json={}).headers["allow"] == "GET, HEAD, PATCH, DELETE"
    assert client.get("/api/v1/predict").headers["allow"] == "POST"
    problem_of(client.get(f"{PLANS}/0a1b2c3d4e5f6g"), 404)
    problem_of(client.get(f"{PLANS}/not-an-id"), 422)
    problem_of(client.post("/nothing", headers={"content-type": "text/plain"}), 405)


def test_a_bug_of_ours_is_a_500_problem_that_gives_nothing_away(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret path /home/somebody")

    monkeypatch.setattr("cubeyard.plans.service.PlanService.page", broken)
    answer = client.get(PLANS)
    assert "secret" not in answer.text
    assert problem_of(answer, 500).type.endswith("internal")


def test_request_ids_go_in_and_out(client: TestClient) -> None:
    assert client.get(PLANS, headers={"x-request-id": "from-a-script.42"}).headers["x-request-id"] == "from-a-script.42"
    made = client.get(PLANS, headers={"x-request-id": "bad id\x7f" + "x" * 100}).headers["x-request-id"]
    assert len(made) == 16
    assert client.get(PLANS).headers["x-request-id"] != client.get(PLANS).headers["x-request-id"]


def test_every_answer_carries_the_security_headers(client: TestClient) -> None:
    for path in ("/", PLANS, "/api/v1/nothing", "/healthz"):
        headers = client.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_text_is_compressed_as_the_client_likes(client: TestClient) -> None:
    path = "/api/v1/schema/plan"
    plain = client.get(path, headers={"accept-encoding": "identity"}).content
    for accept, encoding in (
        ("gzip", "gzip"), ("br;q=1.0, gzip", "br"), ("gzip, br;q=0", "gzip"), ("identity", None), ("", None)
    ):  # fmt: skip
        with client.stream("GET", path, headers={"accept-encoding": accept}) as answer:
            raw = b"".join(answer.iter_raw())
            assert answer.headers.get("content-encoding") == encoding
            assert int(answer.headers["content-length"]) == len(raw)
            assert "accept-encoding" in answer.headers["vary"].lower()
        assert {"gzip": gzip.decompress, "br": brotli.decompress, None: bytes}[encoding](raw) == plain, accept


def test_the_page_is_served_with_its_assets_and_its_routes(client: TestClient, settings: Settings) -> None:
    assert "not built" in client.get("/").text
    dist: Path = settings.frontend_dir
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text("<!doctype html><title>Cubeyard</title>")
    (dist / "assets" / "app-1a2b3c.js").write_text("console.log(1)" * 100)
    for path in ("/", "/plans/0a1b2c3d4e5f6g", "/compare?plans=a,b", "/catalog", "/api"):
        answer = client.get(path, headers={"accept": "text/html"})
        assert (answer.status_code, "Cubeyard" in answer.text) == (200, True), path
        assert answer.headers["cache-control"] == "no-cache"
    asset = client.get("/assets/app-1a2b3c.js")
    assert "immutable" in asset.headers["cache-control"]
    assert "javascript" in asset.headers["content-type"]
    assert client.get("/assets/app-1a2b3c.js", headers={"if-none-match": asset.headers["etag"]}).status_code == 304
    problem_of(client.get("/assets/gone-9.js"), 404)
    problem_of(client.get("/favicon.png"), 404)
    for path in ("/healthz/", "/METRICS", "/API/v1/plans", "/api/v1/plans/", "//api/v1/plans"):
        problem_of(client.get(f"http://localhost{path}", headers={"accept": "text/html"}), 404)
    (dist.parent / "secret.txt").write_text("kept to ourselves")
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/%00", "//etc/passwd"):
        assert "ourselves" not in client.get(path).text
        assert "root:" not in client.get(path).text


def test_the_documentation_is_served_below_docs(client: TestClient, settings: Settings) -> None:
    missing = client.get("/docs/")
    assert (missing.status_code, "make docs" in missing.text) == (404, True)
    folder: Path = settings.docs_dir
    (folder / "how-to").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Documentation</title>")
    (folder / "how-to" / "buy.html").write_text("<!doctype html><title>Buy</title>")
    assert client.get("/docs", follow_redirects=False).headers["location"] == "docs/"
    for path, title in (("/docs", "Documentation"), ("/docs/", "Documentation"), ("/docs/how-to/buy.html", "Buy")):
        answer = client.get(path)
        assert (answer.status_code, title in answer.text) == (200, True), path
        assert answer.headers["cache-control"] == "no-cache"
    assert client.get("/docs/how-to/sell.html").status_code == 404
    (folder.parent / "secret.txt").write_text("kept to ourselves")
    for path in ("/docs/../secret.txt", "/docs/%2e%2e/secret.txt", "/docs/%00", "/docs//etc/passwd"):
        assert "ourselves" not in client.get(path).text


def test_health_and_metrics_tell_the_truth(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    health = client.get("/healthz")
    assert (health.status_code, health.json()["status"], health.json()["database"]) == (200, "ok", "ok")
    client.post("/api/v1/plans/preview", json={"spec": SMALL})
    client.post("/api/v1/plans/preview", json={"spec": SMALL})
    client.get(f"{PLANS}/0a1b2c3d4e5f6g")
    text = client.get("/metrics").text
    assert 'cubeyard_http_requests_total{method="POST",route="/api/v1/plans/preview",status="200"} 2.0' in text
    assert 'route="/api/v1/plans/{id}",status="404"' in text
    assert "0a1b2c3d4e5f6g" not in text, "no metric per plan"
    assert 'cubeyard_engine_seconds_count{operation="plan"} 1.0' in text
    assert 'cubeyard_plan_cache_total{outcome="hit"} 1.0' in text
    assert "cubeyard_database_connections_used" in text
    made = client.post("/api/v1/experiments", json={"plan": SMALL, "workload": {"kind": "all-to-all"}}).json()
    client.post(f"/api/v1/experiments/{made['id']}/runs")
    reported = client.get("/metrics").text.splitlines()
    for line in (
        "cubeyard_database_up 1.0",
        'cubeyard_runs{kind="prediction",state="queued"} 1.0',
        'cubeyard_runs_waiting{lane="quick"} 1.0',
        'cubeyard_runs_waiting{lane="long"} 0.0',
        'cubeyard_queue_entries{queue="runs-quick",status="todo"} 1.0',
        "cubeyard_workers 0.0",
        "cubeyard_workers_sharing 0.0",
        "cubeyard_points_written 0.0",
        'cubeyard_fabric_up{host="this"} 0.0',
    ):
        assert line in reported

    def gone(*_: object) -> None:
        raise ConnectionError("no database")

    monkeypatch.setattr("cubeyard.app.refuse_other", gone)
    ill = client.get("/healthz")
    assert (ill.status_code, ill.json()["database"]) == (503, "unavailable")
    assert client.get("/livez").status_code == 200, "it asks nobody"


def test_every_path_says_all_its_methods_and_has_head_where_it_has_get(client: TestClient) -> None:
    for path, operations in described()["paths"].items():
        place = re.sub(r"\{[^}]*\}", "1", path)
        allowed = set(client.request("OPTIONS", place).headers["allow"].split(", "))
        methods = {method.upper() for method in operations}
        assert methods | ({"HEAD"} if "GET" in methods else set()) <= allowed, place
        assert allowed - {"HEAD"} <= {"GET", "POST", "PUT", "PATCH", "DELETE"}
    head, get = client.head(PLANS), client.get(PLANS, headers={"accept-encoding": "identity"})
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(get.content)))
    assert client.head("/api/v1/predict").status_code == 405
    assert 'route="/api/v1/plans",status="200"' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"name": "x", "spec": {"family": "bcube", "n": NaN, "k": 1}}', "NaN is no number of JSON"),
        (b'{"name": "NaN", "spec": {"family": "bcube", "n": -Infinity, "k": 1}}', "-Infinity is no number of JSON"),
        (b'{"name": "x", "spec": {"family": "bcube", "n": 4, "n": 8, "k": 1}}', '"n" occurs twice in one object'),
        (b'{"name": "x", "spec": {"family": "bcube", "n": 1e400, "k": 1}}', "1e400 is beyond 1.8e308"),
        ('{"name": "\u00f6"}'.encode("latin-1"), "body.10: This is not JSON: This byte is no UTF-8"),
        (b"[" * 100_000, "It is nested too deeply"),
    ],
)
def test_a_body_is_json_and_has_no_key_twice(client: TestClient, body: bytes, said: str) -> None:
    problem = problem_of(client.post(PLANS, content=body, headers={"content-type": "application/json"}), 400)
    assert said in problem.detail


def test_an_encoded_body_is_refused_by_its_encoding(client: TestClient) -> None:
    body = gzip.compress(b'{"name": "x"}')
    answer = client.post(PLANS, content=body, headers={"content-type": "application/json", "content-encoding": "gzip"})
    assert "Content-Encoding" in problem_of(answer, 415).detail
    assert answer.headers["accept-encoding"] == "identity"


def test_a_websocket_where_none_is_is_not_found(client: TestClient) -> None:
    for path in ("/api/v1/nothing", "/nothing"):
        with pytest.raises(WebSocketDenialResponse) as refused, client.websocket_connect(f"ws://localhost{path}"):
            pass
        assert refused.value.status_code == 404


def _refused(*_: object, **__: object) -> None:
    raise psycopg.OperationalError("connection refused")


def _not_started(*_: object, **__: object) -> None:
    raise EmbeddedPostgresError("The embedded PostgreSQL does not answer.")


@pytest.mark.parametrize("connect", [_refused, _not_started])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # the second looks for the token first
def test_without_its_database_the_server_says_to_come_back(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch, connect: Any, host: str
) -> None:
    token = SecretStr("a-token-of-more-than-32-characters")
    app = create_app(settings.model_copy(update={"host": host, "token": token}), database=database)
    sent = {"authorization": f"Bearer {token.get_secret_value()}"}
    with TestClient(app, base_url="http://localhost", headers=sent) as client:
        assert client.get(PLANS).status_code == 200
        database.engine.dispose()
        monkeypatch.setattr(database.engine.dialect, "connect", connect)
        for answer in (client.post(PLANS, json={"name": "x", "spec": SMALL}), client.get(PLANS)):
            assert problem_of(answer, 503).type.endswith("database-away")
            assert answer.headers["retry-after"] == "5"


def test_a_job_that_cannot_be_queued_says_to_come_back(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object, **__: object) -> None:
        raise ConnectorException("OperationalError") from psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr("cubeyard.plans.service.PlanService.create", lost)
    problem_of(client.post(PLANS, json={"name": "x", "spec": SMALL}), 503)


@pytest.mark.parametrize("value", [True, "10"])
def test_true_and_a_text_are_no_numbers(client: TestClient, value: object) -> None:
    spec = problem_of(client.post(f"{PLANS}/preview", json={"spec": {**SMALL, "n": value}}), 422)
    places = [error.field for error in spec.errors] + [finding.where for finding in spec.findings]
    assert [place for place in places if place.endswith("n")] == places[:1]
    request = {"plan": SMALL, "workload": {"kind": "all-to-all"}, "link_gbps": value}
    (error,) = problem_of(client.post("/api/v1/experiments", json=request), 422).errors
    assert (error.field, error.value, error.limit) == ("body.link_gbps", value, "a number")
