"""Pydantic's errors in our words: field, value, limit and fix.

For a field with several forms (a number or a list, one of three objects), pydantic lists the errors
of every form, each below the name of a class or function. This module picks the form whose keys
match the request best, and keeps only its errors.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cubeyard.kit.errors import FieldError, shown

Error = Mapping[str, Any]
Place = tuple[int | str, ...]

_FORMS = "cubeyard_forms"
"""The type of an error that we make of those of several forms."""
_MOST_QUOTED = 60
_CLOSE = 0.6
UNKNOWN: Any = object()
"""For `sent`, if the request is not available: names of forms are then recognised by `_NAME`."""
_NAME = re.compile(r"[A-Z]\w*|.*[\[-].*|int|float|str|bool|dict|none|list")
_OF_FIELD = re.compile(r"(?P<path>[a-z_]+(?:\.\w+)*): (?P<message>.+)", re.DOTALL)
"""A message of our own checks that begins with the path of a field."""

_WANTED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type", "mapping_type"), "an object"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "sequence_type"), "a list"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_unicode"), "text"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), "a time like 2009-08-17T09:00:00Z"
    ),
    "none_required": "null",
}
"""The expected value, by the type of the error."""

_LIMITS = {
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "multiple_of": "a multiple of {}",
    "pattern": "of the form {}",
    "expected": "one of {}",
    "expected_schemes": "one of {}",
}
_BEYOND = {"ge": "less than", "gt": "not more than", "le": "more than", "lt": "not less than"}
_LENGTHS = {
    "string_too_short": ("min_length", "at least", "character"),
    "string_too_long": ("max_length", "at most", "character"),
    "too_short": ("min_length", "at least", "entry"),
    "too_long": ("max_length", "at most", "entry"),
}
_OWN = ("value_error", "assertion_error")
"""Types of the errors that our own validators raise."""
_SAID = {
    "missing": ("This field is missing.", "Add it."),
    "extra_forbidden": ("There is no such field.", "Remove it, or check its spelling."),
    "json_type": (None, "Send JSON text."),
}


def in_words(errors: Iterable[Error], sent: object = UNKNOWN) -> list[FieldError]:
    """The errors of a validation, at least one. Their places (`loc`) are paths into `sent`."""
    return [of_validation(error) for error in resolved(errors, sent)]


def of_validation(error: Error) -> FieldError:
    """One error in words, at the place that pydantic gives."""
    error = _own(error)
    kind, value = str(error.get("type", "")), error.get("input")
    message, limit, hint = _told(kind, value, error)
    return FieldError(
        field=".".join(str(part) for part in error.get("loc", ())) or "body",
        value=shown(value) if kind != "missing" else None,
        limit=limit,
        message=message,
        hint=hint,
    )


def _told(kind: str, value: object, error: Error) -> tuple[str, str | None, str | None]:
    """Message, limit and hint."""
    context, output = error.get("ctx") or {}, str(error.get("msg", "This is not valid."))
    if kind == "json_invalid":
        return f"This is not JSON: {context.get('error', output)}.", None, "Send one JSON document."
    if kind in _SAID:
        message, hint = _SAID[kind]
        return message or output, None, hint
    if kind == _FORMS or kind in _WANTED:
        wanted = context["wanted"] if kind == _FORMS else _WANTED[kind]
        return f"{_quoted(value)} is not {wanted}.", wanted, f"Give {wanted}."
    if kind in _LENGTHS:
        key, bound, unit = _LENGTHS[kind]
        if isinstance(value, str):  # whose length is looked at after a check of our own
            unit = "character"
        limit = f"{bound} {_counted(context[key], unit)}"
        length = len(value) if isinstance(value, str | Sequence | Mapping) else context.get("actual_length", 0)
        return f"It has {_counted(length, unit)}.", limit, f"Give {limit}."
    if kind in ("literal_error", "enum"):
        return _of_choices(value, str(context["expected"]))
    key = next((item for item in _LIMITS if item in context), None)
    return (output, None, None) if key is None or kind in _OWN else _of_limit(value, key, context[key])


def _of_limit(value: object, key: str, bound: object) -> tuple[str, str, str]:
    limit = _LIMITS[key].format(bound)
    beyond = f"{_BEYOND[key]} {bound}" if key in _BEYOND else f"not {limit}"
    return f"{_quoted(value)} is {beyond}.", limit, f"Give a value that is {limit}."


def _of_choices(value: object, expected: str) -> tuple[str, str, str]:
    choices = re.findall(r"'([^']*)'", expected)
    close = difflib.get_close_matches(value.lower(), choices, 1, _CLOSE) if isinstance(value, str) else []
    limit = f"one of {', '.join(choices)}" if len(choices) > 1 else "".join(choices) or expected
    return f"{_quoted(value)} is not {limit}.", limit, f'Did you mean "{close[0]}"?' if close else f"Give {limit}."


def _counted(count: object, unit: str) -> str:
    return f"{count} {unit if count == 1 else {'entry': 'entries'}.get(unit, f'{unit}s')}"


def _quoted(value: object) -> str:
    """A sent value as JSON has it, short; an object by what it is."""
    if isinstance(value, Mapping):
        return f"An object with {', '.join(map(str, list(value)[:4]))}" if value else "An empty object"
    if isinstance(value, list | tuple | set | frozenset):
        return f"A list of {len(value)}"
    text = shown(value)
    text = json.dumps(text, ensure_ascii=False) if isinstance(text, str | int | float | bool | None) else str(text)
    return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 1]}…"


# ---------------------------------------------------------------- fields of several forms


def resolved(errors: Iterable[Error], sent: object = UNKNOWN) -> list[Error]:
    """The errors of the intended form only, without names of forms in their places. Errors of our
    own checks move to the field that they name."""
    reported: list[list[Error]] = []  # in order of first appearance
    forms: dict[Place, tuple[list[Error], dict[object, list[Error]]]] = {}
    for error in errors:
        loc = tuple(error["loc"])
        at = _name_of_form(loc, str(error["type"]), sent)
        if at is None:
            reported.append([_own(error)])
            continue
        if loc[:at] not in forms:
            forms[loc[:at]] = ([], {})
            reported.append(forms[loc[:at]][0])
        by_form = forms[loc[:at]][1]
        by_form.setdefault(loc[at], []).append({**error, "loc": (*loc[:at], *loc[at + 1 :])})
    for place, (here, by_form) in forms.items():
        here.extend(resolved(_meant(place, list(by_form.values())), sent))
    return [error for errors in reported for error in errors]


def _own(error: Error) -> Error:
    """Drops pydantic's prefix from a message of our checks, and moves it to the field it names."""
    prefix, comma, message = str(error.get("msg", "")).partition(", ")
    if error["type"] not in _OWN or not comma or prefix not in ("Value error", "Assertion failed"):
        return error
    loc, value = tuple(error["loc"]), error.get("input")
    if named := _OF_FIELD.fullmatch(message):
        loc += tuple(int(part) if part.isdigit() else part for part in named["path"].split("."))
        message, value = named["message"], None
    # A sentence begins with a capital, but for one that begins with a name of ours.
    if message.partition(" ")[0].isalpha():
        message = message[:1].upper() + message[1:]
    return {**error, "loc": loc, "msg": message, "input": value}


