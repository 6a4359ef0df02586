"""The limits of a container or room in words: for the terminal, the workbook and the PDF."""

from __future__ import annotations

from typing import Any, NamedTuple


class LimitWords(NamedTuple):
    title: str
    value: str
    """The load and its location, such as `Container 1: 487.4 kW`."""
    limit: str
    """The limit and its source, such as `limit 400.0 kW (catalog, assumed)`."""
    over: bool
    source: str


def limit_words(one: dict[str, Any]) -> LimitWords:
    """One entry of a summary's `site_limits`."""
    at_least = "at least " if one["at_least"] else ""
    limit, usual = one["limit"], one["usual"]
    if limit is None:
        stated = "no limit stated"
    elif limit == usual:
        stated = f"limit {_amount(limit, one['unit'])} (catalog, {one['basis'] or 'no source'})"
    else:
        stated = f"limit {_amount(limit, one['unit'])} (plan)"
    return LimitWords(
        title=one["title"].capitalize(),
        value=f"{one['place']}: {at_least}{_amount(one['value'], one['unit'])}",
        limit=stated,
        over=one["over"] > 0,
        source=one["source"] or "",
    )


def _amount(value: float, unit: str) -> str:
    return f"{value / 1000:,.1f} kW" if unit == "W" else f"{value:,.0f} {unit}"
