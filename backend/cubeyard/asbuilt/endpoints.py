"""`/api/v1/plans/{id}/revisions/{revision}/as-built`: a list of cables from the floor beside the
plan."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Path, Query, Request, Response

from cubeyard.asbuilt import schemas
from cubeyard.asbuilt.service import AsBuiltService
from cubeyard.catalog.endpoints import EngineOf
from cubeyard.kit.asgi import ANY_MEDIA_TYPE, CSV_MEDIA_TYPE, JSON_MEDIA_TYPE, XLSX_MEDIA_TYPE
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import json_bytes
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.reading.cables import Listing, listed
from cubeyard.reading.numbers import Mark

router = api_router(tags=["plans"])

AS_BUILT_PATH = re.compile(r"/api/v1/plans/[^/]+/revisions/[^/]+/as-built")
"""The path that takes a CSV file or lldpctl's JSON as its body."""
BODY = {
    "requestBody": {
        "required": True,
        "description": "Our cable schedule or NetBox's cables as CSV, or the output of `lldpctl -f json` (or json0) as JSON: of one "
        "device with `host`, or of several as an object from device to output.",
        "content": {
            CSV_MEDIA_TYPE: {
                "schema": {"type": "string"},
                "example": "a_host_name,a_port,b_host_name,b_port,length_metres\r\nh00,eth0,s0-0,P0,2\r\n",
            },
            XLSX_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            ANY_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            JSON_MEDIA_TYPE: {"schema": {"type": "object", "additionalProperties": True}},
        },
    }
}


def get_service(session: UnitOfWork, engine: EngineOf) -> AsBuiltService:
    return AsBuiltService(session, engine)


async def read_listing(
    http: Request,
    host: Annotated[
        PlainText | None, Query(min_length=1, max_length=255, description="For lldpctl of a single device: the device.")
    ] = None,
    decimal: Annotated[
        Mark | None, Query(description="The decimal mark of the lengths; judged by all of them if left out.")
    ] = None,
) -> Listing:
    """The body as it was sent: JSON too is read by the readers, which name its mistakes by line and
    column."""
    return await http.app.state.readers.read(http, listed, await http.body(), host, decimal)


@router.post(
    "/plans/{id}/revisions/{revision}/as-built",
    operation_id="compare_as_built",
    summary="A list of cables from the floor beside the plan, with the work order that repairs it",
    response_model=schemas.AsBuilt,
    responses=responses(404),
    openapi_extra=BODY,
)
def compare_as_built(
    service: Annotated[AsBuiltService, Depends(get_service)],
    id: Id,
    revision: Annotated[int, Path(ge=1, le=2_147_483_647)],
    listing: Annotated[Listing, Depends(read_listing)],
) -> Response:
    """Each planned cable and each one of the list is in exactly one class. Nothing is stored.

    The work order has the fewest plug operations, and of those the fewest steps; in its order no
    step needs a port that is taken.
    """
    return json_bytes(service.compare(id, revision, listing).model_dump_json().encode())
