"""`/api/v1/catalog`: price books, their versions and parts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request

from cubeyard.catalog import schemas
from cubeyard.catalog.service import CatalogService
from cubeyard.engine import Engine
from cubeyard.kit.db import UnitOfWork
from cubeyard.kit.errors import responses
from cubeyard.kit.text import PlainText

router = APIRouter(prefix="/catalog", tags=["catalog"])


def get_engine(request: Request) -> Engine:
    return request.app.state.engine


EngineOf = Annotated[Engine, Depends(get_engine)]


def get_service(session: UnitOfWork, engine: EngineOf) -> CatalogService:
    return CatalogService(session, engine)


Service = Annotated[CatalogService, Depends(get_service)]

BookPath = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$", examples=["paper-2009"])]
VersionPath = Annotated[int, Path(ge=1, le=2_147_483_647)]


@router.get("/books", operation_id="list_books", summary="Price books and their versions", responses=responses())
def list_books(service: Service) -> schemas.BookList:
    return service.books()


@router.post(
    "/books",
    operation_id="create_book",
    summary="Start a price book as a copy of another",
    status_code=201,
    responses=responses(404, 409),
)
def create_book(service: Service, request: schemas.BookCreate) -> schemas.BookVersion:
    return service.create_book(request)


@router.get("/books/{book}", operation_id="read_book", summary="One price book", responses=responses(404))
def read_book(service: Service, book: BookPath) -> schemas.Book:
    return service.book(book)


@router.get(
    "/books/{book}/versions/{version}",
    operation_id="read_book_version",
    summary="A version with all its parts",
    responses=responses(404),
)
def read_book_version(service: Service, book: BookPath, version: VersionPath) -> schemas.BookVersion:
    return service.version(book, version)


@router.post(
    "/books/{book}/versions",
    operation_id="create_book_version",
    summary="A new version: a copy with changed parts",
    status_code=201,
    responses=responses(404),
)
def create_book_version(service: Service, book: BookPath, change: schemas.VersionCreate) -> schemas.BookVersion:
    return service.create_version(book, change)


@router.get("/parts", operation_id="search_parts", summary="Parts by kind and by words", responses=responses())
def search_parts(
    service: Service,
    kind: Annotated[schemas.PartKind | None, Query()] = None,
    q: Annotated[
        PlainText, Query(max_length=200, description="Every word must occur in the SKU, the name or the manufacturer.")
    ] = "",
    book: Annotated[str | None, Query(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")] = None,
    version: Annotated[int | None, Query(ge=1, le=2_147_483_647)] = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> schemas.PartList:
    """The latest version of every book, unless `version` says which."""
    return service.search(kind=kind, q=q, book=book, version=version, offset=offset, limit=limit)
