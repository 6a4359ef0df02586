"""Options of exports over REST: they reach the file, a job keeps them, wrong ones are refused by
field, and links lead to the cable."""

from __future__ import annotations

import io
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pypdf import PdfReader

from tests.jobs.test_jobs import plan_of, wait_for

SMALL = {"family": "dcell", "n": 4, "k": 1}
LETTER_POINTS = (612, 792)


def size_of(data: bytes) -> tuple[int, int]:
    page = PdfReader(io.BytesIO(data)).pages[0]
    return round(float(page.mediabox.width)), round(float(page.mediabox.height))


def refused(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    return answer.json()["errors"][0]


def test_formats_say_which_options_they_take(client: TestClient) -> None:
    takes = {item["name"]: item["options"] for item in client.get("/api/v1/exports").json()["items"]}
    assert takes["pdf"] == ["paper", "first_label", "codes", "link"]
    assert takes["xlsx"] == ["paper"]
    assert takes["dxf"] == ["solid"]
    assert takes["csv"] == []


def test_options_reach_the_file_of_a_saved_and_an_unsaved_plan(client: TestClient) -> None:
    plan = plan_of(client, SMALL)
    path = f"/api/v1/plans/{plan}/exports/pdf"
    plain, letter = client.get(path), client.get(path, params={"paper": "letter", "first_label": 7})
    assert size_of(plain.content) == (595, 842)
    assert size_of(letter.content) == LETTER_POINTS
    words = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(letter.content)).pages)
    assert "Avery 5167 (Letter)" in words
    assert "begins at label 7" in words
    assert "sheet of 80 on Letter" in words, "the bill buys the stock that the labels are printed on"
    assert plain.headers["etag"] != letter.headers["etag"]
    assert client.get(path, params={"paper": "a4"}).headers["etag"] == plain.headers["etag"], "A4 is the plan's own"
    unsaved = client.post("/api/v1/exports/pdf", params={"paper": "letter"}, json={"spec": SMALL})
    assert size_of(unsaved.content) == LETTER_POINTS
    flat, solid = (client.get(f"/api/v1/plans/{plan}/exports/dxf", params={"solid": on}).text for on in (False, True))
    assert "solid-devices" in solid
    assert "solid-devices" not in flat


@pytest.mark.long
def test_a_job_keeps_its_options(working_client: TestClient) -> None:
    plan = plan_of(working_client, SMALL)
    query = {"paper": "letter", "first_label": 3}
    job = working_client.post(f"/api/v1/plans/{plan}/exports/pdf/jobs", params=query).json()
    assert job["options"] == query
    done = wait_for(working_client, job["id"], "done", "failed")
    made = working_client.get(done["result_url"]).content
    assert made == working_client.get(f"/api/v1/plans/{plan}/exports/pdf", params=query).content
    assert done["options"] == query


def test_a_wrong_option_is_refused_by_field(client: TestClient) -> None:
    plan = plan_of(client, SMALL)
    for name, query, field in [
        ("csv", {"paper": "letter"}, "query.paper"),
        ("dxf", {"first_label": 2}, "query.first_label"),
        ("pdf", {"solid": True}, "query.solid"),
        ("pdf", {"paper": "a5"}, "query.paper"),
        ("pdf", {"first_label": 0}, "query.first_label"),
        ("pdf", {"first_label": 1001}, "query.first_label"),
        ("pdf", {"first_label": 190}, "query.first_label"),
        ("pdf", {"codes": "barcode"}, "query.codes"),
        ("pdf", {"codes": "link", "link": "ftp://x/"}, "query.link"),
        ("csv", {"codes": "link"}, "query.codes"),
        ("pdf", {"link": "https://x/" + "y" * 100}, "query.link"),
        ("dxf", {"solid": "perhaps"}, "query.solid"),
    ]:
        for answer in (
            client.get(f"/api/v1/plans/{plan}/exports/{name}", params=query),
            client.post(f"/api/v1/exports/{name}", params=query, json={"spec": SMALL}),
            client.post(f"/api/v1/plans/{plan}/exports/{name}/jobs", params=query),
        ):
            error = refused(answer)
            assert error["field"] == field, (name, query)
            assert error["message"]


@pytest.mark.long
def test_a_labels_link_opens_the_cable_in_crew_mode(client: TestClient) -> None:
    plan = plan_of(client, SMALL)
    answer = client.get(f"/api/v1/plans/{plan}/exports/pdf", params={"codes": "link"})
    assert answer.status_code == 200
    assert (
        refused(client.post("/api/v1/exports/pdf", params={"codes": "link"}, json={"spec": SMALL}))["field"]
        == "query.codes"
    )
    moved = client.get(f"/c/{plan}/1/7", follow_redirects=False)
    assert moved.status_code == 307
    assert moved.headers["location"] == f"/plans/{plan}/crew?revision=1&rack=R00&cable=C00007"
    assert client.get(f"/c/{plan}/1/100000", follow_redirects=False).status_code == 404
    assert client.get(f"/c/{plan}/9/7", follow_redirects=False).status_code == 404
    assert client.get(f"/c/{plan}/1/x", follow_redirects=False).status_code == 422
