"""Searches over the API: the stream and its front, errors, and that disconnecting ends the work."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import orjson
from fastapi.testclient import TestClient

from cubeyard.engine import Engine
from cubeyard.search import schemas
from cubeyard.search.service import events

SEARCH = "/api/v1/search"
SMALL: dict[str, Any] = {
    "constraints": [{"metric": "servers", "at_least": 16}],
    "objectives": [{"metric": "cost"}, {"metric": "abt_degraded"}],
    "space": {"families": ["bcube", "fat_tree", "tree"], "most_servers": 20, "server_steps": 2},
}


def told(text: str) -> list[tuple[str, Any]]:
    blocks = (dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in text.split("\n\n"))
    return [(block["event"], json.loads(block["data"])) for block in blocks if "data" in block]


def test_the_example_answers_its_question_with_plans_as_they_are_now(client: TestClient) -> None:
    example = client.get(f"{SEARCH}/example").json()
    schemas.SearchQuestion.model_validate(example["question"])
    result = example["result"]
    assert result["question"]["constraints"] == example["question"]["constraints"]
    assert result["front"]
    for point in result["front"]:
        now = client.post("/api/v1/plans/preview", json={"spec": point["spec"]}).json()["summary"]
        assert (now["counts"]["servers"], now["cost_usd"]["total"]) == (
            point["values"]["servers"],
            point["values"]["cost"],
        ), "bin/example-results computes it again"


def test_a_search_streams_its_points_and_ends_with_the_front(client: TestClient) -> None:
    answer = client.post(SEARCH, json=SMALL)
    assert answer.status_code == 200, answer.text
    kinds = [kind for kind, _ in told(answer.text)]
    assert (kinds[0], kinds[-1]) == ("space", "result")
    assert {"progress", "point"} <= set(kinds)
    front = told(answer.text)[-1][1]["front"]
    costs = [point["values"]["cost"] for point in front]
    kept = [point["values"]["abt_degraded"] for point in front]
    assert front
    assert costs == sorted(costs)
    assert kept == sorted(kept)
    # Each point is a plan as it stands, with the cost that was found.
    item = front[0]
    plan = client.post("/api/v1/plans/preview", json={"spec": item["spec"], "include": ["summary"]})
    assert plan.json()["summary"]["cost_usd"]["total"] == item["values"]["cost"]
    assert client.post(SEARCH, json=SMALL).text == answer.text


def test_a_question_that_is_not_possible_is_refused_by_field(client: TestClient) -> None:
    for change, where in [
        ({"constraints": [{"metric": "servers", "at_least": "1 kW"}]}, "constraints[0].at_least"),
        ({"objectives": [{"metric": "beauty"}]}, "objectives[0].metric"),
        ({"failures": {"ratio": 2}}, "failures.ratio"),
        ({"space": {"families": ["ring"]}}, "space.families[0]"),
        ({"constraints": [{"metric": "cost", "at_most": "1 MEUR"}]}, "constraints[0].at_most"),
    ]:
        answer = client.post(SEARCH, json={**SMALL, **change})
        assert answer.status_code == 422, change
        assert [finding["where"] for finding in answer.json()["findings"]] == [where]


def test_the_metrics_are_those_of_the_engine_and_the_example_is_a_question(client: TestClient, engine: Engine) -> None:
    listed = client.get(f"{SEARCH}/metrics").json()["items"]
    assert listed == engine.search_metrics
    engine.check_search(schemas.EXAMPLE, next(iter(engine.builtin_books)))


def test_a_search_that_nobody_reads_ends(engine: Engine) -> None:
    """The stream is closed after its first event; then the engine takes the next call at once."""

    async def read_one() -> bytes:
        stream = events(engine, schemas.EXAMPLE, next(iter(engine.builtin_books)))
        first = await anext(stream)
        await stream.aclose()
        return first

    assert asyncio.run(read_one()).startswith(b"event: space")
    seen: list[str] = []
    result = engine.search(SMALL, engine.builtin_books[-1], seen.append)
    assert result["complete"]
    assert orjson.loads(seen[0])["kind"] == "space"
