"""A spreadsheet's arithmetic, as far as our workbooks use it: so that a formula is checked, not
only its cached value."""

from __future__ import annotations

import re
from typing import Any

from openpyxl.utils import range_boundaries
from openpyxl.workbook import Workbook

_RANGE = r"(?:'(?:[^']|'')+'!|[A-Za-z_]+!)?\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?"
_CALL = re.compile(r"([A-Z]+)\((.*)\)", re.DOTALL)


class Evaluator:
    """Evaluates formulas of one workbook loaded with its formulas; each cell once."""

    def __init__(self, book: Workbook) -> None:
        self._book = book
        self._known: dict[tuple[str, int, int], Any] = {}

    def cell(self, sheet: str, row: int, column: int) -> Any:
        key = (sheet, row, column)
        if key not in self._known:
            value = self._book[sheet].cell(row, column).value
            self._known[key] = (
                self.formula(sheet, value[1:]) if isinstance(value, str) and value.startswith("=") else value
            )
        return self._known[key]

    def formula(self, sheet: str, text: str) -> Any:
        """Sums of products of calls, cells, numbers and texts; a single one is what it is."""
        terms = _split(text, "+")
        if len(terms) == 1 and len(_split(text, "*")) == 1:
            return self._value(sheet, text)
        return sum(self._product(sheet, term) for term in terms)

    def _holds(self, sheet: str, text: str) -> bool:
        if matched := re.fullmatch(r"AND\((.*)\)", text):
            return all(self._holds(sheet, part) for part in _split(matched[1], ","))
        left, right = _split(text, "=")
        # An empty cell equals the empty text.
        return (self.formula(sheet, left) or "") == (self.formula(sheet, right) or "")

    def _product(self, sheet: str, text: str) -> float:
        out = 1.0
        for factor in _split(text, "*"):
            out *= self._value(sheet, factor) or 0
        return out

    def _value(self, sheet: str, text: str) -> Any:
        if matched := _CALL.fullmatch(text):
            return self._call(sheet, matched[1], _split(matched[2], ","))
        if re.fullmatch(_RANGE, text):
            return self._cells(sheet, text)[0]
        return text[1:-1] if text.startswith('"') else float(text)

    def _call(self, sheet: str, name: str, arguments: list[str]) -> Any:
        if name == "IF":
            return self.formula(sheet, arguments[1 if self._holds(sheet, arguments[0]) else 2])
        if name == "ROUND":
            return round(self.formula(sheet, arguments[0]) + 1e-9, int(arguments[1]))
        if name == "SUBTOTAL":
            values = self._cells(sheet, arguments[1])
            return {"103": _count, "109": _sum}[arguments[0]](values)
        if name == "SUMIF":
            wanted = arguments[1].strip('"')
            pairs = zip(self._cells(sheet, arguments[0]), self._cells(sheet, arguments[2]), strict=True)
            return _sum([value for key, value in pairs if key == wanted])
        if name == "COUNTIF":
            wanted = self._value(sheet, arguments[1])
            return sum(1 for value in self._cells(sheet, arguments[0]) if wanted in (value or "", value))
        return {"SUM": _sum, "COUNTA": _count}[name](self._cells(sheet, arguments[0]))

    def _cells(self, sheet: str, reference: str) -> list[Any]:
        if "!" in reference:
            name, reference = reference.rsplit("!", 1)
            sheet = name.strip("'").replace("''", "'")
        left, top, right, bottom = (bound or 1 for bound in range_boundaries(reference.replace("$", "")))
        return [self.cell(sheet, row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]


def _sum(values: list[Any]) -> float:
    return sum(value for value in values if isinstance(value, int | float))


def _count(values: list[Any]) -> float:
    return sum(1 for value in values if value is not None)


def _split(text: str, mark: str) -> list[str]:
    """Split at `mark` outside brackets and quotes."""
    out, depth, start, quote = [], 0, 0, ""
    for i, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == mark and not depth:
            out.append(text[start:i])
            start = i + 1
    return [*out, text[start:]]
