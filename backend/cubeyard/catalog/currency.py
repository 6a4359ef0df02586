"""A price book in another currency: every amount at one stated rate, and the rate in every amount's
source."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
_LIST, _RATES = (
    "length_prices_usd",
    ("bulk_price_usd_per_metre", "connector_price_usd", "usd_per_hour", "price_usd_per_metre"),
)


def converted(content: Json, currency: str, rate: float) -> Json:
    """The book's content with its amounts in `currency`; one unit of its own currency is worth
    `rate` of it.

    Amounts keep six decimals, which is less than a label's price needs. The content that is given
    stays as it is.
    """
    words = f" (from {content['currency']} at {rate:g})"

    def amount(value: float | None) -> float | None:
        return None if value is None else round(value * rate, 6)

    def part(one: Json) -> Json:
        attributes = dict(one.get("attributes") or {})
        sources = dict(one.get("sources") or {})
        changed = [name for name in _RATES if attributes.get(name) is not None]
        for name in changed:
            attributes[name] = amount(attributes[name])
        if attributes.get(_LIST) is not None:
            attributes[_LIST] = [amount(value) for value in attributes[_LIST]]
            changed.append(_LIST)
        if one.get("price_usd") is not None:
            changed.append("price_usd")
        for name in changed:
            source = sources.get(name) or sources.get("*")
            if source is not None:
                sources[name] = {**source, "source": source["source"] + words}
        return {**one, "price_usd": amount(one.get("price_usd")), "attributes": attributes, "sources": sources}

    return {**content, "currency": currency, "parts": [part(item) for item in content["parts"]]}
