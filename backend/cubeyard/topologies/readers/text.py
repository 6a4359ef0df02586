"""The text of a file that has to be UTF-8, or UTF-16 with a mark of the byte order."""

from __future__ import annotations

from cubeyard.topologies.network import refused


def decoded(data: bytes) -> str:
    """Raises `BadListError` that names the byte and its line."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"Byte {error.start + 1:,} is no {encoding.upper().removesuffix('-SIG')} text."
        raise refused(f"line {line}", message, "Save the file as UTF-8.", line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise refused(f"line {line}", "A zero character is no text.", "Remove it.", line=line)
    return text
