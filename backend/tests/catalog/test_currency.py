"""A book in another currency: its amounts everywhere, and comparisons only at a stated rate."""

from __future__ import annotations

import io
from typing import Any

import openpyxl
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.catalog.currency import converted
from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.exports import render
from cubeyard.kit.money import money, number_format
from cubeyard.plans.view import PlanView
from tests.conftest import SMALL
from tests.exports import plans
from tests.exports.packs import cover_of

RATE = 0.5
Json = dict[str, Any]


def amounts_of(value: Any, inside: bool = False) -> list[float]:
    """Every amount of a document: numbers in and below fields whose names mean money."""
    if isinstance(value, dict):
        return [amount for key, item in value.items() for amount in amounts_of(item, inside or "usd" in key)]
    if isinstance(value, list):
        return [amount for item in value for amount in amounts_of(item, inside)]
    return [float(value)] if inside and isinstance(value, int | float) and not isinstance(value, bool) else []


@given(rate=st.sampled_from([0.5, 2.0, 0.25]), name=st.sampled_from(["paper-2009", "current-2026"]))
def test_every_amount_of_a_book_is_converted_and_says_so(engine: Engine, rate: float, name: str) -> None:
    book = plans.book(engine, name)
    other = converted(book, "CHF", rate)
    assert amounts_of(other["parts"]) == pytest.approx([amount * rate for amount in amounts_of(book["parts"])])
    assert other["currency"] == "CHF"
    for part in other["parts"]:
        if part["price_usd"] is not None:
            assert part["sources"]["price_usd"]["source"].endswith(f"(from USD at {rate:g})")
    engine.check_book(other)


def test_a_plan_in_euros_says_euros_everywhere(engine: Engine) -> None:
    book = plans.book(engine, "current-2026")
    dollars = PlanView.of(engine.plan(SMALL, book))
    euros = PlanView.of(engine.plan(SMALL, converted(book, "EUR", RATE)))
    assert euros.summary["currency"] == euros.bom["currency"] == "EUR"
    total = euros.summary["cost_usd"]["total"]
    assert total == pytest.approx(dollars.summary["cost_usd"]["total"] * RATE, rel=1e-3)
    assert euros.plan_hash != dollars.plan_hash
    bill = b"".join(render("bom-csv", euros)).decode()
    assert ",EUR," in bill
    assert ",USD," not in bill
    assert "usd" not in bill.splitlines()[0].lower(), "no header names another currency"
    workbook: Any = openpyxl.load_workbook(io.BytesIO(b"".join(render("xlsx", euros))))
    headers = [cell.value for cell in workbook["BOM"][4]]
    assert {"Book price (EUR)", "Total (EUR)"} <= set(headers)
    formats = {cell.number_format for sheet in workbook for row in sheet.iter_rows() for cell in row}
    assert number_format("EUR") in formats
    assert number_format("USD") not in formats
    cover, _ = cover_of(euros)
    assert "$" not in cover


@pytest.mark.parametrize("currency", ["EURO", "eur", "", "XTS", "XAU"])
def test_a_currency_is_a_code_of_iso_4217(engine: Engine, currency: str) -> None:
    book = {**plans.book(engine, "current-2026"), "currency": currency}
    with pytest.raises(PlanRejectedError) as raised:
        engine.check_book(book)
    assert "ISO 4217" in str(raised.value.findings)


@pytest.mark.parametrize(
    ("currency", "words"), [("USD", "$1,234.50"), ("EUR", "\u20ac1,234.50"), ("CHF", "CHF\u00a01,234.50")]
)
def test_amounts_are_written_with_their_currency(currency: str, words: str) -> None:
    assert money(1234.5, currency) == words


def test_a_copy_in_another_currency_needs_a_rate_and_compares_with_one(client: TestClient) -> None:
    books = "/api/v1/catalog/books"
    wanted: Json = {"book": "in-euros", "title": "In euros", "copy_of": "current-2026", "currency": "EUR"}
    refused = client.post(books, json=wanted)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "body.rate"
    same = client.post(books, json={**wanted, "currency": "USD", "rate": RATE})
    assert (same.status_code, same.json()["errors"][0]["field"]) == (422, "body.rate"), "a rate that converts nothing"
    assert client.post(books, json={**wanted, "currency": "XTS", "rate": RATE}).status_code == 422
    made = client.post(books, json={**wanted, "rate": RATE})
    assert made.status_code == 201, made.text
    assert made.json()["currency"] == "EUR"
    spec = {"topology": SMALL, "catalog": "in-euros"}
    request: Json = {"plans": [{"spec": SMALL}, {"spec": spec}]}
    answer = client.post("/api/v1/compare", json=request).json()
    assert [plan["currency"] for plan in answer["plans"]] == ["USD", "EUR"]
    cost = next(row for row in answer["rows"] if row["metric"] == "cost_total_usd")
    assert cost["unit"] == "USD"
    assert cost["values"][1] is None
    assert "no rate was given" in cost["notes"][1]
    assert cost["best"] == []
    power = next(row for row in answer["rows"] if row["metric"] == "power_total_watts")
    assert None not in power["values"], "only money needs a rate"
    at_rate = client.post("/api/v1/compare", json={**request, "rates": [f"EUR={1 / RATE}"]}).json()
    cost = next(row for row in at_rate["rows"] if row["metric"] == "cost_total_usd")
    assert cost["values"][1] == pytest.approx(cost["values"][0], rel=1e-3)
    assert client.post("/api/v1/compare", json={**request, "rates": ["EUR=cheap"]}).status_code == 422
    saved = client.post("/api/v1/plans", json={"name": "In euros", "spec": spec})
    assert saved.status_code == 201, saved.text
    assert client.get("/api/v1/plans").json()["items"][0]["currency"] == "EUR"
