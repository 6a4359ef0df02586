"""Rows of a bill of materials that comes back as CSV or XLSX, whichever program saved it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cubeyard.catalog.quotes.columns import BILL
from cubeyard.kit.csv_text import csv_rows
from cubeyard.kit.errors import field_error
from cubeyard.kit.text import FORMULA_STARTS

READ_WITH = ("cubeyard.catalog.quotes.workbooks",)
HEADER_WITHIN_ROWS = 30
"""The header is looked for in the first rows of a table: above it stand titles, which users may add to."""
MAX_ROWS = 20_000
_REQUIRED = ("line", "sku", "quoted_price", "price_field")


class UnreadableQuoteError(ValueError):
    """The file is no bill of materials of ours; the message says what is wrong and what to send."""


@dataclass(frozen=True, slots=True)
class QuoteRow:
    """One line of the bill by column name; empty cells are empty texts."""

    where: str
    """`line 12`, to be named in messages."""
    cells: dict[str, str]
    decimal_comma: bool
    """Whether numbers in texts have a decimal comma, as in CSV files with semicolons."""

    def text(self, column: str) -> str:
        """A cell's text, without the apostrophe that keeps it from being a formula."""
        words = self.cells.get(column, "").strip()
        return words[1:] if words[:1] == "'" and words[1:].startswith(FORMULA_STARTS) else words

    def number(self, column: str) -> float | None:
        """A cell's number; `None` when it is empty.

        Raises `ValueError` for what is not a number.
        """
        words = self.text(column)
        return parse_number(words, decimal_comma=self.decimal_comma) if words else None


_DOLLARS = ("USD", "AUD", "BND", "CAD", "HKD", "MXN", "NZD", "SGD", "TWD")
_MARK = re.compile(r"^[A-Z]{3}(?![A-Z])|(?<![A-Z])[A-Z]{3}$|[$\u20ac\u00a3]")
_OF_SIGN = {"$": _DOLLARS, "\u20ac": ("EUR",), "\u00a3": ("GBP",)}


def currencies_of(text: str) -> tuple[str, ...]:
    """The currencies that an amount's own sign or code may stand for; none where it has neither."""
    found = _MARK.search(text.strip())
    return _OF_SIGN.get(found[0], (found[0],)) if found else ()


def parse_number(text: str, *, decimal_comma: bool = False) -> float:
    """`1,234.50`, `$12.40`, `1 234,50 €`, `CHF 12` and `1'234.5` as numbers.

    Where both marks occur, the last is the decimal mark. A single comma divides thousands if three digits follow it, unless
    the file has decimal commas.
    """
    words = _MARK.sub("", text.strip(), count=1).strip()
    for space in (" ", "\u00a0", "\u202f", "'", "\u2019"):
        words = words.replace(space, "")
    comma, point = words.rfind(","), words.rfind(".")
    if comma >= 0 and point >= 0:
        thousands = "." if comma > point else ","
        words = words.replace(thousands, "")
    elif words.count(",") > 1 or (comma >= 0 and not decimal_comma and len(words) - comma == 4):
        words = words.replace(",", "")
    elif words.count(".") > 1 or (point >= 0 and decimal_comma and len(words) - point == 4):
        words = words.replace(".", "")
    words = words.replace(",", ".")
    if not words or words.strip("+-0123456789.eE"):
        raise ValueError(f"{text!r} is not a number")
    return float(words)


def read_rows(data: bytes) -> list[QuoteRow]:
    """The lines of the bill in `data`, a CSV file or a workbook.

    Raises `UnreadableQuoteError` for anything else, or without the columns that say what a price is for.
    """
    if data[:2] == b"PK":
        from cubeyard.catalog.quotes.workbooks import sheets

        tables: Iterable[tuple[Iterator[Sequence[str]], bool]] = ((rows, False) for rows in sheets(data))
    else:
        tables = [_csv(data)]
    for rows, decimal_comma in tables:
        found = _lines(rows, decimal_comma)
        if found is not None:
            return found
    missing = ", ".join(column.title for column in BILL if column.name in _REQUIRED)
    raise UnreadableQuoteError(
        f"The file has no bill of materials: no row has the headers {missing}. "
        "Send the workbook (xlsx) or the bill of materials (bom-csv) of a plan, with its header row unchanged."
    )


def quoted_rows(data: bytes) -> list[QuoteRow]:
    """The same, with what cannot be read as a 422."""
    try:
        return read_rows(data)
    except UnreadableQuoteError as error:
        raise field_error("body", None, str(error)) from None


def _csv(data: bytes) -> tuple[Iterator[Sequence[str]], bool]:
    rows, delimiter = csv_rows(data)
    return iter(rows), delimiter == ";"


def _lines(rows: Iterator[Sequence[str]], decimal_comma: bool) -> list[QuoteRow] | None:
    """The rows under the header; `None` when no header is found near the top."""
    by_words = {_key(words): column.name for column in BILL for words in (column.name, column.title)}
    columns: list[str | None] | None = None
    out: list[QuoteRow] = []
    try:
        for number, row in enumerate(rows):
            if columns is None:
                if number >= HEADER_WITHIN_ROWS:
                    return None
                found = [by_words.get(_key(words)) for words in row]
                if set(_REQUIRED) <= set(found):
                    columns = found
                continue
            cells = {name: words for name, words in zip(columns, row, strict=False) if name}
            if not any(words.strip() for words in cells.values()):
                continue
            line = cells.get("line", "").strip()
            out.append(QuoteRow(f"line {line}" if line else f"row {number + 1}", cells, decimal_comma))
            if len(out) > MAX_ROWS:
                raise UnreadableQuoteError(f"The bill has more than {MAX_ROWS:,} lines.")
    except csv.Error as error:
        raise UnreadableQuoteError(f"The file is not CSV: {error}.") from None
    return out if columns is not None else None


def _key(words: str) -> str:
    return " ".join(words.split()).casefold()
