"""Puts the workbook together."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from xlsxwriter import Workbook

from cubeyard.exports.formats import Progress
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.exports.workbook.bill import bill_sheet
from cubeyard.exports.workbook.names import SheetNames
from cubeyard.exports.workbook.racks import rack_list, rack_sheets
from cubeyard.exports.workbook.rows import stream_book
from cubeyard.exports.workbook.schedule import schedule_sheets
from cubeyard.exports.workbook.styles import Styles
from cubeyard.exports.workbook.summary import summary_sheet
from cubeyard.plans.view import PlanView

_FIXED_TIME = datetime(1980, 1, 1, tzinfo=UTC)
"""A fixed time, so that the same plan gives the same bytes."""


def workbook(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The workbook in pieces: Summary, BOM, Cable schedule, Racks, then one sheet per rack."""
    with tempfile.TemporaryDirectory(prefix="cubeyard-xlsx-") as folder:
        path = Path(folder) / "plan.xlsx"
        book = Workbook(str(path), {"constant_memory": True, "tmpdir": folder, "strings_to_formulas": False})
        book.set_properties(
            {
                "title": plain(plan.name),
                "subject": plain(plan.summary.get("title")),
                "comments": provenance(plan),
                "created": _FIXED_TIME,
            }
        )
        styles = Styles(book, plan.bom["currency"])
        tables = PlanTables(plan)
        names = SheetNames(plan)
        summary_sheet(book, styles, tables, names)
        bill_sheet(book, styles, plan, names)
        long_tables = schedule_sheets(book, styles, tables, names)
        rack_list(book, styles, tables, names)
        long_tables += rack_sheets(book, styles, tables, names)
        book.close()
        progress(0.2, "workbook")
        for count, piece in enumerate(stream_book(path, long_tables)):
            progress(min(0.2 + count * 0.01, 0.95), "rows")
            yield piece
    progress(1.0, "workbook")
