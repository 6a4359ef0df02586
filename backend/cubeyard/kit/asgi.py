"""The layers around the application: request ids, logs, metrics, body limits and headers. Plain
ASGI, so bodies stream."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import structlog
from fastapi import HTTPException
from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cubeyard.kit.db import AWAY, is_away
from cubeyard.kit.metrics import Metrics
from cubeyard.kit.problems import problem_response
from cubeyard.kit.responses import matches
from cubeyard.kit.schema import OtherSchemaError, refuse_other

log = structlog.get_logger("cubeyard.http")

_REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}$")
RETRY_SECS = 5
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
XLSX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
CSV_MEDIA_TYPE = "text/csv"
JSON_MEDIA_TYPE = "application/json"
ANY_MEDIA_TYPE = "application/octet-stream"
"""A file whose content shows its format. Generated clients send files in no other type."""

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class RequestContext:
    """Outermost: gives every request an id, logs and counts it, and turns an uncaught error into a
    problem: 503 while the database is away, else 500."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                scope.setdefault("state", {})["request_id"] = secrets.token_hex(8)
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _REQUEST_ID.match(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https":
                    headers["strict-transport-security"] = "max-age=31536000"
            await send(message)

        self.metrics.in_flight.inc()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            await self.app(scope, receive, send_with_id)
        except Exception as error:
            if status == 0 and (problem := await _of_database(scope, error)) is not None:
                await problem(scope, receive, send_with_id)
                return
            log.exception("request_failed", method=scope["method"], path=scope["path"])
            if status == 0:
                detail = "Something went wrong here. The log has the details under this request id."
                await problem_response(scope, 500, "internal", detail)(scope, receive, send_with_id)
            else:
                raise
        finally:
            elapsed_secs = time.perf_counter() - started
            route = _route(scope)
            self.metrics.in_flight.dec()
            self.metrics.requests.labels(scope["method"], route, str(status)).inc()
            self.metrics.request_secs.labels(scope["method"], route).observe(elapsed_secs)
            log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                milliseconds=round(elapsed_secs * 1000, 1),
            )
            structlog.contextvars.unbind_contextvars("request_id")


async def _of_database(scope: Scope, error: Exception) -> Response | None:
    """The answer if the database is away, or was migrated under this server."""
    if is_away(error):
        log.warning("database_away", error=str(error)[:300])
        detail = "The database does not answer. Nothing was changed; try again in a few seconds."
        return problem_response(scope, 503, "database-away", detail, headers={"retry-after": str(RETRY_SECS)})
    if isinstance(error, DBAPIError):
        with suppress(*AWAY):
            try:
                await run_in_threadpool(refuse_other, scope["app"].state.database.engine)
            except OtherSchemaError as other:
                log.warning("other_schema", error=other.detail)
                return problem_response(scope, other.status, other.code, other.detail)
    return None


def _route(scope: Scope) -> str:
    """The route's pattern, never the path: paths would make a metric per plan."""
    return str(getattr(scope.get("route"), "path", "")) or "(none)"


def _takes(scope: Scope) -> bool:
    """Whether an endpoint takes a request's own method."""
    return any(route.matches(scope)[0] is Match.FULL for route in scope["app"].router.routes)


