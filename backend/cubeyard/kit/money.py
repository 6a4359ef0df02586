"""Amounts of money in words and in a spreadsheet's formats."""

from __future__ import annotations

_SIGNS = {"USD": "$", "EUR": "\u20ac", "GBP": "\u00a3"}
"""Currencies that one sign stands for wherever it is read; the others are named by their codes."""


def money(amount: float, currency: str, decimals: int = 2) -> str:
    """`$1,234.50`, `CHF 1,234.50`."""
    return f"{mark(currency)}{amount:,.{decimals}f}"


def mark(currency: str) -> str:
    """What stands before an amount: a sign, or the code and a space."""
    return _SIGNS.get(currency) or f"{currency}\u00a0"


def number_format(currency: str) -> str:
    """The currency's format for a spreadsheet's cells."""
    sign = _SIGNS.get(currency)
    return f"{sign if sign == '$' else chr(34) + (sign or currency + chr(160)) + chr(34)}#,##0.00"
