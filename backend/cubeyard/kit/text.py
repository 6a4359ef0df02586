"""Text that PostgreSQL and UTF-8 can hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What makes a spreadsheet take a text for a formula."""


def storable(text: str) -> str:
    """Raises ValueError for a zero character or half a surrogate pair."""
    if "\x00" in text:
        raise ValueError("text cannot hold the zero character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("text must be whole Unicode characters") from None
    return text


def storable_json(value: Any, depth_left: int = 40) -> Any:
    """Raises ValueError unless every text in a JSON value is storable and the nesting is sane."""
    if depth_left == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        storable(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            storable(str(key))
            storable_json(item, depth_left - 1)
    elif isinstance(value, list):
        for item in value:
            storable_json(item, depth_left - 1)
    return value


PlainText = Annotated[str, AfterValidator(storable)]
