"""Searching texts whatever their letter case and form, in any script. The embedded database has the
C locale, which knows no letters but ASCII's: letters of one meaning go into the pattern. [ours]"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute

_MOST_LETTERS = 3
"""Of a character's folded form that is looked for, as of a ligature."""


def has_word(field: InstrumentedAttribute[str] | ColumnElement[str], word: str) -> ColumnElement[Any]:
    """Whether a text has a word in it."""
    return field.regexp_match(pattern(word))


def folded(text: str) -> str:
    """Equal for texts that differ in letter case, in width, or in how accents are composed."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def pattern(word: str) -> str:
    """A regular expression of PostgreSQL for every text that folds as the word does."""
    plain, out, at = folded(word), "", 0
    while at < len(plain):
        most = min(_MOST_LETTERS, len(plain) - at)
        count = next((count for count in range(most, 1, -1) if plain[at : at + count] in _same()), 1)
        part = plain[at : at + count]
        ways = [_escaped(letter) for letter in _same().get(part, ())]
        ways.append(
            "".join(f"(?:{'|'.join(map(_escaped, _same().get(letter, (letter,))))})" for letter in part)
            if count > 1
            else _escaped(part)
        )
        out += f"(?:{'|'.join(dict.fromkeys(ways))})"
        at += count
    return out


@cache
def _same() -> dict[str, tuple[str, ...]]:
    """Characters of the basic plane by their folded form, with their decomposed forms."""
    result: dict[str, dict[str, None]] = {}
    for code in (*range(0x80, 0xD800), *range(0xF900, 0x10000), *range(0x80)):
        letter = chr(code)
        form = folded(letter)
        decomposed = unicodedata.normalize("NFD", letter)
        if form and len(form) <= _MOST_LETTERS and (form != letter or decomposed != letter):
            ways = result.setdefault(form, {})
            ways |= {form: None, unicodedata.normalize("NFD", form): None, letter: None, decomposed: None}
    return {form: tuple(ways) for form, ways in result.items()}


def _escaped(text: str) -> str:
    return "".join(letter if letter.isalnum() or ord(letter) > 0x7F else f"\\{letter}" for letter in text)
