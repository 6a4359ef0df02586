"""Rates, sizes, times and shares as people write them: a number with a unit. Bits and bytes are two
units, and a rate in bytes is refused: as often as not its author means bits. [ours]

The engine reads amounts of faults, and rates of a search's constraints, by the same rules
(`emulator/crates/topology/src/amount.rs`); both are tested with `topology/tests/rates.json`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Literal, NamedTuple

from cubeyard.reading.header import key

Unit = Literal["bit/s", "bytes", "s", ""]
"""The unit of an amount. Empty: shares, as numbers or in per cent."""

NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_AMOUNT = re.compile(rf"({NUMBER})\s*([^0-9.]*)")
_DATA = re.compile(
    r"(?P<prefix>(?i:kilo|mega|giga|tera|kibi|mebi|gibi|tebi|[kmgt]i?))?"
    r"(?P<base>(?i:bits?|bytes?)|[bB])?(?P<per>(?i:/s(?:ec(?:ond)?)?|ps))?"
)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SECS: dict[str, float] = {
    "s": 1, "sec": 1, "second": 1, "ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "millis": 1e-3,
    "us": 1e-6, "\u03bcs": 1e-6, "\u00b5s": 1e-6, "usec": 1e-6, "microsecond": 1e-6, "micros": 1e-6,
    "ns": 1e-9, "nsec": 1e-9, "nanosecond": 1e-9, "nanos": 1e-9, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
}  # fmt: skip
_RATE_NOUNS = frozenset(
    ("rate", "datarate", "linkrate", "bitrate", "speed", "linkspeed", "portspeed", "bandwidth", "linkbandwidth", "bw", "capacity", "linkcapacity",
     "geschwindigkeit", "bandbreite", "datenrate", "ubertragungsrate", "kapazitat", "debit", "vitesse", "bandepassante", "capacite",
     "velocidad", "anchodebanda", "capacidad", "velocita")
)  # fmt: skip
_OF_SNMP = {"ifspeed": "b/s", "ifhighspeed": "Mb/s"}
"""[RFC 2863 §6]"""
_LOADS = re.compile(r"util|usage|used|traffic|load|demand|average|avg|mean|peak", re.IGNORECASE)
"""Rates of what a link carries, not of what it can carry."""
_TITLE = re.compile(
    r"(?P<noun>.*?)(?:[\s_.-]*[(\[{]\s*(?P<inside>[^()\[\]{}]{1,20}?)\s*[)\]}]|(?:[\s_.,-]+in)?[\s_.,-]+(?P<last>\S{1,16}))\s*:?"
)
_PER_SEC = re.compile(r"[\s_]*per[\s_]*sec(?:onds?)?(?=\W*$)", re.IGNORECASE)
_HINTS: dict[Unit, str] = {
    "bit/s": "Give bits per second, with one of b/s, kb/s, Mb/s, Gb/s and Tb/s, or k, M, G and T alone",
    "bytes": "Give bytes, with one of B, kB, MB, GB, KiB, MiB and GiB",
    "s": "Give seconds, or a unit: ns, us, ms, s, min or h",
    "": "Give a share from 0 to 1, or per cent with %",
}


class NoAmountError(ValueError):
    """The text is no amount of the unit; the message lists units that count."""


class Data(NamedTuple):
    """A unit of data, or of data per second."""

    factor: float
    """How many bits or bytes it is."""
    base: Literal["bit", "byte", ""]
    per_sec: bool


def data_unit(words: str) -> Data | None:
    """`kB`, `Mbit/s`, `GiB`, `kilobytes`, `G`; None for other words."""
    result = _DATA.fullmatch(words)
    if result is None:
        return None
    prefix, base = (result["prefix"] or "").lower(), result["base"] or ""
    binary = (prefix.endswith("i") and len(prefix) == 2) or prefix.endswith("bi")
    power = _POWERS[prefix[:1]]
    kind = "" if not base else "byte" if base == "B" or base.lower().startswith("byte") else "bit"
    return Data(float(1024**power if binary else 1000**power), kind, result["per"] is not None)


def rate_factor(words: str) -> float | None:
    """Bits per second of a rate's unit; None for other words, and for bytes."""
    unit = data_unit(words)
    return None if unit is None or unit.base == "byte" else unit.factor


