"""Workbooks (XLSX) sheet by sheet, read by openpyxl: values as they were saved, with dates, errors
and formulas told apart.

Limits on parts, bytes, elements, rows and cells hold before openpyxl has built anything from them.
A server reads in a process of its own besides (`cubeyard.kit.confined`).
"""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import iterparse
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.cell import range_boundaries
from openpyxl.worksheet._reader import MERGE_TAG, ROW_TAG, WorkSheetParser
from openpyxl.xml.constants import SHEET_MAIN_NS

from cubeyard.reading.cells import Special
from cubeyard.reading.header import Header
from cubeyard.reading.numbers import Mark
from cubeyard.reading.problems import BadFileError, Skipped, refused
from cubeyard.reading.tables import HEADER_WITHIN_ROWS, Table, header_of

MAX_PARTS = 2_000
"""Files in the archive: one a sheet, a style, a picture."""
MAX_BYTES = 256 << 20
"""Of all unpacked files together: a workbook of a million cables has half of this."""
MAX_ELEMENTS = 4_000_000
"""Of XML in what is read of a workbook: a bill of 20,000 lines with texts of its own has 2.5
million."""
MAX_ROWS = 100_000
MAX_CELLS = 2_500_000
MAX_COLUMNS = 16_384
"""As no program has more."""
_SIGN = re.compile(r'\[\$([^\]-]{1,8})(?:-[0-9A-Fa-f]+)?\]|"\s*([A-Za-z]{1,12})\.?\s*"|([\u20ac\u00a3\u00a5$](?!-))')
_FORMULA = f"{{{SHEET_MAIN_NS}}}f"
_STYLES = "application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"
_STRICT = (
    (b"http://purl.oclc.org/ooxml/spreadsheetml/main", SHEET_MAIN_NS.encode()),
    (b"http://purl.oclc.org/ooxml/officeDocument/", b"http://schemas.openxmlformats.org/officeDocument/2006/"),
)
"""Name spaces of the strict form (ISO/IEC 29500), which Excel saves on demand, as openpyxl has
them."""
Rows = list[tuple[int, list[str]]]


def read(data: bytes, headers: Sequence[Header], decimal: Mark | None) -> Table | None:
    """The rows under a header of the first sheet that has one, visible sheets first; None if none
    has.

    Raises `BadFileError` for what is no workbook, and for one beyond the limits.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what openpyxl says about styles
            return _table(data, headers, decimal)
    except (BadFileError, MemoryError):
        raise
    except Exception as error:  # a damaged archive fails in as many ways as zipfile and its decompressors have lines
        words = (str(error).splitlines() or [""])[0][:200].rstrip(".") or type(error).__name__
        raise refused("file", f"The workbook is damaged: {words}.", "Save it again from its program.") from None


def _table(data: bytes, headers: Sequence[Header], decimal: Mark | None) -> Table | None:
    archive = _Archive(data)
    with archive:
        book = _Book(archive)
        result: Table | None = None
        for title, path in book.sheets():
            if result is not None:
                rows = book.rows(path, HEADER_WITHIN_ROWS)
                if header_of([cells for _, cells in rows], headers) is not None:
                    reason = f"The sheet {result.sheet} was read; a workbook with one list is read as a whole."
                    result.skipped.append(Skipped(f"sheet {title[:40]}", reason))
                continue
            rows = book.rows(path)
            at = header_of([cells for _, cells in rows], headers)
            if at is not None:
                below = [(number, cells) for number, cells in rows[at[0] + 1 :] if any(map(_filled, cells))]
                result = Table(at[1], below, title, decimal)
        return result


def _filled(cell: str) -> bool:
    return bool(cell.strip()) or isinstance(cell, Special)


class _Archive(zipfile.ZipFile):
    """Parts in any letter case, as ECMA-376 part 2 compares their names, in openpyxl's name spaces,
    within the limits."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        parts = super().infolist()
        if len(parts) > MAX_PARTS:
            raise too_many(MAX_PARTS, "files in its archive")
        # zipfile unpacks no more of a file than its entry says.
        if sum(part.file_size for part in parts) > MAX_BYTES:
            raise too_many(MAX_BYTES, "bytes when it is unpacked")
        self._parts = {_part(part.filename): part for part in parts}
        self.elements = 0

    def getinfo(self, name: str) -> zipfile.ZipInfo:
        part = self._parts.get(_part(name))
        if part is None:
            raise KeyError(f"It has no part {name[:60]}")
        return part

    def alias(self, name: str, part: str) -> None:
        self._parts[_part(name)] = self.getinfo(part)

    def has(self, name: str) -> bool:
        return _part(name) in self._parts

    def open(self, name: str | zipfile.ZipInfo, mode: Any = "r", pwd: bytes | None = None, **options: Any) -> Any:
        source: Any = super().open(name, mode, pwd, **options)
        head = source.peek(2_000)
        if b"http://purl.oclc.org/ooxml/" not in head:
            return _Counted(source, self)
        with source:
            data = source.read()
        for strict, usual in _STRICT:
            data = data.replace(strict, usual)
        return _Counted(io.BytesIO(data), self)


