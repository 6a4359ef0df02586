"""Zip archives with the same bytes for the same content."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip entry can have, for reproducible archives."""
_FLUSH_BYTES = 1 << 16


class _Pipe(io.RawIOBase):
    """A write-only, unseekable file; the caller takes its bytes after each write."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # pyright: ignore[reportArgumentType]
        self.pieces.append(piece)
        self.size += len(piece)
        return len(piece)

    def take(self) -> bytes:
        out = b"".join(self.pieces)
        self.pieces.clear()
        self.size = 0
        return out


def stream(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """The archive of `files` (name, content in pieces), in their order, with only one piece and a
    buffer in memory."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, pieces in files:
            info = zipfile.ZipInfo(name, date_time=_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            with archive.open(info, "w", force_zip64=False) as entry:
                for piece in pieces:
                    entry.write(piece)
                    if pipe.size >= _FLUSH_BYTES:
                        yield pipe.take()
    yield pipe.take()
