"""A self-contained HTML file of a report: light or dark according to the reader's system, and light
in print."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib import resources

from cubeyard.exports.palette import DARK, LIGHT
from cubeyard.reports.chart import PAGE, svg, variables
from cubeyard.reports.content import Report, Section, Table, shown


def html(report: Report) -> Iterator[bytes]:
    """The page in pieces."""
    style = resources.files("cubeyard.reports").joinpath("report.css").read_text(encoding="utf-8")
    yield "".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
        f"<title>{escape(report.title)}</title><style>:root{{{variables(LIGHT)}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}{style}</style></head><body><main>",
        f"<header><p class=kind>{escape(report.kind)}</p><h1>{escape(report.title)}</h1><p>{escape(report.state)}</p></header>",
        _list("Findings", report.findings, "findings"),
        _pairs("What was asked", report.question),
    ]).encode()  # fmt: skip
    for section in report.sections:
        yield _section(section, report.provenance_line).encode()
    yield (_pairs("Where it is from", report.provenance) + "</main></body></html>\n").encode()


def _section(section: Section, provenance: str) -> str:
    parts = [f"<section><h2>{escape(section.title)}</h2>", *(f"<p>{escape(note)}</p>" for note in section.notes)]
    for chart in section.charts:
        caption = f"<figcaption>{escape(provenance)}</figcaption>"
        parts.append(f"<figure><h3>{escape(chart.title)}</h3>{svg(chart, PAGE)}{caption}</figure>")
    parts += [_table(table) for table in section.tables]
    return "".join([*parts, "</section>"])


def _table(table: Table) -> str:
    head = "".join(f"<th scope=col{_side(column.number)}>{escape(column.title)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_side(column.number)}>{escape(shown(cell, share=column.share))}</td>"
            for column, cell in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class=scroll tabindex=0 role=region aria-label="{escape(table.title)}"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _side(number: bool) -> str:
    return " class=number" if number else ""


def _list(title: str, lines: list[str], name: str) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<section class={name}><h2>{escape(title)}</h2><ul>{items}</ul></section>"


def _pairs(title: str, pairs: list[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
    return f"<section><h2>{escape(title)}</h2><dl>{rows}</dl></section>"
