"""Prices that come back in a bill: from our own files, and from what spreadsheet programs make of
them."""

from __future__ import annotations

import contextlib
import csv
import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cubeyard.catalog.quotes import (
    BILL,
    Origin,
    Quotes,
    quoted_parts,
    read_bill,
    read_rates,
)
from cubeyard.cli.command import app
from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.kit.asgi import XLSX_MEDIA_TYPE
from cubeyard.plans.view import PlanView
from cubeyard.reading.problems import BadFileError
from cubeyard.settings import Settings

ORIGIN = Origin("Quotation 4711", "2026-11-20")
SPEC = {"topology": {"family": "bcube", "n": 4, "k": 1}}
BOOKS = "/api/v1/catalog/books"
Json = dict[str, Any]
Fill = Callable[[str, Callable[[Json], Json]], bytes]


@pytest.fixture(scope="module")
def local() -> Engine:
    return Engine(Settings())


def _book(engine: Engine, name: str) -> Json:
    return next(book for book in engine.builtin_books if book["book"] == name)


def _export(engine: Engine, format: str, book: Json, spec: Json = SPEC) -> bytes:
    return b"".join(render(format, PlanView.of(engine.plan(spec, book))))


def _fill_csv(data: bytes, fill: Callable[[Json], Json], delimiter: str = ",") -> bytes:
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    out = io.StringIO()
    writer = csv.DictWriter(out, [column.name for column in BILL], delimiter=delimiter)
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, **fill(row)})
    return out.getvalue().encode()


def _fill_xlsx(data: bytes, fill: Callable[[Json], Json]) -> bytes:
    """As another program saves it: shared strings, no cached values of formulas."""
    book: Any = openpyxl.load_workbook(io.BytesIO(data))
    sheet = book["BOM"]
    for row in sheet.iter_rows(min_row=5, max_col=len(BILL)):
        values = {column.name: cell.value for column, cell in zip(BILL, row, strict=True)}
        for name, value in fill(values).items():
            row[[column.name for column in BILL].index(name)].value = value
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _import(book: Json, data: bytes) -> Quotes:
    return quoted_parts(book["parts"], book["currency"], read_bill(data), ORIGIN)


def _changed(book: Json, quotes: Quotes) -> Json:
    by_sku = {part["sku"]: part for part in quotes.parts}
    return {**book, "parts": [by_sku.get(part["sku"], part) for part in book["parts"]]}


@pytest.mark.parametrize("stock", ["stock", "bulk"])
@pytest.mark.parametrize("name", ["paper-2009", "current-2026"])
@pytest.mark.parametrize("format", ["xlsx", "bom-csv"])
def test_every_line_that_is_quoted_costs_what_was_quoted(local: Engine, format: str, name: str, stock: str) -> None:
    """Fill in a price for every line that has a part, import, plan again: each line then has that
    price."""
    book = _book(local, name)
    spec = {**SPEC, "cabling": {"stock": stock}}

    def price(row: Json) -> float:
        # One price for all colours of a length, and one for all tasks.
        key = f"{row['sku']} {row['category']} {row['length_metres'] or ''}"
        return 10 + sum(map(ord, key)) % 90 + 0.25

    def fill(row: Json) -> Json:
        return {"quoted_price": price(row), "supplier": "Parts & Co", "lead_time_days": 21} if row["sku"] else {}

    data = (_fill_xlsx if format == "xlsx" else _fill_csv)(_export(local, format, book, spec), fill)
    quotes = _import(book, data)
    assert not quotes.problems
    assert quotes.changes
    changed = _changed(book, quotes)
    local.check_book(changed)
    lines = local.plan(spec, changed).bom["lines"]
    quoted = [line for line in lines if line["sku"]]
    assert len(quoted) > 8
    for line in quoted:
        assert line["unit_price_usd"] == pytest.approx(price(line)), line
        assert line["basis"] == "vendor"
        assert line["source"] == "Quotation 4711"
        assert (line["supplier"], line["lead_time_days"]) == ("Parts & Co", 21)
    again = _import(changed, data)
    assert not again.changes
    assert not again.problems


@pytest.mark.parametrize("format", ["xlsx", "bom-csv"])
@pytest.mark.parametrize("name", ["paper-2009", "current-2026"])
def test_a_bill_that_nobody_filled_in_changes_nothing(local: Engine, format: str, name: str) -> None:
    quotes = _import(_book(local, name), _export(local, format, _book(local, name)))
    assert (quotes.changes, quotes.problems, quotes.parts) == ([], [], [])


