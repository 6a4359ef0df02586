"""`cubeyard paths`: the parallel paths of two servers of a plan. No database."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from cubeyard.cli.common import SpecOption, explained, read_spec, settings_of, write
from cubeyard.engine import Engine, Json

REASONS = {
    "source-failed": "The source is removed.",
    "destination-failed": "The destination is removed.",
    "no-path": "No path is left.",
}


def paths(
    source: Annotated[str, typer.Argument(help="A server's name or host name.")],
    destination: Annotated[str, typer.Argument(help="Another server's.")],
    spec: SpecOption,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Remove a server, a switch, a rack or a link like '00/<0,0>' first. Can be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
) -> None:
    """Print the parallel paths of two servers: a largest set of paths that share no device, with
    the smallest total length."""
    with explained():
        document = Engine(settings_of()).paths_between(read_spec(spec), source, destination, without or [])
    if as_json:
        write(orjson.dumps(document) + b"\n")
    else:
        _print(Console(), document)
    if not document["paths"]:
        raise typer.Exit(1)


def _print(console: Console, document: Json) -> None:
    if document["reason"]:
        console.print(REASONS[document["reason"]], highlight=False)
    for number, path in enumerate(document["paths"], start=1):
        way = " – ".join(escape(name) for name in path["devices"])
        console.print(f"[bold]{number}[/bold]  {len(path['links'])} links  {way}", highlight=False, soft_wrap=True)