@lru_cache(maxsize=4096)
def rate_title(words: str) -> str | None:
    """The unit in the name of a column or attribute that has rates of links, as `Gbit/s` of
    `Bandwidth [Gbit/s]`; empty for a name without a unit, None for other columns."""
    words = _PER_SEC.sub("/s", words[:200].strip())
    if (unit := _OF_SNMP.get(key(words))) is not None:
        return unit
    if key(words) in _RATE_NOUNS:
        return ""
    parts = _TITLE.fullmatch(words)
    noun, unit = (parts["noun"], parts["inside"] or parts["last"]) if parts else ("", words)
    known = data_unit(unit)
    if known is None or unit.casefold() == "b":  # `Speed B` is that of a side
        return None
    alone = not noun and known.factor > 1 and known.base
    rates = key(noun) in _RATE_NOUNS or ((known.per_sec or alone) and not _LOADS.search(noun))
    return unit if rates else None


def size_factor(words: str) -> float | None:
    """Bytes of a size's unit; None for other words."""
    unit = data_unit(words)
    if unit is None or unit.per_sec or not unit.base:
        return None
    return unit.factor / 8 if unit.base == "bit" else unit.factor


def time_factor(words: str) -> float | None:
    """Seconds of a unit of time; None for other words."""
    name = words.lower()
    return _SECS.get(name, _SECS.get(name.removesuffix("s")))


def amount(text: str, unit: Unit) -> float:
    """`10M` in bit/s, `1.5 kB` in bytes, `20ms` in s, `5%` as a share. A bare number is in `unit`.

    Raises `NoAmountError`.
    """
    result = _AMOUNT.fullmatch(text.strip())
    factor = None if result is None else _factor(result[2].strip(), unit)
    if result is None or factor is None:
        raise NoAmountError(f"{text.strip()[:60]!r} is not an amount. {_HINTS[unit]}{_other(result, unit)}.")
    value = Decimal(result[1]) * Decimal(str(factor))
    if not isfinite(value) or bool(value) != bool(float(value)):
        raise NoAmountError(f"{text.strip()[:60]!r} is beyond the numbers that are read. {_HINTS[unit]}.")
    return float(value)  # 57% is 0.57, not 0.5700000000000001


def stated(text: str, unit: Unit) -> float:
    """As `amount`, but a rate needs its unit: by 100, no user means 100 b/s.

    Raises `NoAmountError`.
    """
    value, number = amount(text, unit), text.strip()
    if unit == "bit/s" and value and re.fullmatch(NUMBER, number):
        raise NoAmountError(
            f"{number[:60]!r} has no unit. Give {number}M for Mb/s, {number}G for Gb/s or '{number} b/s'."
        )
    return value


def without_noise(share: float) -> float:
    """0.3 for 0.1 + 0.2, and 0 for -0.0; a share of more digits, as 1/3, stays as it is."""
    short = float(f"{share:.12g}") + 0.0
    return short if len(repr(short)) < 12 else share


def _factor(words: str, unit: Unit) -> float | None:
    if not words:
        return 1.0
    if unit == "bit/s":
        return rate_factor(words)
    if unit == "bytes":
        return None if (known := data_unit(words)) and known.base == "bit" else size_factor(words)
    if unit == "s":
        return time_factor(words)
    return 0.01 if words == "%" else None


def _other(result: re.Match[str] | None, unit: Unit) -> str:
    """The same in bits, for bytes, or in bytes, for bits."""
    known = data_unit(result[2].strip()) if result and unit in ("bit/s", "bytes") else None
    if result is None or known is None or not known.base:
        return ""
    value = float(result[1]) * known.factor
    if unit == "bit/s":
        return f"; {result[0].strip()} is in bytes, and would be {value * 8:g} b/s" if known.base == "byte" else ""
    return f"; {result[0].strip()} is in bits, and would be {value / 8:g} B" if not known.per_sec else ""
