"""Prices that a purchaser filled into a bill of materials, read back into a price book.

In: the columns that the bill has as a file (`columns.py`), the bill as a table (`tables.py`), and
what the filled cells change of a book (`changes.py`).

Not in: reading CSV and XLSX (`cubeyard.reading`), HTTP and the database (`service.py` beside this
folder), and writing the bill (`cubeyard.exports`).
"""

from cubeyard.catalog.quotes.changes import Change, Origin, Problem, Quotes, quoted_parts, read_rates
from cubeyard.catalog.quotes.columns import BILL, BillColumn
from cubeyard.catalog.quotes.tables import read_bill, sent_bill

__all__ = [
    "BILL",
    "BillColumn",
    "Change",
    "Origin",
    "Problem",
    "Quotes",
    "quoted_parts",
    "read_bill",
    "read_rates",
    "sent_bill",
]
