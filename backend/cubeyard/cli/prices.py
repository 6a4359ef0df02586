"""`cubeyard prices`: prices filled into a plan's bill of materials become a price book. It needs
neither a server nor a database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import errors, explained, refuse, settings_of
from cubeyard.cli.files import DecimalOption, decimal_mark, refuse_file
from cubeyard.engine import Engine
from cubeyard.plans.building import book_named
from cubeyard.plans.spec import DEFAULT_BOOK

if TYPE_CHECKING:
    from cubeyard.catalog.quotes import Quotes

SHOWN_CHANGES = 60


def prices(
    bill: Annotated[Path, typer.Argument(help="A workbook (xlsx) or bill (bom-csv) of a plan, with quoted prices.")],
    catalog: Annotated[
        str, typer.Option("--catalog", help="The price book that the bill was made with: builtin, or a JSON file.")
    ] = DEFAULT_BOOK,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The price book to write, as JSON; without it only show the changes."),
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source of the prices. Default: the file's name.")] = None,
    date: Annotated[str | None, typer.Option(help="Date of the quotation, as 2026-11-22. Default: today.")] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            help="Value of one unit of a currency of the bill in the book's currency, as EUR=1.08. Repeat it for several."
        ),
    ] = None,
    decimal: DecimalOption = None,
    jumps: Annotated[
        bool, typer.Option("--jumps", help="Accept prices that become ten times as high or low, or zero.")
    ] = False,
) -> None:
    """Copy prices, suppliers and part numbers from a filled-in bill of materials into a price
    book."""
    from cubeyard.catalog.quotes import Origin, quoted_parts, read_bill, read_rates
    from cubeyard.reading.problems import BadFileError

    try:
        rates = read_rates(rate or ())
    except ValueError as error:
        refuse(f"--rate {error}.")

    try:
        table = read_bill(bill.read_bytes(), decimal_mark(decimal))
        day = datetime.fromisoformat(date).date() if date else datetime.now(UTC).date()
    except OSError as error:
        refuse(f"{bill} cannot be read: {error.strerror or error}.")
    except BadFileError as error:
        refuse_file(bill, error)
    except ValueError:
        refuse(f"--date {date} is not a date: write it as 2026-11-22.")
    with explained():
        engine = Engine(settings_of())
        book = book_named(engine, catalog)
        try:
            quotes = quoted_parts(
                book["parts"], book["currency"], table, Origin(source or bill.name, day.isoformat(), rates)
            )
        except BadFileError as error:
            refuse_file(bill, error)
        high = _print(quotes)
        if output is None:
            return
        if high and not jumps:
            refuse(
                f"Nothing was written: {high:,} prices become ten times as high or low. If they are right, add --jumps."
            )
        by_sku = {part["sku"]: part for part in quotes.parts}
        changed = {**book, "parts": [by_sku.get(part["sku"], part) for part in book["parts"]]}
        engine.check_book(changed)
        output.write_bytes(orjson.dumps(changed, option=orjson.OPT_INDENT_2) + b"\n")
        errors.print(f"Wrote {output}. Plan with it: --catalog {output}")


def _print(quotes: Quotes) -> int:
    """Prints changes and problems; returns how many prices jump. Exits with 2 for problems."""
    table = Table("Line", "Part", "Value", "Before", "After", box=None)
    for change in quotes.changes[:SHOWN_CHANGES]:
        before = "" if change.before is None else str(change.before)
        table.add_row(*(escape(words) for words in (change.line, change.sku, change.field, before, str(change.after))))
    Console().print(table, highlight=False)
    if len(quotes.changes) > SHOWN_CHANGES:
        errors.print(f"and {len(quotes.changes) - SHOWN_CHANGES:,} more changes.")
    for row in quotes.skipped[:SHOWN_CHANGES]:
        errors.print(f"left out: {escape(f'{row.where}: {row.reason}')}", highlight=False)
    for problem in quotes.problems:
        errors.print(f"[bold red]error:[/bold red] {escape(problem.line)}: {escape(problem.message)}", highlight=False)
    if quotes.problems:
        refuse("Nothing was written: fix these lines first.")
    errors.print(f"{len(quotes.changes):,} values of {len(quotes.parts):,} parts change.")
    high = [change for change in quotes.changes if change.jump]
    for change in high[:SHOWN_CHANGES]:
        sentence = f"{change.line}: {change.field} of {change.sku} becomes {change.after:,} and was {change.before:,}"
        errors.print(f"[yellow]look:[/yellow] {escape(sentence)}", highlight=False)
    return len(high)
