"""`cubeyard figures` and `figure`: published figures, computed or measured again, with the paper's
numbers. No database."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import EXIT_INTERRUPTED, explained, progress, settings_of, write
from cubeyard.cli.output import kept
from cubeyard.cli.place import own_lab
from cubeyard.engine import CancelledError, Engine, Json
from cubeyard.figures.catalog import FigureCatalog

VERDICT_STYLES = {"matches": "green", "within band": "cyan", "bound holds": "cyan", "differs": "yellow"}


def figures(
    as_json: Annotated[bool, typer.Option("--json", help="Print the ids as a JSON list.")] = False,
) -> None:
    """List the papers' figures and tables that can be recomputed or measured."""
    settings = settings_of()
    result = FigureCatalog(Engine(settings), settings).entries
    if as_json:
        write(orjson.dumps([entry["id"] for entry in result]) + b"\n")
        return
    table = Table("Figure", "What it shows", "Published in", "Ours is", box=None)
    for entry in result:
        table.add_row(entry["id"], entry["title"], escape(entry["source"]), entry["basis"])
    Console().print(table)


def figure(
    figure_id: Annotated[str, typer.Argument(metavar="ID", help="A figure that `cubeyard figures` lists.")],
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds; default: the figure's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figure as JSON.")] = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Simulate all of the paper's data, which takes minutes; default for some figures: a part."
        ),
    ] = False,
    brevity: Annotated[
        float,
        typer.Option(min=0.1, max=1.0, help="For a measured figure: share of its data and time; rougher below 1."),
    ] = 1.0,
) -> None:
    """Recompute or measure a figure or table, and compare it with the paper's numbers."""
    with explained():
        settings = settings_of()
        engine = Engine(settings)
        try:
            with progress(figure_id) as reported, own_lab(settings, engine, brevity) as lab:
                document = FigureCatalog(engine, settings, lab).figure_json(figure_id, seeds, reported, whole=whole)
        except CancelledError:
            Console(stderr=True).print("Stopped; everything was removed.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        with kept(f"cubeyard-figure-{figure_id}.json", lambda: document):
            if as_json:
                write(document + b"\n")
                return
            _print_figure(Console(), orjson.loads(document))


def _number_text(value: float | None) -> str:
    return "-" if value is None else f"{value:,.6g}"


def _print_figure(console: Console, document: Json) -> None:
    console.print(
        f"[bold]{escape(document['title'])}[/bold]  {escape(document['provenance']['source'])}", highlight=False
    )
    table = Table("", "Paper", "Ours", "", "Verdict", box=None)
    for column in (1, 2):
        table.columns[column].justify = "right"
    for row in document["rows"]:
        ours = _number_text(row["ours"])
        if row.get("deviation"):
            ours += f" ± {row['deviation']:.2g}"
        verdict = row["verdict"]
        if reason := row.get("reason"):
            verdict += f": {reason}"
        style = VERDICT_STYLES[row["verdict"]]
        expected = _number_text(row["paper"])
        if by := row.get("predicted_by"):
            expected = f"{_number_text(row['predicted'])} ({by})"
        table.add_row(escape(row["name"]), expected, ours, row["unit"], f"[{style}]{escape(verdict)}[/]")
    console.print(table)
    for choice in document["choices"]:
        console.print(f"  - {escape(choice)}", style="dim", highlight=False)
