"""`cubeyard predict`, `figures` and `figure`: what a plan carries, and the papers' numbers beside ours. No database."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from cubeyard.cli_faults import read_fault
from cubeyard.cli_place import own_lab
from cubeyard.engine import CancelledError, Engine, Json, OnProgress
from cubeyard.figures.catalog import FigureCatalog
from cubeyard.settings import Settings

EXIT_INTERRUPTED = 130
WORKLOADS = "all-to-all, one-to-one, one-to-several, one-to-all, permutation, random-pairs, incast, shuffle, hot-racks or matrix"
FAULT_KINDS = {"servers": "server", "switches": "switch", "links": "link", "racks": "rack"}
VERDICT_STYLES = {"matches": "green", "within band": "cyan", "differs": "yellow"}

SpecOption = Annotated[
    str, typer.Option("--spec", help="A spec as JSON, a file that holds one, or - for standard input.")
]
Explained = Callable[[], AbstractContextManager[None]]
Refuse = Callable[[str], None]


def register(app: typer.Typer, read_spec: Callable[[str], Json], explained: Explained, refuse: Refuse) -> None:
    """Add the commands to `cubeyard`."""

    @app.command()
    def predict(
        spec: SpecOption,
        workload: Annotated[
            str, typer.Option(help=f"{WORKLOADS}; or a workload as JSON, or the CSV file of a matrix.")
        ] = "all-to-all",
        routing: Annotated[str | None, typer.Option(help="A routing scheme; the paper's own when left out.")] = None,
        fail: Annotated[
            list[str] | None,
            typer.Option(
                help="What fails: servers=0.1, switches=0.1, links=0.1, racks=0.1, or words like '10% of level-1 switches' or 'rack R03'. Can be repeated."
            ),
        ] = None,
        fault: Annotated[
            list[str] | None,
            typer.Option(
                help="What breaks and how, as `emulate` takes it: KIND=TARGET@FROM-UNTIL with down, link-rate or link-loss, "
                "like 'link-rate:10M=00/<0,0>' or 'link-loss:5%=10% of links'; or a fault as JSON. Can be repeated."
            ),
        ] = None,
        link_gbps: Annotated[float | None, typer.Option(help="The rate of every link, instead of the plan's.")] = None,
        seed: Annotated[list[int] | None, typer.Option(min=0, help="Seeds all that is drawn. Can be repeated.")] = None,
        rates: Annotated[
            bool | None, typer.Option("--rates/--no-rates", help="Work out max-min fair rates, or not.")
        ] = None,
        flow_gigabits: Annotated[float | None, typer.Option(help="What each flow sends: asks when flows end.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
    ) -> None:
        """Predict what a plan carries: throughput, load and paths, whole or with parts failed."""
        with explained():
            experiment = {
                "workload": _workload(workload, refuse),
                "routing": routing,
                "faults": [
                    *(_fault(text, refuse) for text in fail or []),
                    *(read_fault(text, refuse) for text in fault or []),
                ],
                "link_gbps": link_gbps,
                "seeds": seed or [7],
                "max_min": rates,
                "flow_gigabits": flow_gigabits,
            }
            engine = Engine(Settings())
            with _progress("Routing flows") as told:
                document = engine.predict_json(read_spec(spec), experiment, told)
            if as_json:
                _write(document + b"\n")
            else:
                _print_prediction(Console(), orjson.loads(document))

    @app.command()
    def figures(
        as_json: Annotated[bool, typer.Option("--json", help="Print the ids as a JSON list.")] = False,
    ) -> None:
        """List the papers' figures and tables that can be recomputed or measured."""
        settings = Settings()
        found = FigureCatalog(Engine(settings), settings).entries
        if as_json:
            _write(orjson.dumps([one["id"] for one in found]) + b"\n")
            return
        table = Table("Figure", "What it shows", "Published in", "Ours is", box=None)
        for one in found:
            table.add_row(one["id"], one["title"], escape(one["source"]), one["basis"])
        Console().print(table)

    @app.command()
    def figure(
        figure_id: Annotated[str, typer.Argument(metavar="ID", help="One of those that `cubeyard figures` lists.")],
        seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of everything drawn; 3 when left out.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print the figure as JSON.")] = False,
        brevity: Annotated[
            float,
            typer.Option(min=0.1, max=1.0, help="Of a measured one: share of its data and time; rougher below 1."),
        ] = 1.0,
    ) -> None:
        """Recompute or measure a figure or table: the paper's numbers beside ours."""
        with explained():
            settings = Settings()
            engine = Engine(settings)
            try:
                with _progress(figure_id) as told, own_lab(settings, engine, brevity) as lab:
                    document = FigureCatalog(engine, settings, lab).figure_json(figure_id, seeds, told)
            except CancelledError:
                Console(stderr=True).print("Stopped; everything was removed.")
                raise typer.Exit(EXIT_INTERRUPTED) from None
            if as_json:
                _write(document + b"\n")
            else:
                _print_figure(Console(), orjson.loads(document))


