"""Endpoints of `/api/v1/life`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.kit.errors import responses
from cubeyard.kit.responses import NotJson
from cubeyard.kit.routing import api_router
from cubeyard.kit.sse import EventStream
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.life import schemas
from cubeyard.life.service import LifeService
from cubeyard.search.example import ExampleResult, example_in
from cubeyard.search.service import streamed

router = api_router("/life", tags=["life"])

EVENTS = {
    200: {
        "description": "Server-sent events: `plan`, `progress` and `servers` while it runs, then `result` or `problem`.",
        "content": {"text/event-stream": {"schema": schemas.LifeEvent.model_json_schema()}},
    },
}


def get_service(session: UnitOfWork, engine: EngineOf) -> LifeService:
    return LifeService(session, engine)


Service = Annotated[LifeService, Depends(get_service)]


@router.get(
    "/rates", operation_id="list_failure_rates", summary="Failure rates of parts, with sources", responses=responses()
)
def list_failure_rates(service: Service) -> schemas.FailureRateList:
    return service.rates()


@router.get(
    "/example",
    operation_id="get_life_example",
    summary="A built-in example result: the paper's container over five years",
    responses=responses(),
)
def get_life_example() -> ExampleResult:
    return example_in(Path(__file__).parent)


@router.post(
    "",
    operation_id="simulate_life",
    summary="Simulate years of failures and repairs of a plan, as a stream of events",
    response_class=NotJson,
    responses={**EVENTS, **responses()},
)
def simulate_life(request: Request, service: Service, question: schemas.LifeQuestion) -> Response:
    """Parts fail at their rates, and visits repair them while the kit has spares. The number of
    live servers is exact for every seed; throughput is computed for some states and interpolated
    between them, and the result states which and with what error.

    The same request and price book give the same events. Nothing is stored: close the connection to
    cancel.
    """
    requested, book = service.prepared(question)
    engine = request.app.state.engine
    return EventStream(streamed(lambda on_frame, on_progress: engine.life(requested, book, on_frame, on_progress)))
