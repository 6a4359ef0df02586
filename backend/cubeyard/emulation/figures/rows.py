"""A figure's numbers and lines. Verdicts follow the engine's rule: equal in the printed digits,
within the band, or different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

Json = dict[str, Any]


FLOW_ENGINE, PACKET_ENGINE = "flow engine", "packet engine"
WHOLE = {"%": (0.0, 100.0), "": (-inf, inf)}
"""All possible values of a unit. Values of other units are above 0."""


def cannot_fail(unit: str, low: float, high: float) -> bool:
    """Whether a band contains all possible values of its unit, so that no measurement can
    differ."""
    least, most = WHOLE.get(unit, (0.0, inf))
    return low <= least and high >= most


@dataclass(frozen=True)
class Row:
    """One number. `expected` is the paper's, or the prediction by `predicted_by` for the measured
    network. None if the paper only has a statement: then `low` and `high` express it."""

    name: str
    unit: str
    expected: float | None
    ours: float | None
    low: float
    high: float
    step: float = 0.0
    """Value of the last printed digit."""
    reason: str = ""
    """Why the value may differ."""
    deviation: float | None = None
    """Deviation of our value over seeds; None for a single seed."""
    predicted_by: str = ""
    """The engine whose number is expected: `FLOW_ENGINE` or `PACKET_ENGINE`; empty for the
    paper."""

    def __post_init__(self) -> None:
        if cannot_fail(self.unit, self.low, self.high):
            raise ValueError(
                f"{self.name}: from {self.low:g} to {self.high:g} {self.unit} is every value there is: nothing can differ."
            )

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "differs"
        slack = 1e-9 * max(abs(self.expected or 0.0), 1.0)
        if self.expected is not None and abs(self.ours - self.expected) <= self.step / 2 + slack:
            return "matches"
        return "within band" if self.low - slack <= self.ours <= self.high + slack else "differs"

    def document(self) -> Json:
        result: Json = {
            "name": self.name,
            "paper": None if self.predicted_by else self.expected,
            "ours": self.ours,
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
        }
        if self.deviation is not None:
            result["deviation"] = self.deviation
        if self.predicted_by:
            result |= {"predicted": self.expected, "predicted_by": self.predicted_by}
        return {**result, "reason": self.reason} if self.reason and self.verdict != "matches" else result


def near(
    name: str, unit: str, expected: float, ours: float | None, share: float, reason: str = "", *, predicted_by: str = ""
) -> Row:
    """A number whose band is this share of the paper's value, or of the engine's, in both
    directions."""
    low, high = expected * (1 - share), expected * (1 + share)
    return Row(name, unit, expected, ours, low, high, reason=reason, predicted_by=predicted_by)


@dataclass(frozen=True)
class Outcome:
    """The result of a figure's measurement."""

    rows: list[Row]
    series: list[Json] = field(default_factory=list)
    axes: tuple[str, str] | None = None
    choices: list[str] = field(default_factory=list)


def line(name: str, x: Sequence[float], y: Sequence[float | None], *, paper: bool = False) -> Json:
    """A line of the chart, without unknown points. The paper's numbers are single points."""
    return {"name": name, "x": list(x), "y": list(y), "deviation": [], "paper": paper}
