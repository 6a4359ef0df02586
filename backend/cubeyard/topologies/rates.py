"""Rates of links, from whichever attribute of the file states them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite, nan
from typing import Any, Literal

from cubeyard.reading.names import is_nobody
from cubeyard.reading.numbers import Mark, TwoNumbersError, judged, readings
from cubeyard.reading.units import rate_factor, rate_title
from cubeyard.topologies.network import lines

Unit = Literal["gbps", "mbps", "kbps", "bps"]
GBPS_OF: dict[Unit, float] = {"gbps": 1.0, "mbps": 1e-3, "kbps": 1e-6, "bps": 1e-9}
MIN_GBPS, MAX_GBPS = 0.001, 1_600.0
_LIKELY_GBPS = (0.01, 1_600.0)
"""A number with two readings is the one of these rates: `1,000 Mb/s` is 1 Gb/s. [ours]"""
_LABELS = ("label", "linklabel", "name")
"""Attributes of a link in which people write its rate, and other texts too."""
_IN_LABEL = re.compile(
    r"^[^a-z]*[0-9]\s*(?:[gt]|[kmgt]i?b(?:it)?(?:/s|ps)?|[mgt]?b?e|gig\w*)(?:$|[^a-z])", re.IGNORECASE
)
"""`10G` and `155 Mb/s`, but neither `3 m` nor a port's name."""
_AMOUNT = re.compile(
    r"(?:([0-9]{1,3})\s*[x\u00d7*]\s*)?([0-9][0-9.,']{0,24}(?:e\+?[0-9]{1,2})?|[.,][0-9]{1,9})\s*(.*)", re.IGNORECASE
)
_ETHERNET = re.compile(r"([mgt]?)(?:b?e|base.*)|(g)ig(?:e|abit)?", re.IGNORECASE)
"""`GbE`, `GE`, `GBASE-T`, `Gig`; NetBox's `1000base-t` counts in Mb/s."""
_REMARK = re.compile(r"(\S+?)(?:[\s,;(]+(?![^0-9]*[0-9.]+\s*[kmgt](?:b|\b)).*)?", re.IGNORECASE)
"""A unit with a remark behind it, `Gb/s full duplex`, but not `Gb/s to 40 Gb/s`."""
_LINES = re.compile(r"(oc|sts|stm|e|t|ds)-?([0-9]{1,3})[a-z]?", re.IGNORECASE)
_HIERARCHY = {"e1": 2.048e6, "e3": 34.368e6, "t1": 1.544e6, "ds1": 1.544e6, "t3": 44.736e6, "ds3": 44.736e6}
_OF_ONE = {"oc": 51.84e6, "sts": 51.84e6, "stm": 155.52e6}
"""Bits per second of leased lines, and of OC-1 and STM-1. [ITU-T G.702, G.707]"""


class Rates:
    """Reads the rates of links; `unit` is that of bare numbers. The decimal mark is judged over all
    of them, unless `mark` states it."""

    def __init__(self, unit: Unit | None, links: Iterable[Mapping[str, Any]] = (), mark: Mark | None = None) -> None:
        self._unit: Unit | None = unit
        numbers = (
            parts[2]
            for attributes in links
            for name, value in attributes.items()
            if rate_title(name) is not None and (parts := _AMOUNT.fullmatch(str(value).strip()[:60]))
        )
        self._mark: Mark | None = judged(numbers, mark)

    def of(self, attributes: Mapping[str, Any]) -> tuple[float, bool] | str | None:
        """Gb/s and whether the unit is known, the text of a rate that cannot be read, or None where
        there is none. Raises TwoNumbersError for a rate that depends on the decimal mark."""
        attributes = {
            name: value for name, value in attributes.items() if value is not None and not is_nobody(str(value))
        }
        if (value := attributes.get("linkspeedraw")) is not None:
            return self._read(value, "bps")
        titled = [(unit, name) for name in attributes if (unit := rate_title(name)) is not None]
        if titled:
            unit, name = next((entry for entry in titled if entry[0]), titled[0])
            value = attributes[name]
            if name == "linkspeed":
                value = f"{value}{attributes.get('linkspeedunits', '')}"
            return self._read(value, unit or self._unit)
        labels = (words for name in _LABELS for words in lines(str(attributes.get(name, ""))))
        written = next((words for words in labels if _IN_LABEL.search(words)), "")
        parts = self._read(written, None)
        return parts if isinstance(parts, tuple) else None

    def _read(self, value: object, unit: str | None) -> tuple[float, bool] | str:
        words = str(value).strip()[:60]
        if line := _LINES.fullmatch(words):
            kind = line[1].lower()
            bits = _HIERARCHY.get(f"{kind}{line[2]}") or _OF_ONE.get(kind, 0.0) * int(line[2])
            return (bits / 1e9, True) if bits else words
        parts = _AMOUNT.fullmatch(words)
        if parts is None:
            return words
        written = remark[1] if (remark := _REMARK.fullmatch(parts[3].strip())) else parts[3].strip()
        if ethernet := _ETHERNET.fullmatch(written):
            written = ethernet[1] or ethernet[2] or "M"
        bare = written.lower() in ("", "b", "bit", "bits")
        if rate_factor(written) is None:
            return words
        bits = rate_factor(unit or "" if bare else written)
        if bits is None:
            return f"{words} {unit}"
        amount = self._amount(parts[2], bits / 1e9 if unit or not bare else 0.0) * int(parts[1] or 1)
        if not isfinite(amount):
            return words
        return (amount, False) if bare and not unit else (amount * bits / 1e9, True)

    def _amount(self, words: str, gbps: float) -> float:
        """Programs write a decimal point, people a comma too. Raises TwoNumbersError for `100,000`
        unless the file or its unit decides."""
        values = readings(words)
        mark = self._mark
        if mark in values:
            return values[mark]
        if len(set(values.values())) > 1 and "," in words:
            likely = {value for value in values.values() if _LIKELY_GBPS[0] <= value * gbps <= _LIKELY_GBPS[1]}
            if len(likely) > 1:
                raise TwoNumbersError(words, values["point"], values["comma"])
            return likely.pop() if likely else nan
        return values.get("point", values.get("comma", nan))


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
