"""What the filled cells of a bill change of a price book.

An empty cell changes nothing: a purchaser fills in what was quoted. What cannot be taken is a
problem that names its line.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cubeyard.reading.cells import Special
from cubeyard.reading.numbers import currencies_of
from cubeyard.reading.problems import Skipped, TwoReadingsError
from cubeyard.reading.tables import Row, Table

Json = dict[str, Any]
LENGTH_PRICES = "length_prices_usd"
_RATES = ("bulk_price_usd_per_metre", "connector_price_usd", "usd_per_hour", "price_usd_per_metre")
_RATE = re.compile(r"(?P<currency>[A-Za-z]{3})=(?P<rate>[0-9]{1,9}(\.[0-9]{1,9})?)")
MAX_PRICE = 1e9
MAX_LEAD_TIME_DAYS = 3650
MAX_TEXT_CHARACTERS = 200
_FILLED = ("manufacturer", "part_number", "supplier", "lead_time_days")
JUMP = 10.0
"""A price that becomes ten times as high or low was probably misread, and is shown before it is
taken."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source that every imported value gets in the book."""

    source: str
    """A quotation's number, a supplier, a file's name."""
    date: str
    """ISO 8601 date of the quotation."""

    rates: Mapping[str, float] = field(default_factory=dict)
    """What one unit of another currency is worth in the book's, by ISO 4217 code. Without one its
    prices are not taken."""

    def entry(self, currency: str = "") -> Json:
        """The source of a value; of a price in another currency with its rate."""
        source = f"{self.source} ({currency} at {self.rates[currency]:g})" if currency else self.source
        return {"source": source, "date": self.date, "basis": "vendor"}


def read_rates(texts: Iterable[str]) -> dict[str, float]:
    """`EUR=1.08` as the worth of one euro in the book's currency. Raises ValueError for anything
    else."""
    out: dict[str, float] = {}
    for text in texts:
        matched = _RATE.fullmatch(text.strip())
        value = float(matched["rate"]) if matched else 0.0
        if matched is None or not 0 < value < math.inf:
            raise ValueError(f"{text!r} is no rate: write a currency's code and what one unit is worth, as EUR=1.08")
        if out.setdefault(matched["currency"].upper(), value) != value:
            raise ValueError(f"{matched['currency'].upper()} has two rates: give one")
    return out


@dataclass(frozen=True, slots=True)
class Change:
    """One value of the book that becomes another. `before` is `None` where the book has none."""

    line: str
    sku: str
    name: str
    field: str
    """`price_usd`, `length_prices_usd (3 m)`, `supplier`, ..."""
    before: str | float | None
    after: str | float
    jump: bool = False
    """Whether it is a price that becomes ten times as high or low, or nothing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that cannot be taken over, and why."""

    line: str
    message: str


@dataclass(slots=True)
class Quotes:
    """The outcome of an import: the changed parts, and each change and problem for people to
    read."""

    parts: list[Json] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    """Filled lines and sheets that are left out."""
    quoted_lines: int = 0
    """Lines with at least one value that differs from the book, or a quoted price."""


def quoted_parts(parts: Iterable[Mapping[str, Any]], currency: str, bill: Table, origin: Origin) -> Quotes:
    """Take the filled cells of a bill over into copies of the book's `parts`.

    Two lines of one part and length (its colours) may not give different prices. Raises
    `TwoReadingsError` if the bill leaves open whether its decimal mark is a point or a comma.
    """
    out = Quotes(skipped=[*bill.skipped])
    bill.mistakes.clear()
    bill.ambiguous.clear()
    book: dict[str, Json] = {part["sku"]: copy.deepcopy(dict(part)) for part in parts}
    changed: dict[str, None] = {}
    output: dict[tuple[str, str], tuple[str, str | float]] = {}
    for row in bill.rows():
        reader = _Line(row, currency, origin.rates, out)
        values = reader.values(book)
        if values is None:
            continue
        sku, wanted = values
        out.quoted_lines += bool(wanted)
        for name, (place, value) in wanted.items():
            earlier = output.setdefault((sku, name), (row.where, value))
            if earlier[1] != value:
                out.problems.append(
                    Problem(
                        row.where, f"{name} of {sku} is {value} here and {earlier[1]} in {earlier[0]}: give one value."
                    )
                )
                continue
            before = place.read()
            if before == value or (
                isinstance(before, float | int) and isinstance(value, float) and math.isclose(before, value)
            ):
                continue
            place.write(value)
            book[sku].setdefault("sources", {})[place.field] = origin.entry(place.currency)
            changed[sku] = None
            jump = place.is_price and _jumps(before, value)
            out.changes.append(Change(row.where, sku, str(book[sku]["name"]), name, before, value, jump))
    for mistake in dict.fromkeys(bill.mistakes):
        out.problems.append(Problem(mistake.where, f"{mistake.message} {mistake.hint}".strip()))
    if bill.ambiguous:
        raise TwoReadingsError(list(dict.fromkeys(bill.ambiguous)))
    out.parts = [book[sku] for sku in changed]
    return out


