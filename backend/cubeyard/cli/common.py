"""Shared by the commands: reading options, the configuration, and errors as messages instead of
stack traces."""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import orjson
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.engine import Json, OnProgress, PlanRejectedError
from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.json_text import loads
from cubeyard.kit.validation import of_validation
from cubeyard.reading.problems import BadFileError
from cubeyard.reading.text import strict
from cubeyard.reading.units import NoAmountError, amount
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from cubeyard.emulation.live.service import SessionService

errors = Console(stderr=True, soft_wrap=True)

EXIT_IMPOSSIBLE = 2
EXIT_INTERRUPTED = 130

SpecOption = Annotated[
    str, typer.Option("--spec", help="A spec as JSON, a file that holds one, or - for standard input.")
]


def settings_of(**given: Any) -> Settings:
    """The configuration, changed by the options that are not None. Exits with 2 if it is
    not valid."""
    try:
        return Settings(**{key: value for key, value in given.items() if value is not None})
    except ValidationError as error:
        refuse("\n".join(_setting_in_words(of_validation(wrong)) for wrong in error.errors()))


def _setting_in_words(error: FieldError) -> str:
    message = error.message.removeprefix("Value error, ")
    if error.field == "body":  # several settings
        return message
    name, dot, rest = error.field.partition(".")
    name = name if name == "DATABASE_URL" else f"CUBEYARD_{name.upper()}"
    return f"{name}{dot}{rest}: {message}{f' {error.hint}' if error.hint else ''}"


def read_spec(text: str) -> Json:
    """The `--spec` option: JSON itself, a file, or standard input. Exits with 2 for anything
    else."""
    where = "--spec"
    if text == "-":
        raw, where = sys.stdin.buffer.read(), "standard input"
    elif text.lstrip().startswith(("{", "[")):
        raw = text.encode("utf-8", "surrogateescape")
    else:
        where = text
        try:
            raw = Path(text).read_bytes()
        except OSError as error:
            refuse(f"--spec is neither JSON nor a file that can be read: {error.strerror or error}: {text}")
    try:
        spec = loads(raw)
    except ValueError as error:
        refuse(f"{where} is not JSON: {error}.")
    if not isinstance(spec, dict):
        refuse(f'{where} is JSON, but not an object like {{"family": "bcube", "n": 8, "k": 3}}.')
    return spec


