"""The cells of a workbook (XLSX) as text, sheet by sheet, as Excel, LibreOffice and Google Sheets save them.

Only what an import needs: values, no styles, dates or formulas (a formula counts with the value saved beside it).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO
from xml.etree.ElementTree import XMLParser

from cubeyard.catalog.quotes.tables import UnreadableQuoteError

MAX_PARTS = 2_000
"""Files in the archive: one a sheet, a style, a picture."""
MAX_BYTES = 256 << 20
"""Of all unpacked files together: a workbook of a million cables has half of this."""
MAX_ELEMENTS = 4_000_000
"""Of XML in what is read of a workbook: a bill of 20,000 lines with texts of its own has 2.5 million."""
PIECE_BYTES = 64 * 1024
MAX_ROWS = 100_000
MAX_CELLS = 2_500_000
MAX_COLUMNS = 16_384
"""As no program has more."""
_SHEET = re.compile(r"xl/worksheets/sheet(\d{1,9})\.xml")
_TEXT = "xl/sharedStrings.xml"


def sheets(data: bytes) -> Iterator[Iterator[Sequence[str]]]:
    """The rows of each sheet in the order of their files. A sheet is read as far as its rows are taken.

    Raises `UnreadableQuoteError` for what is no workbook, and for one beyond the limits.
    """
    with _refused_in_words():
        yield from _sheets(data)


@contextmanager
def _refused_in_words() -> Iterator[None]:
    try:
        yield
    except (UnreadableQuoteError, MemoryError):
        raise
    except Exception as error:  # a damaged archive fails in as many ways as zipfile and its decompressors have lines
        words = str(error)[:200] or type(error).__name__
        raise UnreadableQuoteError(f"The workbook is damaged: {words}. Save it again from its program.") from None


def _sheets(data: bytes) -> Iterator[Iterator[Sequence[str]]]:
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        parts = book.infolist()
        names = sorted((int(found[1]), one.filename) for one in parts if (found := _SHEET.fullmatch(one.filename)))
        if not names:
            raise UnreadableQuoteError("The file is a zip archive, but not a workbook: it has no sheets.")
        # zipfile unpacks no more of a file than its entry says.
        if len(parts) > MAX_PARTS:
            raise _too_many(MAX_PARTS, "files in its archive")
        if sum(one.file_size for one in parts) > MAX_BYTES:
            raise _too_many(MAX_BYTES, "bytes when it is unpacked")
        size = _Size()
        shared = _shared(book, size)
        for _, name in names:
            with book.open(name) as file:
                yield _rows(file, shared, size)


@dataclass(slots=True)
class _Size:
    """How much was read of one workbook."""

    elements: int = 0
    rows: int = 0
    cells: int = 0


class _Target:
    """What the parser tells of a sheet or of the shared strings, one cell, row or string after the other. Keeps no tree."""

    def __init__(self, size: _Size, shared: list[str] | None = None) -> None:
        self._size, self._shared = size, shared or []
        self.rows: list[list[str]] = []
        self.strings: list[str] = []
        self._row: list[str] = []
        self._cell: dict[str, str] = {}
        self._value: list[str] = []
        self._words: list[str] = []
        self._into: list[str] | None = None
        self._phonetic = False

    def doctype(self, *_: object) -> None:
        raise UnreadableQuoteError(
            "The workbook has a DTD, which no spreadsheet program writes. Save it again from one."
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._size.elements += 1
        if self._size.elements > MAX_ELEMENTS:
            raise _too_many(MAX_ELEMENTS, "elements of XML")
        name = tag.rpartition("}")[2]
        if name == "v":
            self._into = self._value
        elif name == "t":
            self._into = None if self._phonetic else self._words
        elif name == "c":
            self._cell, self._value, self._words = attributes, [], []
        elif name == "rPh":  # how a text is pronounced, beside it
            self._phonetic = True
        elif name == "si":
            self._words = []

    def data(self, text: str) -> None:
        if self._into is not None:
            self._into.append(text)

    def end(self, tag: str) -> None:
        name = tag.rpartition("}")[2]
        if name in ("v", "t"):
            self._into = None
        elif name == "c":
            self._end_cell()
        elif name == "row":
            self._size.rows += 1
            if self._size.rows > MAX_ROWS:
                raise _too_many(MAX_ROWS, "rows")
            self.rows.append(self._row)
            self._row = []
        elif name == "rPh":
            self._phonetic = False
        elif name == "si":
            self.strings.append("".join(self._words))

    def _end_cell(self) -> None:
        row, place = self._row, self._cell.get("r")
        gap = max(0, (_column(place) if place else len(row)) - len(row))
        self._size.cells += gap + 1
        if self._size.cells > MAX_CELLS:
            raise _too_many(MAX_CELLS, "cells")
        row.extend([""] * gap)
        row.append(self._content())

    def _content(self) -> str:
        kind = self._cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(self._words)
        value = "".join(self._value)
        if kind == "s":
            at = int(value) if value.isdecimal() and len(value) < 10 else -1
            return self._shared[at] if 0 <= at < len(self._shared) else ""
        return "" if kind == "e" else value


def _too_many(most: int, what: str) -> UnreadableQuoteError:
    return UnreadableQuoteError(
        f"The workbook has more than {most:,} {what}, the most that is read: send the sheet with the bill alone."
    )


def _parts(file: IO[bytes], target: _Target) -> Iterator[None]:
    """Parses a file piece by piece."""
    parser = XMLParser(target=target)  # noqa: S314 - the target refuses a DTD, and without one there are no entities
    while piece := file.read(PIECE_BYTES):
        parser.feed(piece)
        yield
    parser.close()


def _shared(book: zipfile.ZipFile, size: _Size) -> list[str]:
    if _TEXT not in book.namelist():
        return []
    target = _Target(size)
    with book.open(_TEXT) as file:
        for _ in _parts(file, target):
            pass
    return target.strings


def _rows(file: IO[bytes], shared: list[str], size: _Size) -> Iterator[Sequence[str]]:
    """Taken after `sheets` has given them, so that their damage is refused here."""
    target = _Target(size, shared)
    with _refused_in_words():
        for _ in _parts(file, target):
            yield from target.rows
            target.rows = []
        yield from target.rows


def _column(reference: str) -> int:
    """Zero-based: 0 of `A5`, 27 of `AB12`; no sheet has more than 16,384."""
    number = 0
    for letter in reference[:4]:
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - 64
    if not 0 < number <= MAX_COLUMNS:
        raise UnreadableQuoteError(f"The workbook has a cell {reference[:20]!r}, which is no place in a sheet.")
    return number - 1
