"""The plan as a workbook (XLSX): summary, bill of materials, cable schedule and one sheet per rack.

In: `book.py`, the sheets in order; one file per kind of sheet; names, rows and styles that they
share.

Not in: arithmetic of its own: totals are formulas, and the value beside each is the engine's.

Written row by row in constant memory.
"""

from cubeyard.exports.workbook.book import workbook

__all__ = ["workbook"]
