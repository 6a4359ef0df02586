"""Sheets of die-cut labels, for the install pack's labels and the bill of materials."""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.exports.workbook.pages import paper_of
from cubeyard.plans.view import PlanView


@dataclass(frozen=True, slots=True)
class LabelStock:
    """Positions of labels on a sheet; all lengths in millimetres."""

    name: str
    size: str
    """The size of one label, as stated by the manufacturer."""
    width: float
    height: float
    """The height of the sheet."""
    columns: int
    rows: int
    cell_width: float
    cell_height: float
    column_pitch: float

    @property
    def labels(self) -> int:
        return self.columns * self.rows

    @property
    def left(self) -> float:
        return (self.width - self.cell_width - (self.columns - 1) * self.column_pitch) / 2

    @property
    def top(self) -> float:
        return (self.height - self.rows * self.cell_height) / 2


STOCKS = {
    "a4": LabelStock("Avery L4731 (A4)", "25.4 x 10 mm", 210.0, 297.0, 7, 27, 25.4, 10.0, 27.9),
    "letter": LabelStock("Avery 5167 (Letter)", "1.75 x 0.5 in", 215.9, 279.4, 4, 20, 44.45, 12.7, 52.07),
}
"""Indexed by the paper that the plan is printed on. The price book's label parts are the same
sheets."""


def stock_of(plan: PlanView) -> LabelStock:
    return STOCKS[paper_of(plan)]
