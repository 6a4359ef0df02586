"""Answers that are bytes already: the engine's documents pass through unparsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import orjson
from starlette.responses import Response, StreamingResponse

_RANGE = re.compile(r"bytes=(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})")


def json_bytes(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status_code=status, media_type="application/json", headers=dict(headers or {}))


def json_object(parts: Mapping[str, bytes]) -> bytes:
    """An object whose values are JSON already."""
    return b"{" + b",".join(orjson.dumps(key) + b":" + value for key, value in parts.items()) + b"}"


def json_value(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return json_bytes(orjson.dumps(value), status=status, headers=headers)


def disposition(filename: str) -> str:
    """The header that names a file to save: in ASCII for old clients, and as it is (RFC 6266)."""
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_. ") else "_" for letter in filename
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


def matches(if_none_match: str | None, tag: str) -> bool:
    """Whether a client that sent `If-None-Match` has this representation already (RFC 9110 §13.1.2, weak comparison)."""
    if if_none_match is None:
        return False
    sent = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in sent or tag.removeprefix("W/") in sent


def byte_range(header: str | None, size_bytes: int) -> range | None:
    """The bytes that a `Range` header asks for; `None` for the whole file: no header, or one not understood.

    One range in bytes is understood (RFC 9110 §14.2). Raises ValueError for one that begins behind the end.
    """
    found = _RANGE.fullmatch(header.strip()) if header else None
    if found is None or not (found["first"] or found["last"]):
        return None
    if not found["first"]:
        wanted = range(max(0, size_bytes - int(found["last"])), size_bytes)
    else:
        first = int(found["first"])
        last = int(found["last"]) if found["last"] else max(first, size_bytes - 1)
        if last < first:
            return None
        wanted = range(first, min(last + 1, size_bytes))
    if not wanted:
        raise ValueError(f"The range {header} lies outside the file's {size_bytes} bytes.")
    return wanted


def download(
    chunks: Iterator[bytes],
    media_type: str,
    filename: str,
    *,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
) -> StreamingResponse:
    """A file to save. The first chunk is made before the status is sent, so that a failure can still say 4xx or 5xx."""
    first = next(chunks, b"")

    def every() -> Iterator[bytes]:
        yield first
        yield from chunks

    own = {"content-disposition": disposition(filename), "cache-control": "no-store"} | dict(headers or {})
    return StreamingResponse(every(), status_code=status, media_type=media_type, headers=own)
