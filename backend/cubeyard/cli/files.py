"""Options and errors of commands that read files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape

from cubeyard.cli.common import errors, refuse

if TYPE_CHECKING:
    from cubeyard.reading.numbers import Mark
    from cubeyard.reading.problems import BadFileError

DecimalOption = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="point|comma",
        help="The decimal mark of the file's numbers. Default: detected from all numbers.",
    ),
]


def decimal_mark(given: str | None) -> Mark | None:
    """Exits with 2 for another word."""
    if given not in (None, "point", "comma"):
        refuse(f"--decimal is {given}. Give point or comma.")
    return "point" if given == "point" else "comma" if given == "comma" else None


def refuse_file(file: Path | str, error: BadFileError) -> NoReturn:
    """Prints every mistake of a file and exits with 2."""
    for mistake in error.mistakes[:-1]:
        errors.print(f"[bold red]error:[/bold red] {escape(f'{file}: {mistake}')}", highlight=False, soft_wrap=True)
    refuse(f"{file}: {error.mistakes[-1]}")
