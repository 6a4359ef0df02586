"""`/api/v1/catalog`: price books, their versions and parts."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Body, Depends, Path, Query, Request

from cubeyard.catalog import schemas
from cubeyard.catalog.quotes import Origin, read_rates, sent_bill
from cubeyard.catalog.service import CatalogService
from cubeyard.engine import Engine
from cubeyard.kit.asgi import ANY_MEDIA_TYPE, CSV_MEDIA_TYPE, XLSX_MEDIA_TYPE
from cubeyard.kit.errors import field_error, responses
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.reading.numbers import Mark
from cubeyard.reading.tables import Table

router = api_router("/catalog", tags=["catalog"])

PRICES_PATH = re.compile(r"/api/v1/catalog/books/[^/]+/versions/[^/]+/prices")
"""The path that takes a workbook or a CSV file as its body."""

OTHER_BILLS = {
    "requestBody": {
        "content": {
            CSV_MEDIA_TYPE: {"schema": {"type": "string"}},
            ANY_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
        }
    }
}


def get_engine(request: Request) -> Engine:
    return request.app.state.engine


EngineOf = Annotated[Engine, Depends(get_engine)]


def get_service(session: UnitOfWork, engine: EngineOf) -> CatalogService:
    return CatalogService(session, engine)


Service = Annotated[CatalogService, Depends(get_service)]

BookPath = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$", examples=["paper-2009"])]
VersionPath = Annotated[int, Path(ge=1, le=2_147_483_647)]


DecimalMark = Annotated[
    Mark | None, Query(description="The decimal mark of the file's numbers; judged by all of them if left out.")
]


async def read_bill(
    http: Request,
    file: Annotated[
        bytes,
        Body(
            media_type=XLSX_MEDIA_TYPE,
            description="The plan's workbook (xlsx) or bill (bom-csv), with its quoted prices filled in.",
        ),
    ],
    decimal: DecimalMark = None,
) -> Table:
    return await http.app.state.readers.read(http, sent_bill, file, decimal)


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


@router.post(
    "/books/{book}/versions/{version}/prices",
    operation_id="import_prices",
    summary="Take over prices that were filled into a plan's bill of materials",
    responses=responses(404, 413),
    openapi_extra=OTHER_BILLS,
)
def import_prices(
    service: Service,
    book: BookPath,
    version: VersionPath,
    bill: Annotated[Table, Depends(read_bill)],
    source: Annotated[
        PlainText,
        Query(min_length=1, max_length=2000, description="Where the prices are from, like a quotation's number."),
    ],
    date: Annotated[str, Query(pattern=r"^\d{4}-\d{2}-\d{2}$", description="When they were quoted.")],
    trial: Annotated[bool, Query(description="Report the changes without making them.")] = False,
    jumps: Annotated[
        bool, Query(description="Whether prices are taken that become ten times as high or low; a trial shows them.")
    ] = False,
    rate: Annotated[
        list[PlainText] | None,
        Query(
            max_length=20, description="What a currency of the bill is worth in the book's.", examples=[["EUR=1.08"]]
        ),
    ] = None,
) -> schemas.PriceImport:
    """Cells that are empty change nothing. The result is a new version of the book, based on
    `version`.

    Prices in another currency than the book's are taken only with a rate.
    """
    try:
        rates = read_rates(rate or ())
    except ValueError as error:
        raise field_error("query.rate", rate, f"{error}.", hint="Write it as EUR=1.08.") from None
    return service.import_prices(
        book, version, bill, Origin(source, date, rates), note=f"Prices from {source}"[:500], trial=trial, jumps=jumps
    )


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
