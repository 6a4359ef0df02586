"""`/api/v1/catalog`: price books, their versions and parts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from cubeyard.catalog import schemas
from cubeyard.catalog.service import CatalogService
from cubeyard.kit.db import UnitOfWork
from cubeyard.kit.errors import responses
from cubeyard.kit.text import PlainText

router = APIRouter(prefix="/catalog", tags=["catalog"])

BookPath = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$", examples=["paper-2009"])]
VersionPath = Annotated[int, Path(ge=1, le=2_147_483_647)]


@router.get("/books", operation_id="list_books", summary="Price books and their versions", responses=responses())
def list_books(session: UnitOfWork) -> schemas.BookList:
    return CatalogService(session).books()


@router.post("/books", operation_id="create_book", summary="Start a price book as a copy of another", status_code=201, responses=responses(404, 409))
def create_book(session: UnitOfWork, request: schemas.BookCreate) -> schemas.BookVersion:
    return CatalogService(session).create_book(request)


@router.get("/books/{book}", operation_id="read_book", summary="One price book", responses=responses(404))
def read_book(session: UnitOfWork, book: BookPath) -> schemas.Book:
    return CatalogService(session).book(book)


@router.get("/books/{book}/versions/{version}", operation_id="read_book_version", summary="A version with all its parts", responses=responses(404))
def read_book_version(session: UnitOfWork, book: BookPath, version: VersionPath) -> schemas.BookVersion:
    return CatalogService(session).version(book, version)


@router.post(
    "/books/{book}/versions",
    operation_id="create_book_version",
    summary="A new version: a copy with changed parts",
    status_code=201,
    responses=responses(404),
)
def create_book_version(session: UnitOfWork, book: BookPath, change: schemas.VersionCreate) -> schemas.BookVersion:
    return CatalogService(session).create_version(book, change)


@router.get("/parts", operation_id="search_parts", summary="Parts by kind and by words", responses=responses())
def search_parts(
    session: UnitOfWork,
    kind: Annotated[schemas.PartKind | None, Query()] = None,
    q: Annotated[PlainText, Query(max_length=200, description="Every word must occur in the SKU, the name or the manufacturer.")] = "",
    book: Annotated[str | None, Query(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")] = None,
    version: Annotated[int | None, Query(ge=1, le=2_147_483_647)] = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> schemas.PartList:
    """The latest version of every book, unless `version` says which."""
    return CatalogService(session).search(kind=kind, q=q, book=book, version=version, offset=offset, limit=limit)
