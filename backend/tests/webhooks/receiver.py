"""A program that receives webhooks: a real HTTP server on loopback, and the check of signatures as
Standard Webhooks describes it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import orjson

MAX_AGE_SECS = 300


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str] | Message
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        return orjson.loads(self.body)

    def verify(self, secret: str) -> None:
        age = time.time() - int(self.headers["webhook-timestamp"])
        assert abs(age) < MAX_AGE_SECS
        signed = b".".join([self.headers["webhook-id"].encode(), self.headers["webhook-timestamp"].encode(), self.body])
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        assert self.headers["webhook-signature"] == f"v1,{expected}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A worker that is killed breaks its connection."""
        _ = request, client_address


@dataclass
class Receiver:
    statuses: list[int] = field(default_factory=list)
    """The next answers; 200 after them."""
    received: list[Received] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Requests are answered while it is set."""

    def __enter__(self) -> Self:
        outer = self
        self.released.set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.received.append(Received(self.path, self.headers, body))
                outer.released.wait()
                status = outer.statuses.pop(0) if outer.statuses else 200
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{outer.url}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, format: str, *args: Any) -> None:
                _ = format, args

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def wait_for(self, number: int, seconds: float = 300) -> list[Received]:
        deadline = time.monotonic() + seconds
        while len(self.received) < number:
            assert time.monotonic() < deadline, self.received
            time.sleep(0.02)
        return self.received
