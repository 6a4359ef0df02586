"""Amounts of money in words and in a spreadsheet's formats."""

from __future__ import annotations

_SIGNS = {"USD": "$", "EUR": "\u20ac", "GBP": "\u00a3"}
"""Currencies with an unambiguous sign; all others are written by their codes."""


def money(amount: float, currency: str, decimals: int = 2) -> str:
    """An amount with its currency, like `$1,234.50` or `CHF 1,234.50`."""
    return f"{mark(currency)}{amount:,.{decimals}f}"


def mark(currency: str) -> str:
    """The prefix of an amount: a sign, or the code and a space."""
    return _SIGNS.get(currency) or f"{currency}\u00a0"


def number_format(currency: str) -> str:
    """The currency's format for a spreadsheet's cells."""
    sign = _SIGNS.get(currency)
    return f"{sign if sign == '$' else chr(34) + (sign or currency + chr(160)) + chr(34)}#,##0.00"