def write(data: bytes) -> None:
    """To standard output, at once. Exits with 2 for binary data on a terminal."""
    if sys.stdout.isatty() and not _is_text(data):
        refuse("The output is binary and would garble this terminal. Give --output FILE, or redirect it.")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _is_text(data: bytes) -> bool:
    """Whether a terminal shows these bytes; the last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


MOST_ERRORS = 8
LINE_SECS = 10.0
"""Interval of progress lines where a line cannot be overwritten."""


def refuse(message: str) -> NoReturn:
    """Print why a request is not possible, and exit with 2."""
    errors.print(f"[bold red]error:[/bold red] {escape(message)}", highlight=False)
    raise typer.Exit(EXIT_IMPOSSIBLE)


def confirmed(question: str) -> bool:
    """Whether the user answers yes at a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    errors.print(f"{question} [y/N] ", end="", markup=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def explained() -> Iterator[None]:
    """Prints an error of the context as a message and exits: 2 for a request that is not possible,
    1 for a database that fails."""
    try:
        yield
    except PlanRejectedError as error:
        for finding in error.findings:
            print_finding(errors, finding)
        raise typer.Exit(EXIT_IMPOSSIBLE) from None
    except ProblemError as error:
        refuse(_in_words(error))
    except _database_errors() as error:
        # SQLAlchemy adds the statement and a link to its documentation.
        words = str(getattr(error, "orig", error)).strip()
        words = words if words == str(error).strip() else " ".join(words.split())
        errors.print(f"[bold red]error:[/bold red] The database cannot be used. {escape(words)}", highlight=False)
        raise typer.Exit(1) from None


def _in_words(error: ProblemError) -> str:
    """The errors, a line for each field, with the fix."""
    if not error.errors:
        return error.detail
    lines = [
        f"{item.field.removeprefix('body.')}: {item.message}{f' {item.hint}' if item.hint else ''}"
        for item in error.errors[:MOST_ERRORS]
    ]
    more = len(error.errors) - len(lines)
    return "\n".join([*lines, *([f"And {more} more."] if more > 0 else [])])


def _database_errors() -> tuple[type[Exception], ...]:
    """The types of errors of a database. A module that is not loaded cannot have raised one, so it
    is not imported here."""
    names = {"cubeyard.kit.embedded": "EmbeddedPostgresError", "sqlalchemy.exc": "OperationalError"}
    return tuple(getattr(sys.modules[module], name) for module, name in names.items() if module in sys.modules)


@contextmanager
def open_database(settings: Settings | None = None, *, check: bool = True) -> Iterator[Any]:
    """The database of the configuration, closed at the end. `check`: raises OtherSchemaError if its
    tables are of another version."""
    from cubeyard.kit.db import Database
    from cubeyard.kit.schema import make_ready

    database = Database(settings or settings_of())
    try:
        if check:
            make_ready(database)
        yield database
    finally:
        database.close()


def session_service(session: Session, settings: Settings) -> SessionService:
    """Calls for a run of the server. Imported at the first use, because help must work without the
    emulator."""
    from cubeyard.emulation.live.service import SessionService
    from cubeyard.engine import Engine

    return SessionService(session, Engine(settings))


_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def read_json(text: str, where: str) -> Any:
    """An option whose value is JSON. Exits with 2 if it is not."""
    try:
        return loads(text)
    except ValueError as error:
        refuse(f"{where} is not JSON: {error}.")


def size(text: str) -> int:
    """An option that is a size: bytes, or text with a unit."""
    try:
        value = amount(text, "bytes")
    except NoAmountError as error:
        raise typer.BadParameter(str(error)) from None
    if value < 1 or value != int(value):
        raise typer.BadParameter(f"{text} is not a whole number of bytes, at least 1.")
    return int(value)


def distinct_seeds(seeds: list[int]) -> list[int]:
    """Exits with 2 for a seed that is given twice, as the API refuses it."""
    if len(set(seeds)) != len(seeds):
        refuse("--seed: a seed is given twice. Give each once.")
    return seeds


def print_seeds(console: Console, document: Json, columns: Mapping[str, str]) -> None:
    """The numbers of each seed if there are several: fields of their documents, by title."""
    if len(results := document.get("by_seed") or []) < 2:
        return
    table = Table("Seed", *columns, box=None)
    for result in results:
        values = (result.get(field) for field in columns.values())
        table.add_row(str(result["seed"]), *("–" if value is None else f"{value:,.6g}" for value in values))
    console.print()
    console.print("All seeds; the numbers above are of the first", style="dim")
    console.print(table)


def print_finding(console: Console, one: Mapping[str, Any]) -> None:
    """A finding of the engine: place, message, hint, and its fix as a JSON merge patch."""
    style = _STYLES.get(one["severity"], "bold")
    hint = f" {one['hint']}" if one.get("hint") else ""
    console.print(
        f"[{style}]{one['severity']}:[/{style}] {escape(one['where'])}: {escape(one['message'])}{escape(hint)}",
        highlight=False,
    )
    if one.get("fix") is not None:
        console.print(f"  fix: {escape(orjson.dumps(one['fix']).decode())}", highlight=False)
    if one.get("accept") is not None:
        label, patch = one["accept"]["label"], orjson.dumps(one["accept"]["patch"]).decode()
        console.print(f"  {escape(label)}: {escape(patch)}", highlight=False)


@contextmanager
def progress(title: str) -> Iterator[OnProgress]:
    """A progress bar on standard error; without a terminal, occasional lines."""
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield told


def _lines(title: str) -> OnProgress:
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECS:
            last = time.monotonic()
            share = f" of {total:,} ({done / total:.0%})" if total else ""
            print(f"{title}: {done:,}{share}", file=sys.stderr, flush=True)

    return tell


def read_text(file: str) -> str:
    """A file's text, or standard input's for `-`. Exits with 2 if it cannot be read."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return strict(raw)
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror or error}.")
    except BadFileError as error:
        refuse(f"{file}: {error}")


def quiet_logs(settings: Settings) -> None:
    """Warnings only, unless the user sets a lower level: the answer is what the command prints."""
    from cubeyard.kit import logs

    asked_for_more = "log_level" in settings.model_fields_set
    logs.configure(settings.log_level if asked_for_more else "warning", "console")
