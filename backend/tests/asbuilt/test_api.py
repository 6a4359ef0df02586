"""Over REST: a file as the body of one call, errors by line and column, and 404 for unknown
objects."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from cubeyard.asbuilt.cables import Port
from cubeyard.asbuilt.schemas import AsBuilt
from tests.api.test_plans import create
from tests.asbuilt.lists import encoded, json0, neighbour

CSV = {"content-type": "text/csv"}
JSON = {"content-type": "application/json"}


def path(plan: dict[str, Any], revision: int = 1) -> str:
    return f"/api/v1/plans/{plan['id']}/revisions/{revision}/as-built"


def test_the_plan_s_own_export_is_in_order_and_a_damaged_one_is_not(client: TestClient) -> None:
    plan = create(client)
    exported = client.get(f"/api/v1/plans/{plan['id']}/exports/csv").content
    answer = client.post(path(plan), content=exported, headers=CSV)
    assert answer.status_code == 200
    document = AsBuilt.model_validate(answer.json())
    assert (document.in_order, document.counts.in_order, document.title) == (True, 32, plan["name"])
    lines = exported.splitlines(keepends=True)
    answer = client.post(path(plan), content=b"".join(lines[:4] + lines[5:]), headers=CSV)
    document = AsBuilt.model_validate(answer.json())
    assert [(difference.kind, difference.cable) for difference in document.differences] == [("missing", 3)]
    assert document.plan_hash == plan["plan_hash"]
    assert len(client.get(f"/api/v1/plans/{plan['id']}/revisions").json()["items"]) == 1


def test_lldp_of_one_device_needs_its_name(client: TestClient) -> None:
    plan = create(client)
    output = encoded(json0([neighbour("eth0", Port("s0-0", "P0")), neighbour("eth1", Port("s1-1", "P0"))]))
    refused = client.post(path(plan), content=output, headers=JSON)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["hint"].startswith('Add a member "host"')
    document = client.post(path(plan), params={"host": "h00"}, content=output, headers=JSON).json()
    counts = document["counts"]
    assert (counts["in_order"], counts["missing"], counts["not_covered"], counts["extra"]) == (1, 1, 30, 1)


def test_a_bad_file_is_refused_by_its_place(client: TestClient) -> None:
    here = path(create(client))
    for body, headers, field, line in [
        (b"a_device,a_port,b_device,b_port\r\n#N/A,eth0,s0-0,P0\r\n", CSV, "body.line 2, column a_device", 2),
        (b"a_device,a_port,b_device,b_port\r\nh00,eth0,,P0\r\n", CSV, "body.line 2, column b_device", 2),
        (b'{"a"', JSON, "body.line 1, column 5", 1),
        (b'{"a": {"lldp": {"interface": {"e": {"chassis": {"b": {}}}}}}}', JSON, "body.a.lldp.interface.e.port", None),
        (b"", CSV, "body.line 1", 1),
    ]:
        answer = client.post(here, content=body, headers=headers)
        assert answer.status_code == 422, body
        error = answer.json()["errors"][0]
        assert (error["field"], error.get("line")) == (field, line)
        assert answer.json()["detail"].casefold() == f"{field.removeprefix('body.')}: {error['message']}".casefold()


def test_several_mistakes_are_told_together(client: TestClient) -> None:
    body = b"a_device,a_port,b_device,b_port\r\n" + b"h00,eth0,#REF!,#N/A\r\n" * 2
    problem = client.post(path(create(client)), content=body, headers=CSV).json()
    assert problem["detail"] == "The file has 4 mistakes."
    assert [error["field"] for error in problem["errors"]] == [
        f"body.line {line}, column {column}" for line in (2, 3) for column in ("b_device", "b_port")
    ]


def test_other_files_and_plans_that_are_not_there_are_refused(client: TestClient) -> None:
    plan = create(client)
    body = b"a_device,a_port,b_device,b_port\r\nh00,eth0,s0-0,P0\r\n"
    assert client.post(path(plan, 2), content=body, headers=CSV).status_code == 404
    assert client.post(path({"id": "0a1b2c3d4e5f6g"}), content=body, headers=CSV).status_code == 404
    assert client.post(path(plan), content=body, headers={"content-type": "text/plain"}).status_code == 415
    assert client.post(path(plan), content=body, headers=CSV, params={"host": ""}).status_code == 422
    empty = client.post(path(plan), content=body.splitlines()[0], headers=CSV).json()
    assert empty["errors"][0]["message"] == "The list has no cables."


def test_rows_that_are_left_out_are_named_with_their_reasons(client: TestClient) -> None:
    body = b"a_device;a_port;b_device;b_port;length\r\nh00;eth0;s0-0;P0;long\r\n;C-1;s0-0;P9;2\r\n"
    result = client.post(path(create(client)), content=body, headers=CSV).json()["list"]
    assert (result["cables"], result["with_length"], result["skipped"]) == (1, 0, 2)
    assert [skipped_row["where"] for skipped_row in result["skipped_rows"]] == [
        "line 2, column length",
        "line 3, column a_device",
    ]


def test_a_length_with_two_readings_is_a_question(client: TestClient) -> None:
    plan = create(client)
    body = b"a_device;a_port;b_device;b_port;length\r\nh00;eth0;s0-0;P0;50,000 mm\r\n"
    refused = client.post(path(plan), content=body, headers=CSV)
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == ["query.decimal"]
    for decimal, millimetres in (("point", 50_000), ("comma", 50)):
        result = client.post(path(plan), content=body, headers=CSV, params={"decimal": decimal}).json()
        (wrong,) = [difference for difference in result["differences"] if difference["kind"] == "wrong_length"]
        assert wrong["found"]["length_mm"] == millimetres
