"""Findings of the engine about JSON that it could not read, in words for users.

The engine's reader (serde) has five kinds of error: a value of another type, a value out of range,
a missing field, an unknown field, and a name that is none of a list. Here each gets a sentence with
field, value, limit and fix. Every other finding stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from cubeyard.kit.errors import shown

Json = dict[str, Any]

_PLACE = re.compile(r" at line \d+ column \d+")
_WRONG = re.compile(r"invalid (?:type|value|length):? (?P<value>.+), expected (?P<wanted>.+)", re.DOTALL)
_MISSING = re.compile(r"missing field `(?P<name>[^`]*)`")
_UNKNOWN = re.compile(r"unknown (?P<kind>field|variant) `(?P<name>[^`]*)`, (?P<known>.+)", re.DOTALL)
_TWICE = re.compile(r"duplicate field `(?P<name>[^`]*)`")
_NO_VARIANT = re.compile(r"data did not match any variant of untagged enum \w+")
_RANGE = re.compile(r"number out of range")
_BITS = re.compile(r"(?P<sign>[ui])(?P<bits>8|16|32|64|128|size)")
_COUNTED = re.compile(r"(?:an? )?(?:tuple|array) of (?:size|length) (\d+)|(?:\w+ )*with (\d+) elements?")
_QUOTED = re.compile(r"`([^`]*)`")
_WHOLE_DOCUMENT = frozenset({"experiment", "search", "life", "spec"})
"""Names that the engine gives to a document without a field."""
_FORMS = {"target": 'an object with "names", with "selector", or with "kind" and "ratio"'}
_LEAVE = "Leave it out, or correct its name."


def findings_in_words(text: str) -> list[Json]:
    """The engine's list of findings, from JSON."""
    return [in_words(finding) for finding in orjson.loads(text)]


def in_words(finding: Json) -> Json:
    message, where = _PLACE.sub("", str(finding["message"])).removesuffix("."), str(finding["where"])
    if match := _WRONG.search(message):
        return _wrong(finding, where, match["value"], _limit(match["wanted"]))
    if match := _UNKNOWN.search(message):
        return _unknown(finding, where, match)
    for pattern, problem, fix in ((_MISSING, "is missing", "Add {}."), (_TWICE, "is given twice", "Give it once.")):
        if match := pattern.search(message):
            name = match["name"]
            return _named(finding, _inside(where, name), f"{name} {problem}", None, fix.format(name))
    if _RANGE.search(message):
        return _named(finding, where, f"{where} has a number that is too large", None, "Give a smaller number.")
    if _NO_VARIANT.search(message):
        form = _FORMS.get(where.rpartition(".")[2], "in a form that the API's description lists")
        return _wrong(finding, where, "", form)
    return finding


def _wrong(finding: Json, where: str, sent: str, limit: str) -> Json:
    inner, value = _part(finding.get("value"), _is(sent))
    where += inner
    text = _sent(sent) if value is None else _text(value)
    return _named({**finding, "value": value}, where, f"{where} is {text}. It must be {limit}", limit, f"Give {limit}.")


def _part(value: Any, wanted: Callable[[object], bool]) -> tuple[str, Any]:
    """The place in an object or list of the only value that is wanted, since the reader names no
    place there; else the whole."""
    places = [(path, part) for path, part in _parts(value) if wanted(part)] if isinstance(value, dict | list) else []
    return places[0] if len(places) == 1 else ("", value)


def _parts(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        inner = ((f"{path}.{name}", part) for name, part in value.items())
    else:
        inner = ((f"{path}[{i}]", part) for i, part in enumerate(value))
    for place, part in inner:
        yield place, part
        if isinstance(part, dict | list):
            yield from _parts(part, place)


def _is(sent: str) -> Callable[[object], bool]:
    """Whether a value is that of the reader's words; for a digit, a list of this length."""
    if sent.isdigit():
        return lambda value: isinstance(value, list) and len(value) == int(sent)
    try:
        read = orjson.loads(_sent(sent))
    except orjson.JSONDecodeError:
        return lambda _: False
    return lambda value: value == read and isinstance(value, bool) == isinstance(read, bool)


def _unknown(finding: Json, where: str, match: re.Match[str]) -> Json:
    from difflib import get_close_matches

    name, known = match["name"], _QUOTED.findall(match["known"])
    near = get_close_matches(name, known, 1)
    limit = f"one of {', '.join(known)}" if known else "none"
    meant = f'Did you mean "{near[0]}"?' if near else None
    if match["kind"] == "variant":
        where += _part(finding.get("value"), lambda value: value == name)[0]
        return _named(finding, where, f"{where} is {name}. It must be {limit}", limit, meant or "Give one of these.")
    whole, _, last = where.rpartition(".")
    parent = whole if last == name else where
    if isinstance(value := finding.get("value"), dict):
        finding = {**finding, "value": value.get(name)}
    owner = "This document" if not parent or parent in _WHOLE_DOCUMENT else parent
    fields = f" Its fields are {', '.join(known)}." if known else ""
    message = f"{owner} has no field {name}.{fields}".removesuffix(".")
    return _named(finding, _inside(parent, name), message, limit, meant or _LEAVE)


def _named(finding: Json, field: str, message: str, limit: str | None, hint: str) -> Json:
    more = {} if limit is None else {"limit": limit}
    return {**finding, "where": field, "message": f"{message}.", "hint": hint, **more}


def _inside(where: str, name: str) -> str:
    return name if not where or where in _WHOLE_DOCUMENT else f"{where}.{name}"


def _limit(wanted: str) -> str:
    """The reader's name of a type, in words."""
    wanted = wanted.removesuffix(".").strip()
    if bits := _BITS.fullmatch(wanted):
        width = 64 if bits["bits"] == "size" else int(bits["bits"])
        if bits["sign"] == "i":
            return "a whole number"
        return "a whole number from 0" + (f" to {2**width - 1:,}" if width <= 32 else "")
    if counted := _COUNTED.search(wanted):
        return f"a list of {counted[1] or counted[2]} values"
    if known := _QUOTED.findall(wanted):
        return known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    for kinds, words in _TYPES.items():
        if re.fullmatch(kinds, wanted):
            return words
    return wanted


_TYPES = {
    r"f32|f64|a number|any number": "a number",
    r"(?:a )?(?:borrowed )?(?:string|str)|(?:variant|field) identifier|a character": "text",
    r"(?:a )?bool(?:ean)?": "true or false",
    r"(?:a )?(?:sequence|seq|set)|an array": "a list",
    r"(?:a )?map|an object|struct .*|internally tagged enum .*|adjacently tagged enum .*|struct variant .*": "an object",
    r"string or map|enum .*": "a name, or an object with a name",
    r"unit.*|null": "null",
}


def _sent(text: str) -> str:
    """The reader's words for a value."""
    plain = {"null": "null", "map": "an object", "sequence": "a list", "unit": "null"}
    if text in plain:
        return plain[text]
    kind, _, value = text.partition(" ")
    if kind in ("integer", "boolean") or text.startswith("floating point"):
        return value.removeprefix("point ").strip("`")
    return value if kind == "string" else text if text.isdigit() else "of another kind"


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)} values" if value else "an empty list"
    return orjson.dumps(shown(value)).decode()
