"""`cubeyard backup` and `restore`: the whole database as one file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from cubeyard.cli.common import errors, explained, open_database, quiet_logs, refuse, settings_of, write


def backup(
    file: Annotated[str, typer.Argument(help="The new file, or - for standard output.")],
) -> None:
    """Write everything in the database to a file: plans, prices, runs, tokens. Servers may run."""
    from cubeyard.kit import backup as backups

    settings = settings_of()
    quiet_logs(settings)
    with explained(), _folder() as folder, open_database(settings, check=False) as database:
        to = Path(folder) / "backup" if file == "-" else Path(file)
        if not to.parent.is_dir():
            refuse(f"{to.parent} is no folder.")
        backups.backup(database, to)
        if file == "-":
            write(to.read_bytes())
        else:
            errors.print(f"Backup: {to}, {to.stat().st_size} bytes.", highlight=False)


def restore(
    file: Annotated[str, typer.Argument(help="A file of `cubeyard backup`, or - for standard input.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the present content of the database, which is lost.")
    ] = False,
) -> None:
    """Restore a backup into an empty database, and migrate it if it is from an older version."""
    from cubeyard.kit import backup as backups
    from cubeyard.kit import schema

    settings = settings_of()
    quiet_logs(settings)
    with explained(), _folder() as folder:
        source = Path(folder) / "backup" if file == "-" else Path(file)
        if file == "-":
            with source.open("wb") as to:
                shutil.copyfileobj(sys.stdin.buffer, to)
        if not source.is_file():
            refuse(f"{source} is no file.")
        with open_database(settings, check=False) as database:
            revision = backups.restore(database, source, replace=replace)
    errors.print(f"Restored. Tables of revision {revision} are now of {schema.head()}.", highlight=False)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cubeyard-")