def test_each_length_and_colour_has_its_own_part_number(local: Engine) -> None:
    book = _book(local, "current-2026")

    def number(row: Json) -> str:
        return f"N-{row['sku']}-{row['length_metres'] or 0}-{row['colour'] or ''}"

    data = _fill_csv(_export(local, "bom-csv", book), lambda row: {"part_number": number(row)})
    quotes = _import(book, data)
    assert not quotes.problems
    lines = local.plan(SPEC, _changed(book, quotes)).bom["lines"]
    assert all(line["part_number"] == number(line) for line in lines if line["sku"])
    assert len({line["part_number"] for line in lines if line["category"] == "cable"}) >= 2


def test_what_cannot_be_taken_names_its_line(local: Engine) -> None:
    book = _book(local, "current-2026")
    given = {
        "switch": {"quoted_price": "cheap"}, "nic": {"quoted_price": "-5"}, "server": {"quoted_price": 1, "currency": "EUR"},
        "rack": {"sku": "RACK-NONE", "quoted_price": 2}, "shelf": {"sku": "", "quoted_price": 2},
        "container": {"quoted_price": 2, "price_field": "colour"}, "pdu": {"supplier": "x" * 201},
        "cord": {"lead_time_days": 99999}, "tie": {"quoted_price": 14},
    }  # fmt: skip
    cables = 0

    def fill(row: Json) -> Json:
        nonlocal cables
        cables += row["category"] == "cable"
        if row["category"] == "cable":
            return {"quoted_price": cables}
        return given.get(row["category"], {})

    data = _fill_csv(_export(local, "bom-csv", book), fill)
    rows = list(csv.DictReader(io.StringIO(_export(local, "bom-csv", book).decode(), newline="")))
    quotes = _import(book, data)
    reported = {problem.line.partition(",")[0]: problem.message for problem in quotes.problems}
    lines = {row["category"]: f"line {number}" for number, row in enumerate(rows, start=2)}
    for category, words in (
        ("switch", "'cheap' is not a number"), ("nic", "from 0 to"), ("server", "in EUR, the book is in USD"),
        ("rack", "no part RACK-NONE"), ("shelf", "No part of the book fits"), ("container", "no price 'colour'"),
        ("pdu", "201 characters"), ("cord", "from 0 to 3,650"),
    ):  # fmt: skip
        assert words in reported[lines[category]], category
    assert lines["tie"] not in reported
    two_colours = [row for row in rows if row["category"] == "cable"]
    lengths = [(row["sku"], row["length_metres"]) for row in two_colours]
    clashes = len(lengths) - len(set(lengths))
    assert sum("give one value" in words for words in reported.values()) == clashes > 0


@pytest.mark.parametrize("stock", ["stock", "bulk"])
def test_prices_in_another_currency_are_taken_at_a_stated_rate_only(local: Engine, stock: str) -> None:
    """All lines in euros: without a rate each is a problem, with one each costs the price times the
    rate."""
    book = _book(local, "current-2026")
    spec = {**SPEC, "cabling": {"stock": stock}}

    def euros(row: Json) -> float:
        return 10 + sum(map(ord, f"{row['sku']} {row['category']} {row['length_metres'] or ''}")) % 90

    def fill(row: Json) -> Json:
        return {"quoted_price": euros(row), "currency": "eur"} if row["sku"] else {}

    rows = read_bill(_fill_csv(_export(local, "bom-csv", book, spec), fill))
    refused = quoted_parts(book["parts"], book["currency"], rows, ORIGIN)
    assert not refused.changes
    assert len(refused.problems) == sum(1 for row in rows.rows() if row.text("quoted_price"))
    assert all(
        "is in EUR, the book is in USD" in problem.message and "EUR=1.08" in problem.message
        for problem in refused.problems
    )

    quotes = quoted_parts(book["parts"], book["currency"], rows, replace(ORIGIN, rates=read_rates(["EUR=1.25"])))
    assert not quotes.problems
    lines = [line for line in local.plan(spec, _changed(book, quotes)).bom["lines"] if line["sku"]]
    assert len(lines) > 8
    for line in lines:
        assert line["unit_price_usd"] == pytest.approx(1.25 * euros(line)), line
        assert line["source"] == "Quotation 4711 (EUR at 1.25)"


def test_currencies_of_one_bill_do_not_mix(local: Engine) -> None:
    """Dollars need no rate, pounds have one, yen do not."""
    book = _book(local, "current-2026")
    given = {
        "switch": {"quoted_price": 8, "currency": "GBP"}, "nic": {"quoted_price": 9}, "server": {"quoted_price": 7, "currency": "JPY"},
        "rack": {"quoted_price": "\u20ac 5"},
    }  # fmt: skip
    rows = read_bill(_fill_csv(_export(local, "bom-csv", book), lambda row: given.get(row["category"], {})))
    quotes = quoted_parts(book["parts"], "USD", rows, replace(ORIGIN, rates=read_rates(["GBP=1.5", "EUR=1.08"])))
    reported = sorted(problem.message.split(",")[0] for problem in quotes.problems)
    assert reported == ["The price is in JPY", "The price is written as \u20ac 5"]
    prices = {part["kind"]: part["price_usd"] for part in quotes.parts}
    assert (prices["switch"], prices["nic"]) == (12, 9)
    sources = {part["kind"]: part["sources"]["price_usd"]["source"] for part in quotes.parts}
    assert (sources["switch"], sources["nic"]) == ("Quotation 4711 (GBP at 1.5)", "Quotation 4711")


