"""The paper of a pack: sheets to carry around, and drawings on paper of twice the size."""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.exports.workbook.pages import paper_of
from cubeyard.plans.view import PlanView

MARGINS_MM = 22.0
"""Left and right margin of a sheet together."""
_HEAD_AND_FOOT_MM = 47.0
"""Height that a sheet's lines cannot use: margins, head, field names, foot."""
_DRAWING_MARGINS_MM, _DRAWING_HEAD_AND_FOOT_MM = 22.0, 52.0


@dataclass(frozen=True, slots=True)
class Paper:
    """All lengths in millimetres."""

    name: str
    width: float
    height: float
    large_name: str
    large_width: float
    large_height: float
    """Height of the drawings' paper, in landscape."""

    @property
    def inner_width(self) -> float:
        return self.width - MARGINS_MM

    @property
    def across_width(self) -> float:
        """Width between the margins in landscape."""
        return self.height - MARGINS_MM

    @property
    def drawing_box(self) -> tuple[float, float]:
        """Space for pictures on a drawing's page, between head and title block."""
        return self.large_width - _DRAWING_MARGINS_MM, self.large_height - _DRAWING_HEAD_AND_FOOT_MM

    def lines(self, pitch: float, drop: float = 0.0, *, across: bool = False) -> int:
        """The number of lines of a pitch on a sheet, below a note of `drop` millimetres."""
        return int(((self.width if across else self.height) - _HEAD_AND_FOOT_MM - drop) / pitch)


PAPERS = {
    "a4": Paper("A4", 210.0, 297.0, "A3", 420.0, 297.0),
    "letter": Paper("Letter", 215.9, 279.4, "Tabloid (11 x 17 in)", 431.8, 279.4),
}


def paper_of_plan(plan: PlanView) -> Paper:
    return PAPERS[paper_of(plan)]
