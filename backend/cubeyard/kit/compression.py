"""Brotli or gzip for text; workbooks, PDFs and zips are already compressed."""

from __future__ import annotations

import zlib
from typing import Protocol

import brotli
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MINIMUM_BYTES = 600
THREAD_BYTES = 512 * 1024
BROTLI_QUALITY = 4
"""As fast as gzip 6 and smaller. Measured on the cable columns of 2,048 servers."""
GZIP_LEVEL = 6
_TEXTUAL = ("text/", "application/json", "application/problem+json", "application/javascript", "application/xml", "application/graphml+xml", "application/yaml", "image/svg+xml", "image/vnd.dxf", "application/wasm")  # fmt: skip


class _Encoder(Protocol):
    def feed(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)

    def feed(self, data: bytes) -> bytes:
        return self._stream.compress(data)

    def finish(self) -> bytes:
        return self._stream.flush()


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Compressor(quality=BROTLI_QUALITY)

    def feed(self, data: bytes) -> bytes:
        return self._stream.process(data)

    def finish(self) -> bytes:
        return self._stream.finish()


class Compression:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "HEAD":
            send = _Answer(_wanted(Headers(scope=scope).get("accept-encoding", "")), send)
        await self.app(scope, receive, send)


class _Answer:
    """A response in progress. The head waits for the first piece of the body, which determines
    it."""

    def __init__(self, encoding: str | None, send: Send) -> None:
        self._encoding = encoding
        self._send = send
        self._head: Message | None = None
        self._encoder: _Encoder | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            return
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._head is not None:
            head, self._head = self._head, None
            self._encoder = self._choose(head, body, more)
            if self._encoder is not None and not more:
                body, self._encoder = await _encode(self._encoder, body, more), None
                MutableHeaders(scope=head)["content-length"] = str(len(body))
            elif self._encoder is not None:
                body = await _encode(self._encoder, body, more)
            await self._send(head)
        elif self._encoder is not None:
            body = await _encode(self._encoder, body, more)
        if body or not more:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _choose(self, head: Message, body: bytes, more: bool) -> _Encoder | None:
        headers = MutableHeaders(scope=head)
        # A 304 has no media type, and the same Vary as the full response [rfc9110 §15.4.5].
        if head["status"] != 304 and not _compressible(headers):
            return None
        headers.add_vary_header("accept-encoding")
        if self._encoding is None or head["status"] in {204, 206, 304} or (not more and len(body) < MINIMUM_BYTES):
            return None
        headers["content-encoding"] = self._encoding
        del headers["content-length"]
        if (tag := headers.get("etag")) and not tag.startswith("W/"):
            headers["etag"] = f"W/{tag}"
        return _Brotli() if self._encoding == "br" else _Gzip()


async def _encode(encoder: _Encoder, body: bytes, more: bool) -> bytes:
    """Much text goes to a thread: the event loop has others to serve."""

    def work() -> bytes:
        return encoder.feed(body) if more else encoder.feed(body) + encoder.finish()

    return await run_in_threadpool(work) if len(body) > THREAD_BYTES else work()


def _wanted(accept: str) -> str | None:
    """The best of ours that the client takes."""
    offered: set[str] = set()
    for part in accept.lower().split(","):
        name, _, weight = part.strip().partition(";")
        if weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}:
            offered.add(name.strip())
    if "br" in offered:
        return "br"
    return "gzip" if "gzip" in offered or "*" in offered else None


def _compressible(headers: MutableHeaders) -> bool:
    media_type = headers.get("content-type", "")
    if media_type.startswith("text/event-stream"):
        return False  # an event that waits in a compressor is late
    return "content-encoding" not in headers and media_type.startswith(_TEXTUAL)
