"""Host names have one column title in every table: its column contains only host names, and no
other column contains any."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from openpyxl import load_workbook

from cubeyard.exports import FORMATS
from cubeyard.plans.view import PlanView

# Columns whose names the reader of the file prescribes: containerlab's nodes.
_READERS_WORDS = {"a_node", "b_node"}
_TABLES = [name for name, entry in FORMATS.items() if entry.media_type.startswith("text/csv")]


def _tells_hosts(title: str) -> bool:
    return "host name" in title.lower().replace("_", " ")


@pytest.mark.parametrize("format", _TABLES)
def test_csv_columns_of_host_names_are_called_so(
    format: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    hosts = set(plan("dcell").host_names)
    rows = list(csv.DictReader(io.StringIO(rendered(format, "dcell").decode(), newline="")))
    assert rows
    columns = {title for title in rows[0] if title not in _READERS_WORDS}
    assert {title for title in columns if all(row[title] in hosts for row in rows)} == {
        title for title in columns if _tells_hosts(title)
    }


def test_workbook_columns_of_host_names_are_called_so(
    plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    hosts = set(plan("subways").host_names)
    book = load_workbook(io.BytesIO(rendered("xlsx", "subways")), read_only=True)
    reported = 0
    for sheet in book:
        rows = [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
        header: dict[int, str] = {}
        for row in rows:
            texts = {at: cell for at, cell in enumerate(row) if isinstance(cell, str)}
            if "Cable" in texts.values():
                header = texts
                continue
            for at, cell in texts.items():
                # The elevation next to a rack's cables shows the devices in their slots.
                if header and cell in hosts and not header.get(at, "").startswith("Slot"):
                    assert _tells_hosts(header[at]), (sheet.title, header[at], cell)
                    reported += 1
    assert reported >= 4 * plan("subways").cable_count
