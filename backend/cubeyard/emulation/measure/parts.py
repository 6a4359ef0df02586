"""Splits an event whose text is too long into several events, each with the next part of the
text."""

from __future__ import annotations

from typing import Any

import orjson

Json = dict[str, Any]

MOST_PARTS = 64
"""Maximum number of parts: more than the longest answer of a node has. The rest of a longer text is
omitted."""
LEAST_BYTES = 64
"""The smallest part. An event with less space for text is not sent in parts."""
PART_CELL_BYTES = 96
"""Space for the cell that numbers the parts, and for the time that is added to an event."""


def in_parts(event: Json, most_bytes: int) -> list[Json]:
    """The event itself if it is short enough, or its last text cell in parts that are.

    Each part except the last has the cell `parts_left`: the number of following parts.
    """
    if len(orjson.dumps(event)) <= most_bytes - PART_CELL_BYTES:
        return [event]
    cells = list(event["cells"])
    at = max((i for i, cell in enumerate(cells) if isinstance(cell["value"], str)), default=None)
    if at is None:
        return [event]
    text = cells[at]["value"]
    space = most_bytes - PART_CELL_BYTES - len(orjson.dumps({**event, "cells": _with(cells, at, "")}))
    if space < LEAST_BYTES:
        return [event]
    texts = _pieces(text, space)[:MOST_PARTS]
    parts = []
    for left, piece in zip(reversed(range(len(texts))), texts, strict=True):
        number = [{"name": "parts_left", "kind": "count", "value": left}] if left else []
        parts.append({**event, "cells": [*_with(cells, at, piece), *number]})
    return parts


def _with(cells: list[Json], at: int, text: str) -> list[Json]:
    return [{**cell, "value": text} if i == at else cell for i, cell in enumerate(cells)]


def _pieces(text: str, room: int) -> list[str]:
    """Splits a text into pieces of at most `room` bytes of JSON."""
    pieces, begin, used = [], 0, 0
    for i, character in enumerate(text):
        length = len(orjson.dumps(character)) - 2
        if used + length > room:
            pieces.append(text[begin:i])
            begin, used = i, 0
        used += length
    return [*pieces, text[begin:]]
