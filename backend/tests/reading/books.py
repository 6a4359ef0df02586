"""Workbooks and bills for tests: small, and with parts as other programs write them."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import openpyxl
import xlsxwriter

BILL = ("line", "sku", "length_metres", "unit_price", "quoted_price", "currency", "supplier", "price_field")
PART = {"sku": "SW", "name": "Switch", "price_usd": 1900.0, "attributes": {}}


def csv_of(rows: Sequence[Sequence[object]], separator: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


def bill_row(price: object, unit_price: object = "1900.0", supplier: object = "") -> list[object]:
    return [1, "SW", "", unit_price, price, "", supplier, "price_usd"]


def workbook(rows: Sequence[Sequence[object]], change: Callable[[Any], None] | None = None) -> bytes:
    """Saved by openpyxl, which writes formulas without values."""
    book: Any = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "BOM"
    for row in rows:
        sheet.append(list(row))
    if change is not None:
        change(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def shared_workbook(rows: Sequence[Sequence[object]]) -> bytes:
    """Saved by XlsxWriter, which puts texts into another part."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet("BOM")
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    return out.getvalue()


def rewritten(data: bytes, change: Callable[[str, bytes], tuple[str, bytes]]) -> bytes:
    """The archive with other names or contents of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(*change(part.filename, old.read(part.filename)))
    return out.getvalue()
