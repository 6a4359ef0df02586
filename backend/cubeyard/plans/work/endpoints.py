"""`/api/v1/plans/{id}/revisions/{revision}/work`: the cabling progress, shared by everybody who
works on it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.kit.auth.guard import configured_token
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.plans.work import schemas
from cubeyard.plans.work.service import WorkService

router = api_router("/plans/{id}/revisions/{revision}/work", tags=["plans"])


def get_service(session: UnitOfWork, engine: EngineOf) -> WorkService:
    return WorkService(session, engine)


def _who(session: UnitOfWork, request: Request) -> str | None:
    """The name of the request's token."""
    identity = getattr(request.state, "identity", None)
    if identity is None:
        return None
    return AuthService(session, configured_token(request.app.state.settings)).name_of(identity)


Service = Annotated[WorkService, Depends(get_service)]
Who = Annotated[str | None, Depends(_who)]
RevisionPath = Annotated[int, Path(ge=1, le=2_147_483_647)]


@router.get(
    "", operation_id="read_work", summary="Progress of the cabling, in total and by rack", responses=responses(404)
)
def read_work(service: Service, id: Id, revision: RevisionPath) -> schemas.WorkProgress:
    return service.progress(id, revision)


@router.get(
    "/marks", operation_id="list_marks", summary="Cables that are done or have a problem", responses=responses(404)
)
def list_marks(
    service: Service,
    id: Id,
    revision: RevisionPath,
    rack: Annotated[
        PlainText | None, Query(min_length=1, max_length=120, description="Only cables with an end in this rack.")
    ] = None,
    state: Annotated[schemas.MarkState | None, Query(description="Only these.")] = None,
    after: Annotated[int, Query(ge=-1, le=2_147_483_647, description="Only cables above this number.")] = -1,
    limit: Annotated[int, Query(ge=1, le=schemas.MAX_MARKS)] = schemas.MAX_MARKS,
) -> schemas.MarkPage:
    return service.marks(id, revision, rack=rack, state=state, after=after, limit=limit)


@router.put(
    "/marks", operation_id="write_marks", summary="Mark cables, or open them again", responses=responses(404, 412)
)
def write_marks(
    service: Service, who: Who, id: Id, revision: RevisionPath, request: schemas.MarkChanges
) -> schemas.MarkPage:
    """Returns the marks of these cables after the change. Either all changes are written or none; a
    request can be repeated."""
    return service.write(id, revision, request.marks, who)
