"""A report as PDF: the same words, tables and charts, typeset."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any

import orjson

from cubeyard.exports.palette import LIGHT
from cubeyard.exports.pdf.typesetting import typeset
from cubeyard.reports.chart import PRINT, svg
from cubeyard.reports.content import Report, Section, Table, shown

Json = dict[str, Any]


def pdf(report: Report) -> Iterator[bytes]:
    """The file in pieces. Raises TypesettingError if typesetting fails."""
    pictures: dict[str, bytes] = {}
    document = {
        "title": report.title,
        "kind": report.kind,
        "state": report.state,
        "findings": report.findings,
        "question": report.question,
        "sections": [_section(section, pictures) for section in report.sections],
        "provenance": report.provenance,
        "provenance-line": report.provenance_line,
        "theme": {
            "ink": LIGHT.ink,
            "muted": LIGHT.muted,
            "line": LIGHT.line,
            "panel": LIGHT.panel,
            "mark": LIGHT.levels[0],
        },
    }
    template = resources.files("cubeyard.reports").joinpath("report.typ").read_bytes()
    yield from typeset(pictures | {"main.typ": template, "report.json": orjson.dumps(document)})


def _section(section: Section, pictures: dict[str, bytes]) -> Json:
    charts = []
    for chart in section.charts:
        picture = svg(chart, PRINT)
        if not picture:
            continue
        name = f"chart-{len(pictures)}.svg"
        pictures[name] = picture.encode()
        charts.append({"title": chart.title, "file": name, "words": chart.words or chart.title})
    return {
        "title": section.title,
        "notes": section.notes,
        "charts": charts,
        "tables": [_table(table) for table in section.tables],
    }


def _table(table: Table) -> Json:
    columns = [{"title": column.title, "number": column.number} for column in table.columns]
    rows = [
        [shown(cell, share=column.share) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows
    ]
    return {"title": table.title, "columns": columns, "rows": rows}
