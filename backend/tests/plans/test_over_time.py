"""Changes between two revisions: each number is recomputed here from both documents."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from cubeyard.plans.over_time import MAX_NAMES, MAX_VALUE
from tests.api.test_plans import create
from tests.conftest import SMALL

Json = dict[str, Any]
BIG = {"family": "bcube", "n": 8, "k": 2}


def revise(client: TestClient, plan: str, base: int, **change: Any) -> None:
    answer = client.patch(f"/api/v1/plans/{plan}", json={"base_revision": base, **change})
    assert answer.json()["revision"] == base + 1, answer.text


def since(client: TestClient, plan: str, revision: int, earlier: int) -> Json:
    answer = client.get(f"/api/v1/plans/{plan}/revisions/{revision}/since/{earlier}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def places(client: TestClient, plan: str, revision: int) -> dict[str, tuple[Any, ...]]:
    scene = client.get(f"/api/v1/plans/{plan}/scene", params={"revision": revision}).json()
    devices, racks = scene["devices"], scene["racks"]["name"]
    columns = zip(devices["name"], devices["rack"], devices["unit"], devices["slot"], strict=True)
    return {name: (racks[rack], unit, slot) for name, rack, unit, slot in columns}


def test_a_grown_plan_says_what_was_added_and_moved(client: TestClient) -> None:
    plan = create(client)["id"]
    revise(client, plan, 1, spec={"topology": {"family": "bcube", "n": 5, "k": 1}, "cabling": {"slack_metres": 1}})
    result = since(client, plan, 2, 1)
    assert [(item["field"], item["before"], item["after"]) for item in result["spec"]] == [
        ("topology.n", "4", "5"), ("cabling.slack_metres", None, "1"),
    ]  # fmt: skip
    was, now = places(client, plan, 1), places(client, plan, 2)
    assert result["devices"]["added"]["count"] == len(now.keys() - was.keys()) > 0
    assert result["devices"]["removed"]["count"] == len(was.keys() - now.keys())
    assert result["devices"]["moved"]["names"] == [name for name in now if name in was and was[name] != now[name]]
    order = client.get(f"/api/v1/plans/{plan}/diff/{plan}", params={"revision": 1, "other_revision": 2}).json()
    assert result["cables"] == order["counts"]
    cost = next(number for number in result["numbers"] if "cost" in number["metric"])
    assert cost["delta"] == cost["value"] - cost["base"] > 0
    assert any("power" in number["metric"] for number in result["numbers"])
    back = since(client, plan, 1, 2)
    assert back["devices"]["removed"] == result["devices"]["added"]
    assert (back["cables"]["add"], back["cables"]["remove"]) == (result["cables"]["remove"], result["cables"]["add"])


def test_equal_content_has_no_difference(client: TestClient) -> None:
    plan = create(client)["id"]
    revise(client, plan, 1, spec={"family": "bcube", "n": 5, "k": 1})
    client.post(f"/api/v1/plans/{plan}/revert", json={"revision": 1})
    result = since(client, plan, 3, 1)
    assert result["spec"] == []
    assert result["cables"]["keep"] == 32
    for what in ("racks", "devices"):
        assert [result[what][how]["count"] for how in ("added", "removed", "moved")] == [0, 0, 0]
    assert all(number["delta"] in {0, None} for number in result["numbers"])


def test_a_moved_rack_and_a_new_price_book_are_told(client: TestClient) -> None:
    plan = create(client, spec=BIG)["id"]
    scene = client.get(f"/api/v1/plans/{plan}/scene").json()["racks"]
    x, y = scene["x_metres"][0] + 0.3, scene["y_metres"][0]
    pins = [{"rack": scene["name"][0], "x_metres": x, "y_metres": y}]
    revise(client, plan, 1, spec={"topology": BIG, "packaging": {"pins": pins}})
    moved = since(client, plan, 2, 1)
    assert scene["name"][0] in moved["racks"]["moved"]["names"]
    assert [item["field"] for item in moved["spec"]] == ["packaging.pins"]
    client.post("/api/v1/catalog/books", json={"book": "ours", "title": "Ours", "copy_of": "current-2026", "note": ""})
    revise(client, plan, 2, spec={"topology": BIG, "catalog": "ours"})
    (book,) = [item for item in since(client, plan, 3, 2)["spec"] if item["field"] == "catalog"]
    assert book["after"] == "ours version 1"
    assert book["before"].endswith(" version 1")


def test_long_values_and_many_names_are_cut_and_counted(client: TestClient) -> None:
    plan = create(client)["id"]
    pins = [
        {"device": name, "rack": "R00", "unit": unit}
        for unit, name in enumerate(("00", "01", "02", "03", "10", "11"), 10)
    ]
    revise(client, plan, 1, spec={"topology": SMALL, "packaging": {"pins": pins}})
    (pinned,) = since(client, plan, 2, 1)["spec"]
    assert (pinned["before"], len(pinned["after"])) == (None, MAX_VALUE)
    # Two long values that differ behind the cut are a difference still.
    pins[-1] = {**pins[-1], "unit": 20}
    revise(client, plan, 2, spec={"topology": SMALL, "packaging": {"pins": pins}})
    assert [item["field"] for item in since(client, plan, 3, 2)["spec"]] == ["packaging.pins"]
    revise(client, plan, 3, spec=BIG)
    added = since(client, plan, 4, 3)["devices"]["added"]
    assert added["count"] > len(added["names"]) == MAX_NAMES


def test_a_revision_that_is_not_there_is_not_found(client: TestClient) -> None:
    plan = create(client)["id"]
    for path in (f"{plan}/revisions/2/since/1", f"{plan}/revisions/1/since/2", "0a1b2c3d4e5f6g/revisions/1/since/1"):
        assert client.get(f"/api/v1/plans/{path}").status_code == 404
    assert client.get(f"/api/v1/plans/{plan}/revisions/0/since/1").status_code == 422