def _name_of_form(loc: Place, kind: str, sent: object) -> int | None:
    """The index of the part of a place that is the name of a form, not a key of the request; or
    None."""
    result: Any = sent
    if kind == "json_invalid":
        return None
    if sent is UNKNOWN:
        return next((at for at, part in enumerate(loc) if isinstance(part, str) and _NAME.fullmatch(part)), None)
    for index, part in enumerate(loc):
        if _has(result, part):
            result = result[part]
        elif index == len(loc) - 1 and (kind == "missing" or (kind in _OWN and not _NAME.fullmatch(str(part)))):
            return None  # a field that was not sent
        else:
            return index
    return None


def _has(found: object, part: int | str) -> bool:
    if isinstance(found, Mapping):
        return part in found
    return isinstance(found, list | tuple) and isinstance(part, int) and part < len(found)


def _meant(place: Place, forms: list[list[Error]]) -> list[Error]:
    """The errors of the intended form; if none stands out, one error that covers all forms."""
    deeper = [errors for errors in forms if all(tuple(error["loc"]) != place for error in errors)]
    if deeper:
        foreign = [_foreign(errors, place) for errors in deeper]
        if foreign.count(min(foreign)) == 1 or not min(foreign):
            return deeper[foreign.index(min(foreign))]
        given = [item for errors in deeper for item in (_lacking(errors, place),) if item]
        wanted = f"an object with {', or '.join(given)}"
        return [_of_forms(place, wanted, _parent(deeper[0], place))]
    if len(forms) == 1:
        return forms[0]
    wanted = [_WANTED.get(str(errors[0]["type"])) for errors in forms]
    if None in wanted:  # this form fails by more than its type, for example by a limit
        return forms[wanted.index(None)]
    return [_of_forms(place, " or ".join(dict.fromkeys(item for item in wanted if item)), forms[0][0]["input"])]


def _foreign(errors: list[Error], place: Place) -> int:
    """The distance of the request from a form: missing fields, and unknown ones twice."""
    own = [error for error in errors if len(error["loc"]) == len(place) + 1]
    return sum({"extra_forbidden": 2, "missing": 1}.get(str(error["type"]), 0) for error in own)


def _lacking(errors: list[Error], place: Place) -> str:
    return " and ".join(str(error["loc"][len(place)]) for error in errors if error["type"] == "missing")


def _parent(errors: list[Error], place: Place) -> object:
    """The value at the place; pydantic puts it into the error of a missing field."""
    own = (error["input"] for error in errors if error["type"] == "missing" and len(error["loc"]) == len(place) + 1)
    return next(own, None)


def _of_forms(place: Place, wanted: str, value: object) -> Error:
    return {"type": _FORMS, "loc": place, "input": value, "ctx": {"wanted": wanted}, "msg": f"Give {wanted}."}
