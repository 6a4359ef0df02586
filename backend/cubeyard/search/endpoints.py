"""Endpoints of `/api/v1/search`."""

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
from cubeyard.search import schemas
from cubeyard.search.example import ExampleResult, example_in
from cubeyard.search.service import SearchService, events

router = api_router("/search", tags=["search"])

EVENTS = {
    200: {
        "description": "Server-sent events: `space`, `progress` and `point` while the search runs, then `result` or `problem`.",
        "content": {"text/event-stream": {"schema": schemas.SearchEvent.model_json_schema()}},
    },
}


def get_service(session: UnitOfWork, engine: EngineOf) -> SearchService:
    return SearchService(session, engine)


Service = Annotated[SearchService, Depends(get_service)]


@router.get(
    "/metrics",
    operation_id="list_search_metrics",
    summary="Metrics that plans can be compared by",
    responses=responses(),
)
def list_search_metrics(service: Service) -> schemas.SearchMetricList:
    return service.metrics()


@router.get(
    "/example",
    operation_id="get_search_example",
    summary="A built-in example result",
    responses=responses(),
)
def get_search_example() -> ExampleResult:
    return example_in(Path(__file__).parent)


@router.post(
    "",
    operation_id="search_plans",
    summary="Search for the best plans, as a stream of events",
    response_class=NotJson,
    responses={**EVENTS, **responses()},
)
def search_plans(request: Request, service: Service, question: schemas.SearchQuestion) -> Response:
    """Thousands of plans are enumerated and priced; throughput is computed only for plans that can
    still be on the front.

    The same request and price book give the same events. Nothing is stored: close the connection to
    cancel.
    """
    return EventStream(events(request.app.state.engine, *service.prepared(question)))
