"""Prices that a purchaser filled into a bill of materials, read back into a price book.

In: the columns that the bill has as a file (`columns.py`), reading CSV and XLSX (`tables.py`, `workbooks.py`), and what the
filled cells change of a book (`changes.py`).

Not in: HTTP and the database (`service.py` beside this folder), and writing the bill (`cubeyard.exports`).
"""

from cubeyard.catalog.quotes.changes import Change, Origin, Problem, Quotes, quoted_parts, read_rates
from cubeyard.catalog.quotes.columns import BILL, BillColumn
from cubeyard.catalog.quotes.tables import QuoteRow, UnreadableQuoteError, quoted_rows, read_rows

__all__ = [
    "BILL",
    "BillColumn",
    "Change",
    "Origin",
    "Problem",
    "QuoteRow",
    "Quotes",
    "UnreadableQuoteError",
    "quoted_parts",
    "quoted_rows",
    "read_rates",
    "read_rows",
]
