"""Rows under a header, from CSV with any separator, from columns aligned by spaces or from a
workbook, and cells with mistakes by
sheet, row and column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cubeyard.kit.errors import shown
from cubeyard.kit.text import FORMULA_STARTS
from cubeyard.reading import foreign, numbers
from cubeyard.reading.aligned import aligned_rows
from cubeyard.reading.cells import Special, is_error
from cubeyard.reading.header import Columns, Header
from cubeyard.reading.numbers import Mark, NoNumberError, TwoNumbersError
from cubeyard.reading.problems import MAX_MISTAKES, BadFileError, Mistake, Skipped, TwoReadingsError, refused
from cubeyard.reading.text import lenient, of_windows

READ_WITH = ("cubeyard.reading.workbooks",)
HEADER_WITHIN_ROWS = 30
"""The header is looked for in the first rows: above it people write titles."""
MAX_ROWS = 10_000_000
"""As many as a workload has flows."""
SEPARATORS = ",;\t|"
_RARE_SEPARATORS = "^~:\x1f"
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(.)\"?\s*", re.IGNORECASE)
_RULE = re.compile(r":?[-+=]+:?")
_QUOTES = {"\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u00bb": "\u00ab"}
_HINTS = {
    "date": "Give the cell the format of a number or text, and type its value again.",
    "error": "Correct the formula, or type the value.",
    "formula": "Open and save the workbook in a spreadsheet program, or type the value.",
    "boolean": "Type the value.",
}
DECIMAL_HINT = (
    "State the decimal mark, point or comma (decimal; on the command line --decimal point or --decimal comma)."
)


@dataclass
class Table:
    """The rows under a header; `mistakes` collects the errors that `done` raises."""

    columns: Columns
    lines: Sequence[tuple[int, Sequence[str]]]
    """Each row that is not empty, with its number in the file or sheet."""
    sheet: str = ""
    """The name of the sheet; empty for CSV."""
    decimal: Mark | None = None
    """As a person chose it."""
    separator: str = ""
    """The separator of a CSV file."""
    fallback: Mark | None = None
    """The decimal mark of a file whose numbers do not show theirs."""
    mistakes: list[Mistake] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ambiguous: list[Mistake] = field(default_factory=list)

    @property
    def header(self) -> Header:
        return self.columns.header

    @cached_property
    def mark(self) -> Mark | None:
        """The decimal mark, by all numbers of the file."""
        places = {
            at: name in self.header.lengths for name, at in self.columns.at.items() if name in self.header.numbers
        }
        texts = (
            numbers.amount(row[at]) if length else row[at]
            for _, row in self.lines
            for at, length in places.items()
            if at < len(row) and row[at] and not isinstance(row[at], Special)
        )
        return numbers.judged(texts, self.decimal) or self.fallback

    def rows(self) -> Iterator[Row]:
        for number, cells in self.lines:
            yield Row(self, number, cells)

    def has(self, column: str) -> bool:
        return column in self.columns.at

    def where(self, number: int) -> str:
        return f"sheet {self.sheet[:40]}, row {number}" if self.sheet else f"line {number}"

    def wrong(self, number: int, column: str, message: str, hint: str = "", value: str | None = None) -> None:
        if len(self.mistakes) < MAX_MISTAKES:
            self.mistakes.append(self.mistake(number, column, message, hint, value))

    def mistake(self, number: int, column: str, message: str, hint: str = "", value: str | None = None) -> Mistake:
        where = f"{self.where(number)}, column {self.columns.title(column)}"
        return Mistake(where, message, hint, number, shown(value) if value else None)

    def done(self) -> None:
        """Raises `BadFileError` if something was wrong, `TwoReadingsError` if only the decimal mark
        is open."""
        if self.mistakes:
            raise BadFileError(self.mistakes)
        if self.ambiguous:
            raise TwoReadingsError(self.ambiguous)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the file."""

    table: Table
    number: int
    """The number of the line, or of the row in its sheet."""
    _cells: Sequence[str]

    @property
    def where(self) -> str:
        return self.table.where(self.number)

    @property
    def cells(self) -> list[str]:
        """The texts of its cells, without empty cells."""
        return [cell.strip() for cell in self._cells if cell.strip()]

    @property
    def width(self) -> int:
        """Cells up to the last one that is not empty."""
        return max((index for index, cell in enumerate(self._cells, start=1) if cell.strip()), default=0)

    def cell(self, column: str) -> str:
        """As it is in the file, without spaces around it; empty where the file has no such
        column."""
        at = self.table.columns.at.get(column)
        if at is None or at >= len(self._cells):
            return ""
        words = self._cells[at]
        if isinstance(words, Special):
            return words
        words = _unquoted(words.strip(" \t\r\n\u00a0\u200b\ufeff"))
        if is_error(words):
            return Special(words, "error")
        # Our own files and others put an apostrophe before what a spreadsheet would take for a
        # formula.
        return words[1:] if words[:1] == "'" and words[1:].startswith(FORMULA_STARTS) else words

    def instead(self, cells: Mapping[str, str]) -> Row:
        """The row with other texts in some columns."""
        at = {self.table.columns.at[column]: words for column, words in cells.items()}
        return Row(self.table, self.number, [at.get(index, words) for index, words in enumerate(self._cells)])

    def text(self, column: str) -> str:
        """A cell's text; notes a mistake for what has none: an error of a formula, a formula
        without its value, a date."""
        words = self.cell(column)
        if isinstance(words, Special) and words.kind not in ("number", "boolean"):
            self._wrong_kind(column, words.reason)
            return ""
        return str(words)

    def number_of(self, column: str, *, least: float = 0.0, most: float = 0.0) -> float | None:
        """A cell's number; None where it is empty. Notes a mistake for what is no number, or one of
        two."""
        words = self.cell(column)
        if isinstance(words, Special):
            if words.kind == "number":
                return float(words)
            self._wrong_kind(column, words.reason)
            return None
        if numbers.is_nothing(words):
            return None
        table = self.table
        try:
            return numbers.number(words, table.mark, given=table.decimal is not None, least=least, most=most)
        except NoNumberError as error:
            table.wrong(self.number, column, f"{error}.", "", words)
        except TwoNumbersError as error:
            if len(table.ambiguous) < MAX_MISTAKES:
                table.ambiguous.append(table.mistake(self.number, column, f"{error}.", DECIMAL_HINT, words))
        return None

    def length_mm(self, column: str, unit_column: str | None = None) -> int | None:
        """A length in whole millimetres, None for an empty cell.

        What is no length is left out of the import by its cell. Notes a mistake for one of two
        lengths.
        """
        words = self.cell(column)
        if numbers.is_nothing(words) and not isinstance(words, Special):
            return None
        table = self.table
        if isinstance(words, Special) and words.kind != "number":
            self.skip_cell(column, words.reason)
            return None
        unit = self._unit(column, unit_column)
        mark: Mark | None = "point" if isinstance(words, Special) else table.mark
        try:
            value = numbers.length_mm(words, unit, mark, given=table.decimal is not None and mark == table.decimal)
        except NoNumberError as error:
            self.skip_cell(
                column, f"{error}. Write a number of metres, or a number and one of {', '.join(numbers.MM_OF)}."
            )
            return None
        except TwoNumbersError as error:
            if len(table.ambiguous) < MAX_MISTAKES:
                table.ambiguous.append(table.mistake(self.number, column, f"{error}.", DECIMAL_HINT, words))
            return None
        if not 0 < value <= numbers.MAX_LENGTH_MM:
            limit = f"more than 0 and at most {numbers.MAX_LENGTH_MM // 1000:,} m"
            self.skip_cell(column, f"The length is {words[:40]}; it must be {limit}.")
            return None
        return max(1, round(value))

    def rounding_mm(self, column: str, unit_column: str | None = None) -> int:
        """How far the length may be from the cable's, because of its unit."""
        return numbers.rounding_mm(self.cell(column), self._unit(column, unit_column))

    def _unit(self, column: str, unit_column: str | None) -> str:
        """The unit of a length without one: that of the cell's format, its own column, or the
        title."""
        words, columns = self.cell(column), self.table.columns
        if isinstance(words, Special) and words.unit.casefold() in numbers.UNITS:
            return words.unit
        unit = (self.cell(unit_column) if unit_column else "") or columns.units.get(column, "")
        return unit or ("m" if "metres" in columns.title(column) else "")

    def skip_cell(self, column: str, reason: str) -> None:
        where = f"{self.where}, column {self.table.columns.title(column)}"
        reason = reason[:1].upper() + reason[1:]
        self.table.skipped.append(Skipped(where, reason if reason.endswith(".") else f"{reason}."))

    def _wrong_kind(self, column: str, reason: str) -> None:
        words = self.cell(column)
        kind = words.kind if isinstance(words, Special) else ""
        self.table.wrong(self.number, column, f"The cell {reason}.", _HINTS.get(kind, ""), str(words) or None)


