"""Checks frames against their types."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter

from cubeyard.frames.catalog import EVENTS


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(EVENTS[kind])


def checked(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload as it is kept. Fails for a kind that no stream has, a field that its type has
    not, or a wrong value."""
    kept = orjson.loads(orjson.dumps(payload, option=orjson.OPT_NON_STR_KEYS))
    adapter = _adapter(kind)
    known = orjson.loads(adapter.dump_json(adapter.validate_python(kept), exclude_unset=True))
    assert known == kept, f"fields of {kind} that its type has not: {_beyond(kept, known)}"
    return payload


def _beyond(kept: Any, known: Any, where: str = "") -> list[str]:
    if isinstance(kept, dict) and isinstance(known, dict):
        return [item for name in kept for item in _beyond(kept[name], known.get(name), f"{where}.{name}")]
    return [] if kept == known else [where]
