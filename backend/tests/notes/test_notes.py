"""Notes: attached to existing parts, found again in other revisions, kept when the part disappears,
and changed by one person at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from cubeyard.app import create_app
from cubeyard.kit.db import Database
from cubeyard.notes import schemas
from cubeyard.runs.repository import RunRepository
from cubeyard.settings import Settings
from tests.api.test_auth import _secret, bearer
from tests.api.test_plans import create
from tests.conftest import SMALL

Json = dict[str, Any]
API = "/api/v1"
NOWHERE = "0a1b2c3d4e5f6g"


def pin(client: TestClient, plan: str, kind: str, name: str, text: str = "look here", **fields: Any) -> Json:
    body = {"anchor": {"kind": kind, "name": name}, "text": text, **fields}
    answer = client.post(f"{API}/plans/{plan}/notes", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def notes(client: TestClient, of: str, **query: Any) -> list[Json]:
    answer = client.get(f"{API}/{of}/notes", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def here(client: TestClient, plan: str, **query: Any) -> dict[str, str | None]:
    return {note["text"]: note["here"] for note in notes(client, f"plans/{plan}", **query)}


def revise(client: TestClient, plan: str, base: int, spec: Json) -> None:
    answer = client.patch(f"{API}/plans/{plan}", json={"spec": spec, "base_revision": base})
    assert answer.json()["revision"] == base + 1, answer.text


def replayed(client: TestClient, database: Database, plan: Json | str, end_secs: float = 12.0) -> str:
    """A run that has a replay up to there."""
    request = {"plan": plan, "workload": {"kind": "all-to-all"}}
    experiment = client.post(f"{API}/experiments", json=request).json()["id"]
    run = client.post(f"{API}/experiments/{experiment}/runs").json()["id"]
    client.post(f"{API}/runs/{run}/cancel")
    with database.session() as session:
        repository = RunRepository(session)
        row = repository.run(run, lock=True)
        assert row is not None
        repository.append(row, "tick", {"at_secs": end_secs}, 20)
    return run


def test_a_note_is_pinned_to_what_the_revision_has_and_says_by_whom(client: TestClient) -> None:
    plan = create(client)["id"]
    made = pin(client, plan, "device", "h00", "  hot here \n")
    assert (made["text"], made["by"], made["version"], made["revision"]) == ("hot here", "this machine", 1, 1)
    assert made["anchor"] == {"kind": "device", "name": "00", "ends": None, "run": None, "at_secs": None}
    assert (made["here"], made["edited_by"], made["resolved_by"]) == ("00", None, None)
    cable = pin(client, plan, "cable", "C00016")["anchor"]
    assert cable["ends"] == ["00", "eth1", "<1,0>", "P0"]
    token = client.post(f"{API}/tokens", json={"name": "night shift"}).json()["token"]
    body = {"anchor": {"kind": "rack", "name": "R00"}, "text": "door is stuck"}
    by_token = client.post(f"{API}/plans/{plan}/notes", json=body, headers=bearer(token)).json()
    assert by_token["by"] == "night shift"
    assert notes(client, f"plans/{plan}")[0]["id"] == by_token["id"], "the latest first"
    assert [note["anchor"]["kind"] for note in notes(client, f"plans/{plan}", kind="rack")] == ["rack"]
    assert [note["text"] for note in notes(client, f"plans/{plan}", q="DOOR stuck")] == ["door is stuck"]
    assert client.get(f"{API}/notes/{made['id']}").json() == made


def test_an_anchor_that_is_not_there_is_named(client: TestClient) -> None:
    plan = create(client)["id"]
    for anchor, limit in [
        ({"kind": "rack", "name": "R77"}, "one of R00"),
        ({"kind": "device", "name": "99"}, None),
        ({"kind": "cable", "name": "C00032"}, "C00000 to C00031"),
        ({"kind": "cable", "name": "C1"}, "C00000 to C00031"),
        ({"kind": "cable", "name": "C٠٠٠١٢"}, "C00000 to C00031"),
    ]:
        answer = client.post(f"{API}/plans/{plan}/notes", json={"anchor": anchor, "text": "x"})
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert (error["field"], error["value"], error["limit"]) == ("body.anchor.name", anchor["name"], limit)
        assert notes(client, f"plans/{plan}") == []


def test_a_text_has_limits(client: TestClient) -> None:
    plan = create(client)["id"]
    for text in ["", "  \n", "x" * (schemas.MAX_TEXT + 1), "\x00"]:
        body = {"anchor": {"kind": "rack", "name": "R00"}, "text": text}
        answer = client.post(f"{API}/plans/{plan}/notes", json=body)
        assert answer.status_code == 422, text[:9]
        assert answer.json()["errors"][0]["field"] == "body.text"
    pin(client, plan, "rack", "R00", "ü" * schemas.MAX_TEXT)


def test_an_anchor_is_found_in_other_revisions_or_the_note_says_that_it_is_not_there(client: TestClient) -> None:
    """A cable by its ends: in the next revision its number is another cable's."""
    before, after = {"family": "bcube", "n": 4, "k": 1}, {"family": "bcube", "n": 5, "k": 1}
    plan = create(client, spec=before)["id"]
    pin(client, plan, "cable", "C00016", "moved number")
    pin(client, plan, "device", "33", "stays")
    revise(client, plan, 1, after)
    pin(client, plan, "device", "44", "new")
    number = here(client, plan)["moved number"]
    assert number not in {None, "C00016"}
    assert pin(client, plan, "cable", str(number))["anchor"]["ends"] == ["00", "eth1", "<1,0>", "P0"]
    assert here(client, plan)["stays"] == "33"
    assert here(client, plan, revision=1)["moved number"] == "C00016"
    assert here(client, plan, revision=1)["new"] is None, "revision 1 has 16 servers"
    revise(client, plan, 2, {"family": "bcube", "n": 4, "k": 0})
    assert {text: name for text, name in here(client, plan).items() if text in {"moved number", "stays", "new"}} == {
        "moved number": None, "stays": None, "new": None,
    }  # fmt: skip
    kept = notes(client, f"plans/{plan}", kind="cable")[-1]
    assert (kept["anchor"]["name"], kept["revision"]) == ("C00016", 1), "and still says where it was"
    assert client.get(f"{API}/plans/{plan}/notes", params={"revision": 9}).status_code == 404