def read_table(data: bytes, headers: Sequence[Header], expected: str, decimal: Mark | None = None) -> Table:
    """The rows under the first header that the file has.

    Raises `BadFileError` for a file of another format by its name, and for one in which no row near
    the top is one of the headers: `expected` says what would be.
    """
    foreign.refuse(data)
    if data.startswith(b"PK"):
        from cubeyard.reading import workbooks

        table = workbooks.read(data, headers, decimal)
    else:
        table = table_of(lenient(data), headers, decimal)
        # The header alone shows which encoding of several this is.
        others = of_windows(data) if table is None else ()
        table = table or next(filter(None, (table_of(text, headers, decimal) for text in others)), None)
    if table is None:
        raise refused("sheet" if data.startswith(b"PK") else "line 1", expected, line=None if data[:2] == b"PK" else 1)
    return table


def header_of(rows: Sequence[Sequence[str]], headers: Sequence[Header]) -> tuple[int, Columns] | None:
    """Which row is a header, and of which format: the second of two rows, if both together have
    more of its columns."""
    for index, cells in enumerate(rows[:HEADER_WITHIN_ROWS]):
        for header in headers:
            columns = header.of(cells)
            below = rows[index + 1] if index + 1 < len(rows) else []
            titles = header.grouped(cells, below)
            grouped = header.of(titles) if titles != [*below] else None
            if grouped is not None and (columns is None or len(grouped.at) > len(columns.at)):
                return index + 1, grouped
            if columns is not None:
                return index, columns
    return None


