"""`/api/v1/notes`, and the notes of a plan and of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Query
from starlette.responses import Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.kit.auth.who import actor
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import ETAG_HEADER, NOT_MODIFIED, IfNoneMatch, json_bytes, matches
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.notes import schemas
from cubeyard.notes.service import NoteService, etag
from cubeyard.plans.endpoints import AtRevision

router = api_router(tags=["notes"])

Cursor = Annotated[str | None, Query(max_length=200)]
Limit = Annotated[int, Query(ge=1, le=200)]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=400, description="The note's ETag that the change is based on.")
]
Resolved = Annotated[bool | None, Query(description="Only resolved ones, or only open ones; all if left out.")]
Words = Annotated[PlainText, Query(max_length=200, description="Words of the text.")]


def get_service(session: UnitOfWork, engine: EngineOf) -> NoteService:
    author = actor(session)
    assert author is not None, "a request has a caller"
    return NoteService(session, engine, author.name)


Service = Annotated[NoteService, Depends(get_service)]


def _note_response(note: schemas.Note, if_none_match: str | None = None) -> Response:
    headers = {"etag": etag(note)}
    if matches(if_none_match, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return json_bytes(note.model_dump_json().encode(), headers=headers)


@router.get(
    "/plans/{id}/notes",
    operation_id="list_plan_notes",
    summary="A plan's notes, the latest first",
    responses=responses(404),
)
def list_plan_notes(
    service: Service,
    id: Id,
    revision: AtRevision = None,
    kind: Annotated[schemas.NoteKind | None, Query(description="Only those with such an anchor.")] = None,
    resolved: Resolved = None,
    q: Words = "",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> schemas.NoteList:
    """Notes of all revisions. `here` is the title of each anchor in this revision, or states that
    it is missing."""
    return service.of_plan(id, revision=revision, kind=kind, resolved=resolved, q=q, cursor=cursor, limit=limit)


@router.post(
    "/plans/{id}/notes",
    operation_id="create_plan_note",
    summary="Pin a note to a rack, a device or a cable",
    status_code=201,
    responses=responses(404, 409),
)
def create_plan_note(service: Service, id: Id, request: schemas.NoteCreate) -> schemas.Note:
    return service.pin(id, request)


@router.get(
    "/runs/{id}/notes",
    operation_id="list_run_notes",
    summary="The notes at moments of a run, the latest first",
    responses=responses(404),
)
def list_run_notes(
    service: Service, id: Id, resolved: Resolved = None, q: Words = "", cursor: Cursor = None, limit: Limit = 50
) -> schemas.NoteList:
    return service.of_run(id, resolved=resolved, q=q, cursor=cursor, limit=limit)


@router.post(
    "/runs/{id}/notes",
    operation_id="create_run_note",
    summary="Pin a note to a moment of a run with real packets",
    status_code=201,
    responses=responses(404, 409),
)
def create_run_note(service: Service, id: Id, request: schemas.MomentNoteCreate) -> schemas.Note:
    """It belongs to the saved plan that the run was made of; to the run, if that was never saved or
    is deleted."""
    return service.pin_moment(id, request)


@router.get(
    "/notes/{id}",
    operation_id="read_note",
    summary="A note",
    response_model=schemas.Note,
    responses={200: ETAG_HEADER, 304: NOT_MODIFIED, **responses(404)},
)
def read_note(service: Service, id: Id, if_none_match: IfNoneMatch = None) -> Response:
    return _note_response(service.read(id), if_none_match)


@router.patch(
    "/notes/{id}",
    operation_id="update_note",
    summary="Edit a note's text, resolve it or reopen it",
    response_model=schemas.Note,
    responses={200: ETAG_HEADER, **responses(404, 409, 412)},
)
def update_note(service: Service, id: Id, request: schemas.NoteUpdate, if_match: IfMatch = None) -> Response:
    return _note_response(service.change(id, request, if_match))


@router.delete(
    "/notes/{id}", operation_id="delete_note", summary="Delete a note", status_code=204, responses=responses(404, 412)
)
def delete_note(service: Service, id: Id, if_match: IfMatch = None) -> None:
    """The change log keeps who deleted it and when, not its text."""
    service.delete(id, if_match)
