"""Numbers and lengths as people write them. The decimal mark is judged over all numbers of a file.
[ours]"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Literal

Mark = Literal["point", "comma"]
MARKS: tuple[Mark, ...] = ("point", "comma")
NOTHING = frozenset(("", "-", "--", "---"))
"""What people put into a cell that has no value, once its dashes are unified."""

_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad\ufe58\ufe63\uff0d", "-"))
_CURRENCY = re.compile(
    r"^[A-Z]{3}(?![A-Z])|(?<![A-Z])[A-Z]{3}$|(?:\b(?:US|CA?|AU?|HK|NZ|S))?\$|[\u20ac\u00a3\u00a5]|\bS?Fr\b\.?"
)
_DOLLARS = ("USD", "AUD", "BND", "CAD", "HKD", "MXN", "NZD", "SGD", "TWD")
_OF_SIGN = {"$": _DOLLARS, "US$": ("USD",), "C$": ("CAD",), "CA$": ("CAD",), "A$": ("AUD",), "AU$": ("AUD",), "HK$": ("HKD",),
            "NZ$": ("NZD",), "S$": ("SGD",), "Fr": ("CHF",), "Fr.": ("CHF",), "SFr": ("CHF",), "SFr.": ("CHF",), "\u20ac": ("EUR",), "\u00a3": ("GBP",), "\u00a5": ("JPY", "CNY")}  # fmt: skip
_EXPONENT = r"(?:e[+-]?[0-9]{1,3})?"


def _pattern(mark: str, thousands: str) -> re.Pattern[str]:
    # A group of thousands never follows a zero alone; India groups by two digits before the last
    # three.
    first = rf"[1-9][0-9]{{0,2}}(?:[{thousands}][0-9]{{2,3}})*[{thousands}][0-9]{{3}}"
    spaced = r"[1-9][0-9]{0,2}(?:[ '][0-9]{3})+"
    return re.compile(rf"(?:{first}|{spaced}|[0-9]+)(?:[{mark}][0-9]*)?{_EXPONENT}|[{mark}][0-9]+{_EXPONENT}")


_PATTERNS: Mapping[Mark, tuple[re.Pattern[str], str, str]] = {
    "point": (_pattern(".", ","), ",", "."),
    "comma": (_pattern(",", "."), ".", ","),
}


def plain(text: str) -> str:
    """With one kind of dash, space and digit: `−１` becomes `-1`."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_DASHES).split())


def is_nothing(text: str) -> bool:
    """Whether a cell says that it has no value: empty, or dashes."""
    return plain(text) in NOTHING


def currencies_of(text: str) -> tuple[str, ...]:
    """The currencies that an amount's own sign or code may stand for; none where it has neither."""
    result = _CURRENCY.search(plain(text))
    return _OF_SIGN.get(result[0], (result[0],)) if result else ()


def readings(text: str) -> dict[Mark, float]:
    """The numbers that a text may mean, by decimal mark; empty if it is no number.

    `1,234.50`, `$12.40`, `1 234,50 €`, `CHF 12`, `1'234.5`, `1200,-`, `12.40-` (minus) and
    `(12.40)` (minus) are numbers.
    """
    words = _CURRENCY.sub("", plain(text), count=1).strip().replace("\u2019", "'").replace("\u02bc", "'").lower()
    negative = False
    if words.startswith("(") and words.endswith(")"):
        words, negative = words[1:-1].strip(), True
    whole = re.fullmatch(r"(.*?[0-9]) ?[.,] ?-{1,2}", words)  # no cents
    if whole:
        words = whole[1]
    elif words.endswith("-"):
        words, negative = words[:-1].strip(), True
    if words[:1] in ("+", "-"):
        words, negative = words[1:].strip(), negative or words[0] == "-"
    result: dict[Mark, float] = {}
    for mark, (pattern, thousands, decimal) in _PATTERNS.items():
        if len(words) <= 60 and pattern.fullmatch(words) and not (whole and decimal in words):
            digits = words.translate(str.maketrans("", "", f" '{thousands}")).replace(decimal, ".")
            result[mark] = -float(digits) if negative else float(digits)
    return {mark: value + 0.0 for mark, value in result.items() if isfinite(value)}


def evidence(text: str) -> Mark | None:
    """The decimal mark that a text shows by itself: `0.125` and `1,234.5` a point, `12,5` a comma,
    `1.234` and `12` none."""
    result = readings(text)
    return next(iter(result)) if len(result) == 1 else None


def judged(texts: Iterable[str], given: Mark | None = None) -> Mark | None:
    """The decimal mark of a file, by what its numbers show; None where they show nothing, or
    both."""
    if given is not None:
        return given
    seen: set[Mark] = set()
    for text in texts:
        if (mark := evidence(text)) is not None:
            seen.add(mark)
    return seen.pop() if len(seen) == 1 else None


class NoNumberError(ValueError):
    """The text is no number; the message says so in words."""


