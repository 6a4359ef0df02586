"""What RFC 9110 and browsers expect of plans and lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient

from cubeyard.app import create_app
from cubeyard.kit.asgi import ANY_MEDIA_TYPE, JSON_MEDIA_TYPE
from cubeyard.kit.changes.schemas import ChangeAction, ChangeKind
from cubeyard.kit.db import Database
from cubeyard.runs.schemas import RunKind, RunState
from cubeyard.settings import Settings
from tests.conftest import SMALL, described

PLANS = "/api/v1/plans"
PORTAL = "http://portal.example:3000"


def made(client: TestClient, name: str) -> dict[str, Any]:
    return client.post(PLANS, json={"name": name, "spec": SMALL}).json()


def test_a_tag_changes_with_every_change_and_guards_the_next(client: TestClient) -> None:
    here = f"{PLANS}/{made(client, 'Yard')['id']}"
    tags = [client.get(here).headers["etag"]]
    for change in ({"name": "A"}, {"name": "B"}, {"spec": {**SMALL, "k": 2}}, {"name": "C"}):
        answer = client.patch(here, json=change, headers={"if-match": tags[-1]})
        assert answer.status_code == 200, answer.text
        assert answer.headers["etag"] == client.get(here).headers["etag"]
        for old in tags:
            assert client.patch(here, json={"name": "late"}, headers={"if-match": old}).status_code == 412
            assert client.delete(here, headers={"if-match": old}).status_code == 412
        tags.append(answer.headers["etag"])
    assert len(set(tags)) == len(tags)
    assert client.delete(here, headers={"if-match": tags[-1]}).status_code == 204


def test_a_copy_that_is_up_to_date_is_not_sent_again(client: TestClient) -> None:
    here = f"{PLANS}/{made(client, 'Yard')['id']}"
    tag = client.get(here).headers["etag"]
    for known in (tag, f"W/{tag.removeprefix('W/')}", "*", f'"other", {tag}'):
        again = client.get(here, headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"].removeprefix("W/") == tag.removeprefix("W/")
    client.patch(here, json={"name": "Other"})
    assert client.get(here, headers={"if-none-match": tag}).status_code == 200


def test_a_condition_that_fails_keeps_a_resource_as_it_is(client: TestClient) -> None:
    plan = f"{PLANS}/{made(client, 'Yard')['id']}"
    tag = client.get(plan).headers["etag"]
    body = {"plan": SMALL, "workload": {"kind": "all-to-all"}}
    experiment = f"/api/v1/experiments/{client.post('/api/v1/experiments', json=body).json()['id']}"
    marks = f"{plan}/revisions/1/work/marks"
    for known in ("*", tag, f'"other", W/{tag.removeprefix("W/")}'):
        for method, change in (("PATCH", {"name": "Other"}), ("DELETE", None)):
            answer = client.request(method, plan, json=change, headers={"if-none-match": known})
            assert (answer.status_code, answer.json()["type"]) == (412, "urn:cubeyard:problem:condition-failed")
    untagged = (("DELETE", experiment, None), ("PUT", marks, {"marks": [{"cable": 0, "state": "done"}]}))
    for method, here, change in untagged:
        for headers in ({"if-none-match": "*"}, {"if-match": tag}):
            assert client.request(method, here, json=change, headers=headers).status_code == 412, (method, headers)
    assert client.get(plan).json()["name"] == "Yard"
    assert client.get(marks).json()["items"] == []
    # A missing resource has no condition to fail, and one that holds has no effect.
    assert client.delete(f"{PLANS}/{'0' * 14}", headers={"if-none-match": "*"}).status_code == 404
    assert client.delete(experiment, headers={"if-match": "*", "if-none-match": '"other"'}).status_code == 204
    assert client.delete(plan, headers={"if-none-match": '"other"', "if-match": tag}).status_code == 204


@pytest.mark.parametrize("order", [{}, {"sort": "created_at"}])
def test_pages_list_each_plan_once_while_plans_are_added_and_changed(client: TestClient, order: dict[str, str]) -> None:
    ids = [made(client, f"Plan {at}")["id"] for at in range(5)]
    page = client.get(PLANS, params={"limit": 2, **order}).json()
    seen = [plan["id"] for plan in page["items"]]
    while page["next"]:
        client.patch(f"{PLANS}/{ids[0]}", json={"name": f"Renamed {len(seen)}"})
        made(client, "Added")
        page = client.get(PLANS, params={"limit": 2, "cursor": page["next"], **order}).json()
        seen += [plan["id"] for plan in page["items"]]
    assert seen == ids[::-1]


def test_every_schema_of_the_description_has_a_title_of_its_own() -> None:
    schemas = described()["components"]["schemas"]
    titles = [schema["title"] for schema in schemas.values() if "title" in schema]
    assert sorted(titles) == sorted(set(titles))
    assert not [name for name in schemas if "__" in name], "two models with one name"


def test_a_generated_client_reads_every_answer_and_sends_every_file() -> None:
    """It takes each answer for one type of the description, and sends files as bytes alone."""
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            content = operation["responses"].get("200", {}).get("content", {})
            assert JSON_MEDIA_TYPE not in content or len(content) == 1, (method, path)
            sent = operation.get("requestBody", {}).get("content", {})
            assert set(sent) <= {JSON_MEDIA_TYPE} or ANY_MEDIA_TYPE in sent, (method, path)
    run = described()["paths"]["/api/v1/runs/{id}/results.csv"]["get"]["responses"]["200"]["content"]
    assert run == {"text/csv": {"schema": {"type": "string"}}}


def test_a_search_takes_any_case_of_any_script(client: TestClient) -> None:
    made(client, "Ünï Облако Straße Yard 100%")
    made(client, "Another")
    for words in ["ÜNÏ", "ünï", "u\u0308ni\u0308", "ОБЛАКО", "облако", "STRASSE", "straße", "ｙａｒｄ"]:
        assert len(client.get(PLANS, params={"q": words}).json()["items"]) == 1, words
    assert client.get(PLANS, params={"q": "10_%"}).json()["items"] == []


def test_dates_have_one_form(client: TestClient) -> None:
    plan = made(client, "Yard")
    read, listed = client.get(f"{PLANS}/{plan['id']}").json(), client.get(PLANS).json()["items"][0]
    for field in ("created_at", "updated_at"):
        assert plan[field] == read[field] == listed[field]
        assert read[field].endswith("Z")


@pytest.mark.parametrize(
    ("path", "field", "values"),
    [("runs", "kind", RunKind), ("runs", "state", RunState), ("changes", "kind", ChangeKind), ("changes", "action", ChangeAction)],
)  # fmt: skip
def test_a_filter_takes_all_its_values(client: TestClient, path: str, field: str, values: Any) -> None:
    assert client.get(f"/api/v1/{path}", params={field: list(get_args(values))}).status_code == 200


@pytest.fixture
def portal(database: Database) -> Iterator[TestClient]:
    with TestClient(
        create_app(Settings(allowed_origins=[PORTAL]), database=database), base_url="http://localhost"
    ) as client:
        yield client


def test_a_page_of_an_allowed_origin_may_call_and_read(portal: TestClient) -> None:
    asks = {
        "origin": PORTAL,
        "access-control-request-method": "PATCH",
        "access-control-request-headers": "content-type",
    }
    answer = portal.options(PLANS, headers=asks)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == PORTAL
    assert "PATCH" in answer.headers["access-control-allow-methods"]
    assert "If-Match" in answer.headers["access-control-allow-headers"]
    for read in (
        portal.get(PLANS, headers={"origin": PORTAL}),
        portal.get(f"{PLANS}/none", headers={"origin": PORTAL}),
    ):
        assert read.headers["access-control-allow-origin"] == PORTAL
        assert read.headers["cross-origin-resource-policy"] == "cross-origin"
        assert "Origin" in read.headers["vary"]
    assert portal.post(PLANS, json={"name": "Yard", "spec": SMALL}, headers={"origin": PORTAL}).status_code == 201


def test_a_page_elsewhere_may_not(portal: TestClient) -> None:
    elsewhere = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    assert portal.options(PLANS, headers=elsewhere).status_code != 204
    read = portal.get(PLANS, headers={"origin": "http://evil.example"})
    assert "access-control-allow-origin" not in read.headers
    assert "Origin" in read.headers["vary"]
