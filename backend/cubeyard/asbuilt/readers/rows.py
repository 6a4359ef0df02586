"""Rows of a CSV file under a header that one of several formats has, and cells read with mistakes that name line and column."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cubeyard.asbuilt.readers.listing import MAX_MISTAKES, BadListError, Mistake
from cubeyard.kit.csv_text import csv_rows
from cubeyard.kit.errors import shown
from cubeyard.kit.text import FORMULA_STARTS

HEADER_WITHIN_ROWS = 30
"""The header is looked for in the first rows: above it people write titles."""
MM_OF = {"": 1000.0, "mm": 1.0, "cm": 10.0, "m": 1000.0, "km": 1e6, "in": 25.4, "ft": 304.8, "mi": 1_609_344.0}
"""Units of a length in millimetres, as NetBox abbreviates them; a bare number is metres."""
MAX_LENGTH_MM = 10_000_000
_LENGTH = re.compile(r"([0-9]{1,9}(?:[.,][0-9]{1,9})?)\s*([a-z]*)\.?", re.IGNORECASE)


@dataclass(frozen=True)
class Header:
    """The columns of a format, by the names that a header may have for each; case, spaces and underscores do not matter."""

    title: str
    names: Mapping[str, Sequence[str]]
    """Of two names of one column that a file has, the first one here counts."""
    needed: Sequence[Sequence[str]]
    """Of each group the file must have at least one column."""

    def of(self, cells: Sequence[str]) -> dict[str, int] | None:
        """Where each column is in a header row; None if this is not the format's."""
        at = {_key(words): index for index, words in reversed(list(enumerate(cells)))}
        found = {
            column: next(at[_key(name)] for name in names if _key(name) in at)
            for column, names in self.names.items()
            if any(_key(name) in at for name in names)
        }
        return found if all(any(one in found for one in group) for group in self.needed) else None

    def wanted(self) -> str:
        """`a_host_name (or a_paper_name), a_port`."""
        groups = [[self.names[column][0] for column in group] for group in self.needed]
        return ", ".join(group[0] + (f" (or {', '.join(group[1:])})" if group[1:] else "") for group in groups)


@dataclass
class CsvTable:
    """The rows under a header; `mistakes` gathers what is wrong until `done`."""

    header: Header
    _columns: dict[str, int]
    _titles: Sequence[str]
    _rows: list[tuple[int, list[str]]]
    mistakes: list[Mistake]

    @classmethod
    def of(cls, data: bytes, headers: Sequence[Header]) -> CsvTable:
        """Raises `BadListError` if no row near the top is one of the headers, or the file is not CSV."""
        rows, _ = csv_rows(data)
        try:
            for count, cells in enumerate(rows):
                if count >= HEADER_WITHIN_ROWS:
                    break
                for header in headers:
                    columns = header.of(cells)
                    if columns is not None:
                        below = [(rows.line_num, row) for row in rows if any(cell.strip() for cell in row)]
                        return cls(header, columns, cells, below, [])
        except csv.Error as error:
            message = f"The file is not CSV: {error}."
            raise BadListError([Mistake(f"line {rows.line_num}", message, line=rows.line_num)]) from None
        known = "; ".join(f"{header.title}: {header.wanted()}" for header in headers)
        raise BadListError(
            [Mistake("line 1", f"No row has the columns of a list of cables. {known}.", "Or send lldpctl's JSON.", 1)]
        )

    def rows(self) -> Iterator[Row]:
        for line, cells in self._rows:
            yield Row(self, line, cells)

    def has(self, column: str) -> bool:
        return column in self._columns

    def titled(self, *names: str) -> bool:
        """Whether the file has columns of all these names."""
        return {_key(name) for name in names} <= {_key(title) for title in self._titles}

    def done(self) -> None:
        """Raises `BadListError` if something was wrong."""
        if self.mistakes:
            raise BadListError(self.mistakes)

    def wrong(self, line: int, column: str, message: str, hint: str, value: str | None) -> None:
        if len(self.mistakes) < MAX_MISTAKES:
            title = self._titles[self._columns[column]].strip() if column in self._columns else column
            self.mistakes.append(Mistake(f"line {line}, column {title}", message, hint, line, shown(value)))

    def cell(self, cells: Sequence[str], column: str) -> str:
        at = self._columns.get(column)
        words = cells[at].strip() if at is not None and at < len(cells) else ""
        # Our own files and others put an apostrophe before what a spreadsheet would take for a formula.
        return words[1:] if words[:1] == "'" and words[1:].startswith(FORMULA_STARTS) else words


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the file."""

    table: CsvTable
    line: int
    _cells: Sequence[str]

    def text(self, column: str) -> str:
        """A cell without spaces around it; empty where the file has no such column."""
        return self.table.cell(self._cells, column)

    def needed(self, *columns: str) -> str:
        """The first of these cells that is not empty; notes a mistake if all are."""
        for column in columns:
            if words := self.text(column):
                return words
        named = next((column for column in columns if self.table.has(column)), columns[0])
        hint = "Name both ends, or leave the row out if the cable is not plugged in."
        self.table.wrong(self.line, named, "The cell is empty.", hint, None)
        return ""

    def length_mm(self, column: str, unit_column: str | None = None) -> int | None:
        """A length in whole millimetres, None for an empty cell; notes a mistake for what is no length."""
        words = self.text(column)
        if not words:
            return None
        found = _LENGTH.fullmatch(words)
        unit = (found[2] or (self.text(unit_column) if unit_column else "")).lower() if found else ""
        if found is None or unit not in MM_OF:
            units = ", ".join(one for one in MM_OF if one)
            hint = f"Write a number of metres, or a number and one of {units}."
            self.table.wrong(self.line, column, f"{words[:40]!r} is not a length.", hint, words)
            return None
        millimetres = round(float(found[1].replace(",", ".")) * MM_OF[unit])
        if not 0 < millimetres <= MAX_LENGTH_MM:
            limit = f"more than 0 and at most {MAX_LENGTH_MM // 1000:,} m"
            self.table.wrong(self.line, column, f"The length is {words[:40]}; it must be {limit}.", "", words)
            return None
        return millimetres


def _key(words: str) -> str:
    return " ".join(words.replace("_", " ").split()).casefold()
