"""The transaction of a request. Separate from `db.py`: commands use the database without the web
framework."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Request
from fastapi.requests import HTTPConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from cubeyard.kit.db import CALLER, Database


def mark_caller(session: Session, request: HTTPConnection) -> None:
    """The session works for whom the request comes from."""
    session.info[CALLER] = getattr(request.state, "identity", None)


def _unit_of_work(request: Request) -> Iterator[Session]:
    database: Database = request.app.state.database
    try:
        with database.session() as session:
            mark_caller(session, request)
            if (begin := getattr(request.state, "begin", None)) is not None:
                begin(session)  # see `idempotency/route.py`
            yield session
    except DBAPIError as error:
        full = database.full(error, "try again")
        if full is None:
            raise
        raise full from error


UnitOfWork = Annotated[Session, Depends(_unit_of_work, scope="function")]
"""The request's transaction. `scope="function"` ends it before the response: 201 means
committed."""
