"""The bill of materials for a purchaser to fill in: totals are formulas, and a quoted price
replaces the price book's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from cubeyard.catalog.quotes.columns import BILL, PRINTED_TO
from cubeyard.exports.csv_files import bill_values
from cubeyard.exports.tables import book_title
from cubeyard.exports.workbook.names import SheetNames
from cubeyard.exports.workbook.pages import set_page
from cubeyard.exports.workbook.styles import Styles
from cubeyard.plans.view import PlanView

TOTALS_ROW = 2
HEADER_ROW = 3
FIRST_ROW = HEADER_ROW + 1
_AT = {column.name: index for index, column in enumerate(BILL)}
LETTER = {name: xl_col_to_name(index) for name, index in _AT.items()}
"""The spreadsheet column letter of each column of the bill."""
CATEGORY_COLUMN, TOTAL_COLUMN, CABLE_COLUMN = LETTER["category"], LETTER["total"], LETTER["cable_metres"]


def bill_sheet(book: Workbook, styles: Styles, plan: PlanView, names: SheetNames) -> None:
    """One row per line; `Total` is `To order` times the quoted price, or the book's price without a
    quote, rounded to cents.

    Only money, metres of cable and weight have sums; pieces, boxes and hours do not.
    """
    sheet = book.add_worksheet(names.bom)
    lines: list[dict[str, Any]] = plan.bom["lines"]
    last = FIRST_ROW + max(len(lines), 1)
    sheet.write_string(0, 0, "Bill of materials", styles.title)
    sheet.write_string(1, 0, _note(plan, lines), styles.note)
    _totals(sheet, styles, lines, last)
    currency = plan.bom["currency"]
    for column, item in enumerate(BILL):
        sheet.set_column(column, column, item.width)
        in_currency = f" ({currency})" if item.name in ("unit_price", "total") else ""
        sheet.write_string(HEADER_ROW, column, item.title + in_currency, styles.header)
    sheet.set_row(HEADER_ROW, 28)
    formats = _formats(styles)
    for row, line in enumerate(lines, FIRST_ROW):
        _line(sheet, formats, row, bill_values(line, currency), currency)
    sheet.data_validation(
        FIRST_ROW, _AT["quoted_price"], last - 1, _AT["quoted_price"],
        {
            "validate": "decimal", "criteria": ">=", "value": 0, "error_title": "Quoted price",
            "error_message": "A price is a number of 0 or more, for one of the line's unit.",
        },
    )  # fmt: skip
    sheet.autofilter(HEADER_ROW, 0, last - 1, len(BILL) - 1)
    sheet.freeze_panes(FIRST_ROW, 4)
    set_page(sheet, plan, last_row=last - 1, last_column=_AT[PRINTED_TO], header_row=HEADER_ROW)


def _note(plan: PlanView, lines: list[dict[str, Any]]) -> str:
    unpriced = sum(1 for line in lines if line.get("unit_price_usd") is None)
    note = (
        f"Price book {book_title(plan)}, {plan.bom['currency']}. Fill in the yellow cells; a quoted price is for one of the "
        "line's unit and replaces the book's. In another currency it is in no total. Import the file into the price book to plan "
        "with it."
    )
    if unpriced:
        note += f" {unpriced} of {len(lines)} lines have no price in this book: every total is \u201cat least\u201d."
    return note


def _totals(sheet: Worksheet, styles: Styles, lines: list[dict[str, Any]], last: int) -> None:
    """Totals above the header, so that they stay visible; they follow the filter."""
    sheet.write_string(TOTALS_ROW, 0, "Shown", styles.label)
    sheet.write_string(TOTALS_ROW, _AT["unit_price"], "No price", styles.label)

    def cells(name: str) -> str:
        return f"{LETTER[name]}{FIRST_ROW + 1}:{LETTER[name]}{last}"

    without = sum(1 for line in lines if line.get("unit_price_usd") is None) if lines else 1
    formula = f'=COUNTIF({cells("total")},"")'
    sheet.write_formula(TOTALS_ROW, _AT["quoted_price"], formula, styles.total_integer, without)
    for name, style, value in (
        ("total", styles.total_money, sum(line.get("total_usd") or 0 for line in lines)),
        ("cable_metres", styles.total_metres, sum(_cable_metres(line) or 0 for line in lines)),
        ("weight_kg", styles.total_kilograms, sum(line.get("weight_kg") or 0 for line in lines)),
    ):
        sheet.write_formula(TOTALS_ROW, _AT[name], f"=SUBTOTAL(109,{cells(name)})", style, value)  # pyright: ignore[reportArgumentType]


def _cable_metres(line: dict[str, Any]) -> float | None:
    """Metres to order, including spares and whole boxes."""
    return bill_values(line, "")["cable_metres"]


def _formats(styles: Styles) -> Callable[[str, bool], Format]:
    """The format of a column's cell; the flag is whether the line counts parts of a unit, such as
    hours."""
    numbers = {
        "length_metres": styles.stock, "unit_price": styles.money, "quoted_price": styles.filled_price,
        "total": styles.money, "weight_kg": styles.kilograms, "cable_metres": styles.metres,
        "lead_time_days": styles.filled, "price_factor": styles.stock, "line": styles.integer, "pieces_per_unit": styles.integer,
    }  # fmt: skip
    filled = {column.name for column in BILL if column.filled}

    def of(name: str, fractions: bool) -> Format:
        if name in ("quantity", "spares", "to_order"):
            return styles.kilograms if fractions else styles.integer
        return numbers.get(name) or (styles.filled if name in filled else styles.text)

    return of


def _line(sheet: Worksheet, formats: Callable[[str, bool], Format], row: int, values: dict[str, Any], own: str) -> None:
    """A price quoted in another currency than the book's has no total, because there is no exchange
    rate."""
    number = row + 1
    names = ("unit_price", "quoted_price", "to_order", "currency")
    price, quoted, order, currency = (f"{LETTER[name]}{number}" for name in names)
    at_quoted = f"ROUND({order}*{quoted},2)"
    formulas = {
        "to_order": f"={LETTER['quantity']}{number}+{LETTER['spares']}{number}",
        "total": f'=IF({quoted}="",IF({price}="","",ROUND({order}*{price},2)),'
        f'IF({currency}="{own}",{at_quoted},IF({currency}="",{at_quoted},"")))',
    }
    if values["cable_metres"] is not None:
        formulas["cable_metres"] = f"={LETTER['length_metres']}{number}*{order}"
    for column, item in enumerate(BILL):
        value, style = values[item.name], formats(item.name, values["unit"] == "h")
        if item.name in formulas:
            sheet.write_formula(row, column, formulas[item.name], style, "" if value is None else value)  # pyright: ignore[reportArgumentType]
        elif isinstance(value, int | float):
            sheet.write_number(row, column, value, style)
        elif value:
            sheet.write_string(row, column, value, style)
        elif item.filled:
            sheet.write_blank(row, column, None, style)
