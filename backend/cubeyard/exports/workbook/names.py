"""Sheet names: at most 31 characters, none of `[]:*?/\\`, distinct regardless of case."""

from __future__ import annotations

import re

from cubeyard.exports.text import plain
from cubeyard.exports.workbook.rows import MAX_SHEET_ROWS
from cubeyard.plans.view import PlanView

SUMMARY, BOM, SCHEDULE, RACKS = "Summary", "BOM", "Cable schedule", "Racks"
MAX_NAME_CHARACTERS = 31
MAX_RACK_SHEETS = 200
"""With more sheets a spreadsheet opens slowly and its tabs are useless; the summary mentions the
limit. [ours]"""
SCHEDULE_ROWS_PER_SHEET = MAX_SHEET_ROWS - 48_576
"""A round million, which leaves space for the header."""


def quoted(sheet: str) -> str:
    """The sheet's name in the form for formulas."""
    return "'" + sheet.replace("'", "''") + "'"


class SheetNames:
    """The names of all sheets of one plan's workbook, assigned in order."""

    def __init__(self, plan: PlanView) -> None:
        self._taken: set[str] = set()
        self.summary = self._take(SUMMARY)
        self.bom = self._take(BOM)
        pages = max(1, -(-plan.cable_count // SCHEDULE_ROWS_PER_SHEET))
        self.schedule = [self._take(SCHEDULE if page == 0 else f"{SCHEDULE} {page + 1}") for page in range(pages)]
        self.racks = self._take(RACKS)
        self.rack: list[str] = [self._take(name) for name in plan.rack_names[:MAX_RACK_SHEETS]]

    def _take(self, wanted: str) -> str:
        base = re.sub(r"[\[\]:*?/\\]", "_", plain(wanted)).strip("'")[:MAX_NAME_CHARACTERS] or "sheet"
        name, count = base, 1
        while name.lower() in self._taken:
            count += 1
            suffix = f" {count}"
            name = base[: MAX_NAME_CHARACTERS - len(suffix)] + suffix
        self._taken.add(name.lower())
        return name
