"""Small workbooks that unpack to much, and damaged ones: refused in words by their limit."""

from __future__ import annotations

import contextlib

import pytest

from cubeyard.catalog.quotes import read_bill
from cubeyard.reading import workbooks
from cubeyard.reading.problems import BadFileError
from tests.reading.books import BILL, bill_row, rewritten, shared_workbook, workbook

SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
BOMBS = {
    "rows": (SHEET, b"<row/>" * 20_000, "20,000 rows"),
    "cells": (SHEET, b'<row><c r="XFD1"><v>1</v></c></row>' * 7, "100,000 cells"),
    "a column beyond the last": (SHEET, b'<row><c r="ZZZZ1"><v>1</v></c></row>', "damaged"),
    "shared strings": (STRINGS, b"<si/>" * 50_000, "50,000 elements of XML"),
    "bytes": (SHEET, b" " * (4 << 20), "4,194,304 bytes when it is unpacked"),
    "depth": (SHEET, b"<a>" * 60_000, "50,000 elements of XML"),
}


def bomb(part: str, more: bytes, before: bytes = b"") -> bytes:
    end = b"</sheetData>" if part == SHEET else b"</sst>"

    def change(name: str, data: bytes) -> tuple[str, bytes]:
        return name, before + data.replace(end, more + end) if name == part else data

    return rewritten(shared_workbook([BILL, bill_row(5)]), change)


@pytest.mark.parametrize("what", BOMBS)
def test_a_small_workbook_that_unpacks_to_much_is_refused_by_its_limit(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("ELEMENTS", 50_000), ("BYTES", 4 << 20), ("ROWS", 20_000), ("CELLS", 100_000)):
        assert most < getattr(workbooks, f"MAX_{name}")
        monkeypatch.setattr(workbooks, f"MAX_{name}", most)
    part, more, stated = BOMBS[what]
    with pytest.raises(BadFileError, match=stated):
        read_bill(bomb(part, more))


@pytest.mark.parametrize("part", [SHEET, STRINGS, "xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml"])
def test_entities_are_refused_in_every_part(part: str) -> None:
    doctype = b"<?xml version='1.0'?>" + b" " * 70_000 + b"<!DOCTYPE x [<!ENTITY a 'b'>]>"

    def change(name: str, data: bytes) -> tuple[str, bytes]:
        return name, doctype + data.split(b"?>", 1)[-1] if name == part else data

    with pytest.raises(BadFileError, match=r"DTD|damaged"):
        read_bill(rewritten(shared_workbook([BILL, bill_row(5)]), change))


def test_a_workbook_of_very_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "MAX_PARTS", 5)
    with pytest.raises(BadFileError, match="5 files"):
        read_bill(workbook([BILL]))


def test_a_damaged_workbook_is_refused_in_words_wherever_the_damage_is() -> None:
    whole = workbook([BILL, bill_row(5)])
    assert read_bill(whole).lines
    start = whole.index(b"PK\x01\x02")  # the entries of the archive: sizes, methods, flags, names
    for at in [*range(0, len(whole), len(whole) // 15), *range(start, min(start + 300, len(whole)), 7)]:
        for value in (0x63, 0xFF):
            with contextlib.suppress(BadFileError):
                read_bill(whole[:at] + bytes([value]) + whole[at + 1 :])
    for length in range(0, len(whole), len(whole) // 20):
        with pytest.raises(BadFileError, match=r"\."):
            read_bill(whole[: max(2, length)])
    for sheet in (
        b'<?xml version="1.0" encoding="none-such"?><worksheet/>',
        b'<worksheet><sheetData><row><c r="\xff"/></row></sheetData></worksheet>',
        b"<worksheet>" + b"<a>" * 2_000,
    ):
        with pytest.raises(BadFileError, match=r"\."):
            read_bill(rewritten(whole, lambda name, data, sheet=sheet: (name, sheet if name == SHEET else data)))
