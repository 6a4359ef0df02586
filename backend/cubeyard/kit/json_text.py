"""JSON as RFC 8259 has it: no NaN and no infinities, and no key twice in an object, of which one
would be lost. A byte order mark, UTF-16 and UTF-32 are read."""

from __future__ import annotations

import json
import re
from typing import Any

_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN')


def loads(data: bytes | str) -> Any:
    """Raises JSONDecodeError, also for what Python alone would take, and UnicodeDecodeError."""
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")

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