def table_of(text: str, headers: Sequence[Header], decimal: Mark | None = None) -> Table | None:
    """The same for CSV; None if no row near the top is a header."""
    layout = _layout(text, headers)
    if layout is None:
        text = _unwrapped(text)
        layout = _layout(text, headers)
    if layout is None:
        aligned = aligned_rows(text, headers, HEADER_WITHIN_ROWS)
        return None if aligned is None else Table(*aligned, "", decimal)
    separator, header_at, columns = layout
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines: list[tuple[int, list[str]]] = []
    before = 0
    try:
        for index, cells in enumerate(rows):
            line, before = before + 1, rows.line_num
            if before > line and index > header_at:
                _refuse_swallowed(line, cells, separator, len(columns.titles))
            if index > header_at and any(cell.strip() for cell in cells) and not _is_rule(cells):
                lines.append((line, cells))
                if len(lines) > MAX_ROWS:
                    raise refused(f"line {line}", f"The table has more than {MAX_ROWS:,} rows.", line=line)
    except csv.Error as error:
        raise refused(f"line {rows.line_num}", f"The file is not CSV: {error}.", line=rows.line_num) from None
    return Table(columns, lines, "", decimal, separator)


def _refuse_swallowed(line: int, cells: Sequence[str], separator: str, width: int) -> None:
    """Raises `BadFileError` for a cell that holds whole rows, because its quotation mark is not
    closed."""
    rows = [row for cell in cells for row in cell.splitlines()[1:] if row.count(separator) >= width - 1]
    if rows and width > 1:
        message = f"A quotation mark is not closed: one cell holds {len(rows):,} rows of the table."
        raise refused(f"line {line}", message, "Close or remove it.", line=line)


def _unwrapped(text: str) -> str:
    """Lines that a program has put into quotes as a whole, without those."""
    return "\n".join(
        line[1:-1].replace('""', '"') if len(line) > 1 and line[0] == line[-1] == '"' else line
        for line in map(str.strip, text.splitlines())
    )


def _unquoted(words: str) -> str:
    """Without the marks that programs put around a text for a spreadsheet program, as in `="1/1"`,
    and word processors for its quotes."""
    if words.startswith('="') and words.endswith('"') and len(words) > 2:
        return words[2:-1].replace('""', '"')
    return words[1:-1] if words[:1] in _QUOTES and words[1:] and words[-1] in _QUOTES[words[0]] else words


def _is_rule(cells: Sequence[str]) -> bool:
    """A line of dashes under a header, as Markdown draws it."""
    words = [cell.strip() for cell in cells if cell.strip()]
    return any(len(word) > 2 for word in words) and all(map(_RULE.fullmatch, words))


def _layout(text: str, headers: Sequence[Header]) -> tuple[str, int, Columns] | None:
    """The separator under which a row near the top is a header, with most of the header's columns,
    and that row."""
    line, _, rest = text[:200].partition("\n")
    named = _SEPARATOR_LINE.fullmatch(line.removeprefix("\ufeff"))
    best: tuple[str, int, Columns] | None = None
    for separator in [named[1]] if named and rest else SEPARATORS + _RARE_SEPARATORS:
        if best is not None and separator in _RARE_SEPARATORS:
            break
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        head: list[list[str]] = []
        try:
            for cells in rows:
                head.append(cells)
                if len(head) == HEADER_WITHIN_ROWS:
                    break
        except csv.Error:
            pass
        result = header_of(head, headers)
        if result is not None and (best is None or len(result[1].at) > len(best[2].at)):
            best = separator, *result
    return best
