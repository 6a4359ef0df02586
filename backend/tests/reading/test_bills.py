"""Prices as people and their programs write them: the right price, a question, or a problem by
sheet, row and column."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from cubeyard.catalog.quotes import Origin, Quotes, quoted_parts, read_bill
from cubeyard.reading.numbers import Mark
from cubeyard.reading.problems import TwoReadingsError
from tests.reading.books import BILL, PART, bill_row, csv_of, rewritten, shared_workbook, workbook


def quoted(data: bytes, decimal: Mark | None = None) -> Quotes:
    return quoted_parts([PART], "USD", read_bill(data, decimal), Origin("Quotation", "2026-11-20"))


def price(data: bytes, decimal: Mark | None = None) -> object:
    quotes = quoted(data, decimal)
    assert not quotes.problems
    return next((entry.after for entry in quotes.changes if entry.field == "price_usd"), None)


@pytest.mark.parametrize(
    ("written", "unit_price", "expected"),
    [
        ("0.125", "1900.0", 0.125), ("1200,-", "1900,0", 1200), ("1200.-", "1900.0", 1200), ("1.200,--", "1900,0", 1200),
        ("1.234", "1900,5", 1234), ("1.234", "1900.5", 1.234), ("1,234", "1900.5", 1234), ("1,234", "1900,5", 1.234),
        ("0,125", "", 0.125), ("1'234.50", "", 1234.5), ("1\u202f234,50 \u20ac", "", 1234.5), ("$1,234.50", "", 1234.5),
        ("\uff11\uff12\uff0e\uff15", "", 12.5), ("12,5", "1900.0", 12.5), ("1.234.567", "", 1234567), ("US$ 12", "", 12),
        ("\u2014", "1900,0", None), ("-", "", None), ("", "", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_the_decimal_mark_is_judged_by_all_numbers_of_the_file(
    written: str, unit_price: str, expected: float | None, separator: str
) -> None:
    if written.startswith("1\u202f"):
        unit_price = ""
    text = csv_of([BILL, bill_row(written.replace("\u20ac", "USD"), unit_price)], separator)
    assert price(text.encode()) == expected


@pytest.mark.parametrize(("written", "unit_price"), [("1.234", ""), ("1,234", "5"), ("1.234", "1900.0 1900,0")])
def test_a_number_with_two_readings_is_a_question(written: str, unit_price: str) -> None:
    rows = [BILL, *(bill_row("", other) for other in unit_price.split()), bill_row(written, "")]
    data = csv_of(rows, ";").encode()
    with pytest.raises(TwoReadingsError, match=r"column quoted_price.*point.*comma.*--decimal point"):
        quoted(data)
    point, comma = (1.234, 1234) if "." in written else (1234, 1.234)
    if len(rows) == 2:
        assert (price(data, "point"), price(data, "comma")) == (point, comma)


@pytest.mark.parametrize(("sign", "problem"), [("$", ""), ("us$", ""), ("\u20ac", "in EUR"), ("A$", "in AUD")])
def test_a_currency_may_be_a_sign_in_its_column(sign: str, problem: str) -> None:
    row = bill_row("5")
    row[BILL.index("currency")] = sign
    quotes = quoted(csv_of([BILL, row]).encode())
    assert [entry.after for entry in quotes.changes] == ([] if problem else [5.0])
    assert [problem in str(entry) for entry in quotes.problems] == [True] * bool(problem)


@pytest.mark.parametrize("decimal", ["point", "comma"])
def test_a_number_of_the_other_mark_is_refused_once_a_mark_is_given(decimal: Mark) -> None:
    data = csv_of([BILL, bill_row("1,5" if decimal == "point" else "1.5")], ";").encode()
    (problem,) = quoted(data, decimal).problems
    assert f"is not a number with a decimal {decimal}" in problem.message


@pytest.mark.parametrize("written", ["cheap", "12 or 3", "#N/A", "inf", "1.2.3", "12.40-", "(12)"])
def test_what_is_no_price_is_a_problem_by_its_cell(written: str) -> None:
    (problem,) = quoted(csv_of([BILL, bill_row(written)]).encode()).problems
    assert problem.line.startswith("line 2")
    assert "float" not in problem.message


def _cell(value: object, number_format: str = "General") -> Callable[[Any], None]:
    def change(book: Any) -> None:
        book["BOM"]["E2"].value = value
        book["BOM"]["E2"].number_format = number_format

    return change


@pytest.mark.parametrize(
    ("value", "format", "message"),
    [
        ("=1900*0.9", "General", "formula without a saved value"), ("#N/A", "General", "an error of a formula"),
        (datetime.date(1950, 3, 1), "mmm yy", "is a date, 1950-03-01."), (18323, "mmm yy", "is a date, 1950-03-01."),
        (True, "General", "The cell is TRUE."), (datetime.time(12, 40), "hh:mm", "is a date, 12:40:00."),
        (0.52, "h:mm", "is a date, 12:28:48"), ("n/a", "General", "'n/a' is not a number."),
    ],
)  # fmt: skip
def test_a_cell_of_a_workbook_that_is_no_price_is_a_problem(value: object, format: str, message: str) -> None:
    quotes = quoted(workbook([BILL, bill_row("")], _cell(value, format)))
    (problem,) = quotes.problems
    assert problem.line == "sheet BOM, row 2, column quoted_price"
    assert message in problem.message
    assert quotes.parts == []


@pytest.mark.parametrize(
    ("number_format", "written"),
    [
        ("#,##0.00\u00a0\u20ac", "12.5 \u20ac"), ("_-* #,##0.00 [$\u20ac-407]_-", "12.5 \u20ac"), ("[$CHF-807] #,##0.00", "12.5 CHF"),
        ('#,##0.00 "EUR"', "12.5 EUR"), ("[$\u00a3-809]#,##0.00;-[$\u00a3-809]#,##0.00", "12.5 \u00a3"),
        ('"$"#,##0.00_);("$"#,##0.00)', ""), ("[$-409]#,##0.00", ""), ("#,##0.00", ""), ('0.00 "each"', ""),
    ],
)  # fmt: skip
def test_a_currency_in_the_format_of_a_cell_is_that_of_its_price(number_format: str, written: str) -> None:
    quotes = quoted(workbook([BILL, bill_row("")], _cell(12.5, number_format)))
    assert [f"written as {written}, and" in entry.message for entry in quotes.problems] == ([True] if written else [])
    assert [entry.after for entry in quotes.changes] == ([] if written else [12.5])


def test_a_supplier_that_is_an_error_or_a_date_is_a_problem_too() -> None:
    for supplier in ("#REF!", datetime.date(2026, 3, 1)):
        (problem,) = quoted(workbook([BILL, bill_row(5, supplier=supplier)])).problems
        assert problem.line == "sheet BOM, row 2, column supplier"


@pytest.mark.parametrize(("after", "jump"), [(190.0, True), (19_000, True), (0, True), (191, False), (18_999, False)])
def test_a_price_that_jumps_tenfold_is_marked(after: float, jump: bool) -> None:
    (change,) = quoted(workbook([BILL, bill_row(after)])).changes
    assert (change.before, change.after, change.jump) == (1900, after, jump)


def test_parts_are_found_by_relationships_in_any_letter_case() -> None:
    def change(name: str, data: bytes) -> tuple[str, bytes]:
        if name.startswith("xl/worksheets/"):
            return name.replace("worksheets/sheet1", "Worksheets/SHEET1"), data
        return name.replace("/", "\\") if name == "xl/sharedStrings.xml" else name, data

    assert price(rewritten(workbook([BILL, bill_row(12.5)]), change)) == 12.5

    def moved(name: str, data: bytes) -> tuple[str, bytes]:
        for old, new in ((b"worksheets/sheet1.xml", b"tables/first.xml"), (b"xl/styles.xml", b"xl/looks.xml")):
            data = data.replace(old, new)
        return name.replace("worksheets/sheet1", "tables/first").replace("xl/styles", "xl/looks"), data

    dated = workbook([BILL, bill_row("")], _cell(18323, "mmm yy"))
    assert price(rewritten(workbook([BILL, bill_row(12.5)]), moved)) == 12.5
    assert "is a date" in quoted(rewritten(dated, moved)).problems[0].message


def test_the_strict_form_of_a_workbook_is_read() -> None:
    def strict(name: str, data: bytes) -> tuple[str, bytes]:
        data = data.replace(
            b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
            b"http://purl.oclc.org/ooxml/spreadsheetml/main",
        )
        return name, data.replace(
            b"http://schemas.openxmlformats.org/officeDocument/2006/", b"http://purl.oclc.org/ooxml/officeDocument/"
        )

    assert price(rewritten(workbook([BILL, bill_row(12.5)]), strict)) == 12.5


def test_how_a_text_is_pronounced_is_no_part_of_it() -> None:
    def furigana(name: str, data: bytes) -> tuple[str, bytes]:
        plain = "<t>東京電工</t>".encode()
        return name, data.replace(plain, plain + '<rPh sb="0" eb="4"><t>トウキョウデンコウ</t></rPh>'.encode())

    for made in (workbook, shared_workbook):  # in the cell, or in another part of the file
        data = rewritten(made([BILL, bill_row(5, supplier="東京電工")]), furigana)
        assert ("supplier", "東京電工") in {(entry.field, entry.after) for entry in quoted(data).changes}


def test_a_hidden_sheet_does_not_hide_the_one_that_people_see() -> None:
    def change(book: Any) -> None:
        old = book.create_sheet("Old", 0)
        for row in (BILL, bill_row(7)):
            old.append(list(row))
        old.sheet_state = "hidden"

    data = workbook([["Bill of hall 2"], [], BILL, [], bill_row(12.5)], change)
    assert price(data) == 12.5
    assert [entry.where for entry in quoted(data).skipped] == ["sheet Old"]


def test_what_is_filled_into_a_line_without_a_part_is_named() -> None:
    lost = bill_row("", supplier="A. Supplier")
    lost[BILL.index("sku")] = ""
    quotes = quoted(csv_of([BILL, lost, ["Total"], bill_row(12.5)]).encode())
    assert [(entry.where, entry.reason) for entry in quotes.skipped] == [
        ("line 2", "It names no part for its supplier.")
    ]
    assert [entry.after for entry in quotes.changes] == [12.5]
