"""Rates of links, from whichever attribute of the file states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite, nan
from typing import Any, Literal

from cubeyard.reading.names import is_nobody
from cubeyard.reading.numbers import readings
from cubeyard.reading.units import rate_factor

Unit = Literal["gbps", "mbps", "kbps", "bps"]
GBPS_OF: dict[Unit, float] = {"gbps": 1.0, "mbps": 1e-3, "kbps": 1e-6, "bps": 1e-9}
MIN_GBPS, MAX_GBPS = 0.001, 1_600.0
_NAMED: tuple[tuple[str, Unit], ...] = (
    ("linkspeedraw", "bps"),
    ("rate_bits_per_sec", "bps"),
    ("bits_per_sec", "bps"),
)
_WITHOUT_UNIT = ("speed", "linkspeed", "bandwidth", "bw", "rate", "capacity", "link_speed")
_SUFFIX = re.compile(r"(?:.*[_. -])?(gbps|mbps|kbps|bps)")
_AMOUNT = re.compile(
    r"(?:([0-9]{1,3})\s*[x\u00d7*]\s*)?([0-9][0-9.,']{0,24}(?:e\+?[0-9]{1,2})?|[.,][0-9]{1,9})\s*(.*)", re.IGNORECASE
)
_ETHERNET = re.compile(r"([mgt]?)(?:b?e|base.*)", re.IGNORECASE)
"""`GbE`, `GE`, `GBASE-T`; NetBox's `1000base-t` counts in Mb/s."""


class Rates:
    """Reads the rates of links; `unit` is that of bare numbers."""

    def __init__(self, unit: Unit | None) -> None:
        self._unit: Unit | None = unit

    def of(self, attributes: Mapping[str, Any]) -> tuple[float, bool] | str | None:
        """Gb/s and whether the unit is known, the text of a rate that cannot be read, or None where
        there is none."""
        attributes = {
            name: value for name, value in attributes.items() if value is not None and not is_nobody(str(value))
        }
        for name, unit in _NAMED:
            if (value := attributes.get(name)) is not None:
                return _read(value, unit)
        for name, value in attributes.items():
            if found := _SUFFIX.fullmatch(name):
                return _read(value, next(unit for unit in GBPS_OF if unit == found[1]))
        for name in _WITHOUT_UNIT:
            if (value := attributes.get(name)) is not None:
                if name == "linkspeed":
                    value = f"{value}{attributes.get('linkspeedunits', '')}"
                return _read(value, self._unit)
        return None


def _read(value: object, unit: Unit | None) -> tuple[float, bool] | str:
    words = str(value).strip()
    found = _AMOUNT.fullmatch(words[:60])
    if found is None:
        return words[:60]
    amount, written = _amount(found[2]) * int(found[1] or 1), found[3].strip()
    if ethernet := _ETHERNET.fullmatch(written):
        written = ethernet[1] or "M"
    bits = rate_factor(written)
    if not isfinite(amount) or bits is None:
        return words[:60]
    if written.lower() in ("", "b", "bit", "bits"):
        return amount * (GBPS_OF[unit] if unit is not None else 1.0), unit is not None
    return amount * bits / 1e9, True


def _amount(words: str) -> float:
    """Programs write a decimal point, people a comma too; not a number for `1,000`, which may be
    either."""
    found = readings(words)
    if len(set(found.values())) > 1 and "," in words:
        return nan
    return found.get("point", found.get("comma", nan))


def guessed_unit(amounts: list[float]) -> Unit | None:
    """The unit of numbers without one, if there is one in which all of them are usual rates of
    links; None where that is open."""
    if not amounts:
        return None
    if max(amounts) <= MAX_GBPS / 2 and min(amounts) >= 1:
        # 100 can also mean Mb/s; therefore the page and the command line report the assumption.
        return "gbps"
    if min(amounts) >= 1e7:
        return "bps"
    return None
