"""JSON bodies as RFC 8259 has them: no NaN and no infinities, and no key twice in an object, of
which one would be lost."""

from __future__ import annotations

import json
import re
from typing import Any

import fastapi.routing
from starlette.requests import Request

_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN')


class StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = loads(await self.body())
        return self._json


def install() -> None:
    """FastAPI has no setting for how bodies are parsed: its routes ask a `Request` of its
    module."""
    fastapi.routing.Request = StrictRequest  # pyright: ignore[reportPrivateImportUsage]


def loads(data: bytes) -> Any:
    """Raises JSONDecodeError, also for what Python alone would take."""
    text = data.decode(json.detect_encoding(data), "surrogatepass")

    def constant(word: str) -> Any:
        at = next((one.start() for one in _WORDS.finditer(text) if one[0] == word), 0)
        raise json.JSONDecodeError(f"{word} is no number of JSON", text, at)

    def pairs(given: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(given)
        if len(made) == len(given):
            return made
        seen: set[str] = set()
        twice = next(key for key, _ in given if key in seen or seen.add(key))
        written = json.dumps(twice, ensure_ascii=False)
        places = [one.start() for one in _WORDS.finditer(text) if one[0] == written]
        raise json.JSONDecodeError(f"{written[:60]} is there twice in one object", text, places[1] if places[1:] else 0)

    return json.loads(text.removeprefix("\ufeff"), parse_constant=constant, object_pairs_hook=pairs)
