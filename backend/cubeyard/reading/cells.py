"""Cells that are not plain text: numbers and dates of a workbook, errors of formulas, and formulas
without a value."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["number", "date", "error", "formula", "boolean"]
_ERROR = re.compile(
    r"#(?:n/[abdv]|i/t|nv|yok|\u043d/\u0434|getting_data|#{2,}|[\u00a1\u00bf]?[^\W\d_][\w/.]{0,20}\s?[!?])|err:\s?5[0-9]{2}", re.IGNORECASE
)  # fmt: skip
"""`#N/A`, `#BEZUG!`, `#VALEUR !` and `#\u00a1REF!` of Excel in any language, `Err:508` of
LibreOffice, and the `####` of a column that is too narrow."""


def is_error(text: str) -> bool:
    """Whether a cell's text is the error of a formula."""
    return text[:1] in ("#", "E", "e") and _ERROR.fullmatch(text) is not None


class Special(str):
    """The text of such a cell, with its kind."""

    __slots__ = ("kind", "unit")
    kind: Kind
    unit: str
    """The currency or unit that a spreadsheet program shows with the number."""

    def __new__(cls, text: str, kind: Kind, unit: str = "") -> Special:
        made = super().__new__(cls, text)
        made.kind, made.unit = kind, unit
        return made

    def __getnewargs__(self) -> tuple[str, Kind, str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return str(self), self.kind, self.unit

    @property
    def shown(self) -> str:
        """`12.5 €`, of a number in such a format."""
        return f"{self} {self.unit}".strip()

    @property
    def reason(self) -> str:
        """Why it is neither a text nor a number, as the end of a sentence about the cell."""
        match self.kind:
            case "date":
                return f"is a date, {self}"
            case "error":
                return f"is {self}, an error of a formula"
            case "formula":
                return "has a formula without a saved value"
            case "boolean":
                return f"is {self}"
            case _:
                return ""
