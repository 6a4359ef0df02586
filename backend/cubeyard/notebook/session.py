"""The one engine of a process, and the engine's lists: families, price books, routing schemes."""

from __future__ import annotations

from functools import cache

from pydantic import ValidationError

from cubeyard.engine import Engine, Json
from cubeyard.kit.validation import in_words
from cubeyard.notebook.errors import CubeyardError, Mistake
from cubeyard.notebook.table import Table
from cubeyard.settings import Settings


@cache
def engine() -> Engine:
    """Created on first use, with the settings of the environment. It starts no process and opens no
    database."""
    try:
        return Engine(Settings())
    except ValidationError as error:
        result = in_words(error.errors(include_url=False))
        raise CubeyardError([Mistake(word.field, word.message, word.value, word.limit) for word in result]) from None


def family_documents() -> dict[str, Json]:
    """The engine's descriptions of the topology families, by name."""
    return {family["family"]: family for family in engine().families}


def families() -> Table:
    """The topology families: `family`, `title`, `summary`, `source`, `parameters` and `routings`,
    one row each."""
    rows = [
        {
            **family_document,
            "parameters": ", ".join(parameter["name"] for parameter in family_document["parameters"]),
            "routings": ", ".join(routing["name"] for routing in family_document["routings"]),
        }
        for family_document in family_documents().values()
    ]
    return Table.of_rows("Topology families", ("family", "title", "summary", "source", "parameters", "routings"), rows)


def catalogs() -> Table:
    """The builtin price books: `book`, `version`, `title`, `currency` and the number of `parts`,
    one row each."""
    rows = [{**book, "parts": len(book["parts"])} for book in engine().builtin_books]
    return Table.of_rows("Price books", ("book", "version", "title", "currency", "parts"), rows)
