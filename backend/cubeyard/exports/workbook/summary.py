"""The first sheet: description, counts, cost, power and weight of the plan, and findings."""

from __future__ import annotations

import math
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from cubeyard.exports.tables import PlanTables, category_title, provenance
from cubeyard.exports.text import cell, plain
from cubeyard.exports.workbook import bill, schedule
from cubeyard.exports.workbook.names import MAX_RACK_SHEETS, SheetNames, quoted
from cubeyard.exports.workbook.pages import set_page
from cubeyard.exports.workbook.styles import Styles
from cubeyard.plans.site_limits import limit_words
from cubeyard.plans.view import PlanView

_WIDTHS = (34, 22, 20, 16, 18, 42)
"""Widths of the columns, in characters."""
_LINE_POINTS = 13.5


def summary_sheet(book: Workbook, styles: Styles, tables: PlanTables, names: SheetNames) -> None:
    """Totals are formulas over the other sheets if those contain the rows."""
    plan = tables.plan
    sheet = book.add_worksheet(names.summary)
    for column, width in enumerate(_WIDTHS):
        sheet.set_column(column, column, width)
    sheet.hide_gridlines(2)
    sheet.write_string(0, 0, cell(plan.name), styles.title)
    sheet.write_string(1, 0, cell(plan.summary.get("title")), styles.text)
    sheet.write_string(2, 0, provenance(plan), styles.note)
    sheet.write_string(3, 0, f"plan hash {plan.plan_hash}", styles.note)
    row = _counts(sheet, styles, tables, names, 5)
    row = _costs(sheet, styles, plan, names, row + 1)
    row = _levels(sheet, styles, tables, names, row + 1)
    row = _checks(sheet, styles, plan, row + 1)
    row = _site_limits(sheet, styles, plan, row + 1)
    row = _findings(sheet, styles, plan, row + 1)
    if len(plan.rack_names) > MAX_RACK_SHEETS:
        sheet.write_string(
            row + 1,
            0,
            f"This workbook has sheets for the first {MAX_RACK_SHEETS} of {len(plan.rack_names):,} racks; "
            "the cable schedule has every cable, and its rack columns filter for the others.",
            styles.note,
        )
        row += 1
    set_page(sheet, plan, last_row=row, last_column=len(_WIDTHS) - 1)


def _words(sheet: Worksheet, styles: Styles, row: int, texts: dict[int, str]) -> None:
    """A row of texts by column, with line breaks as needed; the last text extends to the sheet's
    right edge.

    A spreadsheet cuts text that is longer than its cell, and does not adapt a row's height to
    merged cells.
    """
    last = max(texts)
    lines = 1
    for column, text in texts.items():
        room = sum(_WIDTHS[column:]) if column == last else _WIDTHS[column]
        lines = max(lines, math.ceil(len(text) / room))
    sheet.set_row(row, lines * _LINE_POINTS)
    for column, text in texts.items():
        if column < last or column == len(_WIDTHS) - 1:
            sheet.write_string(row, column, text, styles.wrapped)
        else:
            sheet.merge_range(row, column, row, len(_WIDTHS) - 1, "", styles.wrapped)
            sheet.write_string(row, column, text, styles.wrapped)


def _headers(sheet: Worksheet, styles: Styles, row: int, titles: tuple[str, ...]) -> None:
    """Titles over the columns; the band extends to the sheet's right edge."""
    for column in range(len(_WIDTHS)):
        sheet.write_string(row, column, titles[column] if column < len(titles) else "", styles.header)


def _counts(sheet: Worksheet, styles: Styles, tables: PlanTables, names: SheetNames, row: int) -> int:
    plan, summary = tables.plan, tables.plan.summary
    counts = summary["counts"]
    sheet.write_string(row, 0, "Plan", styles.heading)
    sheet.write_blank(row, 1, None, styles.heading)
    lines: list[tuple[str, Any, Any, str | None]] = [
        ("Servers", counts["servers"], styles.integer, None),
        ("Switches", counts["switches"], styles.integer, None),
        ("Cables", counts["cables"], styles.integer, _schedule_count(plan, names)),
        ("Racks", counts["racks"], styles.integer, None),
        # Filters on the bill must not change the summary, so it sums the column instead of using
        # the sheet's total.
        (
            "Cable to order, with spares (m)",
            plan.bom["cable_order_metres"],
            styles.total_metres,
            _cable_sum(plan, names),
        ),
        ("Longest cable (m)", summary["longest_cable_metres"], styles.metres, None),
        ("Power (W)", summary["power_watts"]["total"], styles.watts, None),
        ("Weight (kg)", summary["weight_kg"]["total"], styles.kilograms, None),
        ("Peak tray fill", summary["tray"]["peak_fill"], styles.percent, None),
        ("Labour (hours)", (summary.get("labour_minutes") or 0) / 60, styles.kilograms, None),
    ]
    for name, value, style, formula in lines:
        row += 1
        sheet.write_string(row, 0, name, styles.label)
        if value is None:
            sheet.write_string(row, 1, "not known", styles.note)
        elif formula is None:
            sheet.write_number(row, 1, value, style)
        else:
            sheet.write_formula(row, 1, formula, style, value)
        if name == "Weight (kg)" and summary["weight_kg"].get("at_least"):
            sheet.write_string(row, 2, "at least", styles.note)
    return row + 1


