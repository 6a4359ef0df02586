"""Checks a request's host name, origin and token. Plain ASGI, before any endpoint.

A web page elsewhere must not be able to drive a local Cubeyard. It can make a browser send
requests, so unsafe methods from a foreign origin are refused; and it can resolve its own name to
127.0.0.1 (DNS rebinding), so host names that are not ours are refused too. Addresses in the Host
header are safe: only this machine can serve a page from them. [ours]
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cubeyard.kit.auth.reads import SAFE_METHODS, only_reads
from cubeyard.kit.auth.revocation import Checks
from cubeyard.kit.auth.service import AuthService, Identity
from cubeyard.kit.problems import problem_response
from cubeyard.settings import Settings, is_loopback

if TYPE_CHECKING:
    from fastapi import FastAPI

COOKIE = "cubeyard_session"
SUBPROTOCOL = "cubeyard"
"""A WebSocket's subprotocol. Browsers cannot set headers on a WebSocket, so the token may come as a
second subprotocol, `bearer.TOKEN`."""
OPEN_PATHS = frozenset({"/login", "/healthz", "/livez", "/icon.svg"})
"""Reachable without a token: the login page shows the icon, too."""


PREFLIGHT = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
    "If-Range, Last-Event-ID, Prefer, Range, X-Request-Id",
    "access-control-max-age": "600",
}
EXPOSED = "Content-Disposition, Content-Range, ETag, Location, Retry-After, X-Request-Id"
"""Headers of answers that a page elsewhere may read."""


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, application: FastAPI) -> None:
        self.app = app
        self.settings = settings
        self.application = application
        self._hosts = {"localhost", *(host.lower() for host in settings.allowed_hosts)}
        self._checks = Checks()
        self._origins = {origin.lower().rstrip("/") for origin in settings.allowed_origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        # A refused WebSocket gets an HTTP response instead.
        refusal = self._refuse_peer(scope) or self._refuse_host(scope, headers) or self._refuse_origin(scope, headers)
        if scope["type"] == "http" and self._origins:
            send = self._readable(headers.get("origin", ""), send)
            if refusal is None and self._is_preflight(scope, headers):
                refusal = Response(status_code=204, headers=PREFLIGHT)
        if refusal is None:
            refusal = await self._refuse_stranger(scope, headers)
        await (refusal or self.app)(scope, receive, send)

    def _is_preflight(self, scope: Scope, headers: Headers) -> bool:
        """A browser's question before a page of an allowed origin sends a request (it has no token
        yet)."""
        asks = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        return asks and headers.get("origin", "").lower() in self._origins

    def _readable(self, origin: str, send: Send) -> Send:
        """Answers that a page of an allowed origin may read. Cookies are not sent from there: its
        requests need a token where the server does."""
        allowed = origin.lower() in self._origins

        async def send_readable(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Origin")
                if allowed:
                    headers["access-control-allow-origin"] = origin
                    headers["access-control-expose-headers"] = EXPOSED
                    headers["cross-origin-resource-policy"] = "cross-origin"
            await send(message)

        return send_readable

    def _refuse_peer(self, scope: Scope) -> Response | None:
        """Without tokens only this machine may connect, independent of the bind address."""
        client = scope.get("client")
        if self.settings.exposed or client is None or is_loopback(client[0]) or client[0] == "testclient":
            return None
        detail = "This server was started for its own machine only. Start it with `cubeyard run --host` and a token."
        return problem_response(scope, 403, "not-local", detail)

    def _refuse_host(self, scope: Scope, headers: Headers) -> Response | None:
        host = host_name(headers.get("host", ""))
        if host is not None and (
            host in self._hosts or self._is_good_address(host) or host == self.settings.host.lower()
        ):
            return None
        detail = f"This server is not called {headers.get('host', '')[:100]!r}. Add the name to CUBEYARD_ALLOWED_HOSTS if it should be."
        return problem_response(scope, 421, "wrong-host", detail)

    def _is_good_address(self, host: str) -> bool:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return self.settings.exposed or is_loopback(host)

    def _refuse_origin(self, scope: Scope, headers: Headers) -> Response | None:
        # A page elsewhere may open a WebSocket without a question, and read what it brings.
        if scope["type"] == "http" and scope["method"] in SAFE_METHODS:
            return None
        origin = headers.get("origin")
        if origin is None:
            # No browser, or one that sends `Sec-Fetch-Site` instead.
            if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
                return None
            shown = headers["sec-fetch-site"]
        else:
            if origin.lower() in self._origins or _same_origin(origin, headers.get("host", "")):
                return None
            shown = origin[:100]
        detail = f"A page at {shown!r} may not change anything here. Add its origin to CUBEYARD_ALLOWED_ORIGINS if it should."
        return problem_response(scope, 403, "foreign-origin", detail)

    async def _refuse_stranger(self, scope: Scope, headers: Headers) -> Response | None:
        authorization = headers.get("authorization", "")
        scheme, _, bearer = authorization.partition(" ")
        cookies = cookie_parser(headers.get("cookie", ""))
        if scope["type"] == "websocket" and not bearer:
            offered = (word.strip() for word in headers.get("sec-websocket-protocol", "").split(","))
            bearer = next((item.removeprefix("bearer.") for item in offered if item.startswith("bearer.")), "")
            scheme = "bearer"
        is_bearer = scheme.lower() == "bearer" and bool(bearer.strip())
        if is_bearer or (self.settings.exposed and COOKIE in cookies and scope["path"] not in OPEN_PATHS):
            credential = (bearer.strip() if is_bearer else None, cookies.get(COOKIE))
            identity = await run_in_threadpool(self._identify, *credential)
            if identity is not None:
                scope.setdefault("state", {})["identity"] = identity
                self._checks.attach(scope, credential, lambda: self._is_allowed(*credential))
                if identity.read_only and not only_reads(scope["type"], scope.get("method", ""), scope["path"]):
                    detail = "This token may only read. Use a token with all rights: `cubeyard token create NAME`."
                    return problem_response(scope, 403, "read-only-token", detail)
                return None
            if is_bearer:
                await self.application.state.slowing.after_failure((scope.get("client") or ("",))[0])
                return self._unauthorised(scope, "The token is not known here, has expired, or was revoked.")
        if not self.settings.exposed or scope["path"] in OPEN_PATHS:
            return None
        if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} and "text/html" in headers.get("accept", ""):
            wanted = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            return RedirectResponse(f"/login?next={quote(wanted, safe='')}", status_code=303)
        return self._unauthorised(scope, "This server needs a token: `Authorization: Bearer …`, or log in at /login.")

    def _unauthorised(self, scope: Scope, detail: str) -> Response:
        return problem_response(
            scope, 401, "token-needed", detail, headers={"www-authenticate": 'Bearer realm="cubeyard"'}
        )

    async def _is_allowed(self, bearer: str | None, cookie: str | None) -> bool:
        try:
            return await run_in_threadpool(self._identify, bearer, cookie) is not None
        except SQLAlchemyError:
            return True  # The database does not answer: nobody revokes anything there.

    def _identify(self, bearer: str | None, cookie: str | None) -> Identity | None:
        state: Any = self.application.state
        with state.database.session() as session:
            service = AuthService(session, configured_token(self.settings))
            if bearer is not None:
                return service.check_token(bearer)
            return service.check_session(cookie) if cookie else None


def configured_token(settings: Settings) -> str | None:
    return settings.token.get_secret_value() or None if settings.token is not None else None


def host_name(host_header: str) -> str | None:
    """The name in a Host header, without its port, or None if it is not one."""
    try:
        parts = urlsplit(f"//{host_header}")
        _ = parts.port  # raises for a port that is none
    except ValueError:
        return None
    if parts.netloc != host_header or parts.username is not None or not parts.hostname:
        return None
    return parts.hostname.lower().rstrip(".")


def _same_origin(origin: str, host_header: str) -> bool:
    """Whether origin and host match. The scheme is not compared: a proxy may have ended TLS."""
    try:
        parts = urlsplit(origin.lower())
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(host_header) and parts.netloc == host_header.lower()