def test_a_tag_guards_changes_of_a_note_and_spares_a_copy(client: TestClient) -> None:
    path = f"{API}/notes/{pin(client, create(client)['id'], 'rack', 'R00')['id']}"
    tags = [client.get(path).headers["etag"]]
    assert client.get(path, headers={"if-none-match": f'"x", W/{tags[0].removeprefix("W/")}'}).status_code == 304
    for change in ({"resolved": True}, {"text": "second", "base_version": 1}, {"resolved": False}):
        answer = client.patch(path, json=change, headers={"if-match": f'"x", {tags[-1]}'})
        assert answer.json() == client.get(path).json(), answer.text
        tags.append(answer.headers["etag"])
        for old in tags[:-1]:
            late = client.patch(path, json={"resolved": True}, headers={"if-match": old})
            assert (late.status_code, late.json()["type"]) == (412, "urn:cubeyard:problem:changed-meanwhile")
            assert client.delete(path, headers={"if-match": old}).status_code == 412
    assert client.delete(path, headers={"if-match": tags[-1]}).status_code == 204


def test_a_text_is_edited_by_whom_knows_the_present_one(client: TestClient) -> None:
    plan = create(client)["id"]
    note = pin(client, plan, "rack", "R00")
    path = f"{API}/notes/{note['id']}"
    edited = client.patch(path, json={"text": "second", "base_version": 1}).json()
    assert (edited["text"], edited["version"], edited["edited_by"]) == ("second", 2, "this machine")
    assert edited["edited_at"] > note["at"]
    late = client.patch(path, json={"text": "late", "base_version": 1})
    assert (late.status_code, late.json()["type"]) == (409, "urn:cubeyard:problem:changed-meanwhile")
    for wrong in ({}, {"text": "x"}, {"text": " ", "base_version": 2}, {"resolved": None}):
        assert client.patch(path, json=wrong).status_code == 422, wrong
    same = client.patch(path, json={"text": "second", "base_version": 2}).json()
    assert same == edited, "the same text is no edit"