class HeadAsGet:
    """HEAD wherever GET is: the same answer without its body. A stream ends with its head.
    Endpoints of their own for HEAD, which do not make what they describe, come first."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or _takes(scope):
            await self.app(scope, receive, send)
            return
        begun = False

        async def told() -> Message:
            return {"type": "http.disconnect"} if begun else await receive()

        async def head_only(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        request = {**scope, "method": "GET"}
        try:
            await self.app(request, told, head_only)
        finally:
            if "route" in request:  # for the metrics
                scope["route"] = request["route"]


class Preconditions:
    """412 for a PATCH, PUT or DELETE with a condition that its resource, as GET returns it, does
    not meet (RFC 9110 §13). Tags of `If-Match` are compared by the endpoints, within their
    transactions."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in ("PATCH", "PUT", "DELETE"):
            headers = Headers(scope=scope)
            known, based_on = (", ".join(headers.getlist(name)) for name in ("if-none-match", "if-match"))
            status, tag = await self._state(scope) if known or based_on else (0, "")
            detail = ""
            if 200 <= status < 300 and matches(known or None, tag):
                detail = f"If-None-Match is {known[:80]}, and the resource exists{f' at {tag}' if tag else ''}."
            elif 200 <= status < 300 and based_on.strip() not in ("", "*") and not tag:
                detail = "The resource has no ETag that If-Match may name. Leave the header out."
            if detail:
                await problem_response(scope, 412, "condition-failed", detail)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _state(self, scope: Scope) -> tuple[int, str]:
        """Status and ETag of the resource's GET."""
        start: Message = {"status": 0}

        async def empty() -> Message:
            return {"type": "http.request"} if start["status"] == 0 else {"type": "http.disconnect"}

        async def keep(message: Message) -> None:
            nonlocal start
            start = message if message["type"] == "http.response.start" else start

        skipped = (b"if-", b"range", b"content-", b"transfer-encoding")
        kept = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(skipped)]
        await self.app({**scope, "method": "GET", "headers": kept}, empty, keep)
        return start["status"], Headers(raw=start.get("headers", [])).get("etag", "")


MOST_DISCARDED_BYTES = 16 * 1024 * 1024
"""A body that is too long is read to its end up to here; the connection of a longer one is closed
at once."""


class BodyLimits:
    """Refuses bodies that are too long (413), before keeping any of them where they say so, and
    bodies that are not JSON (415).

    Paths that match one of `tables` take files of these media types instead, of at most
    `max_table_bytes`. A browser sends none of these types to another site without asking it first,
    as it does JSON.
    """

    def __init__(
        self, app: ASGIApp, max_bytes: int, tables: Mapping[re.Pattern[str], Sequence[str]], max_table_bytes: int
    ) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.tables = tables
        self.max_table_bytes = max_table_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        files = next((types for path, types in self.tables.items() if path.fullmatch(scope["path"])), None)
        most = self.max_bytes if files is None else self.max_table_bytes
        length = headers.get("content-length")
        if length is not None and length.isdigit() and int(length) > most:
            if int(length) <= MOST_DISCARDED_BYTES:
                await _discard(receive)
            await self._too_long(scope, most)(scope, receive, send)
            return
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            detail = f"The body is encoded as {encoding[:40]!r}; send it as it is, without Content-Encoding."
            refused = problem_response(
                scope, 415, "unsupported-encoding", detail, headers={"accept-encoding": "identity"}
            )
            await refused(scope, receive, send)
            return
        has_body = (length not in (None, "0")) or "transfer-encoding" in headers
        if has_body and scope["method"] in _BODY_METHODS:
            media_type = headers.get("content-type", "").split(";", 1)[0].strip().lower()
            if not _is_json(media_type) if files is None else media_type not in files:
                wanted = JSON_MEDIA_TYPE if files is None else " or ".join(files)
                detail = f"The body {f'is {media_type}' if media_type else 'has no content type'}; send {wanted}."
                accepted = {"accept": JSON_MEDIA_TYPE if files is None else ", ".join(files)}
                refused = problem_response(scope, 415, "unsupported-media-type", detail, headers=accepted)
                await refused(scope, receive, send)
                return

        seen = 0

        async def limited_receive() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > most:
                    # FastAPI lets its own exception through its body parser, and no other.
                    raise HTTPException(413, self._detail(most))
            return message

        await self.app(scope, limited_receive, send)

    def _detail(self, most: int) -> str:
        setting = "MAX_TABLE_BYTES" if most == self.max_table_bytes else "MAX_BODY_BYTES"
        return f"The body is longer than {most} bytes, the limit here (CUBEYARD_{setting})."

    def _too_long(self, scope: Scope, most: int) -> Response:
        return problem_response(scope, 413, "too-large", self._detail(most), headers={"connection": "close"})


async def _discard(receive: Receive) -> None:
    """Reads a body and keeps nothing. A client that still sends when the connection closes never
    sees the answer."""
    while True:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))
