"""The content of a report, independent of its format: words, tables and charts as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

Cell = str | float | int | None


@dataclass(frozen=True)
class Column:
    title: str
    number: bool = False
    """Whether it has numbers, which are aligned right."""
    share: bool = False
    """Whether its numbers are fractions of one, shown as percentages."""


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Line:
    """One curve; with several seeds, `low` and `high` bound its band."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None


@dataclass(frozen=True)
class Chart:
    title: str
    x_title: str
    y_title: str
    lines: list[Line]
    x_share: bool = False
    y_share: bool = False
    words: str = ""
    """A text alternative for readers who cannot see the chart."""


@dataclass(frozen=True)
class Section:
    title: str
    notes: list[str] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    title: str
    kind: str
    """`Prediction`, `Sweep`, `Figure`, …"""
    state: str
    """A sentence on how the run ended."""
    findings: list[str]
    question: list[tuple[str, str]]
    sections: list[Section]
    provenance: list[tuple[str, str]]

    @property
    def provenance_line(self) -> str:
        return " · ".join(f"{name} {value}" for name, value in self.provenance)


def shown(value: Cell, *, share: bool = False) -> str:
    """A value as text: four significant digits, with thousands separators; empty for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if share:
        return f"{_plain(value * 100, 3)} %"
    return f"{value:,}" if isinstance(value, int) else _plain(value, 4)


def _plain(value: float, digits: int) -> str:
    """Without an exponent; whole numbers keep all digits."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    whole_digits = len(f"{abs(rounded):.0f}") if abs(rounded) >= 1 else 0
    if whole_digits >= digits:
        return f"{value:,.0f}"
    text = f"{rounded:,.12f}".rstrip("0").rstrip(".")
    return text if text not in {"", "-"} else f"{value:.{digits}g}"