def test_a_note_is_resolved_reopened_and_deleted(client: TestClient) -> None:
    plan = create(client)["id"]
    note, other = pin(client, plan, "rack", "R00", "one"), pin(client, plan, "rack", "R00", "two")
    path = f"{API}/notes/{note['id']}"
    resolved = client.patch(path, json={"resolved": True}).json()
    assert (resolved["resolved_by"], resolved["version"]) == ("this machine", 1)
    assert client.patch(path, json={"resolved": True}).json() == resolved, "once is enough"
    assert [item["id"] for item in notes(client, f"plans/{plan}", resolved=True)] == [note["id"]]
    assert [item["id"] for item in notes(client, f"plans/{plan}", resolved=False)] == [other["id"]]
    assert client.patch(path, json={"resolved": False}).json()["resolved_at"] is None
    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == client.get(path).status_code == 404
    assert [item["id"] for item in notes(client, f"plans/{plan}")] == [other["id"]]


def test_pages_join_to_the_whole(client: TestClient) -> None:
    plan = create(client)["id"]
    made = [pin(client, plan, "rack", "R00", f"note {number}")["id"] for number in range(7)]
    read: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        page = client.get(f"{API}/plans/{plan}/notes", params=query).json()
        read += [note["id"] for note in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert read == made[::-1]
    wrong = client.get(f"{API}/plans/{plan}/notes", params={"cursor": "no"})
    assert wrong.json()["errors"][0]["field"] == "query.cursor"


def test_a_plan_has_at_most_so_many_notes(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MAX_NOTES", 2)
    plan, other = create(client)["id"], create(client)["id"]
    for _ in range(2):
        pin(client, plan, "rack", "R00")
    full = client.post(f"{API}/plans/{plan}/notes", json={"anchor": {"kind": "rack", "name": "R00"}, "text": "x"})
    assert (full.status_code, full.json()["type"]) == (409, "urn:cubeyard:problem:too-many-notes")
    pin(client, other, "rack", "R00")


def test_a_moment_belongs_to_the_plan_of_the_run_and_outlives_the_run(client: TestClient, database: Database) -> None:
    plan = create(client)["id"]
    run = replayed(client, database, {"id": plan, "revision": 1})
    made = client.post(f"{API}/runs/{run}/notes", json={"at_secs": 11.5, "text": "queue grows"}).json()
    assert (made["plan"], made["revision"], made["here"]) == (plan, 1, run)
    assert made["anchor"] == {"kind": "moment", "name": None, "ends": None, "run": run, "at_secs": 11.5}
    for of in (f"plans/{plan}", f"runs/{run}"):
        assert [note["id"] for note in notes(client, of)] == [made["id"]]
    late = client.post(f"{API}/runs/{run}/notes", json={"at_secs": 12.1, "text": "x"})
    assert late.status_code == 422
    assert (late.json()["errors"][0]["field"], late.json()["errors"][0]["limit"]) == ("body.at_secs", "at most 12")
    for wrong in ("NaN", "Infinity", "-100000"):
        body = f'{{"at_secs": {wrong}, "text": "x"}}'
        headers = {"content-type": "application/json"}
        assert client.post(f"{API}/runs/{run}/notes", content=body, headers=headers).status_code in {400, 422}
    assert client.delete(f"{API}/runs/{run}").status_code == 204
    (kept,) = notes(client, f"plans/{plan}")
    assert (kept["here"], kept["anchor"]["run"]) == (None, run)
    assert client.get(f"{API}/runs/{run}/notes").status_code == 404


def test_the_last_moment_is_the_one_that_the_clock_shows(client: TestClient, database: Database) -> None:
    run = replayed(client, database, SMALL, end_secs=11.94)
    for at_secs, status in ((12.0, 201), (12.01, 422), (11.95, 201)):
        answer = client.post(f"{API}/runs/{run}/notes", json={"at_secs": at_secs, "text": "x"})
        assert answer.status_code == status, at_secs


def test_a_moment_of_a_plan_that_was_never_saved_goes_with_its_run(client: TestClient, database: Database) -> None:
    run = replayed(client, database, SMALL)
    made = client.post(f"{API}/runs/{run}/notes", json={"at_secs": -0.5, "text": "settling"}).json()
    assert (made["plan"], made["revision"]) == (None, None)
    assert client.patch(f"{API}/notes/{made['id']}", json={"resolved": True}).status_code == 200
    assert client.delete(f"{API}/runs/{run}").status_code == 204
    assert client.get(f"{API}/notes/{made['id']}").status_code == 404


def test_a_moment_of_a_deleted_plan_s_run_goes_with_its_run(client: TestClient, database: Database) -> None:
    plan = create(client)["id"]
    run = replayed(client, database, {"id": plan})
    assert client.delete(f"{API}/plans/{plan}").status_code == 204
    made = client.post(f"{API}/runs/{run}/notes", json={"at_secs": 1, "text": "x"})
    assert (made.status_code, made.json()["plan"]) == (201, None)


def test_a_run_without_a_replay_has_no_moments(client: TestClient) -> None:
    experiment = client.post(f"{API}/experiments", json={"plan": SMALL, "workload": {"kind": "all-to-all"}}).json()
    run = client.post(f"{API}/experiments/{experiment['id']}/runs").json()["id"]
    answer = client.post(f"{API}/runs/{run}/notes", json={"at_secs": 1, "text": "x"})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:cubeyard:problem:no-replay")
    assert notes(client, f"runs/{run}") == []


def test_notes_go_with_their_plan_and_nothing_else(client: TestClient) -> None:
    plan, other = create(client)["id"], create(client)["id"]
    gone, kept = pin(client, plan, "rack", "R00"), pin(client, other, "rack", "R00")
    before = client.get(f"{API}/plans/{plan}").json()
    pin(client, plan, "rack", "R00")
    assert client.get(f"{API}/plans/{plan}").json() == before, "a note changes no plan"
    assert client.delete(f"{API}/plans/{plan}").status_code == 204
    assert client.get(f"{API}/notes/{gone['id']}").status_code == 404
    assert client.get(f"{API}/notes/{kept['id']}").status_code == 200


def test_what_is_not_there_is_not_found(client: TestClient) -> None:
    plan = create(client)["id"]
    body = {"anchor": {"kind": "rack", "name": "R00"}, "text": "x"}
    assert client.get(f"{API}/plans/{NOWHERE}/notes").status_code == 404
    assert client.post(f"{API}/plans/{NOWHERE}/notes", json=body).status_code == 404
    assert client.post(f"{API}/plans/{plan}/notes", json={**body, "revision": 2}).status_code == 404
    assert client.get(f"{API}/runs/{NOWHERE}/notes").status_code == 404
    assert client.post(f"{API}/runs/{NOWHERE}/notes", json={"at_secs": 0, "text": "x"}).status_code == 404
    assert client.patch(f"{API}/notes/{NOWHERE}", json={"resolved": True}).status_code == 404


@pytest.fixture
def exposed(settings: Settings, database: Database) -> Iterator[TestClient]:
    """A server that others can reach."""
    given = settings.model_copy(update={"host": "0.0.0.0", "token": _secret("configured-token")})
    app = create_app(given, database=database)
    with TestClient(app, base_url="http://10.0.0.7:8000", client=("10.1.2.3", 40000), follow_redirects=False) as client:
        yield client


def test_on_other_addresses_notes_need_a_token_and_carry_its_name(exposed: TestClient) -> None:
    known = bearer("configured-token")
    plan = exposed.post(f"{API}/plans", json={"name": "Yard", "spec": SMALL}, headers=known).json()["id"]
    body = {"anchor": {"kind": "rack", "name": "R00"}, "text": "x"}
    note = exposed.post(f"{API}/plans/{plan}/notes", json=body, headers=known).json()
    assert note["by"] == "configured token"
    for method, path in [
        ("GET", f"{API}/plans/{plan}/notes"),
        ("POST", f"{API}/plans/{plan}/notes"),
        ("GET", f"{API}/notes/{note['id']}"),
        ("PATCH", f"{API}/notes/{note['id']}"),
        ("DELETE", f"{API}/notes/{note['id']}"),
        ("GET", f"{API}/changes"),
    ]:
        assert exposed.request(method, path).status_code == 401, (method, path)
    exposed.post("/login", data={"token": "configured-token"})
    foreign = exposed.delete(f"{API}/notes/{note['id']}", headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403, "a page elsewhere deletes nothing"
    assert exposed.get(f"{API}/notes/{note['id']}").status_code == 200
