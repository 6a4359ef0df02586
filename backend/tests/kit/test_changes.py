"""The change log: a row for what a person changed, in the same transaction, which nobody can change
or take out."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from cubeyard.cli.command import app as program
from cubeyard.engine import Engine
from cubeyard.kit.changes.service import MAX_CHARACTERS
from cubeyard.kit.db import Database
from cubeyard.plans import schemas
from cubeyard.plans.service import PlanService
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.reaper import RunReaper
from cubeyard.runs.service import RunService
from cubeyard.settings import Settings
from tests.api.test_auth import bearer
from tests.api.test_plans import create
from tests.conftest import SMALL

Json = dict[str, Any]
API = "/api/v1"
BIGGER = {"family": "bcube", "n": 5, "k": 1}


def changes(client: TestClient, **query: Any) -> list[Json]:
    answer = client.get(f"{API}/changes", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def told(client: TestClient, **query: Any) -> list[tuple[str, str]]:
    return [(change["kind"], change["action"]) for change in changes(client, **query)][::-1]


def test_what_people_change_is_told_by_whom_and_in_order(client: TestClient) -> None:
    assert changes(client) == [], "builtin price books arrive by themselves"
    made = client.post(f"{API}/tokens", json={"name": "architect"}).json()
    headers = bearer(made["token"])
    plan = create(client)["id"]
    path = f"{API}/plans/{plan}"
    client.patch(path, json={"name": "Yard two"}, headers=headers)
    client.patch(path, json={"name": "Yard two"}, headers=headers)
    client.patch(path, json={"spec": BIGGER, "base_revision": 1}, headers=headers)
    client.patch(path, json={"spec": BIGGER, "base_revision": 2}, headers=headers)
    client.post(f"{path}/revert", json={"revision": 1}, headers=headers)
    body = {"anchor": {"kind": "rack", "name": "R00"}, "text": "secret words"}
    note = client.post(f"{path}/notes", json=body, headers=headers).json()["id"]
    client.patch(f"{API}/notes/{note}", json={"text": "others", "base_version": 1, "resolved": True})
    client.patch(f"{API}/notes/{note}", json={"resolved": False})
    client.delete(f"{API}/notes/{note}")
    marks = {"marks": [{"cable": 1, "state": "done"}, {"cable": 2, "state": "done"}]}
    for _ in range(2):
        client.put(f"{path}/revisions/1/work/marks", json=marks)
    experiment = client.post(
        f"{API}/experiments", json={"plan": {"id": plan}, "workload": {"kind": "all-to-all"}}
    ).json()
    run = client.post(f"{API}/experiments/{experiment['id']}/runs").json()["id"]
    for _ in range(2):
        client.post(f"{API}/runs/{run}/cancel")
    client.delete(f"{API}/experiments/{experiment['id']}")
    client.delete(path)
    expected = [
        ("plan", "created"), ("plan", "renamed"), ("plan", "revised"), ("plan", "reverted"), ("note", "created"),
        ("note", "edited"), ("note", "resolved"), ("note", "reopened"), ("note", "deleted"), ("work", "marked"),
        ("experiment", "created"), ("run", "started"), ("run", "cancelled"), ("run", "deleted"),
        ("experiment", "deleted"), ("plan", "deleted"),
    ]  # fmt: skip
    assert told(client, plan=plan) == expected, "what changes nothing is no change"
    assert [change["who"] for change in changes(client, plan=plan, kind="plan")][::-1] == [
        "this machine", "architect", "architect", "architect", "this machine",
    ]  # fmt: skip
    details = {change["action"]: change["detail"] for change in changes(client, plan=plan, kind="plan")}
    assert details["renamed"] == "from Yard"
    assert details["reverted"] == "revision 3, back to revision 1"
    (marked,) = changes(client, kind="work")
    assert marked["detail"] == "revision 1: 2 cables marked, 0 cables opened again"
    assert changes(client, who="architect")[0]["token"] == made["id"]
    assert "secret words" not in client.get(f"{API}/changes").text
    assert made["token"] not in client.get(f"{API}/changes").text


def test_tokens_and_price_books_are_in_it(client: TestClient) -> None:
    made = client.post(f"{API}/tokens", json={"name": "laptop"}).json()
    own = client.delete(f"{API}/tokens/{made['id']}", headers=bearer(made["token"]))
    assert own.status_code == 204
    book = {"book": "ours", "title": "Our prices", "copy_of": "paper-2009", "note": "begin"}
    assert client.post(f"{API}/catalog/books", json=book).status_code == 201
    assert client.post(f"{API}/catalog/books/ours/versions", json={"note": "again"}).status_code == 201
    assert told(client) == [("token", "created"), ("token", "revoked"), ("book", "created"), ("book", "revised")]
    created, revoked = changes(client, kind="token")[::-1]
    assert (created["who"], revoked["who"], revoked["token"]) == ("this machine", "laptop", made["id"])
    assert changes(client, kind="book")[0]["detail"] == "version 2, of version 1: again"


def test_filters_and_pages_join_to_the_whole(client: TestClient) -> None:
    plans = [create(client, name=f"Plan {number}")["id"] for number in range(5)]
    client.delete(f"{API}/plans/{plans[0]}")
    read: list[str] = []
    cursor: str | None = None
    while True:
        page = client.get(f"{API}/changes", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        read += [item["subject"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert read == [plans[0], *plans[::-1]]
    assert [change["subject"] for change in changes(client, action=["deleted", "renamed"])] == [plans[0]]
    assert [change["subject"] for change in changes(client, q="plan 3")] == [plans[3]]
    assert len(changes(client, subject=plans[0])) == 2
    assert changes(client, who="nobody") == []
    for wrong in ({"kind": "castle"}, {"action": "eaten"}, {"plan": "x"}, {"limit": 201}, {"cursor": "x"}):
        assert client.get(f"{API}/changes", params=wrong).status_code == 422, wrong


def test_a_change_that_is_rolled_back_leaves_no_row_and_a_refused_one_neither(client: TestClient) -> None:
    plan = create(client)["id"]
    assert (
        client.patch(f"{API}/plans/{plan}", json={"name": "New", "spec": BIGGER, "base_revision": 7}).status_code == 409
    )
    # The new name is written, then the spec is refused: both are undone.
    refused = client.patch(f"{API}/plans/{plan}", json={"name": "New", "spec": {"family": "no"}, "base_revision": 1})
    assert refused.status_code == 422
    assert told(client) == [("plan", "created")]


def test_what_the_program_does_by_itself_is_not_in_it(client: TestClient, database: Database, engine: Engine) -> None:
    with database.session() as session:
        PlanService(session, engine).create(schemas.PlanCreate(name="Made by a program", spec=SMALL))
    experiment = client.post(f"{API}/experiments", json={"plan": SMALL, "workload": {"kind": "all-to-all"}}).json()
    run = client.post(f"{API}/experiments/{experiment['id']}/runs").json()["id"]
    with database.session() as session:
        RunService(session, RunQueue()).cancel(run)
    RunReaper(database, lease_secs=1, attempts=1, keep_days=0).once()
    assert client.get(f"{API}/runs/{run}").status_code == 404
    assert told(client) == [("experiment", "created"), ("run", "started")]


def test_nobody_changes_or_empties_the_log(client: TestClient, database: Database) -> None:
    create(client)
    for statement in ("UPDATE changes SET who = 'x'", "DELETE FROM changes", "TRUNCATE changes"):
        with pytest.raises(Exception, match="immutable"), database.engine.begin() as connection:
            connection.execute(text(statement))
    assert len(changes(client)) == 1


def test_long_names_are_cut(client: TestClient) -> None:
    plan = create(client, name="n" * 120)["id"]
    client.patch(f"{API}/plans/{plan}", json={"name": "m" * 120})
    book = {"book": "ours", "title": "Ours", "copy_of": "paper-2009", "note": ""}
    client.post(f"{API}/catalog/books", json=book)
    client.post(f"{API}/catalog/books/ours/versions", json={"note": "x" * 400})
    assert len(changes(client, kind="book")[0]["detail"]) == MAX_CHARACTERS


def test_the_command_line_makes_tokens_and_lists_changes(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", str(settings.database_url))
    plan = create(client, name="[bold]Yard")["id"]
    runner = CliRunner()
    assert runner.invoke(program, ["token", "create", "from the shell"]).exit_code == 0
    listed = runner.invoke(program, ["changes"])
    assert listed.exit_code == 0, listed.output
    first, second = listed.stdout.splitlines()[1:]
    assert "command line" in first
    assert "from the shell" in first
    assert "[bold]Yard" in second
    as_json = runner.invoke(program, ["changes", "--plan", plan, "--json"])
    assert plan in as_json.stdout
    assert "from the shell" not in as_json.stdout
    for wrong in (["--plan", "x"], ["--kind", "castle"], ["--limit", "0"]):
        assert runner.invoke(program, ["changes", *wrong]).exit_code == 2, wrong
