"""Answers that are bytes already: the engine's documents pass through unparsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import Header
from starlette.responses import Response, StreamingResponse

from cubeyard.kit.errors import ProblemError

IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=400, description="ETags of the client's copies.")
]
ETAG_HEADER = {
    "headers": {"ETag": {"description": "Names this state; send it back as If-Match.", "schema": {"type": "string"}}}
}
NOT_MODIFIED = {"description": "The client's copy is up to date."}
KNOWN_BYTES = 1 << 20
"""This much of a file is made before its first byte is sent; a shorter file gets its size.
[ours]"""
_RANGE = re.compile(r"bytes=(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})")


def json_bytes(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status_code=status, media_type="application/json", headers=dict(headers or {}))


def json_object(parts: Mapping[str, bytes]) -> bytes:
    """An object whose values are JSON already."""
    return b"{" + b",".join(orjson.dumps(key) + b":" + value for key, value in parts.items()) + b"}"


def json_value(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return json_bytes(orjson.dumps(value, option=orjson.OPT_UTC_Z), status=status, headers=headers)


def disposition(filename: str) -> str:
    """The header that names a file to save: in ASCII for old clients, and as it is (RFC 6266)."""
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_. ") else "_" for letter in filename
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


def matches(if_none_match: str | None, tag: str) -> bool:
    """Whether the client already has this representation (RFC 9110 §13.1.2, weak comparison)."""
    if if_none_match is None:
        return False
    sent = {word.strip().removeprefix("W/") for word in if_none_match.split(",")}
    return "*" in sent or (tag != "" and tag.removeprefix("W/") in sent)


def check_match(if_match: str | None, tag: str, what: str) -> None:
    """Raises a 412 for a change that is based on another state (RFC 9110 §13.1.1)."""
    if if_match is None or if_match.strip() == "*":
        return
    # A tag that compression made weak names the same state.
    if tag not in {word.strip().removeprefix("W/") for word in if_match.split(",")}:
        detail = f"The {what} is at {tag}, not at {if_match.strip()[:80]}. Read it again and repeat the change."
        raise ProblemError(412, "changed-meanwhile", detail)


def byte_range(header: str | None, size_bytes: int) -> range | None:
    """The bytes that a `Range` header selects; `None` for the whole file.

    Supports one range in bytes (RFC 9110 §14.2); other headers are ignored. Raises ValueError for a
    range that begins after the end.
    """
    result = _RANGE.fullmatch(header.strip()) if header else None
    if result is None or not (result["first"] or result["last"]):
        return None
    if not result["first"]:
        wanted = range(max(0, size_bytes - int(result["last"])), size_bytes)
    else:
        first = int(result["first"])
        last = int(result["last"]) if result["last"] else max(first, size_bytes - 1)
        if last < first:
            return None
        wanted = range(first, min(last + 1, size_bytes))
    if not wanted:
        raise ValueError(f"The range {header} lies outside the file's {size_bytes} bytes.")
    return wanted


def ranged(header: str | None, size_bytes: int) -> tuple[range, dict[str, str], int]:
    """The bytes to send, their headers and the status, for the whole file or a `Range` of it.

    Raises a 416 for a range that begins behind the end.
    """
    try:
        part = byte_range(header, size_bytes)
    except ValueError as error:
        headers = {"content-range": f"bytes */{size_bytes}"}
        raise ProblemError(416, "range-not-satisfiable", str(error), headers=headers) from error
    wanted = range(size_bytes) if part is None else part
    headers = {"accept-ranges": "bytes", "content-length": str(len(wanted))}
    if part is None:
        return wanted, headers, 200
    return wanted, headers | {"content-range": f"bytes {part.start}-{part.stop - 1}/{size_bytes}"}, 206


def partial(
    chunks: Iterator[bytes], media_type: str, filename: str, asked: str, headers: Mapping[str, str]
) -> StreamingResponse:
    """A range of a generated file. The whole file is made first, because its size is needed, and
    kept on disk past `KNOWN_BYTES`."""
    file = SpooledTemporaryFile(max_size=KNOWN_BYTES)  # noqa: SIM115 - closed when it is sent
    try:
        for chunk in chunks:
            file.write(chunk)
        wanted, of_range, status = ranged(asked, file.tell())
    except BaseException:
        file.close()
        raise

    def pieces() -> Iterator[bytes]:
        with file:
            file.seek(wanted.start)
            left = len(wanted)
            while left and (piece := file.read(min(left, KNOWN_BYTES))):
                left -= len(piece)
                yield piece

    return download(pieces(), media_type, filename, headers={**headers, **of_range}, status=status)


def download(
    chunks: Iterator[bytes],
    media_type: str,
    filename: str,
    *,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
) -> StreamingResponse:
    """A file to save, with its size if it ends within `KNOWN_BYTES`. That part is made before the
    status is sent, so that an early failure still returns 4xx or 5xx."""
    begun: list[bytes] = []
    size_bytes = 0
    ended = False
    while size_bytes < KNOWN_BYTES and not ended:
        chunk = next(chunks, None)
        ended = chunk is None
        begun.append(chunk or b"")
        size_bytes += len(begun[-1])

    def every() -> Iterator[bytes]:
        yield from begun
        yield from chunks

    own = {"content-disposition": disposition(filename), "cache-control": "no-store"}
    own |= ({"content-length": str(size_bytes)} if ended else {}) | dict(headers or {})
    return StreamingResponse(every(), status_code=status, media_type=media_type, headers=own)


class NotJson(Response):
    """For the API's description only: a body that is not JSON."""

    media_type = None
