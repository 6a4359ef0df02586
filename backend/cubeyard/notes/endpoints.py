"""`/api/v1/notes`, and the notes of a plan and of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.kit.auth.who import Author
from cubeyard.kit.db import UnitOfWork
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.notes import schemas
from cubeyard.notes.service import NoteService
from cubeyard.plans.endpoints import AtRevision

router = api_router(tags=["notes"])

Cursor = Annotated[str | None, Query(max_length=200)]
Limit = Annotated[int, Query(ge=1, le=200)]
Resolved = Annotated[bool | None, Query(description="Only resolved ones, or only open ones; all if left out.")]
Words = Annotated[PlainText, Query(max_length=200, description="Words of the text.")]


def get_service(session: UnitOfWork, engine: EngineOf, author: Author) -> NoteService:
    return NoteService(session, engine, author)


Service = Annotated[NoteService, Depends(get_service)]


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


@router.get("/notes/{id}", operation_id="read_note", summary="A note", responses=responses(404))
def read_note(service: Service, id: Id) -> schemas.Note:
    return service.read(id)


@router.patch(
    "/notes/{id}",
    operation_id="update_note",
    summary="Edit a note's text, resolve it or reopen it",
    responses=responses(404, 409),
)
def update_note(service: Service, id: Id, request: schemas.NoteUpdate) -> schemas.Note:
    return service.change(id, request)


@router.delete(
    "/notes/{id}", operation_id="delete_note", summary="Delete a note", status_code=204, responses=responses(404)
)
def delete_note(service: Service, id: Id) -> None:
    """The change log keeps who deleted it and when, not its text."""
    service.delete(id)
