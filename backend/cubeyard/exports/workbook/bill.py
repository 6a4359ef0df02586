"""The bill of materials, with totals as formulas so that a purchaser can change a price or a quantity."""

from __future__ import annotations

from typing import Any

from xlsxwriter import Workbook

from cubeyard.exports.tables import book_title
from cubeyard.exports.text import cell
from cubeyard.exports.workbook.names import SheetNames
from cubeyard.exports.workbook.styles import Styles
from cubeyard.plans.view import PlanView

HEADER_ROW = 3
FIRST_ROW = HEADER_ROW + 1
CATEGORY_COLUMN, TOTAL_COLUMN, WEIGHT_COLUMN = "B", "L", "M"
_COLUMNS = (
    ("Line", 6), ("Category", 12), ("Part", 18), ("Name", 42), ("Length (m)", 10), ("Colour", 10), ("Quantity", 10),
    ("Spares", 8), ("To order", 10), ("Unit", 7), ("Unit price", 12), ("Total", 15), ("Weight (kg)", 12),
    ("Source of the price", 26), ("Basis", 11),
)  # fmt: skip


def bill_sheet(book: Workbook, styles: Styles, plan: PlanView, names: SheetNames) -> None:
    """One row a line; `To order` is quantity and spares, `Total` is `To order` at the unit price, to the cent."""
    sheet = book.add_worksheet(names.bom)
    lines: list[dict[str, Any]] = plan.bom["lines"]
    last = FIRST_ROW + max(len(lines), 1)
    sheet.write_string(0, 0, "Bill of materials", styles.title)
    sheet.write_string(1, 0, _note(plan, lines), styles.note)
    sheet.write_string(2, 0, "Shown", styles.label)
    shown = (("G", "quantity", styles.total_integer), ("H", "spares", styles.total_integer))
    for column, key, style in shown:
        value = sum(line.get(key) or 0 for line in lines)
        sheet.write_formula(f"{column}3", f"=SUBTOTAL(109,{column}{FIRST_ROW + 1}:{column}{last})", style, value)
    sums = ((TOTAL_COLUMN, "total_usd", styles.total_money), (WEIGHT_COLUMN, "weight_kg", styles.total_kilograms))
    for column, key, style in sums:
        value = sum(line.get(key) or 0 for line in lines)
        sheet.write_formula(f"{column}3", f"=SUBTOTAL(109,{column}{FIRST_ROW + 1}:{column}{last})", style, value)
    for column, (title, width) in enumerate(_COLUMNS):
        sheet.set_column(column, column, width)
        sheet.write_string(HEADER_ROW, column, title, styles.header)
    for row, line in enumerate(lines, FIRST_ROW):
        _line(sheet, styles, row, line)
    sheet.autofilter(HEADER_ROW, 0, last - 1, len(_COLUMNS) - 1)
    sheet.freeze_panes(FIRST_ROW, 4)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(HEADER_ROW)


def _note(plan: PlanView, lines: list[dict[str, Any]]) -> str:
    unpriced = sum(1 for line in lines if line.get("unit_price_usd") is None)
    note = f"Price book {book_title(plan)}, US dollars. Spares are included in the totals."
    if unpriced:
        note += f" {unpriced} of {len(lines)} lines have no price in this book: every total is \u201cat least\u201d."
    return note


def _line(sheet: Any, styles: Styles, row: int, line: dict[str, Any]) -> None:
    number = row + 1
    sheet.write_number(row, 0, line["line"], styles.integer)
    for column, key in (
        (1, "category"),
        (2, "sku"),
        (3, "name"),
        (5, "colour"),
        (9, "unit"),
        (13, "source"),
        (14, "basis"),
    ):
        sheet.write_string(row, column, cell(line.get(key)), styles.text)
    if line.get("length_metres") is not None:
        sheet.write_number(row, 4, line["length_metres"], styles.stock)
    quantity, spares = line["quantity"], line.get("spares") or 0
    sheet.write_number(row, 6, quantity, styles.integer)
    sheet.write_number(row, 7, spares, styles.integer)
    sheet.write_formula(row, 8, f"=G{number}+H{number}", styles.integer, quantity + spares)
    if line.get("unit_price_usd") is not None:
        sheet.write_number(row, 10, line["unit_price_usd"], styles.money)
        sheet.write_formula(row, 11, f"=ROUND(I{number}*K{number},2)", styles.money, line.get("total_usd") or 0)
    if line.get("weight_kg") is not None:
        sheet.write_number(row, 12, line["weight_kg"], styles.kilograms)
