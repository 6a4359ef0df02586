"""`cubeyard routes`: the routes of a switch or server of a run, as they are in the kernel."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import explained, open_database, quiet_logs, session_service, settings_of, write


def routes(
    run: Annotated[str, typer.Argument(help="The run's id, as its page and `GET /api/v1/runs` have it.")],
    node: Annotated[str, typer.Argument(help="A switch or server of a run whose switches are routers, like '<0,00>'.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print the routes of a switch or server of a run, and the weighted next hops that they
    share."""
    from cubeyard.emulation.live.elsewhere import live_hosts

    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database, database.session() as session:
        document = session_service(session, settings).routes(run, node, live_hosts(settings, database))
    if as_json:
        write(orjson.dumps(document) + b"\n")
        return
    for section in document["sections"]:
        _print(Console(), section)


def _print(console: Console, section: dict[str, Any]) -> None:
    table = Table(title=section["title"], title_justify="left", box=None, pad_edge=False)
    for column in section["columns"]:
        table.add_column(column["title"])
    for row in section["rows"]:
        table.add_row(*(escape(_text(cell)) for cell in row))
    console.print(table)
    if section["omitted"]:
        console.print(f"{section['omitted']:,} more rows are not shown.", highlight=False)


def _text(cell: Any) -> str:
    if cell is None:
        return "–"
    return " ".join(map(str, cell)) if isinstance(cell, list) else str(cell)