def _schedule_range(plan: PlanView, page: int, column: str, names: SheetNames) -> str:
    rows = plan.cable_count - page * schedule.SCHEDULE_ROWS_PER_SHEET
    last = schedule.FIRST_ROW + max(min(rows, schedule.SCHEDULE_ROWS_PER_SHEET), 1)
    return f"{quoted(names.schedule[page])}!{column}{schedule.FIRST_ROW + 1}:{column}{last}"


def _schedule_count(plan: PlanView, names: SheetNames) -> str:
    return "=" + "+".join(f"COUNTA({_schedule_range(plan, page, 'A', names)})" for page in range(len(names.schedule)))


def _bill_range(plan: PlanView, names: SheetNames, column: str) -> str:
    last = bill.FIRST_ROW + max(len(plan.bom["lines"]), 1)
    return f"{quoted(names.bom)}!{column}{bill.FIRST_ROW + 1}:{column}{last}"


def _cable_sum(plan: PlanView, names: SheetNames) -> str:
    return f"=SUM({_bill_range(plan, names, bill.CABLE_COLUMN)})"


def _costs(sheet: Worksheet, styles: Styles, plan: PlanView, names: SheetNames, row: int) -> int:
    sheet.write_string(row, 0, f"Cost ({plain(plan.bom['currency'])})", styles.heading)
    sheet.write_blank(row, 1, None, styles.heading)
    at_least = bool(plan.summary["cost_usd"].get("at_least"))
    totals: dict[str, float] = {}
    for line in plan.bom["lines"]:
        totals[line["category"]] = totals.get(line["category"], 0.0) + (line.get("total_usd") or 0.0)
    first = row + 2
    for category, value in totals.items():
        row += 1
        sheet.write_string(row, 0, category_title(category), styles.label)
        where = _bill_range(plan, names, bill.CATEGORY_COLUMN)
        what = _bill_range(plan, names, bill.TOTAL_COLUMN)
        sheet.write_formula(row, 1, f'=SUMIF({where},"{plain(category)}",{what})', styles.money, value)  # pyright: ignore[reportArgumentType]
    row += 1
    sheet.write_string(row, 0, "Total, at least" if at_least else "Total", styles.total)
    sheet.write_formula(row, 1, f"=SUM(B{first}:B{row})", styles.total_money, sum(totals.values()))  # pyright: ignore[reportArgumentType]
    return row + 1


def _levels(sheet: Worksheet, styles: Styles, tables: PlanTables, names: SheetNames, row: int) -> int:
    for column, title in enumerate(("Level", "Role", "Switches", "Cables")):
        sheet.write_string(row, column, title, styles.header)
    plan = tables.plan
    for level in plan.summary["counts"]["levels"]:
        row += 1
        sheet.write_string(row, 0, f"L{level['level']}  {plain(level['label'])}", styles.device(level["level"]))
        sheet.write_string(row, 1, cell(level.get("role")), styles.text)
        sheet.write_number(row, 2, level["switches"], styles.integer)
        formula = "+".join(
            f"COUNTIF({_schedule_range(plan, page, schedule.LEVEL_COLUMN, names)},{level['level']})"
            for page in range(len(names.schedule))
        )
        sheet.write_formula(row, 3, "=" + formula, styles.integer, level["cables"])
    return row + 1


def _checks(sheet: Worksheet, styles: Styles, plan: PlanView, row: int) -> int:
    certificate = plan.summary["certificate"]
    verdict = "passed" if certificate["passed"] else "FAILED"
    _headers(sheet, styles, row, (f"Wiring certificate: {verdict}", "Checked", "Result", "What was checked"))
    for check in certificate["checks"]:
        row += 1
        result = "pass" if check["passed"] else "FAIL"
        _words(sheet, styles, row, {0: cell(check["name"]), 2: result, 3: cell(check["statement"])})
        sheet.write_number(row, 1, check["checked"], styles.integer_top)
    return row + 1


def _site_limits(sheet: Worksheet, styles: Styles, plan: PlanView, row: int) -> int:
    _headers(sheet, styles, row, ("Container or room", "Most", "Limit", "Result", "Source of limit"))
    for site_limit in plan.summary["site_limits"]:
        row += 1
        words = limit_words(site_limit)
        result = "OVER" if words.over else "within" if site_limit["limit"] is not None else "not checked"
        texts = (words.title, words.value, words.limit, result, words.source)
        _words(sheet, styles, row, {column: cell(text) for column, text in enumerate(texts)})
    return row + 1


def _findings(sheet: Worksheet, styles: Styles, plan: PlanView, row: int) -> int:
    findings = plan.summary["findings"]
    _headers(sheet, styles, row, ("Findings" if findings else "No findings", "Where", "What to know"))
    for finding in findings:
        row += 1
        style = styles.severity.get(finding["severity"], styles.text)
        hint = plain(finding.get("hint"))
        what = f"{plain(finding['severity'])}: {plain(finding['code'])}"
        message = f"{plain(finding['message'])}{' ' + hint if hint else ''}"
        _words(sheet, styles, row, {0: what, 1: cell(finding.get("where")), 2: cell(message)})
        sheet.write_string(row, 0, what, style)
    return row + 1
