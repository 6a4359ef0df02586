"""Bytes as text: byte order marks, UTF-16 without one, UTF-8, and what Windows saves."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import suppress

from cubeyard.reading.problems import refused

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_AT_BYTES = 512


def encoding_of(data: bytes) -> str:
    """By its byte order mark; without a mark by the zero bytes that UTF-16 has beside every ASCII
    character; else UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:_LOOKED_AT_BYTES]
    even, odd = head[::2], head[1::2]
    if len(head) >= 4 and even.count(0) + odd.count(0) > len(head) // 4:
        if odd.count(0) > 0.7 * len(odd) and even.count(0) == 0:
            return "utf-16-le"
        if even.count(0) > 0.7 * len(even) and odd.count(0) == 0:
            return "utf-16-be"
    return "utf-8"


def lenient(data: bytes) -> str:
    """Text of a table: what is not UTF-8 is taken for Windows-1252, as Excel saves it."""
    try:
        return data.decode(encoding_of(data))
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def of_windows(data: bytes) -> Iterator[str]:
    """What bytes that are not Unicode may mean: spreadsheet programs save CSV in the encoding of
    their country."""
    if not is_utf8(data):
        for encoding in ("cp932", "gbk", "big5", "cp949", "cp1251"):
            with suppress(UnicodeDecodeError):
                yield data.decode(encoding)


def strict(data: bytes) -> str:
    """Text of a format that has to be UTF-8, or UTF-16. Raises `BadFileError` that names the byte
    and its line."""
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"Byte {error.start + 1:,} is no {encoding.upper().removesuffix('-SIG')} text."
        raise refused(f"line {line}", message, "Save the file as UTF-8.", line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise refused(f"line {line}", "A zero character is no text.", "Remove it.", line=line)
    return text.removeprefix("\ufeff")


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8, or have a mark of another Unicode encoding."""
    try:
        data.decode(encoding_of(data))
    except UnicodeDecodeError:
        return False
    return True


def as_utf8(data: bytes) -> bytes:
    """UTF-16 and UTF-32 as UTF-8; other bytes as they are."""
    return data if encoding_of(data).startswith("utf-8") else strict(data).encode()
