"""Answers that are bytes already: the engine's documents pass through unparsed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import orjson
from starlette.responses import Response, StreamingResponse


def json_bytes(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status_code=status, media_type="application/json", headers=dict(headers or {}))


def json_object(parts: Mapping[str, bytes]) -> bytes:
    """An object whose values are JSON already."""
    return b"{" + b",".join(orjson.dumps(key) + b":" + value for key, value in parts.items()) + b"}"


def json_value(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return json_bytes(orjson.dumps(value), status=status, headers=headers)


def download(
    chunks: Iterator[bytes], media_type: str, filename: str, *, size_bytes: int | None = None
) -> StreamingResponse:
    """A file to save. The first chunk is made before the status is sent, so that a failure can still say 4xx or 5xx."""
    first = next(chunks, b"")

    def every() -> Iterator[bytes]:
        yield first
        yield from chunks

    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_. ") else "_" for letter in filename
    )
    headers = {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}",
        "cache-control": "no-store",
    }
    if size_bytes is not None:
        headers["content-length"] = str(size_bytes)
    return StreamingResponse(every(), media_type=media_type, headers=headers)
