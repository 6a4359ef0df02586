"""openpyxl opens the workbook; its formulas are recomputed and compared with their cached
values."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.workbook import names as sheet_names
from cubeyard.exports.workbook import summary as summary_sheet
from cubeyard.exports.workbook.bill import LETTER
from cubeyard.exports.workbook.names import SheetNames
from cubeyard.plans.view import PlanView
from tests.conftest import some
from tests.exports import plans
from tests.exports.formulas import Evaluator


@pytest.fixture(scope="session")
def opened(rendered: Callable[[str, str], bytes]) -> Callable[[str], tuple[Any, Any]]:
    """The workbook with formulas, and with their cached values."""
    made: dict[str, tuple[Any, Any]] = {}

    def get(name: str) -> tuple[Any, Any]:
        if name not in made:
            data = rendered("xlsx", name)
            made[name] = (
                openpyxl.load_workbook(io.BytesIO(data)),
                openpyxl.load_workbook(io.BytesIO(data), data_only=True),
            )
        return made[name]

    return get


Opened = Callable[[str], tuple[Any, Any]]


@pytest.mark.parametrize("name", some(["subways", "cube", "torus", "partless"]))
def test_every_formula_gives_the_value_beside_it(name: str, opened: Opened) -> None:
    book, values = opened(name)
    evaluator = Evaluator(book)
    checked: Counter[str] = Counter()
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    cached = values[sheet.title].cell(cell.row, cell.column).value
                    worked_out = evaluator.cell(sheet.title, cell.row, cell.column)
                    # openpyxl reads an empty cached text as None.
                    expected = (cached or "") if worked_out == "" else pytest.approx(cached, abs=0.011)
                    assert worked_out == expected, f"{sheet.title}!{cell.coordinate} {cell.value}"
                    checked[sheet.title] += 1
    assert checked["Summary"] >= 5
    assert checked["BOM"] >= 4
    assert checked["Cable schedule"] == 3


@pytest.mark.parametrize("name", ["cube", "subways"])
def test_totals_are_the_engines(name: str, opened: Opened, plan: Callable[[str], PlanView]) -> None:
    _, values = opened(name)
    summary = {row[0]: row[1] for row in values["Summary"].iter_rows(values_only=True) if row[0]}
    ours = plan(name).summary
    assert summary["Cables"] == ours["counts"]["cables"]
    metres = plan(name).bom["cable_order_metres"]
    assert summary["Cable to order, with spares (m)"] == pytest.approx(metres)
    assert metres > ours["cable_metres"], "spares are in the order"
    total = summary.get("Total", summary.get("Total, at least"))
    assert total == pytest.approx(ours["cost_usd"]["total"], abs=0.02)
    bom = values["BOM"]
    assert bom[f"{LETTER['total']}3"].value == pytest.approx(ours["cost_usd"]["total"], abs=0.02)
    assert bom[f"{LETTER['cable_metres']}3"].value == pytest.approx(metres)


@pytest.mark.long
def test_a_quoted_price_takes_the_place_of_the_books_and_units_are_not_added_up(opened: Opened) -> None:
    book, _ = opened("cube-2009")
    sheet = book["BOM"]
    lines = {row[1].value: row for row in sheet.iter_rows(min_row=5)}
    switch, rack = lines["switch"], lines["rack"]
    at = {cell.value: cell.column - 1 for cell in sheet[4]}
    total, quoted = at["Total (USD)"], at["Quoted price"]

    def worked_out() -> tuple[float, float, float]:
        now = Evaluator(book)
        cells = (switch[total].row, total + 1), (rack[total].row, total + 1), (3, total + 1)
        return tuple(now.cell("BOM", row, column) or 0.0 for row, column in cells)  # pyright: ignore[reportReturnType]

    before = worked_out()
    assert before[0] == 704 * 40.0
    assert before[1] == 0, "the paper prices no rack"
    switch[quoted].value, rack[quoted].value = 41.5, 1000
    after = worked_out()
    assert after[:2] == (704 * 41.5, 16 * 1000.0)
    assert after[2] - before[2] == pytest.approx(704 * 1.5 + 16_000)
    switch[at["Currency"]].value = "EUR"
    mixed = worked_out()
    assert mixed[:2] == (0, after[1]), "an amount in another currency is in no total"
    assert mixed[2] == pytest.approx(after[2] - after[0])
    switch[at["Currency"]].value = "USD"
    switch[quoted].value = rack[quoted].value = None
    summed = {cell.column - 1 for cell in sheet[3] if isinstance(cell.value, str) and "SUBTOTAL" in cell.value}
    assert summed == {total, at["Cable (m)"], at["Weight (kg)"]}


def test_every_sheet_prints_one_page_wide_with_its_number_and_its_print_area(opened: Opened) -> None:
    book, _ = opened("subways")
    for sheet in book.worksheets:
        assert sheet.print_area, sheet.title
        assert sheet.page_setup.fitToHeight == 0
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert sheet.oddFooter.right.text == "Page &P of &N"
        assert sheet.page_setup.paperSize in (8, 9)
    end = book["BOM"].print_area.rsplit("$", 2)[-2]
    assert end == LETTER["total"], "what is for the screen is not printed"


def test_a_plan_on_letter_prints_letter(engine: Engine) -> None:
    spec = {"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"paper": "letter"}}
    view = plans.compute(engine, spec, "current-2026", name="A & B 100%")
    book = openpyxl.load_workbook(io.BytesIO(b"".join(render("xlsx", view))))
    assert {sheet.page_setup.paperSize for sheet in book.worksheets} == {1, 3}
    footers = [sheet.oddFooter.left.text or "" for sheet in book.worksheets]  # pyright: ignore[reportOptionalMemberAccess]
    assert all("A && B 100%" in text for text in footers)
    assert "LABEL-LETTER" in [row[2] for row in book["BOM"].iter_rows(min_row=5, values_only=True)]


def test_a_total_says_at_least_when_a_part_has_no_price(opened: Opened) -> None:
    words = [row[0] for row in opened("cube-2009")[1]["Summary"].iter_rows(values_only=True)]
    assert "Total, at least" in words
    assert "Total" not in words


def test_sheets_are_frozen_filtered_wide_and_formatted(opened: Opened, plan: Callable[[str], PlanView]) -> None:
    book, _ = opened("cube")
    assert book.sheetnames == ["Summary", "BOM", "Cable schedule", "Racks", *plan("cube").rack_names]
    schedule = book["Cable schedule"]
    assert schedule.freeze_panes == "B5"
    assert schedule.auto_filter.ref == "A4:W2052"
    assert schedule.column_dimensions["B"].width > 20
    assert schedule["Q5"].number_format == "0.00"
    formats = [book["BOM"][f"{LETTER[name]}5"].number_format for name in ("unit_price", "quoted_price", "total")]
    assert formats == ["$#,##0.00", "#,##0.00", "$#,##0.00"], "a price may be quoted in another currency"
    assert book["BOM"].freeze_panes == "E5"
    assert schedule.max_row == 4 + 2048


def test_the_schedule_sheet_is_the_plan(opened: Opened, plan: Callable[[str], PlanView]) -> None:
    view = plan("cube")
    rows = list(opened("cube")[1]["Cable schedule"].iter_rows(min_row=5, values_only=True))
    assert [row[0] for row in rows] == [view.cable_name(i) for i in range(2048)]
    assert [row[1] for row in rows] == view.near_labels
    assert [row[3] for row in rows] == view.cables["level"].tolist()
    assert [row[17] for row in rows] == [mm / 1000 for mm in view.cables["stock_mm"].tolist()]
    assert rows[0][7] == "h0000", "a server's digits stay text"


@pytest.mark.parametrize("name", ["cube", "subways", "torus"])
def test_each_rack_sheet_has_its_devices_and_its_cable_ends(
    name: str, opened: Opened, plan: Callable[[str], PlanView]
) -> None:
    view, (_, values) = plan(name), opened(name)
    devices = view.scene["devices"]
    ends: Counter[str] = Counter()
    for rack, title in enumerate(view.rack_names):
        rows = list(values[title].iter_rows(min_row=5, values_only=True))
        header = rows[0]
        gap = header.index(None)
        standing = {cell for row in rows[1:] for cell in row[1:gap] if cell and cell != "\u2191"}
        assert standing == {devices["host"][i] for i, at in enumerate(devices["rack"]) if at == rack}
        units = [row[0] for row in rows[1:] if row[0]]
        assert units == list(range(view.scene["racks"]["units"][rack], 0, -1))
        for row in rows[1:]:
            if row[gap + 1]:
                ends[row[gap + 1]] += 1
    racks = devices["rack"]
    for i in range(view.cable_count):
        a, b = racks[view.cables["a_device"][i]], racks[view.cables["b_device"][i]]
        assert ends[view.cable_name(i)] == (1 if a == b else 2)


def test_a_unit_shows_what_stands_in_it(opened: Opened) -> None:
    """Elevation rows go from the top: unit 44 first; servers in the lowest unit last."""
    sheet = opened("cube-2009")[1]["R00"]
    bottom = next(row for row in sheet.iter_rows(min_row=6, values_only=True) if row[0] == 1)
    assert bottom[1:3] == ("h0000", "h0001")


def test_past_two_hundred_racks_the_summary_says_what_is_left_out(
    plan: Callable[[str], PlanView], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sheet_names.MAX_RACK_SHEETS == 200
    few = 3  # in the place of two hundred
    for module in (sheet_names, summary_sheet):
        monkeypatch.setattr(module, "MAX_RACK_SHEETS", few)
    view = plan("subways")
    assert len(view.rack_names) > few
    book: Any = openpyxl.load_workbook(io.BytesIO(b"".join(render("xlsx", view))), read_only=True)
    assert len(book.sheetnames) == 4 + few
    words = " ".join(str(row[0]) for row in book["Summary"].iter_rows(values_only=True) if row[0])
    assert f"the first {few} of {len(view.rack_names)} racks" in words
    racks = sum(1 for _ in book["Racks"].iter_rows(min_row=5))
    assert racks == len(view.rack_names)


def test_no_cell_holds_a_formula_a_user_wrote(hostile: PlanView) -> None:
    book: Any = openpyxl.load_workbook(io.BytesIO(b"".join(render("xlsx", hostile))))
    names = []
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    assert "HYPERLINK" not in cell.value
                    assert "cmd" not in cell.value
                elif isinstance(cell.value, str):
                    assert not cell.value.startswith(("=", "+", "-", "@")), cell.value
                    names.append(cell.value)
    assert any(name.startswith("'=HYPERLINK") for name in names)
    assert any(name.startswith("'=cmd") for name in names)


def test_sheet_names_are_distinct_and_legal(plan: Callable[[str], PlanView]) -> None:
    names = SheetNames(plan("priced"))
    every = [names.summary, names.bom, *names.schedule, names.racks, *names.rack]
    assert len({name.lower() for name in every}) == len(every)
    assert all(0 < len(name) <= 31 and not set(name) & set("[]:*?/\\") for name in every)


@pytest.mark.parametrize("name", ["cube", "subways", "torus", "partless"])
def test_the_summary_cuts_no_text(name: str, opened: Opened) -> None:
    """A text that is longer than its cell extends over empty cells within the printed columns, or
    wraps within the row's height."""
    sheet = opened(name)[0]["Summary"]
    widths = [0.0] * 6
    # Neighbours of one width are one entry.
    for entry in sheet.column_dimensions.values():
        widths[entry.min - 1 : entry.max] = [entry.width] * (entry.max - entry.min + 1)
    merged = {area.coord.split(":")[0]: area.max_col for area in sheet.merged_cells.ranges}
    for row in sheet.iter_rows(min_row=3):
        texts = [cell for cell in row if isinstance(cell.value, str) and not cell.value.startswith("=")]
        for cell in texts:
            column = cell.column - 1
            following = [other.column - 1 for other in row if other.column > cell.column and other.value is not None]
            past = merged.get(
                cell.coordinate, column + 1 if cell.alignment.wrap_text else min([*following, len(widths)])
            )
            lines = (sheet.row_dimensions[cell.row].height or 13.5) // 13.5 if cell.alignment.wrap_text else 1
            assert len(cell.value) * (cell.font.size / 10) <= sum(widths[column:past]) * lines, cell.value
