"""Computes a plan from a spec and a price book without a database, for the command line and
notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Engine, Json
from cubeyard.kit.errors import field_error
from cubeyard.kit.json_text import loads
from cubeyard.plans.spec import DEFAULT_BOOK, book_of, normal_spec, on_paper


def build(
    engine: Engine,
    spec: Json,
    catalog: str | Mapping[str, object] | None = None,
    host_prefix: str | None = None,
    paper: str | None = None,
) -> BuiltPlan:
    """The plan of a plan spec or a bare topology. `catalog` replaces the spec's price book: see
    `book_named`.

    Raises PlanRejectedError with findings, and ProblemError if the price book does not exist.
    """
    spec = on_paper(normal_spec(spec), paper)
    if host_prefix is not None:
        spec = {**spec, "site": {**(spec.get("site") or {}), "host_prefix": host_prefix}}
    book = book_named(engine, catalog or (book_of(spec) if "catalog" in spec else DEFAULT_BOOK))
    return engine.plan({**spec, "catalog": book["book"]}, book)


def book_named(engine: Engine, name: str | Mapping[str, object]) -> Json:
    """A price book: a builtin one by name, the content of a JSON file, or the given document.

    Raises ProblemError for anything else, and PlanRejectedError for an invalid price book.
    """
    book: object = name
    if isinstance(name, str):
        books = {book["book"]: book for book in engine.builtin_books}
        if name in books:
            return books[name]
        try:
            book = loads(Path(name).read_bytes())
        except (OSError, ValueError) as error:
            message = (
                f"There is no builtin price book {name}, and no JSON file of this name can be read ({error}). "
                f"There are: {', '.join(books)}."
            )
            raise field_error("catalog", name, message, limit=f"one of {', '.join(books)}") from error
    if not isinstance(book, Mapping):
        raise field_error("catalog", str(name), "A price book is a JSON object.", hint="Start from a builtin one.")
    # Books saved from the page also have a creation time, which is dropped here.
    known = {key: book[key] for key in ("book", "version", "title", "currency", "notes", "parts") if key in book}
    engine.check_book(known)
    return known
