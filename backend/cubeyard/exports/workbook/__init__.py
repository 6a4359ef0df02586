"""The plan as a workbook (XLSX): summary, bill of materials, cable schedule and one sheet per rack.

Inside: `book.py`, the sheets in order; one file per kind of sheet; names, rows and styles that they
share.

Not here: arithmetic. Totals are formulas, and their cached values are from the engine.

Written row by row in constant memory.
"""

from cubeyard.exports.workbook.book import workbook

__all__ = ["workbook"]
