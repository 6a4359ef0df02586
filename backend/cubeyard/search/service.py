"""A search as a stream: the engine works in a separate thread until the reader disconnects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import orjson
from sqlalchemy.orm import Session

from cubeyard.catalog.service import CatalogService
from cubeyard.engine import CancelledError, Engine, Json
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.sse import KEEPALIVE, event
from cubeyard.plans.spec import book_of, normal_spec
from cubeyard.search import schemas

KEEPALIVE_SECS = 10.0


class SearchService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._catalog = CatalogService(session, engine)
        self._engine = engine

    def metrics(self) -> schemas.SearchMetricList:
        return schemas.SearchMetricList.model_validate({"items": self._engine.search_metrics})

    def prepared(self, request: schemas.SearchQuestion) -> tuple[Json, Json]:
        """The checked request and price book. Raises PlanRejectedError with every error, by
        field."""
        question = request.model_dump(mode="json")
        normal_spec(request.plan)
        book = self._catalog.pin(book_of(request.plan)).content
        self._engine.check_search(question, book)
        return {**question, "plan": {**request.plan, "catalog": book["book"]}}, book


def events(engine: Engine, question: Json, book: Json) -> AsyncGenerator[bytes]:
    """Each frame of a search as an event. Closing the stream ends the search within the time of one
    step of a candidate."""
    return streamed(lambda on_frame, on_progress: engine.search(question, book, on_frame, on_progress))


async def streamed(
    compute: Callable[[Callable[[str], None], Callable[[int, int], bool]], Json],
) -> AsyncGenerator[bytes]:
    """Streams each frame of `compute(on_frame, on_progress)` as an event of its kind, then
    `result`, or `problem` after an error. It runs in a separate thread; closing the stream cancels
    it."""
    loop = asyncio.get_running_loop()
    frames: asyncio.Queue[tuple[str, str] | None] = asyncio.Queue()
    gone = threading.Event()

    def put(one: tuple[str, str] | None) -> None:
        loop.call_soon_threadsafe(frames.put_nowait, one)

    def goes_on(_done: int, _total: int) -> bool:
        return not gone.is_set()

    def work() -> None:
        try:
            result = compute(lambda frame: put((orjson.loads(frame)["kind"], frame)), goes_on)
            put(("result", orjson.dumps(result).decode()))
        except CancelledError:
            pass
        except ProblemError as error:
            put(("problem", orjson.dumps(_problem(error)).decode()))
        finally:
            put(None)

    worker = loop.run_in_executor(None, work)
    try:
        while True:
            try:
                item = await asyncio.wait_for(frames.get(), KEEPALIVE_SECS)
            except TimeoutError:
                yield KEEPALIVE
                continue
            if item is None:
                break
            yield event(*item)
    finally:
        gone.set()
    await worker


def _problem(error: ProblemError) -> dict[str, Any]:
    findings = getattr(error, "findings", [])
    return {"status": error.status, "detail": error.detail, "findings": findings}
