"""Checks of a plan spec before the engine reads it. No database here: the command line plans
without one."""

from __future__ import annotations

from typing import Any

from cubeyard.kit.errors import field_error
from cubeyard.kit.text import storable_json

Json = dict[str, Any]

DEFAULT_BOOK = "current-2026"
"""The default price book of a spec."""


def normal_spec(spec: Json) -> Json:
    """Converts a plan spec or a bare topology to a plan spec. Raises a 422 for text that cannot be
    stored."""
    try:
        storable_json(spec)
    except ValueError as error:
        raise field_error(
            "body.spec", None, f"The spec cannot be used: {error}.", hint="Send plain JSON of at most 40 levels."
        ) from error
    return {"topology": spec} if "family" in spec else dict(spec)


def book_of(spec: Json) -> str:
    """Name of the price book of a plan spec. Raises a 422 if it is not text."""
    book = spec.get("catalog", DEFAULT_BOOK)
    if not isinstance(book, str):
        raise field_error(
            "body.spec.catalog", book, "The catalog is the name of a price book.", hint="See GET /api/v1/catalog/books."
        )
    return book


def on_paper(spec: Json, paper: str | None) -> Json:
    """The plan spec with `paper` as its paper; unchanged if `paper` is None or already set."""
    site = spec.get("site") or {}
    if paper is None or not isinstance(site, dict) or (site.get("paper") or "a4") == paper:
        return spec
    return {**spec, "site": {**site, "paper": paper}}
