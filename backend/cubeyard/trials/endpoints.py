"""Endpoints of `/api/v1/service-trials`."""

from __future__ import annotations

from fastapi import Request, Response

from cubeyard.kit.errors import responses
from cubeyard.kit.responses import NotJson
from cubeyard.kit.routing import api_router
from cubeyard.kit.sse import EventStream
from cubeyard.search.service import streamed
from cubeyard.trials import schemas
from cubeyard.trials.service import TrialService

router = api_router("/service-trials", tags=["services"])

EVENTS = {
    200: {
        "description": "Server-sent events: `progress` as virtual time goes on, then `result` or `problem`.",
        "content": {"text/event-stream": {"schema": schemas.TrialEvent.model_json_schema()}},
    },
}


@router.post(
    "",
    operation_id="try_service",
    summary="Try a service on every server of a torus in virtual time, as a stream of events",
    response_class=NotJson,
    responses={**EVENTS, **responses()},
)
def try_service(request: Request, trial: schemas.ServiceTrial) -> Response:
    """Queues, polling and fair shares of links are as in a run; there are no failures and no
    losses. The same trial gives the same result. Nothing is stored: close the connection to
    cancel."""
    return EventStream(streamed(TrialService(request.app.state.engine).prepared(trial)))
