"""Cells that are not plain text: numbers and dates of a workbook, errors of formulas, and formulas
without a value."""

from __future__ import annotations

from typing import Literal

Kind = Literal["number", "date", "error", "formula", "boolean"]
ERRORS = frozenset(
    ("#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#GETTING_DATA", "#FIELD!",
     "#BLOCKED!", "#CONNECT!", "#UNKNOWN!", "#BUSY!", "#ERROR!", "#NV", "#BEZUG!", "#WERT!", "#ZAHL!", "#NOM?", "#VALEUR!")
)  # fmt: skip


class Special(str):
    """The text of such a cell, with its kind."""

    __slots__ = ("kind",)
    kind: Kind

    def __new__(cls, text: str, kind: Kind) -> Special:
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def __getnewargs__(self) -> tuple[str, Kind]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return str(self), self.kind

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
