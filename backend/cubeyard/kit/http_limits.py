"""HTTP connections with limits: of a head's bytes, of the time for a head and for a body, and of
their number. [ours]

uvicorn's parser keeps a header line until it is whole, and copies what it has at each piece that
comes: 60 MiB in one line stop every request for seconds. None of uvicorn's settings limits that,
nor how long a client may take to send a request.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from cubeyard.kit.asgi import MOST_DISCARDED_BYTES, SECURITY_HEADERS
from cubeyard.kit.problems import problem_response

log = structlog.get_logger("cubeyard.http")

MAX_HEAD_BYTES = 64 * 1024
"""Of a request line with its headers, and of the trailers behind a body."""
MIN_BODY_BYTES_PER_SEC = 240
"""Of a body that the server waits for, over `body_secs`: what Kestrel (ASP.NET Core) asks by
default."""
LINGER_SECS = 2.0
"""How long a refused client may go on sending: one that sends while its connection closes never
sees the answer."""
LOOKS_A_LIMIT = 4
"""A connection looks at its clock so many times in the shorter of its time limits: no request pays
for a timer of its own."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    head_secs: float
    """From a connection's start, or a later request's first byte, to the end of the request's
    headers."""
    body_secs: float
    """A body that the server waits for brings `MIN_BODY_BYTES_PER_SEC` over each time of this
    length, or its end."""
    connections: int
    """At a time. A further one takes the place of the one that has been without a whole request for
    longest."""


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's HTTP protocol with these limits. A WebSocket begins with an HTTP request, whose
    head is limited too; after that, another protocol handles it."""

    def __init__(self, limits: HttpLimits, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self.url = b""
        self._held = 0
        """Bytes since the parser last gave something: the end of a head, a part of a body, the end
        of a message."""
        self.head_since: float | None = None
        self.in_body = False
        self._body_bytes = 0
        self._window: tuple[float, int] | None = None
        """When the present look at a body's progress began, and `_body_bytes` then."""
        self._refused = self._upgraded = False
        self._discarded = 0
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.head_since = self.loop.time()
        if len(self.connections) > self._limits.connections and not self._make_room():
            self._refuse(
                503,
                "busy",
                f"The server has {self._limits.connections} connections, the limit here (CUBEYARD_MAX_CONNECTIONS). "
                "Try again in a few seconds.",
                {"retry-after": "5"},
            )
            return
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_clock()

    def data_received(self, data: bytes) -> None:
        """In pieces of at most a head's size, so that one too long is seen before the parser has
        copied much of it."""
        if len(data) <= MAX_HEAD_BYTES:
            self._feed(data)
            return
        for at in range(0, len(data), MAX_HEAD_BYTES):
            if self._upgraded:
                return
            self._feed(data[at : at + MAX_HEAD_BYTES])

    def _feed(self, data: bytes) -> None:
        if self._refused:
            self._discarded += len(data)
            if self._discarded > MOST_DISCARDED_BYTES:
                self.transport.close()
            return
        self._held += len(data)
        super().data_received(data)
        if self._held and not self._refused:
            if self.head_since is None and not self.in_body:
                self.head_since = self.loop.time()
            if self._held > MAX_HEAD_BYTES:
                self._refuse_head()

    def handle_websocket_upgrade(self) -> None:
        self._upgraded = True
        self._stop_clock()
        super().handle_websocket_upgrade()

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._held = self._held or 1
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        # Held are also bytes of what came before this head; the exact size is worth counting only
        # if they are many.
        if self._held > MAX_HEAD_BYTES and self._head_bytes() > MAX_HEAD_BYTES:
            raise ValueError("the head is too long")  # ends the parser's work, which says so by `send_400_response`
        self._held = 0
        self.head_since = None
        self.in_body = True
        self._window = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._held = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._held = 0
        self.in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says it as a problem
        if self._held > MAX_HEAD_BYTES:
            self._refuse_head()
        else:
            self._refuse(400, "malformed", "This is not HTTP/1.1: the request cannot be parsed.")

    # Limits.

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse_head(self) -> None:
        most = f"at most {MAX_HEAD_BYTES:,} bytes are taken"
        if self.in_body:
            self._refuse(431, "too-large", f"The trailers or chunk extensions of the body are too long: {most}.")
        elif len(self.url) > MAX_HEAD_BYTES // 2:
            self._refuse(414, "too-large", f"The request line is too long: with the headers {most}.")
        else:
            self._refuse(431, "too-large", f"The request's headers are too long: with the request line {most}.")

    def _look_later(self) -> None:
        shorter = min(self._limits.head_secs, self._limits.body_secs)
        self._clock = self.loop.call_later(shorter / LOOKS_A_LIMIT, self._look)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _look(self) -> None:
        now, limits = self.loop.time(), self._limits
        if self.in_body:
            if self._stalls(now):
                self._refuse(
                    408,
                    "timeout",
                    f"The body came too slowly: at least {MIN_BODY_BYTES_PER_SEC} bytes a second are expected over "
                    f"{limits.body_secs:g} s (CUBEYARD_BODY_SECS).",
                )
        elif self.head_since is not None and now - self.head_since > limits.head_secs:
            if self._held:
                wanted = f"They must be complete {limits.head_secs:g} s after the first byte (CUBEYARD_HEAD_SECS)."
                self._refuse(408, "timeout", f"The request's headers came too slowly. {wanted}")
            else:
                self.transport.close()
        if not self._refused:
            self._look_later()

    def _stalls(self, now: float) -> bool:
        """Whether the client is why a body makes no progress: not while the application takes its
        time to read it."""
        waited_for = not self.flow.read_paused and not self.cycle.waiting_for_100_continue
        if self._window is None or not waited_for:
            self._window = now, self._body_bytes
            return False
        since, before = self._window
        if now - since < self._limits.body_secs:
            return False
        self._window = now, self._body_bytes
        return self._body_bytes - before < MIN_BODY_BYTES_PER_SEC * (now - since)

    def _make_room(self) -> bool:
        """Closes the connection that has been without a whole request for longest, before any that
        waits between two requests."""
        idle = [
            connection
            for connection in self.connections
            if isinstance(connection, LimitedHttp)
            and connection is not self
            and not connection.in_body
            and (connection.cycle is None or connection.cycle.response_complete)
            and not connection.transport.is_closing()
        ]
        oldest = min(
            idle,
            key=lambda connection: float("inf") if connection.head_since is None else connection.head_since,
            default=None,
        )
        if oldest is None:
            return False
        oldest.transport.close()
        return True

    def _refuse(self, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        """The last that is said on this connection. What comes after it is read for a moment and
        kept nowhere."""
        self._refused = True
        self._stop_clock()
        log.info("connection_refused", status=status, reason=detail, client=self.client and self.client[0])
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not self.in_body:
                # Requests before this one are answered first; then the connection closes.
                cycle.keep_alive = False
                return
            begun = cycle.response_started or bool(self.pipeline)
            cycle.disconnected = True
            cycle.message_event.set()
            if begun:
                self.transport.close()
                return
        elif self.in_body:  # answered before its body was here
            self.transport.close()
            return
        self.transport.write(b"".join(self._answer(status, code, detail, headers or {})))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._clock = self.loop.call_later(LINGER_SECS, self.transport.close)

    def _answer(self, status: int, code: str, detail: str, headers: dict[str, str]) -> list[bytes]:
        request_id = secrets.token_hex(8)
        problem = problem_response({"state": {"request_id": request_id}}, status, code, detail, headers=headers)
        message = [
            *self.server_state.default_headers,
            *problem.raw_headers,
            *((name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        lines = [STATUS_LINE[status], *(b"%b: %b\r\n" % default_header for default_header in message)]
        return [*lines, b"\r\n", bytes(problem.body)]
