"""The cells of a workbook (XLSX) as text, sheet by sheet, as Excel, LibreOffice and Google Sheets save them.

Only what an import needs: values, no styles, dates or formulas (a formula counts with the value saved beside it).
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import IO
from xml.etree import ElementTree

from cubeyard.catalog.quotes.tables import UnreadableQuoteError

MAX_PART_BYTES = 256 << 20
"""Of one unpacked file in the archive: a workbook of a million cables has half of this."""
_SHEET = re.compile(r"xl/worksheets/sheet(\d+)\.xml")
_TEXT = "xl/sharedStrings.xml"


def sheets(data: bytes) -> Iterator[Iterator[Sequence[str]]]:
    """The rows of each sheet in the order of their files. A sheet is read as far as its rows are taken.

    Raises `UnreadableQuoteError` for what is no workbook.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            names = sorted(
                (int(found[1]), name) for name in book.namelist() if (found := _SHEET.fullmatch(name)) is not None
            )
            if not names:
                raise UnreadableQuoteError("The file is a zip archive, but not a workbook: it has no sheets.")
            for info in book.infolist():
                if info.file_size > MAX_PART_BYTES:
                    raise UnreadableQuoteError(
                        f"The workbook is too large: {info.filename} has {info.file_size:,} bytes."
                    )
            shared = _shared(book)
            for _, name in names:
                with book.open(name) as file:
                    yield _rows(file, shared)
    except (
        zipfile.BadZipFile,
        ElementTree.ParseError,
        zlib.error,
        EOFError,
        RuntimeError,
    ) as error:
        raise UnreadableQuoteError(f"The workbook cannot be read: {error}.") from None


def _elements(file: IO[bytes]) -> Iterator[tuple[str, ElementTree.Element]]:
    """(event, element), each element without its namespace's name, after a look for entities, which no spreadsheet writes."""
    start = file.read(1 << 16)
    if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
        raise UnreadableQuoteError("The workbook declares XML entities, which no spreadsheet program writes.")
    file.seek(0)
    # Expat itself refuses entities that grow without bounds.
    yield from ElementTree.iterparse(file, events=("end",))  # noqa: S314


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _words(element: ElementTree.Element) -> str:
    """All text runs of a cell or shared string."""
    return "".join(part.text or "" for part in element.iter() if _name(part) == "t")


def _shared(book: zipfile.ZipFile) -> list[str]:
    if _TEXT not in book.namelist():
        return []
    out: list[str] = []
    with book.open(_TEXT) as file:
        for _, element in _elements(file):
            if _name(element) == "si":
                out.append(_words(element))
                element.clear()
    return out


def _rows(file: IO[bytes], shared: list[str]) -> Iterator[Sequence[str]]:
    for _, element in _elements(file):
        if _name(element) != "row":
            continue
        row: list[str] = []
        for cell in element:
            if _name(cell) != "c":
                continue
            column = _column(cell.get("r", "")) if cell.get("r") else len(row)
            row.extend([""] * (column - len(row)))
            row.append(_value(cell, shared))
        element.clear()
        yield row


def _column(reference: str) -> int:
    """Zero-based: 0 of `A5`, 27 of `AB12`; no sheet has more than 16,384."""
    number = 0
    for letter in reference:
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - 64
    if not 0 < number <= 16_384:
        raise UnreadableQuoteError(f"The workbook has a cell {reference!r}, which is no place in a sheet.")
    return number - 1


def _value(cell: ElementTree.Element, shared: list[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _words(cell)
    value = next((part.text or "" for part in cell if _name(part) == "v"), "")
    if kind == "s":
        at = int(value) if value.isdigit() else -1
        return shared[at] if 0 <= at < len(shared) else ""
    return "" if kind == "e" else value