def _workload(text: str, refuse: Refuse) -> Json | str:
    """The `--workload` option: a kind, a workload as JSON, or a CSV file of a matrix."""
    if text.lstrip().startswith("{"):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            refuse(f"--workload is not JSON: {error}.")
    if text.lower().endswith(".csv"):
        try:
            return matrix_of(Path(text).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, ValueError) as error:
            refuse(f"--workload cannot be read as a matrix: {error}: {text}")
    return text


def matrix_of(text: str) -> Json:
    """A traffic matrix from CSV: lines `source,destination,weight`, or a square with server names along both sides.

    Raises ValueError that names the line.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    if not rows:
        return {"kind": "matrix", "entries": []}
    head = [cell.strip() for cell in rows[0]]
    if head[0] == "" and len(head) > 1:
        names = head[1:]
        if [row[0].strip() for row in rows[1:]] != names:
            raise ValueError("the names down the side are not those along the top")
        return {
            "kind": "matrix",
            "servers": names,
            "rows": [[_number(cell, line) for cell in row[1:]] for line, row in enumerate(rows[1:], start=2)],
        }
    body = enumerate(rows, start=1)
    if head[0].lower() == "source":
        next(body)
    entries: list[tuple[str, str, float]] = []
    for line, row in body:
        if len(row) not in (2, 3):
            raise ValueError(f"line {line} has {len(row)} cells; source, destination and weight are expected")
        weight = _number(row[2], line) if len(row) == 3 else 1.0
        entries.append((row[0].strip(), row[1].strip(), weight))
    return {"kind": "matrix", "entries": entries}


def _number(cell: str, line: int) -> float:
    try:
        return float(cell) if cell.strip() else 0.0
    except ValueError as error:
        raise ValueError(f"line {line} has {cell!r} where a number is expected") from error


def _fault(text: str, refuse: Refuse) -> Json:
    """One `--fail` option."""
    kind, equals, share = text.partition("=")
    if not equals:
        return {"target": {"selector": text}}
    plural = kind.strip().lower()
    plural = next((name for name, one in FAULT_KINDS.items() if plural in (name, one)), plural)
    try:
        ratio = float(share.strip().removesuffix("%")) / (100 if share.strip().endswith("%") else 1)
    except ValueError:
        ratio = -1.0
    if plural not in FAULT_KINDS or not 0 <= ratio <= 1:
        refuse(
            f"--fail {text} is not understood. Give {', '.join(FAULT_KINDS)} = a share from 0 to 1, like switches=0.1."
        )
    return {"target": {"kind": FAULT_KINDS[plural], "ratio": ratio}}


@contextmanager
def _progress(title: str) -> Iterator[OnProgress | None]:
    """A bar on standard error while somebody watches it."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield told


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _print_prediction(console: Console, document: Json) -> None:
    workload, failures, hops = document["workload"]["kind"], document["failures"], document["path_hops"]
    console.print(
        f"[bold]{escape(document['topology'])}[/bold], {workload}, routing {document['routing']}, seed {document['seed']}",
        highlight=False,
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("Aggregate bottleneck throughput", f"{document['abt_gbps']:,.2f}", "Gb/s")
    table.add_row("Flows carried", f"{document['flows']:,}", "")
    dropped = document["dropped"]
    table.add_row(
        "Flows dropped",
        f"{document['dropped_flows']:,}",
        f"{dropped['end_failed']:,} with a failed end, {dropped['no_path']:,} without a path"
        if document["dropped_flows"]
        else "",
    )
    table.add_row("Flows on the fullest link", f"{document['max_link_flows']:,}", "")
    table.add_row("Path length", f"{hops['mean']:.3f}", f"{hops['unit']} on average, {hops['max']} at most")
    if any(failures[kind] for kind in ("servers", "switches", "links")):
        what = ", ".join(f"{failures[kind]:,} {kind}" for kind in ("servers", "switches", "links") if failures[kind])
        table.add_row("Failed", what, "")
    if failures["degraded_links"]:
        table.add_row("Carrying less", f"{failures['degraded_links']:,} links", "")
    if rates := document.get("maxmin"):
        table.add_row("Max-min fair rates", f"{rates['total_gbps']:,.2f}", "Gb/s in all")
        if rates["flows"]:
            table.add_row(
                "  of one flow",
                f"{rates['median_gbps']:.4g}",
                f"{rates['min_gbps']:.4g} to {rates['max_gbps']:.4g} Gb/s",
            )
    if (completion := document.get("completion")) and completion["flows"]:
        table.add_row(
            "Flows end", f"{completion['last_secs']:,.3f}", f"s; the first after {completion['first_secs']:,.3f} s"
        )
    console.print(table)
    levels = Table("Links of level", "", "least", "mean", "most", box=None, title_justify="left")
    for level, one in document["link_flows_by_level"].items():
        levels.add_row(level, escape(one["label"]), f"{one['min']:,}", f"{one['mean']:,.1f}", f"{one['max']:,}")
    console.print()
    console.print("Flows on a directed link", style="dim")
    console.print(levels)


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
        table.add_row(
            escape(row["name"]), _number_text(row["paper"]), ours, row["unit"], f"[{style}]{escape(verdict)}[/]"
        )
    console.print(table)
    for choice in document["choices"]:
        console.print(f"  - {escape(choice)}", style="dim", highlight=False)
