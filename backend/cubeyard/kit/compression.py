"""Brotli or gzip for what gets smaller by it: text, not workbooks, PDFs or zips, which are compressed already."""

from __future__ import annotations

import zlib
from typing import Protocol

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MINIMUM_BYTES = 600
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
        if scope["type"] != "http" or scope["method"] == "HEAD":
            await self.app(scope, receive, send)
            return
        encoding = _wanted(Headers(scope=scope).get("accept-encoding", ""))
        start: Message | None = None
        encoder: _Encoder | None = None

        async def compressing_send(message: Message) -> None:
            nonlocal start, encoder
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] != "http.response.body":
                await send(message)
                return
            body, more = message.get("body", b""), message.get("more_body", False)
            if start is not None:
                headers = MutableHeaders(scope=start)
                if _compressible(headers):
                    headers.add_vary_header("accept-encoding")
                    if encoding is not None and start["status"] not in {204, 206, 304} and (more or len(body) >= MINIMUM_BYTES):
                        encoder = _Brotli() if encoding == "br" else _Gzip()
                        headers["content-encoding"] = encoding
                        del headers["content-length"]
                        if (tag := headers.get("etag")) and not tag.startswith("W/"):
                            headers["etag"] = f"W/{tag}"
                started, start = start, None
                if encoder is not None and not more:
                    body = encoder.feed(body) + encoder.finish()
                    encoder = None
                    MutableHeaders(scope=started)["content-length"] = str(len(body))
                await send(started)
            if encoder is not None:
                body = encoder.feed(body) if more else encoder.feed(body) + encoder.finish()
                if more and not body:
                    return
            await send({"type": "http.response.body", "body": body, "more_body": more})

        await self.app(scope, receive, compressing_send)


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
    return "content-encoding" not in headers and headers.get("content-type", "").startswith(_TEXTUAL)
