"""`cubeyard asbuilt`: compares a list of cables from the floor with a plan, and prints the work
order that corrects it. No server or database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import SpecOption, errors, explained, refuse, write
from cubeyard.cli.files import DecimalOption, decimal_mark, refuse_file
from cubeyard.cli.plan import CatalogOption, built_plan

if TYPE_CHECKING:
    from cubeyard.asbuilt.schemas import AsBuilt, End, FoundEnds, PlannedEnds
    from cubeyard.reading.cables import Listing
    from cubeyard.reading.numbers import Mark

SHOWN = 40


def asbuilt(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A cable schedule or NetBox's cables (csv, xlsx, json), or lldpctl's JSON; several files only for lldpctl: a file for each device, "
            "named after it, like h00.json. - is standard input.",
        ),
    ],
    spec: SpecOption,
    catalog: CatalogOption = None,
    prefix: Annotated[
        str | None, typer.Option(help="Prefix of every host name, as site.host_prefix in the spec.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="For lldpctl of a single device: the device. Default: the file's name.")
    ] = None,
    decimal: DecimalOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the work order as CSV.")] = False,
) -> None:
    """Compare a list of cables from the floor with a plan: missing, swapped, wrong port, wrong
    length, and the shortest repair.

    Exits with 0 if all is in order, 1 if something differs, 2 for a list or a plan that cannot be
    read.
    """
    from cubeyard.asbuilt.document import as_built
    from cubeyard.asbuilt.table import work_order_csv
    from cubeyard.plans.view import PlanView

    if as_json and as_csv:
        refuse("Give --json or --csv, not both.")
    if spec == "-" and Path("-") in files:
        refuse("Standard input can be the spec or the list, not both.")
    with explained():
        listing = _listing(files, host, decimal_mark(decimal))
        document = as_built(PlanView.of(built_plan(spec, catalog, prefix)), listing)
    if as_json:
        write(orjson.dumps(document.model_dump()) + b"\n")
    elif as_csv:
        for piece in work_order_csv(document.work.steps):
            write(piece)
    else:
        _print(Console(), document)
    if not document.in_order:
        raise typer.Exit(1)


def _listing(files: list[Path], host: str | None, decimal: Mark | None) -> Listing:
    """Joins all files to one list. Exits with 2 if a file cannot be read."""
    from cubeyard.reading.cables import Listing, read
    from cubeyard.reading.problems import BadFileError

    if host is not None and len(files) > 1:
        refuse("--host names the device of one file: name several files after their devices, like h00.json.")
    listings: list[Listing] = []
    for file in files:
        try:
            data = sys.stdin.buffer.read() if file == Path("-") else file.read_bytes()
            result = read(data, host or (None if file == Path("-") else file.stem), decimal)
        except OSError as error:
            refuse(f"{file} cannot be read: {error.strerror or error}.")
        except BadFileError as error:
            refuse_file(file, error)
        if result.cut_off:
            refuse(f"{file} has one page of a longer list of cables: save all of them, /api/dcim/cables/?limit=0.")
        listings.append(result)
    first = listings[0]
    if len(listings) == 1:
        return first
    if odd := next((file for file, listing in zip(files, listings, strict=True) if listing.format != "lldp"), None):
        refuse(f"{odd} is not the output of lldpctl: give a single list, or several files of lldpctl.")
    return Listing(
        "lldp",
        [cable for listing in listings for cable in listing.cables],
        frozenset(name for listing in listings for name in listing.reporters or ()),
        [row for listing in listings for row in listing.skipped],
        [cable for listing in listings for cable in listing.loose],
    )


def _print(console: Console, document: AsBuilt) -> None:
    reported = (
        f", {document.list.with_length:,} with their length" if document.list.with_length else ", without lengths"
    )
    console.print(
        f"[bold]{escape(document.title)}[/bold]  {_count(document.cables, 'cable')} planned, {document.list.cables:,} found{reported}",
        highlight=False,
    )
    counts = document.counts.model_dump()
    summary = Table(box=None, show_header=False, pad_edge=False)
    for kind in document.kinds:
        if counts[kind.kind] or kind.kind == "in_order":
            summary.add_row(kind.title, f"{counts[kind.kind]:,}", f"[dim]{escape(kind.meaning)}[/dim]")
    console.print(summary, highlight=False)
    titles = {kind.kind: kind.title for kind in document.kinds}
    shown = [difference for difference in document.differences if difference.kind not in ("not_covered", "outside")]
    if shown:
        table = Table("Cable", "Is", "Expected", "Found", "Note", box=None, pad_edge=False)
        for difference in shown[:SHOWN]:
            cells = (
                difference.name,
                titles[difference.kind],
                _ends(difference.expected),
                _ends(difference.found),
                difference.note,
            )
            table.add_row(*map(escape, cells))
        console.print(table, highlight=False)
        _more(len(shown), "cables")
    for row in document.list.skipped_rows[:SHOWN]:
        console.print(f"left out: {escape(f'{row.where}: {row.reason}')}", highlight=False, soft_wrap=True)
    _more(document.list.skipped, "rows left out")
    for sentence in (*document.contradictions[:SHOWN], *document.remarks):
        console.print(f"[yellow]look:[/yellow] {escape(sentence)}", highlight=False, soft_wrap=True)
    work = document.work
    if work.steps:
        console.print(
            f"[bold]Work order[/bold]: {_count(len(work.steps), 'step')}, {_count(work.operations, 'plug operation')}, "
            f"{_count(work.new_cables, 'new cable')}",
            highlight=False,
        )
        for step in work.steps[:SHOWN]:
            after = f" [dim]after step {step.after}[/dim]" if step.after else ""
            rack = f"{escape(step.rack)}: " if step.rack else ""
            console.print(f"{step.number:>5}  {rack}{escape(step.text)}{after}", highlight=False, soft_wrap=True)
        _more(len(work.steps), "steps")
    elif document.in_order:
        console.print("[green]All that the list covers is as planned.[/green]", highlight=False)


def _count(count: int, what: str) -> str:
    """A number of things: "1 step", "2 steps"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _more(count: int, what: str) -> None:
    if count > SHOWN:
        errors.print(f"and {count - SHOWN:,} more {what}: --json has all, --csv the work order.", highlight=False)


def _ends(ends: PlannedEnds | FoundEnds | None) -> str:
    if ends is None:
        return ""
    length = f" ({ends.length_mm / 1000:g} m)" if ends.length_mm is not None else ""
    return f"{_words(ends.a)} – {_words(ends.b)}{length}"


def _words(end: End) -> str:
    return f"{end.device} {end.port}"