class TwoNumbersError(ValueError):
    """The text is one of two numbers, by the decimal mark."""

    def __init__(self, text: str, point: float, comma: float) -> None:
        self.text = text
        super().__init__(f"{text!r} is {point:.12g} with a decimal point, and {comma:.12g} with a decimal comma")


def number(text: str, mark: Mark | None, *, given: bool = False, least: float = 0.0, most: float = 0.0) -> float:
    """The value of a text in a file with this decimal mark. `given` if a person chose it: other
    numbers are then refused.

    If `least` and `most` are given, the one of two readings within them counts; a file's mark does
    not decide against them. Raises `NoNumberError` or `TwoNumbersError`.
    """
    result = readings(text)
    if not result or (given and mark is not None and mark not in result):
        with_mark = f" with a decimal {mark}" if result else ""
        raise NoNumberError(f"{text.strip()[:60]!r} is not a number{with_mark}")
    likely = {value for value in result.values() if least <= value <= most} if most else set[float]()
    # In a file with `1,5` m, `1.250` m may be 1.25 m: no other number of the file decides that.
    if mark in result and (given or not likely or result[mark] in likely):
        return result[mark]
    values = set(result.values()) if mark in result else likely or set(result.values())
    if len(values) > 1:
        raise TwoNumbersError(text.strip()[:60], result["point"], result["comma"])
    return values.pop()


MM_OF: dict[str, float] = {
    "mm": 1.0, "cm": 10.0, "m": 1000.0, "km": 1e6, "in": 25.4, "ft": 304.8, "yd": 914.4, "mi": 1_609_344.0,
}  # fmt: skip
"""Units of a length in millimetres, as NetBox abbreviates them."""
_WORDS = {
    "mm": ("millimeter", "millimeters", "millimetre", "millimetres"),
    "cm": ("centimeter", "centimeters", "centimetre", "centimetres"),
    "m": (
        "meter",
        "meters",
        "metre",
        "metres",
        "mtr",
        "mtrs",
        "mts",
        "meter(s)",
        "metre(s)",
        "metro",
        "metros",
        "metri",
        "m\u00e8tre",
        "m\u00e8tres",
        "metr",
        "metry",
        "\u043c",
        "\u7c73",
        "\u516c\u5c3a",
        "\u30e1\u30fc\u30c8\u30eb",
    ),
    "km": ("kilometer", "kilometers", "kilometre", "kilometres"),
    "in": ("inch", "inches", '"', "\u2033", "\u2032\u2032", "\u201d", "''"),
    "ft": ("foot", "feet", "'", "\u2032", "\u2019"),
    "yd": ("yard", "yards"),
    "mi": ("mile", "miles"),
}
UNITS = {unit: unit for unit in MM_OF} | {word: unit for unit, words in _WORDS.items() for word in words}
"""What people call a unit of length."""
MAX_LENGTH_MM = 10_000_000
LIKELY_MM = (50.0, 1_000_000.0)
"""A number with two readings is the one of these lengths: no data center has a cable of 1,500 m,
nor of 1.5 mm. [ours]"""
_LENGTH = re.compile(r"([0-9.,' ]*[0-9][0-9.,]*)\s*([^0-9\s.,][^0-9]*?)?\.?", re.DOTALL)


def amount(words: str) -> str:
    """The number of a length, without its unit; empty for what is no length."""
    result = _LENGTH.fullmatch(plain(words))
    return result[1] if result else ""


def rounding_mm(words: str, unit: str) -> int:
    """How far a length in inches, feet or yards may be from that of a metric cable: half a unit of
    its last digit that is not 0. 0 for metric lengths."""
    result = _LENGTH.fullmatch(plain(words))
    named = UNITS.get(((result[2] if result else "") or unit).strip().casefold(), "m")
    if result is None or named not in ("in", "ft", "yd"):
        return 0
    _, _, fraction = result[1].replace(",", ".").partition(".")
    digits = len(fraction.rstrip("0"))
    return round(MM_OF[named] / 2 / 10**digits)


def length_mm(words: str, unit: str, mark: Mark | None, *, given: bool = False) -> float:
    """A length in millimetres: `3`, `3,5 m`, `3 Meters`, `10'`. `unit` is that of a bare number,
    metres if it is empty.

    Raises `NoNumberError` or `TwoNumbersError`.
    """
    text = " ".join(words.translate(_DASHES).split())
    result = _LENGTH.fullmatch(text if text.endswith("''") else unicodedata.normalize("NFKC", text))
    named = ((result[2] or "").strip().casefold() or unit.strip().casefold().rstrip(".") or "m") if result else ""
    factor = MM_OF.get(UNITS.get(named, ""))
    if result is None or factor is None:
        raise NoNumberError(f"{words.strip()[:40]!r} is not a length")
    least, most = (limit / factor for limit in LIKELY_MM)
    value = number(result[1], mark, given=given, least=least, most=most)
    if value > most and not (given or unit.strip() or result[2]):
        raise NoNumberError(f"{words.strip()[:40]!r} has no unit, and a cable is not that long in metres")
    return value * factor
