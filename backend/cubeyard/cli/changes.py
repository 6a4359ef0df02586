"""`cubeyard changes`: the change log, from the server's database."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import explained, open_database, quiet_logs, refuse, settings_of
from cubeyard.kit.changes.schemas import ChangeKind, ChangeList
from cubeyard.kit.ids import PATTERN

MAX_LIMIT = 200
WIDTH = 200
"""Width of the table if the output is no terminal: programs need all of the text."""
Kind = StrEnum("Kind", list(get_args(ChangeKind)))


def changes(
    plan: Annotated[
        str | None,
        typer.Option(help="Only changes of the saved plan with this id, and of its notes, cabling and runs."),
    ] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(help="Only changes of objects of these kinds; may be repeated.")
    ] = None,
    who: Annotated[str | None, typer.Option(help="Only changes by the token with this name.")] = None,
    words: Annotated[str, typer.Option("--words", "-w", help="Text in the name or the detail.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, help="The number of latest changes to list.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(help="Continue after an earlier list: the `next` of its --json.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As `GET /api/v1/changes` answers.")] = False,
) -> None:
    """List changes with author and time, the latest first."""
    if plan is not None and re.match(PATTERN, plan) is None:
        refuse(f"--plan {plan} is not the id of a plan. `GET /api/v1/plans` and the page's address have it.")
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        from cubeyard.kit.changes.service import ChangeLog

        with database.session() as session:
            result = ChangeLog(session).page(
                cursor=cursor, kinds=[item.value for item in kind or ()], who=who, plan=plan, q=words, limit=limit
            )
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        _print(result)


def _print(found: ChangeList) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    table = Table("When", "Who", "What", "Name", "Detail", box=None)
    for item in found.items:
        what = f"{item.kind} {item.action}"
        at = item.at.isoformat(timespec="seconds")
        table.add_row(at, escape(item.who), what, escape(item.name), escape(item.detail))
    console.print(table)