@pytest.mark.parametrize("text", ["EUR", "EUR=", "EUR=0", "EURO=1", "EUR=-1", "EUR=1,08", "=1", "EUR=inf", "EUR=1e3"])
def test_a_rate_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        read_rates([text])


def test_two_rates_of_one_currency_are_refused() -> None:
    assert read_rates(["eur=1.08", "EUR=1.08", " CHF=1.1 "]) == {"EUR": 1.08, "CHF": 1.1}
    with pytest.raises(ValueError, match="EUR has two rates"):
        read_rates(["EUR=1.08", "EUR=1.09"])


def test_csv_as_german_and_american_excel_save_it(local: Engine) -> None:
    book = _book(local, "current-2026")
    data = _export(local, "bom-csv", book)

    def german(row: Json) -> Json:
        price = "1.234,50" if row["category"] == "server" else ""
        return {"quoted_price": price, "length_metres": row["length_metres"].replace(".", ",")}

    semicolons = _fill_csv(data, german, ";")
    american = _fill_csv(data, lambda row: {"quoted_price": "$1,234.50" if row["category"] == "server" else ""})
    for saved in (semicolons, b"\xef\xbb\xbf" + semicolons, semicolons.decode().encode("utf-16"), american):
        quotes = _import(book, saved)
        assert not quotes.problems
        assert [(change.field, change.after) for change in quotes.changes] == [("price_usd", 1234.5)]


def test_a_file_that_is_no_bill_is_refused_in_words(local: Engine) -> None:
    book = _book(local, "current-2026")
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", '<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>')
    for data in (b"", b"PK\x03\x04 not a zip", b"a,b\r\n1,2\r\n", _export(local, "csv", book), huge.getvalue()):
        with pytest.raises(BadFileError, match=r"\."):
            read_bill(data)


@given(st.binary(max_size=400))
def test_any_bytes_are_rows_or_a_refusal(data: bytes) -> None:
    for given_bytes in (data, b"PK\x03\x04" + data):
        with contextlib.suppress(BadFileError):
            assert isinstance(read_bill(given_bytes), list)


