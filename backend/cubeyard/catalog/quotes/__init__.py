"""Prices that a purchaser filled into a bill of materials, read back into a price book.

Inside: the columns of a bill's file (`columns.py`), reading the file as a table (`tables.py`), and
the changes to a price book that the filled cells request (`changes.py`).

Not here: reading CSV and XLSX (`cubeyard.reading`), HTTP and the database (`service.py` beside this
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
