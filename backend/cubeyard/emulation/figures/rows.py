"""A figure's numbers and lines. A verdict follows the engine's own rule: equal to the printed digits, in the band, or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

Json = dict[str, Any]


WHOLE = {"%": (0.0, 100.0), "": (-inf, inf)}
"""All that a unit's values can be; of any other they are above 0."""


def cannot_fail(unit: str, low: float, high: float) -> bool:
    """Whether a band takes in all values of its unit, so that no measurement differs."""
    least, most = WHOLE.get(unit, (0.0, inf))
    return low <= least and high >= most


@dataclass(frozen=True)
class Row:
    """One number. `paper` is None for what the paper only says in words; then `low` and `high` are those words."""

    name: str
    unit: str
    paper: float | None
    ours: float | None
    low: float
    high: float
    step: float = 0.0
    """The last printed digit's worth."""
    reason: str = ""
    """Why it may differ."""
    deviation: float | None = None
    """Of ours over seeds; None if it is of one."""

    def __post_init__(self) -> None:
        if cannot_fail(self.unit, self.low, self.high):
            raise ValueError(
                f"{self.name}: from {self.low:g} to {self.high:g} {self.unit} is every value there is: nothing can differ."
            )

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "differs"
        slack = 1e-9 * max(abs(self.paper or 0.0), 1.0)
        if self.paper is not None and abs(self.ours - self.paper) <= self.step / 2 + slack:
            return "matches"
        return "within band" if self.low - slack <= self.ours <= self.high + slack else "differs"

    def document(self) -> Json:
        found: Json = {
            "name": self.name,
            "paper": self.paper,
            "ours": self.ours,
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
        }
        if self.deviation is not None:
            found["deviation"] = self.deviation
        return {**found, "reason": self.reason} if self.reason and self.verdict != "matches" else found


def near(name: str, unit: str, paper: float, ours: float | None, share: float, reason: str = "") -> Row:
    """A number with a band of that share of the paper's value either way."""
    return Row(name, unit, paper, ours, paper * (1 - share), paper * (1 + share), reason=reason)


@dataclass(frozen=True)
class Outcome:
    """What a figure's measurement gives."""

    rows: list[Row]
    series: list[Json] = field(default_factory=list)
    axes: tuple[str, str] | None = None
    choices: list[str] = field(default_factory=list)


def line(name: str, x: Sequence[float], y: Sequence[float | None], *, paper: bool = False) -> Json:
    """A line of the chart, without the points that are not known; of the paper's own numbers: single points."""
    return {"name": name, "x": list(x), "y": list(y), "deviation": [], "paper": paper}