def test_prices_are_tried_and_imported_over_rest(client: TestClient, local: Engine) -> None:
    plan = client.post("/api/v1/plans", json={"name": "Quoted", "spec": {**SPEC, "catalog": "current-2026"}}).json()
    book = client.get(f"{BOOKS}/current-2026").json()
    data = client.get(f"/api/v1/plans/{plan['id']}/exports/xlsx").content
    filled = _fill_xlsx(data, lambda row: {"quoted_price": 777} if row["category"] == "server" else {})
    here = f"{BOOKS}/current-2026/versions/{book['latest_version']}/prices"
    query = {"source": "Quotation 4711", "date": "2026-11-20"}
    headers = {"content-type": XLSX_MEDIA_TYPE}

    tried = client.post(here, params={**query, "trial": "true"}, content=filled, headers=headers)
    assert tried.status_code == 200, tried.text
    assert (tried.json()["version"], len(tried.json()["changes"]), tried.json()["skipped"]) == (None, 1, [])
    assert client.get(f"{BOOKS}/current-2026").json()["latest_version"] == book["latest_version"]

    made = client.post(here, params=query, content=filled, headers=headers).json()
    assert made["version"] == book["latest_version"] + 1
    version = client.get(f"{BOOKS}/current-2026/versions/{made['version']}").json()
    server = next(part for part in version["parts"] if part["sku"] == made["changes"][0]["sku"])
    assert server["price_usd"] == 777
    assert server["sources"]["price_usd"] == {"source": "Quotation 4711", "date": "2026-11-20", "basis": "vendor"}

    euros = _fill_xlsx(
        data, lambda row: {"quoted_price": 800, "currency": "EUR"} if row["category"] == "server" else {}
    )
    refused = client.post(here, params=query, content=euros, headers=headers)
    assert refused.status_code == 422
    assert "is in EUR, the book is in USD" in refused.json()["errors"][0]["message"]
    wrong = client.post(here, params={**query, "rate": "EUR=cheap"}, content=euros, headers=headers)
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "query.rate")
    rated = client.post(
        here, params={**query, "rate": ["EUR=1.25", "GBP=1.5"], "trial": "true"}, content=euros, headers=headers
    )
    assert rated.json()["changes"][0]["after"] == 1000

    broken = _fill_xlsx(data, lambda row: {"quoted_price": "cheap"} if row["category"] == "server" else {})
    refused = client.post(here, params=query, content=broken, headers=headers)
    assert refused.status_code == 422
    assert "'cheap' is not a number" in refused.json()["errors"][0]["message"]
    damaged = client.post(here, params=query, content=filled[: len(filled) // 2], headers=headers)
    assert (damaged.status_code, damaged.json()["errors"][0]["field"]) == (422, "body.file")
    assert "damaged" in damaged.json()["detail"]
    assert client.post(here, params=query, json={"a": 1}).status_code == 415
    wrong = client.post(here, params=query, content=b"a,b\r\n", headers={"content-type": "text/csv"})
    assert wrong.status_code == 422
    assert "no bill of materials" in wrong.json()["detail"]
    assert (
        client.post(f"{BOOKS}/none/versions/1/prices", params=query, content=filled, headers=headers).status_code == 404
    )


def test_prices_are_imported_on_the_command_line(tmp_path: Path, local: Engine) -> None:
    bill, book = tmp_path / "bill.csv", tmp_path / "book.json"
    data = _export(local, "bom-csv", _book(local, "current-2026"))
    bill.write_bytes(_fill_csv(data, lambda row: {"quoted_price": 777} if row["category"] == "server" else {}))
    run = CliRunner().invoke
    shown = run(app, ["prices", str(bill), "--catalog", "current-2026"])
    assert shown.exit_code == 0, shown.output
    assert "777" in shown.output
    written = run(app, ["prices", str(bill), "--catalog", "current-2026", "-o", str(book), "--date", "2026-11-20"])
    assert written.exit_code == 0, written.output
    spec = '{"family":"bcube","n":4,"k":1}'
    cost = run(
        app, ["export", "--spec", spec, "--format", "bom-csv", "--catalog", str(book), "-o", str(tmp_path / "b")]
    )
    assert cost.exit_code == 0, cost.output
    lines = list(csv.DictReader(io.StringIO((tmp_path / "b").read_text(), newline="")))
    assert next(line for line in lines if line["category"] == "server")["unit_price"] in ("777", "777.0")
    bill.write_bytes(_fill_csv(data, lambda row: {"quoted_price": "cheap"} if row["category"] == "server" else {}))
    refused = run(app, ["prices", str(bill), "--catalog", "current-2026", "-o", str(tmp_path / "none.json")])
    assert refused.exit_code == 2
    assert not (tmp_path / "none.json").exists()


def test_a_price_that_jumps_and_a_number_with_two_readings_are_asked_for(
    client: TestClient, local: Engine, tmp_path: Path
) -> None:
    book = client.get(f"{BOOKS}/current-2026").json()
    here = f"{BOOKS}/current-2026/versions/{book['latest_version']}/prices"
    query = {"source": "Quotation 4711", "date": "2026-11-20"}
    headers = {"content-type": "text/csv"}
    low = _fill_csv(
        _export(local, "bom-csv", _book(local, "current-2026")),
        lambda row: {"quoted_price": "0.125"} if row["category"] == "server" else {},
        ";",
    )
    tried = client.post(here, params={**query, "trial": "true"}, content=low, headers=headers).json()
    assert [change["jump"] for change in tried["changes"]] == [True]
    refused = client.post(here, params=query, content=low, headers=headers)
    assert refused.status_code == 422
    assert "jumps=true" in refused.json()["errors"][0]["hint"]
    taken = client.post(here, params={**query, "jumps": "true"}, content=low, headers=headers).json()
    assert taken["changes"][0]["after"] == 0.125

    header = "line;sku;quoted_price;price_field"
    two = f"{header}\r\n1;{taken['changes'][0]['sku']};1.234;price_usd\r\n".encode()
    question = client.post(here, params={**query, "trial": "true"}, content=two, headers=headers)
    assert (question.status_code, question.json()["errors"][0]["field"]) == (422, "query.decimal")
    for decimal, price in (("point", 1.234), ("comma", 1234)):
        result = client.post(here, params={**query, "trial": "true", "decimal": decimal}, content=two, headers=headers)
        assert result.json()["changes"][0]["after"] == price

    bill, out = tmp_path / "bill.csv", tmp_path / "book.json"
    run = CliRunner().invoke
    bill.write_bytes(two)
    given = ["prices", str(bill), "--catalog", "current-2026", "-o", str(out)]
    assert run(app, given).exit_code == 2
    assert not out.exists()
    assert run(app, [*given, "--decimal", "point"]).exit_code == 2  # ten times as low
    assert not out.exists()
    assert run(app, [*given, "--decimal", "point", "--jumps"]).exit_code == 0
    assert out.exists()
