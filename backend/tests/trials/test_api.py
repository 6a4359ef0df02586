"""Trials of services over the API: the engine's results, progress, errors, and that disconnecting
ends the work."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from cubeyard.engine import Engine
from cubeyard.search.service import streamed
from cubeyard.trials.schemas import ServiceTrial, TrialReport, options_of
from cubeyard.trials.service import TrialService
from tests.search.test_api import told

TRIALS = "/api/v1/service-trials"
WORD_COUNT = Path(__file__).parents[3] / "examples/services/word-count/word-count.wasm"
CACHE: dict[str, Any] = {"service": "cache", "size": [4, 4, 4], "secs": 2.0, "message": "get colour"}


def test_a_trial_tells_its_progress_and_ends_with_what_the_engine_says(client: TestClient, engine: Engine) -> None:
    answer = client.post(TRIALS, json=CACHE)
    assert answer.status_code == 200, answer.text
    *progress, (last, result) = told(answer.text)
    assert last == "result"
    done = [item["done"] for kind, item in progress if kind == "progress"]
    assert done == sorted(set(done))
    assert TrialReport.model_validate(result).answers == 64
    assert result == engine.built_in_trial("cache", options_of(ServiceTrial.model_validate(CACHE)))


def test_a_module_counts_words_as_the_command_line_has_it(client: TestClient, engine: Engine) -> None:
    request = {
        "module": base64.b64encode(WORD_COUNT.read_bytes()).decode(),
        "size": [3, 3, 3],
        "message": "count 7 1,1,1 full\npair",
    }
    result = told(client.post(TRIALS, json=request).text)[-1][1]
    assert result == engine.service_trial(WORD_COUNT.read_bytes(), options_of(ServiceTrial.model_validate(request)))
    assert result["said"][0][2] == "7 27\npair 27\n"


def test_what_cannot_be_tried_is_refused_by_its_field(client: TestClient) -> None:
    for wrong, field, words in [
        ({"service": "nothing"}, "body.service", "No server hosts a service called nothing"),
        ({"size": [21, 20, 20]}, "body.size", "8,400 servers"),
        ({"size": [1, 1, 1]}, "body.size", "1 servers"),
        ({"size": [3, 3]}, "body.size.2", "missing"),
        ({"secs": 0}, "body.secs", "not more than 0"),
        ({"service": None}, "body", "here are neither"),
        ({"module": "AAAA"}, "body", "here are both"),
        ({"service": None, "module": "not base64!"}, "body.module", "not base64"),
        ({"service": None, "module": "AAAA"}, "body.module", ""),
    ]:
        answer = client.post(TRIALS, json={**CACHE, **wrong})
        assert answer.status_code == 422, answer.text
        (error, *_) = answer.json()["errors"]
        assert error["field"] == field
        assert words in error["message"]


def test_leaving_ends_the_trial(engine: Engine) -> None:
    """A trial that would take minutes: 8,000 servers that count in a loop."""
    request = ServiceTrial.model_validate({**CACHE, "size": [20, 20, 20], "secs": 3600.0})
    work = TrialService(engine).prepared(request)
    ended: list[bool] = []

    def watched(on_frame: Any, on_progress: Any) -> Any:
        try:
            return work(on_frame, on_progress)
        finally:
            ended.append(True)

    async def leave() -> None:
        stream = streamed(watched)
        await anext(stream)
        await stream.aclose()

    asyncio.run(asyncio.wait_for(leave(), 60))
    for _ in range(600):
        if ended:
            break
        asyncio.run(asyncio.sleep(0.1))
    assert ended == [True]
