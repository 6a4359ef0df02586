"""Price books: seeded once, versioned for ever, pinned by plans."""

from __future__ import annotations

import copy
from typing import Any

from fastapi.testclient import TestClient

from cubeyard.catalog.service import CatalogService
from cubeyard.engine import Engine
from cubeyard.kit.db import Database
from tests.conftest import SMALL

BOOKS = "/api/v1/catalog/books"


def _part(client: TestClient, kind: str) -> dict[str, Any]:
    parts = client.get("/api/v1/catalog/parts", params={"kind": kind, "book": "current-2026"}).json()["items"]
    return {key: value for key, value in parts[0].items() if key not in ("book", "version")}


def test_the_builtin_books_are_there_with_sources(client: TestClient) -> None:
    items = client.get(BOOKS).json()["items"]
    assert {"paper-2009", "current-2026"} <= {item["book"] for item in items}
    for item in items:
        version = client.get(f"{BOOKS}/{item['book']}/versions/{item['latest_version']}").json()
        assert version["builtin"]
        assert version["parts"]
        for part in version["parts"]:
            assert part["sources"], f"{part['sku']} has no source"
    assert client.get(f"{BOOKS}/nothing").status_code == 404
    assert client.get(f"{BOOKS}/paper-2009/versions/99").status_code == 404


def test_seeding_again_writes_nothing_and_a_changed_book_is_a_new_version(database: Database, engine: Engine) -> None:
    with database.session() as session:
        assert CatalogService(session, engine).seed(engine.builtin_books) == 0
    changed = copy.deepcopy(engine.builtin_books)
    changed[0]["parts"][0]["price_usd"] = 41.5
    for expected in (1, 0):
        with database.session() as session:
            assert CatalogService(session, engine).seed(changed) == expected
    name = changed[0]["book"]
    with database.session() as session:
        service = CatalogService(session, engine)
        book = service.book(name)
        first, second = (item.version for item in book.versions[-2:])
        assert (second, book.latest_version) == (first + 1, second)
        assert service.version(name, second).parts[0].price_usd == 41.5
        assert service.version(name, first).parts[0].price_usd == engine.builtin_books[0]["parts"][0]["price_usd"]


def test_a_plan_keeps_its_prices_until_told_otherwise(client: TestClient) -> None:
    plan = client.post(
        "/api/v1/plans", json={"name": "Pinned", "spec": {"topology": SMALL, "catalog": "current-2026"}}
    ).json()
    here = f"/api/v1/plans/{plan['id']}"
    old = plan["summary"]["cost_usd"]["switches"]
    switch_sku = next(line["sku"] for line in client.get(f"{here}/bom").json()["lines"] if line["category"] == "switch")
    book = client.get(f"{BOOKS}/current-2026/versions/{plan['catalog']['version']}").json()
    switch = next(part for part in book["parts"] if part["sku"] == switch_sku)
    answer = client.post(
        f"{BOOKS}/current-2026/versions",
        json={"set": [{**switch, "price_usd": switch["price_usd"] * 2}], "note": "dearer"},
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["version"] == plan["catalog"]["version"] + 1
    assert not answer.json()["builtin"]

    assert client.get(f"{here}/bom").json()["cost_usd"]["switches"] == old
    edited = client.patch(
        here, json={"spec": {"topology": {**SMALL, "n": 3}, "catalog": "current-2026"}, "base_revision": 1}
    ).json()
    assert edited["catalog"] == plan["catalog"], "an edit keeps the pinned version"
    moved = client.patch(here, json={"catalog_version": "latest", "base_revision": 2}).json()
    assert moved["catalog"]["version"] == plan["catalog"]["version"] + 1
    assert moved["summary"]["cost_usd"]["switches"] == 2 * edited["summary"]["cost_usd"]["switches"]
    assert moved["plan_hash"] != edited["plan_hash"]
    back = client.post(f"{here}/revert", json={"revision": 1}).json()
    assert (back["catalog"], back["plan_hash"]) == (plan["catalog"], plan["plan_hash"])
    latest = client.post("/api/v1/plans/preview", json={"spec": {"topology": SMALL, "catalog": "current-2026"}}).json()
    assert latest["summary"]["cost_usd"]["switches"] == 2 * old
    first = {"spec": {"topology": SMALL, "catalog": "current-2026"}, "catalog_version": plan["catalog"]["version"]}
    assert client.post("/api/v1/plans/preview", json=first).json()["summary"] == plan["summary"]


def test_a_book_of_one_s_own_starts_as_a_copy(client: TestClient) -> None:
    request = {"book": "ours-2027", "title": "Ours", "copy_of": "current-2026"}
    made = client.post(BOOKS, json=request)
    assert (made.status_code, made.json()["version"]) == (201, 1)
    assert client.post(BOOKS, json=request).status_code == 409
    assert client.post(BOOKS, json={**request, "book": "x", "copy_of": "nothing"}).status_code == 404
    plan = client.post("/api/v1/plans/preview", json={"spec": {"topology": SMALL, "catalog": "ours-2027"}})
    assert plan.json()["summary"]["book"]["title"] == "Ours"
    unknown = client.post("/api/v1/plans/preview", json={"spec": {"topology": SMALL, "catalog": "nope"}})
    assert unknown.status_code == 422
    assert "ours-2027" in unknown.json()["errors"][0]["limit"]


def test_changes_that_make_no_sense_are_refused(client: TestClient) -> None:
    here = f"{BOOKS}/current-2026/versions"
    cable = _part(client, "cable")
    assert client.post(here, json={"remove": ["NO-SUCH"]}).json()["errors"][0]["field"] == "body.remove.0"
    assert client.post(here, json={"set": [cable, cable]}).json()["errors"][0]["field"] == "body.set.1.sku"
    assert client.post(here, json={"set": [{**cable, "price_usd": -1}]}).status_code == 422
    assert client.post(here, json={"from_version": 99}).status_code == 404
    wrong = client.post(here, json={"set": [{**cable, "attributes": {**cable["attributes"], "max_gbps": "many"}}]})
    assert wrong.status_code == 422, "the engine has to understand every part"
    assert wrong.json()["findings"]
    assert len(client.get(f"{BOOKS}/current-2026").json()["versions"]) == 1, "nothing refused was written"


def test_parts_are_found_by_kind_and_words(client: TestClient) -> None:
    here = "/api/v1/catalog/parts"
    everything = client.get(here, params={"limit": 500}).json()
    assert everything["total"] == len(everything["items"])
    cables = client.get(here, params={"kind": "cable"}).json()["items"]
    assert cables
    assert {part["kind"] for part in cables} == {"cable"}
    item = cables[0]
    items = client.get(here, params={"q": f"{item['sku'].lower()} {item['name'][:3]}", "kind": "cable"}).json()["items"]
    assert item in items
    assert client.get(here, params={"q": "100%_nothing"}).json() == {"items": [], "total": 0, "next": None}
    paged: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = client.get(here, params={"offset": offset, "limit": 7}).json()
        paged += page["items"]
        offset = page["next"]
    assert paged == everything["items"]