def _part(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").casefold()


class _Counted(io.RawIOBase):
    """A part of the archive whose elements are counted while it is read; one with a DTD is
    refused."""

    def __init__(self, source: Any, archive: _Archive) -> None:
        super().__init__()
        self._source, self._archive, self._tail = source, archive, b""

    def read(self, size: int = -1) -> bytes:
        piece = self._source.read(size)
        self._archive.elements += piece.count(b"<") - piece.count(b"</")
        if self._archive.elements > MAX_ELEMENTS:
            raise too_many(MAX_ELEMENTS, "elements of XML")
        if b"<!DOCTYPE" in self._tail + piece:
            message = "The workbook has a DTD, which no spreadsheet program writes."
            raise refused("file", message, "Save it again from one.")
        self._tail = piece[-8:]
        return piece

    def close(self) -> None:
        self._source.close()
        super().close()


class _Book(ExcelReader):
    """The parts of a workbook that an import needs: no properties, themes, links, charts or
    names."""

    def __init__(self, archive: _Archive) -> None:
        self.archive = archive
        self.valid_files = _Names(archive)
        self.read_only = self.data_only = True
        self.keep_vba = self.keep_links = self.rich_text = False
        self.shared_strings = []
        self.read_manifest()
        styles = self.package.find(_STYLES)
        if styles is not None:
            archive.alias("xl/styles.xml", styles.PartName)
        self.read_strings()
        self.read_workbook()
        apply_stylesheet(archive, self.wb)
        self._units = _units(self.wb)
        self._counts = [0, 0]

    def sheets(self) -> Iterator[tuple[str, str]]:
        """Titles and parts, visible sheets first."""
        sheets = [
            (sheet, rel.target)
            for sheet, rel in self.parser.find_sheets()
            if "chartsheet" not in rel.Type and rel.target in self.valid_files
        ]
        for sheet, part in sorted(sheets, key=lambda entry: entry[0].state in ("hidden", "veryHidden")):
            yield str(sheet.name), part

    def rows(self, part: str, most: int | None = None) -> Rows:
        """Each row with its number; a cell that is merged with those below it counts for all of
        them."""
        book: Any = self.wb
        with self.archive.open(part) as source:
            formats = (book._date_formats, book._timedelta_formats)  # noqa: SLF001 - as openpyxl's own sheets take them
            parser = _Sheet(source, self.shared_strings, True, book.epoch, *formats)
            out: Rows = []
            for number, cells in parser.rows():
                out.append((number, self._texts(cells)))
                if len(out) == most:
                    return out
        _fill_merged(out, parser.merged)
        return out

    def _texts(self, cells: list[dict[str, Any]]) -> list[str]:
        row: list[str] = []
        for cell in cells:
            column = cell["column"]
            if not 0 < column <= MAX_COLUMNS:
                raise refused("file", f"The workbook has a cell in column {column:,}, which no sheet has.")
            row.extend([""] * (column - 1 - len(row)))
            row[column - 1 :] = [_text(cell, self._units)]
        self._counts[0] += 1
        self._counts[1] += len(row)
        if self._counts[0] > MAX_ROWS:
            raise too_many(MAX_ROWS, "rows")
        if self._counts[1] > MAX_CELLS:
            raise too_many(MAX_CELLS, "cells")
        return row


class _Names(list[str]):
    """The parts by name, in any letter case."""

    def __init__(self, archive: _Archive) -> None:
        super().__init__(archive.namelist())
        self._archive = archive

    def __contains__(self, name: object) -> bool:
        return self._archive.has(str(name))


class _Sheet(WorkSheetParser):
    """Rows and merged ranges, and nothing else of a sheet."""

    merged: Any
    """Ranges of cells that are merged."""

    def rows(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        self.merged = []
        for _, element in iterparse(self.source, forbid_dtd=True):
            if element.tag == ROW_TAG:
                yield self.parse_row(element)
                element.clear()
            elif element.tag == MERGE_TAG:
                self.merged = [range_boundaries(entry.get("ref", "")) for entry in element]
                element.clear()

    def parse_cell(self, element: Element) -> dict[str, Any]:
        cell = super().parse_cell(element)
        if cell["value"] is None and element.find(_FORMULA) is not None:
            cell["data_type"] = "f"
        return cell


def _units(book: Any) -> dict[int, str]:
    """Currencies and units in the formats of numbers, by the cells' styles: who types `12,50 €`
    gets a number in such a format, and others write `0.0 "ft"`."""
    own = dict(enumerate(book._number_formats, start=BUILTIN_FORMATS_MAX_SIZE))  # noqa: SLF001 - as openpyxl's own cells take them
    # Those with lower numbers are built in: each program shows its own currency there.
    codes = (own.get(style.numFmtId, "") for style in book._cell_styles)  # noqa: SLF001
    signs = (next(filter(None, map(str.strip, map("".join, _SIGN.findall(code)))), "") for code in codes)
    return {at: sign for at, sign in enumerate(signs) if sign}


def _text(cell: dict[str, Any], units: Mapping[int, str]) -> str:
    value, kind = cell["value"], cell["data_type"]
    if kind == "e":
        return Special(str(value or "#N/A"), "error")
    if value is None:
        return Special("", "formula") if kind == "f" else ""
    if isinstance(value, bool):
        return Special(str(value).upper(), "boolean")
    if isinstance(value, int | float):
        words = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        return Special(words, "number", units.get(cell["style_id"], ""))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
        return Special(str(value).removesuffix(" 00:00:00"), "date")
    return str(value)


def _fill_merged(rows: Rows, merged: list[tuple[int, int, int, int]]) -> None:
    """Values of ranges that are merged downwards, into each of their rows."""
    if not merged:
        return
    at = dict(rows)
    for left, top, right, bottom in merged:
        first = at.get(top)
        if bottom == top or right != left or first is None or left > len(first):
            continue
        for number in range(top + 1, min(bottom, top + MAX_ROWS) + 1):
            cells = at.get(number)
            if cells is not None and any(map(_filled, cells)):
                cells.extend([""] * (left - len(cells)))
                cells[left - 1] = cells[left - 1] or first[left - 1]


def too_many(most: int, what: str) -> BadFileError:
    return refused(
        "file",
        f"The workbook has more than {most:,} {what}, the most that is read.",
        "Send the sheet with the list alone.",
    )
