"""Exports as files over HTTP: names in any script, copies that are still the same, downloads that
broke off."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.kit.responses import KNOWN_BYTES, byte_range, matches
from tests.conftest import PAPER, SMALL
from tests.jobs.test_jobs import plan_of, start, wait_for

PLAIN = {"accept-encoding": "identity"}


@given(st.integers(1, 10**6), st.integers(0, 2 * 10**6), st.integers(0, 2 * 10**6))
def test_a_range_is_what_it_says_within_the_file(size: int, first: int, last: int) -> None:
    if first >= size and first <= last:
        with pytest.raises(ValueError, match=str(size)):
            byte_range(f"bytes={first}-{last}", size)
        return
    assert byte_range(f"bytes={first}-{last}", size) == (None if last < first else range(first, min(last + 1, size)))
    if first < size:
        assert byte_range(f"bytes={first}-", size) == range(first, size)
    else:
        with pytest.raises(ValueError, match=str(size)):
            byte_range(f"bytes={first}-", size)
    if last:
        assert byte_range(f"bytes=-{last}", size) == range(max(0, size - last), size)


@pytest.mark.parametrize(
    "header", [None, "", "bytes=-", "bytes=5-2", "bytes=1-2,4-5", "lines=1-2", "bytes=a-b", "bytes=\u0661-"]
)
def test_a_range_that_is_not_understood_gives_the_whole(header: str | None) -> None:
    assert byte_range(header, 10) is None


def test_a_tag_matches_in_a_list_and_weakly() -> None:
    assert matches('W/"a", "b"', '"a"')
    assert matches("*", '"a"')
    assert not matches('"ab"', '"a"')
    assert not matches(None, '"a"')


def test_a_copy_that_is_still_the_same_is_not_sent_again(client: TestClient) -> None:
    plan = plan_of(client, SMALL)
    path = f"/api/v1/plans/{plan}/exports/csv"
    first = client.get(path, headers=PLAIN)
    tag = first.headers["etag"]
    again = client.get(path, headers={"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert again.headers["vary"] == "accept-encoding"
    compressed = client.get(path)
    assert client.get(path, headers={"if-none-match": compressed.headers["etag"]}).status_code == 304
    assert client.get(f"/api/v1/plans/{plan}/exports/labels").headers["etag"].removeprefix("W/") != tag
    request = client.head(path)
    assert (request.status_code, request.content, request.headers["etag"]) == (200, b"", tag)
    assert request.headers["content-disposition"] == first.headers["content-disposition"]
    assert "content-length" not in request.headers, "a size of 0 would be that of an empty file"
    other = client.get(f"/api/v1/plans/{plan}").headers["etag"]
    change = {"spec": SMALL | {"k": 0}}
    assert client.patch(f"/api/v1/plans/{plan}", json=change, headers={"if-match": other}).status_code == 200
    changed = client.get(path, headers={"if-none-match": tag})
    assert (changed.status_code, changed.headers["etag"] != tag) == (200, True)


def test_a_file_keeps_the_letters_of_its_plan(client: TestClient) -> None:
    answer = client.post("/api/v1/exports/csv", json={"spec": SMALL, "name": "Z\u00fcrich/S\u00fcd \u6771\u4eac"})
    plain, _, named = answer.headers["content-disposition"].partition("; filename*=UTF-8''")
    assert unquote(named).startswith("Z\u00fcrich-S\u00fcd-\u6771\u4eac-")
    assert plain.isascii()
    assert 'filename="Z_rich-S_d-__-' in plain


def test_a_download_that_broke_off_goes_on_where_it_ended(working_client: TestClient) -> None:
    job = start(working_client, plan_of(working_client, PAPER), "csv")
    done = wait_for(working_client, job["id"], "done", "failed")
    url, size = done["result_url"], done["size_bytes"]
    whole = working_client.get(url, headers=PLAIN).content
    assert len(whole) == size > 600_000, "several stored pieces"
    request = working_client.head(url, headers=PLAIN)
    assert (request.headers["content-length"], request.headers["accept-ranges"]) == (str(size), "bytes")
    for first, last in ((0, 0), (100, 300_000), (262_143, 262_144), (size - 1, size - 1), (500_000, 10**9)):
        part = working_client.get(url, headers={"range": f"bytes={first}-{last}"})
        stop = min(last + 1, size)
        assert part.status_code == 206
        assert part.headers["content-range"] == f"bytes {first}-{stop - 1}/{size}"
        assert part.content == whole[first:stop]
    assert working_client.get(url, headers={"range": "bytes=-7"}).content == whole[-7:]
    tag = request.headers["etag"]
    assert working_client.get(url, headers=PLAIN).headers["etag"] == tag
    same = working_client.get(url, headers={"range": "bytes=5-9", "if-range": tag})
    assert (same.status_code, same.content) == (206, whole[5:10])
    other = working_client.get(url, headers=PLAIN | {"range": "bytes=5-9", "if-range": '"another"'})
    assert (other.status_code, other.content) == (200, whole)
    copy = working_client.get(url, headers={"if-none-match": tag})
    assert (copy.status_code, copy.content, copy.headers["etag"]) == (304, b"", tag)
    beyond = working_client.get(url, headers={"range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    assert str(size) in beyond.json()["detail"]


@pytest.mark.parametrize("spec", [SMALL, PAPER], ids=["in memory", "on disk"])
def test_parts_of_an_export_are_the_same_bytes(client: TestClient, spec: dict[str, Any]) -> None:
    path = f"/api/v1/plans/{plan_of(client, spec)}/exports/csv"
    first = client.get(path, headers=PLAIN)
    whole, tag = first.content, first.headers["etag"]
    assert first.headers["accept-ranges"] == "bytes"
    known = len(whole) <= KNOWN_BYTES
    assert first.headers.get("content-length") == (str(len(whole)) if known else None)
    for request, stop in (("bytes=100-199", 200), ("bytes=100-", len(whole))):
        part = client.get(path, headers={"range": request, "if-range": tag})
        assert (part.status_code, part.content) == (206, whole[100:stop])
        assert part.headers["content-range"] == f"bytes 100-{stop - 1}/{len(whole)}"
        assert int(part.headers["content-length"]) == stop - 100
    assert client.get(path, headers={"range": "bytes=100-199", "if-range": '"another"'}).content == whole
    beyond = client.get(path, headers={"range": f"bytes={len(whole)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(whole)}")