def _jumps(before: object, after: object) -> bool:
    if not isinstance(before, float | int) or not isinstance(after, float | int) or before <= 0:
        return False
    return not before / JUMP < after < before * JUMP


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is in a part: an object of it, and a key or an index there."""

    field: str
    holder: Any
    key: str | int
    currency: str = ""
    """The currency that a price was converted from, if it was."""

    @property
    def is_price(self) -> bool:
        return self.field in ("price_usd", LENGTH_PRICES, *_RATES)

    def read(self) -> Any:
        return self.holder.get(self.key) if isinstance(self.holder, dict) else self.holder[self.key]

    def write(self, value: str | float) -> None:
        self.holder[self.key] = value


_Wanted = dict[str, tuple[_Place, str | float]]


class _Line:
    """Reads one row; what is wrong with it goes into the problems."""

    def __init__(self, row: Row, currency: str, rates: Mapping[str, float], out: Quotes) -> None:
        self._row, self._currency, self._rates, self._out = row, currency, rates, out

    def _problem(self, message: str) -> None:
        self._out.problems.append(Problem(self._row.where, message))

    def values(self, book: Mapping[str, Json]) -> tuple[str, _Wanted] | None:
        """The part and the values that the row gives, by their names; `None` where it gives none or
        cannot be read."""
        row = self._row
        sku = row.text("sku")
        price = self._number("quoted_price", MAX_PRICE)
        if not sku:
            if price is not None:
                self._problem(
                    "No part of the book fits this line, so its price has no place: add a part to the book first."
                )
            elif filled := [row.table.columns.title(column) for column in _FILLED if row.cell(column)]:
                self._out.skipped.append(
                    Skipped(row.where, f"It names no part for its {', '.join(filled)}.", row.number)
                )
            return None
        part = book.get(sku)
        if part is None:
            self._problem(f"The book has no part {sku}: import into the book that the bill was made with.")
            return None
        attributes = part.setdefault("attributes", {})
        wanted: _Wanted = {}
        if price is not None:
            self._price(wanted, part, attributes, price)
        for column, holder, key in (
            ("manufacturer", part, "manufacturer"),
            ("supplier", attributes, "supplier"),
        ):
            if words := self._words(column):
                wanted[column] = (_Place(key, holder, key), words)
        self._part_number(wanted, attributes)
        days = self._number("lead_time_days", MAX_LEAD_TIME_DAYS)
        if days is not None:
            wanted["lead_time_days"] = (_Place("lead_time_days", attributes, "lead_time_days"), math.ceil(days))
        return sku, wanted

    def _number(self, column: str, most: float) -> float | None:
        value = self._row.number_of(column)
        if value is not None and not 0 <= value <= most:
            self._problem(f"{column} is {value:g}; it must be from 0 to {most:,.0f}.")
            return None
        return value

    def _words(self, column: str) -> str:
        words = " ".join(self._row.text(column).split())
        if len(words) > MAX_TEXT_CHARACTERS:
            self._problem(f"{column} has {len(words)} characters; at most {MAX_TEXT_CHARACTERS} are kept.")
            return ""
        return words

    def _price(self, wanted: _Wanted, part: Json, attributes: Json, price: float) -> None:
        row = self._row
        currency = row.text("currency").upper()
        signs = currencies_of(currency)
        currency = self._currency if self._currency in signs else signs[0] if len(signs) == 1 else currency
        words = row.cell("quoted_price")
        written = words.shown if isinstance(words, Special) else words
        message = currencies_of(written)
        if message and (currency or self._currency) not in message:
            self._problem(
                f"The price is written as {written}, and its currency is {currency or self._currency}: "
                "make the two agree."
            )
            return
        currency = "" if currency == self._currency else currency
        if currency:
            if currency not in self._rates:
                self._problem(
                    f"The price is in {currency}, the book is in {self._currency}: convert it, or state what one {currency} is "
                    f"worth in {self._currency} as a rate ({currency}=1.08)."
                )
                return
            price *= self._rates[currency]
        name = row.text("price_field")
        factor = row.number_of("price_factor") or 1.0
        length = row.number_of("length_metres")
        if name == "price_usd":
            wanted[name] = (_Place(name, part, name, currency), price)
        elif name in _RATES:
            wanted[name] = (_Place(name, attributes, name, currency), price / factor)
        elif name == LENGTH_PRICES:
            lengths = attributes.get("lengths_metres") or []
            at = next((i for i, known in enumerate(lengths) if length is not None and abs(known - length) < 5e-4), None)
            if at is None:
                self._problem(f"{part['sku']} has no stock length of {row.cell('length_metres') or 'unknown'} m.")
                return
            prices = attributes.get(LENGTH_PRICES)
            if prices is None:
                prices = attributes[LENGTH_PRICES] = [None] * len(lengths)
            wanted[f"{name} ({lengths[at]:g} m)"] = (_Place(name, prices, at, currency), price)
        else:
            self._problem(f"The book has no price {name!r}: leave the last two columns as they were.")

    def _part_number(self, wanted: _Wanted, attributes: Json) -> None:
        """Lengths and colours of one part are sold under numbers of their own; a part without
        either has one number."""
        number = self._words("part_number")
        if not number:
            return
        length = self._row.number_of("length_metres")
        words = ([f"{length:g} m"] if length is not None else []) + [self._row.text("colour")]
        variant = " ".join(word for word in words if word)
        if not variant:
            wanted["part_number"] = (_Place("part_number", attributes, "part_number"), number)
        elif number != attributes.get("part_number"):
            numbers = attributes.setdefault("part_numbers", {})
            wanted[f"part_number ({variant})"] = (_Place("part_numbers", numbers, variant), number)
