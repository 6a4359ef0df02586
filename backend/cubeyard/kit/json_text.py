"""JSON as RFC 8259 has it: no NaN, no infinities and no number beyond them, no key twice in an
object, of which one would be lost, and no whole number that readers of JSON round. A byte order
mark, UTF-16 and UTF-32 are read.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

MAX_INTEGER = 2**53 - 1
"""The largest whole number that JavaScript and jq tell from its neighbours (RFC 8259, section
6)."""
_LONG = re.compile(r"[0-9]{16}")
_HUGE = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")
_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN')


def loads(data: bytes | str) -> Any:
    """Raises UnicodeDecodeError, and JSONDecodeError also for text that Python's parser would
    accept."""
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")

    def constant(word: str) -> Any:
        at = next((item.start() for item in _WORDS.finditer(text) if item[0] == word), 0)
        raise json.JSONDecodeError(f"{word} is no number of JSON", text, at)

    def pairs(given: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(given)
        if len(made) == len(given):
            return made
        seen: set[str] = set()
        twice = next(key for key, _ in given if key in seen or seen.add(key))
        written = json.dumps(twice, ensure_ascii=False)
        places = [item.start() for item in _WORDS.finditer(text) if item[0] == written]
        raise json.JSONDecodeError(f"{written[:60]} occurs twice in one object", text, places[1] if places[1:] else 0)

    def whole(digits: str) -> int:
        if len(digits) <= 17 and abs(number := int(digits)) <= MAX_INTEGER:
            return number
        words = f"{digits[:24]} is beyond {MAX_INTEGER}, the largest whole number that every program reads exactly"
        raise json.JSONDecodeError(words, text, text.find(digits))

    def real(digits: str) -> float:
        if isfinite(number := float(digits)):
            return number
        raise json.JSONDecodeError(f"{digits[:24]} is beyond 1.8e308, the largest number", text, text.find(digits))

    return json.loads(
        text.removeprefix("\ufeff"),
        parse_int=whole if _LONG.search(text) else None,
        parse_float=real if _HUGE.search(text) else None,
        parse_constant=constant,
        object_pairs_hook=pairs,
    )
