"""`cubeyard plan`, `export`, `formats` and `topology`: computed here, without a server or a
database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.built_plan import BuiltPlan
from cubeyard.cli.common import (
    SpecOption,
    errors,
    explained,
    print_finding,
    progress,
    read_spec,
    refuse,
    settings_of,
    write,
)
from cubeyard.engine import Engine, Json
from cubeyard.kit.money import money
from cubeyard.plans.building import build
from cubeyard.plans.site_limits import limit_words

EDGES_A_WRITE = 200_000

CatalogOption = Annotated[
    str | None,
    typer.Option("--catalog", help="A price book: builtin, like paper-2009 or current-2026, or a JSON file."),
]


def plan(
    spec: SpecOption,
    catalog: CatalogOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Compute a plan and print its numbers."""
    with explained():
        built = built_plan(spec, catalog)
        if as_json:
            write(built.summary_json + b"\n")
        else:
            _print_summary(built.summary)


def export(
    spec: SpecOption,
    format: Annotated[str, typer.Option("--format", "-f", help="One of the formats that `cubeyard formats` lists.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write, or - for standard output.")] = "-",
    catalog: CatalogOption = None,
    name: Annotated[str | None, typer.Option(help="Name of the plan in the file.")] = None,
    paper: Annotated[
        str | None, typer.Option(help="pdf, xlsx: a4 or letter; default: the plan's (site.paper).")
    ] = None,
    first_label: Annotated[
        int | None, typer.Option(help="pdf: the first free label of the first sheet, counted from 1 down its columns.")
    ] = None,
    codes: Annotated[
        str | None, typer.Option(help="pdf: QR codes on labels: cable (its id), link (see --link) or none.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="pdf: start of the link in each QR code; the cable's number follows.")
    ] = None,
    printer: Annotated[
        str | None, typer.Option(help="labels: the printer whose program reads the list: brady, brother, dymo or any.")
    ] = None,
    solid: Annotated[
        bool | None, typer.Option("--solid", help="dxf: racks, devices, trays and bundles as bodies too.")
    ] = None,
) -> None:
    """Write a plan as a file: a workbook, a PDF, NetBox tables and more."""
    from cubeyard.exports import FORMATS, ExportOptionError, check_for, render, write_file
    from cubeyard.exports.options import check
    from cubeyard.plans.view import PlanView

    if format not in FORMATS:
        refuse(f"There is no format {format}. There are: {', '.join(FORMATS)}.")
    given = {
        "paper": paper, "first_label": first_label, "codes": codes, "link": link, "printer": printer, "solid": solid,
    }  # fmt: skip
    with explained():
        try:
            options = check(format, FORMATS[format].options, given)
            view = PlanView.of(built_plan(spec, catalog, paper=paper), name)
            check_for(format, view, options)
        except ExportOptionError as error:
            refuse(f"--{error.name.replace('_', '-')}: {' '.join(filter(None, [error.message, error.hint]))}")
        if output == "-":
            for piece in render(format, view, None, options):
                write(piece)
            return
        target = Path(output)
        with progress(FORMATS[format].title) as reported:

            def follow(fraction: float, doing: str) -> None:
                _ = doing
                reported(round(fraction * 1000), 1000)

            write_file(format, view, target, follow, options)
    errors.print(f"Wrote {output}, {target.stat().st_size:,} bytes.")


def formats(as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the export formats, and the check of each."""
    from cubeyard.exports import FORMATS
    from cubeyard.exports.formats import GROUPS

    if as_json:
        fields = ("name", "title", "group", "description", "checked", "unproven", "extension", "media_type")
        rows = [{field: getattr(row, field) for field in fields} for row in FORMATS.values()]
        write(orjson.dumps(rows, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return
    table = Table("Format", "File", "What it is", box=None)
    for group in GROUPS:
        table.add_row(f"[bold]{escape(group)}[/bold]")
        for item in FORMATS.values():
            if item.group == group:
                checked = f" [dim]{escape(item.proof)}[/dim]" if item.checked else ""
                table.add_row(item.name, f".{item.extension}", escape(item.description) + checked)
    Console().print(table)


def topology(
    spec: SpecOption,
    edges: Annotated[bool, typer.Option("--edges", help="Stream `a b level`, one line per link.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts, certificate and metrics as JSON.")] = False,
) -> None:
    """Print a topology's links, or its counts and wiring certificate. Any size."""
    with explained():
        built = Engine(settings_of()).topology(read_spec(spec))
        if edges:
            for start in range(0, built.link_count, EDGES_A_WRITE):
                write(built.edge_lines(start, start + EDGES_A_WRITE))
            return
        document = {
            "counts": orjson.loads(built.counts_json()),
            "certificate": orjson.loads(built.certificate_json()),
            "metrics": orjson.loads(built.metrics_json()),
        }
        if as_json:
            write(orjson.dumps(document) + b"\n")
            return
        console, counts = Console(), document["counts"]
        console.print(
            f"[bold]{counts['title']}[/bold]: {counts['servers']:,} servers, {counts['switches']:,} switches, {counts['links']:,} links"
        )
        _print_certificate(console, document["certificate"])


def built_plan(
    spec_text: str, catalog: str | None, host_prefix: str | None = None, paper: str | None = None
) -> BuiltPlan:
    """The plan of the options `--spec` and `--catalog`."""
    return build(Engine(settings_of()), read_spec(spec_text), catalog, host_prefix, paper)


def _print_summary(summary: Json) -> None:
    console = Console()
    counts, cost, power = summary["counts"], summary["cost_usd"], summary["power_watts"]
    at_least = "at least " if cost["at_least"] else ""
    currency = summary["currency"]
    console.print(f"[bold]{escape(summary['title'])}[/bold]  plan {summary['plan_hash'][:12]}", highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("servers", f"{counts['servers']:,}")
    table.add_row("switches", f"{counts['switches']:,}")
    table.add_row(
        "cables",
        f"{counts['cables']:,}",
        f"{summary['cable_metres']:,.1f} m, longest {summary['longest_cable_metres']:,.1f} m",
    )
    table.add_row("racks", f"{counts['racks']:,}")
    table.add_row("cost", f"{at_least}{money(cost['total'], currency)}", f"network {money(cost['network'], currency)}")
    table.add_row("power", f"{power['total'] / 1000:,.2f} kW", f"switches {power['switches'] / 1000:,.2f} kW")
    for site_limit in summary["site_limits"]:
        words = limit_words(site_limit)
        style = "bold red" if words.over else "default"
        table.add_row(words.title.lower(), f"[{style}]{escape(words.value)}[/{style}]", escape(words.limit))
    console.print(table, highlight=False)
    _print_certificate(console, summary["certificate"])
    for finding in summary["findings"]:
        print_finding(console, finding)


def _print_certificate(console: Console, certificate: Json) -> None:
    passed = sum(check["passed"] for check in certificate["checks"])
    style = "green" if certificate["passed"] else "bold red"
    console.print(
        f"[{style}]wiring certificate: {passed} of {len(certificate['checks'])} checks pass[/{style}]", highlight=False
    )
    for check in certificate["checks"]:
        mark = "[green]pass[/green]" if check["passed"] else "[bold red]FAIL[/bold red]"
        console.print(f"  {mark}  {escape(check['statement'])} ({check['checked']:,} checked)", highlight=False)
