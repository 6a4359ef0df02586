"""A bill of materials that comes back as CSV or XLSX, whichever program saved it."""

from __future__ import annotations

from cubeyard.catalog.quotes.columns import BILL, HEADER
from cubeyard.reading.numbers import Mark
from cubeyard.reading.problems import BadFileError, problem, refused
from cubeyard.reading.tables import Table, read_table

READ_WITH = ("cubeyard.reading.workbooks",)
MAX_LINES = 20_000
_NEEDED = ", ".join(column.title for column in BILL if (column.name,) in HEADER.needed)
_EXPECTED = (
    f"The file has no bill of materials: no row has the headers {_NEEDED}. "
    "Send the workbook (xlsx) or the bill of materials (bom-csv) of a plan, with its header row unchanged."
)


def read_bill(data: bytes, decimal: Mark | None = None) -> Table:
    """The lines of the bill. Raises `BadFileError` for anything else, or without the columns that
    say what a price is for."""
    table = read_table(data, (HEADER,), _EXPECTED, decimal)
    if len(table.lines) > MAX_LINES:
        raise refused("file", f"The bill has more than {MAX_LINES:,} lines.", "Send a part of it.")
    return table


def sent_bill(data: bytes, decimal: Mark | None) -> Table:
    """The same, with what cannot be read as a 422."""
    try:
        return read_bill(data, decimal)
    except BadFileError as error:
        raise problem(error) from None
