"""Nobody computes for a client that has left, and predictions leave room for plans."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from starlette.types import Message

from cubeyard.app import create_app
from cubeyard.engine import CancelledError, Engine
from cubeyard.kit.db import Database
from cubeyard.settings import Settings

QUESTION = {"plan": {"family": "bcube", "n": 4, "k": 1}, "workload": {"kind": "all-to-all"}}
LIMIT_SECS = 30.0
SPEC = {"family": "bcube", "n": 4, "k": 1}


class _Endless(Engine):
    """Its predictions last until their callback ends them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.begun = threading.Event()
        self.ended = threading.Event()

    def predict_json(self, *arguments: Any, **_: Any) -> bytes:
        on_progress = arguments[2]
        self.begun.set()
        try:
            for _ in range(int(LIMIT_SECS / 0.01)):
                time.sleep(0.01)
                if not on_progress(0, 1):
                    raise CancelledError
        finally:
            self.ended.set()
        return b"{}"


async def _post(app: Any, path: str, body: bytes, left: Callable[[], object]) -> None:
    """A request whose client closes the connection when `left` returns."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.to_thread(left)
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        return None

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
    }
    await app(scope, receive, send)


@pytest.mark.parametrize("what", ["predict", "simulate"])
def test_the_engine_stops_for_a_client_that_has_left(
    settings: Settings, database: Database, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = settings.model_copy(update={"predict_secs": LIMIT_SECS})
    engine = _Endless(changed)
    monkeypatch.setattr("cubeyard.app.Engine", lambda *_: engine)
    app = create_app(changed, database=database)
    question = {**QUESTION, "workload": {"kind": "permutation", "bytes": 1000}, "link_gbps": 1}
    body = orjson.dumps(QUESTION if what == "predict" else question)

    async def ask() -> None:
        async with app.router.lifespan_context(app):
            await _post(app, f"/api/v1/{what}", body, engine.begun.wait)

    began = time.monotonic()
    asyncio.run(ask())
    assert engine.begun.is_set()
    assert engine.ended.is_set()
    assert time.monotonic() - began < LIMIT_SECS / 2


def test_a_plan_does_not_wait_for_predictions(engine: Engine) -> None:
    endless = _Endless(Settings(engine_concurrency=2, engine_wait_secs=5.0))
    over = threading.Event()

    def predict() -> None:
        with pytest.raises(CancelledError):
            endless.predict_in_turn(SPEC, {}, lambda *_: not over.is_set())

    # Each of them would have had a turn, had they not their own.
    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert endless.begun.wait(10)
        book = engine.builtin_books[0]
        assert endless.plan({"topology": SPEC, "catalog": book["book"]}, book).summary["counts"]["servers"] == 16
        assert not endless.ended.is_set()
    finally:
        over.set()
        for thread in threads:
            thread.join()
