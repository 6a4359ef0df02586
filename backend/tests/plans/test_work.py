"""Cabling progress: the last write of a cable wins, a repeated mark changes nothing, and revisions
are independent."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.api.test_plans import create
from tests.conftest import examples

Json = dict[str, Any]
CABLES = 32
"""The number of cables of `SMALL`."""
RACKS = {"family": "bcube", "n": 4, "k": 3}
"""256 servers in several racks, 1,024 cables."""

changes = st.builds(
    lambda cable, state, note: {
        "cable": cable,
        "state": state,
        "note": note or ("bent" if state == "exception" else ""),
    },
    st.integers(0, CABLES - 1),
    st.sampled_from(["open", "done", "exception"]),
    st.sampled_from(["", "port taken", "=1+1", "Stück zu kurz"]),
)


def work(plan: Json | str, revision: int = 1) -> str:
    return f"/api/v1/plans/{plan if isinstance(plan, str) else plan['id']}/revisions/{revision}/work"


def write(client: TestClient, here: str, *marks: Json) -> Json:
    answer = client.put(f"{here}/marks", json={"marks": list(marks)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def marks_of(client: TestClient, here: str) -> dict[int, tuple[str, str]]:
    items = client.get(f"{here}/marks").json()["items"]
    return {mark["cable"]: (mark["state"], mark["note"]) for mark in items}


@given(batches=st.lists(st.lists(changes, min_size=1, max_size=8), min_size=1, max_size=6))
@hypothesis_settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_last_write_of_a_cable_wins_and_may_be_repeated(client: TestClient, batches: list[list[Json]]) -> None:
    here = work(create(client))
    expected: dict[int, tuple[str, str]] = {}
    for batch in batches:
        for change in batch:
            expected.pop(change["cable"], None)
            if change["state"] != "open":
                expected[change["cable"]] = (change["state"], change["note"])
        first = write(client, here, *batch)
        assert write(client, here, *batch) == first, "a repeated batch keeps marks, their authors and their times"
        assert marks_of(client, here) == expected
    progress = client.get(here).json()
    states = [state for state, _ in expected.values()]
    assert (progress["cables"], progress["done"], progress["exceptions"]) == (
        CABLES, states.count("done"), states.count("exception"),
    )  # fmt: skip


@given(marked=st.sets(st.integers(0, 1023), max_size=60), limit=st.integers(1, 40))
@hypothesis_settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_join_to_the_whole_and_racks_count_their_own_ends(
    client: TestClient, marked: set[int], limit: int
) -> None:
    plan = create(client, spec=RACKS)
    here = work(plan)
    if marked:
        write(client, here, *({"cable": cable, "state": "done"} for cable in marked))
    read: list[int] = []
    after: int | None = -1
    while after is not None:
        page = client.get(f"{here}/marks", params={"after": after, "limit": limit}).json()
        assert len(page["items"]) <= limit
        read += [mark["cable"] for mark in page["items"]]
        after = page["next"]
    assert read == sorted(marked)

    scene = client.get(f"/api/v1/plans/{plan['id']}/scene").json()
    columns = client.get(f"/api/v1/plans/{plan['id']}/cables").json()["columns"]
    racks = [
        {scene["devices"]["rack"][device] for device in ends}
        for ends in zip(columns["a_device"], columns["b_device"], strict=True)
    ]
    progress = client.get(here).json()
    assert len(progress["racks"]) > 1
    assert sum(row["cables"] for row in progress["racks"]) > progress["cables"] == len(racks)
    for index, row in enumerate(progress["racks"]):
        own = {cable for cable, ends in enumerate(racks) if index in ends}
        assert row["rack"] == scene["racks"]["name"][index]
        assert (row["cables"], row["done"], row["exceptions"]) == (len(own), len(own & marked), 0)
        listed = client.get(f"{here}/marks", params={"rack": row["rack"]}).json()["items"]
        assert {mark["cable"] for mark in listed} == own & marked


def test_an_unknown_cable_is_named_and_nothing_of_the_request_is_written(client: TestClient) -> None:
    here = work(create(client))
    answer = client.put(
        f"{here}/marks", json={"marks": [{"cable": 3, "state": "done"}, {"cable": CABLES, "state": "done"}]}
    )
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], error["value"], error["limit"]) == ("body.marks.1.cable", CABLES, f"at most {CABLES - 1}")
    assert marks_of(client, here) == {}


def test_an_exception_says_what_is_wrong(client: TestClient) -> None:
    here = work(create(client))
    for note in ("", "  "):
        wrong = {"marks": [{"cable": 3, "state": "exception", "note": note}]}
        assert client.put(f"{here}/marks", json=wrong).status_code == 422
    write(client, here, {"cable": 3, "state": "exception", "note": "port taken"}, {"cable": 4, "state": "done"})
    listed = client.get(f"{here}/marks", params={"state": "exception"}).json()["items"]
    assert [(mark["cable"], mark["note"], mark["by"]) for mark in listed] == [(3, "port taken", None)]


def test_other_revisions_keep_their_own_marks(client: TestClient) -> None:
    plan = create(client)
    head = {"spec": {"family": "bcube", "n": 4, "k": 0}, "base_revision": 1}
    assert client.patch(f"/api/v1/plans/{plan['id']}", json=head).json()["revision"] == 2
    write(client, work(plan, 1), {"cable": 20, "state": "done"})
    write(client, work(plan, 2), {"cable": 1, "state": "exception", "note": "too short"})
    assert marks_of(client, work(plan, 1)) == {20: ("done", "")}
    assert marks_of(client, work(plan, 2)) == {1: ("exception", "too short")}
    assert client.put(f"{work(plan, 2)}/marks", json={"marks": [{"cable": 20, "state": "done"}]}).status_code == 422
    assert client.delete(f"/api/v1/plans/{plan['id']}").status_code == 204
    assert client.get(work(plan, 1)).status_code == 404


def test_what_is_not_there_is_not_found(client: TestClient) -> None:
    plan = create(client)
    for path in (work(plan, 2), work("0a1b2c3d4e5f6g")):
        assert client.get(path).status_code == 404
        assert client.get(f"{path}/marks").status_code == 404
        assert client.put(f"{path}/marks", json={"marks": [{"cable": 0, "state": "done"}]}).status_code == 404
    assert client.get(f"{work(plan)}/marks", params={"rack": "R99"}).status_code == 404


def test_a_mark_carries_the_name_of_its_token(client: TestClient) -> None:
    here = work(create(client))
    token = client.post("/api/v1/tokens", json={"name": "crew east"}).json()["token"]
    body = {"marks": [{"cable": 7, "state": "done"}]}
    answer = client.put(f"{here}/marks", json=body, headers={"authorization": f"Bearer {token}"})
    assert [mark["by"] for mark in answer.json()["items"]] == ["crew east"]
    assert [mark["by"] for mark in write(client, here, *body["marks"])["items"]] == ["crew east"], "nothing changed"
    assert [mark["by"] for mark in write(client, here, {"cable": 7, "state": "done", "note": "redone"})["items"]] == [
        None
    ]
