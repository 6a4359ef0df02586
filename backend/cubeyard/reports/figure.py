"""The report of a published figure: the paper's numbers next to ours, each with its verdict."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cubeyard.reports.content import Cell, Chart, Column, Line, Section, Table

Json = dict[str, Any]
NAME, PAPER = Column(""), Column("Paper", number=True)
PREDICTION = (Column("Prediction", number=True), Column("by"))
"""Only if a row is compared with an engine."""
OURS = (
    Column("Ours", number=True), Column("Unit"), Column("Band from", number=True), Column("to", number=True), Column("Verdict"),
    Column("Reason"),
)  # fmt: skip


def sections(figure: Json) -> list[Section]:
    predicted = any("predicted_by" in row for row in figure["rows"])
    rows: list[list[Cell]] = [
        [
            row["name"],
            row["paper"],
            *([row.get("predicted"), row.get("predicted_by", "")] if predicted else []),
            row["ours"],
            row["unit"],
            row["low"],
            row["high"],
            row["verdict"],
            row.get("reason") or "",
        ]
        for row in figure["rows"]
    ]
    axes = figure.get("axes") or {"x": "", "y": ""}
    charts = (
        [Chart(figure["title"], axes["x"], axes["y"], [_line(item) for item in figure["series"]])]
        if figure["series"]
        else []
    )
    columns = (NAME, PAPER, *(PREDICTION if predicted else ()), *OURS)
    made = [Section("The paper's numbers and ours", charts=charts, tables=[Table("Published numbers", columns, rows)])]
    if figure["choices"]:
        made.append(Section("Choices", notes=list(figure["choices"])))
    return made


def findings(figure: Json) -> list[str]:
    message = []
    for what, predicted in (("published numbers", False), ("predictions for the same network", True)):
        verdicts = Counter(row["verdict"] for row in figure["rows"] if ("predicted_by" in row) == predicted)
        counts = ", ".join(
            f"{verdicts[verdict]} {verdict}"
            for verdict in ("matches", "within band", "bound holds", "differs")
            if verdicts[verdict]
        )
        if counts:
            message.append(f"Of {verdicts.total()} {what}: {counts}.")
    return message + [
        f"{row['name']} differs: {row.get('reason') or 'no reason is known'}."
        for row in figure["rows"]
        if row["verdict"] == "differs"
    ]


def _line(series: Json) -> Line:
    """A point without a value is left out. The band is one standard deviation to each side."""
    known = [
        i for i, (x, y) in enumerate(zip(series["x"], series["y"], strict=True)) if x is not None and y is not None
    ]
    x, y = [series["x"][i] for i in known], [series["y"][i] for i in known]
    deviation = series.get("deviation") or []
    if not any(deviation):
        return Line(series["name"], x, y)
    spread = [deviation[i] for i in known]
    low = [value - item for value, item in zip(y, spread, strict=True)]
    return Line(series["name"], x, y, low, [value + item for value, item in zip(y, spread, strict=True)])
