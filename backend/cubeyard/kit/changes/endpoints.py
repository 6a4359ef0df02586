"""`/api/v1/changes`: who changed what and when."""

from __future__ import annotations

from typing import Annotated, get_args

from fastapi import Query

from cubeyard.kit.changes import schemas
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import PATTERN
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork

router = api_router("/changes", tags=["changes"])


@router.get(
    "", operation_id="list_changes", summary="Who changed what and when, the latest first", responses=responses()
)
def list_changes(
    session: UnitOfWork,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    kind: Annotated[
        list[schemas.ChangeKind] | None,
        Query(max_length=len(get_args(schemas.ChangeKind)), description="Any of these."),
    ] = None,
    action: Annotated[
        list[schemas.ChangeAction] | None,
        Query(max_length=len(get_args(schemas.ChangeAction)), description="Any of these."),
    ] = None,
    who: Annotated[PlainText | None, Query(min_length=1, max_length=120, description="Made by this token.")] = None,
    plan: Annotated[
        str | None, Query(pattern=PATTERN, description="Of this saved plan and what belongs to it.")
    ] = None,
    subject: Annotated[PlainText | None, Query(min_length=1, max_length=64, description="Of this thing.")] = None,
    q: Annotated[PlainText, Query(max_length=200, description="Text in the name or the detail.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.ChangeList:
    """A row is written in the transaction of its change and never changes. What the program does by
    itself is not in it."""
    return ChangeLog(session).page(
        cursor=cursor, kinds=kind or (), actions=action or (), who=who, plan=plan, subject=subject, q=q, limit=limit
    )
