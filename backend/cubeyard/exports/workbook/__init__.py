"""The plan as a real workbook: summary, bill of materials, cable schedule and one sheet a rack."""

from cubeyard.exports.workbook.book import workbook

__all__ = ["workbook"]
