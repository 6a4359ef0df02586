"""`cubeyard netbox`: a plan made in a NetBox over its REST API, or as files for its import pages.
Computed here, without a server or a database of ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.markup import escape

from cubeyard.cli.common import SpecOption, errors, explained, refuse
from cubeyard.cli.plan import CatalogOption, built_plan

if TYPE_CHECKING:
    from cubeyard.exports.netbox.sync import ModelChange

netbox_app = typer.Typer(
    help="Documents a plan in a NetBox.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@netbox_app.callback()
def _group() -> None:
    """Documents a plan in a NetBox."""


UrlOption = Annotated[
    str, typer.Option(help="The NetBox's address, like https://netbox.example.org.", envvar="NETBOX_URL")
]
SiteOption = Annotated[str | None, typer.Option(help="The NetBox site of the plan. Default: the plan's title.")]
PrefixOption = Annotated[str | None, typer.Option(help="Prefix of every host name, as site.host_prefix in the spec.")]
TimeoutOption = Annotated[float, typer.Option(min=1, help="Seconds to wait for the answer to a request.")]
_LINE_SECS = 30.0
"""Time between progress lines where a line cannot be overwritten."""


def told(terminal: bool, say: Callable[..., None], clock: Callable[[], float] = time.monotonic) -> Callable[..., None]:
    """Prints progress and the remaining time of each model: on a single line in a terminal,
    otherwise as occasional lines."""
    begun: dict[str, tuple[float, int]] = {}
    last = clock()

    def tell(model: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        start, first = begun.setdefault(model, (now, done))
        words = f"{model}: {done:,} of {total:,}"
        if done > first and now > start:
            left_secs = (total - done) * (now - start) / (done - first)
            words += f", about {left_secs / 60:,.0f} min left" if left_secs >= 90 else f", {left_secs:.0f} s left"
        if terminal:
            say(f"{words:<60}", end="\r")
        elif now - last >= _LINE_SECS:
            say(words)
            last = now

    return tell


def _show(console: Console, change: ModelChange) -> None:
    counts = (("create", change.created), ("change", change.changed), ("delete", change.deleted))
    words = [f"{verb} {count:,}" for verb, count in counts if count] or ["no change"]
    words.append(f"{change.unchanged:,} as wanted")
    if change.extra:
        words.append(f"{change.extra:,} others at the site, left alone")
    console.print(f"{change.model}: {', '.join(words)}")
    for example in change.examples if change.changed or change.deleted else ():
        if not example.startswith("create "):
            console.print(f"    {escape(example)}")


@contextmanager
def _refusals(resumable: bool) -> Iterator[None]:
    """Ends the command with NetBox's error."""
    from cubeyard.exports.netbox.sync import NetboxBusyError, NetboxError

    try:
        yield
    except NetboxError as error:
        errors.print(f"[bold red]error:[/bold red] {escape(str(error))}", highlight=False)
        if isinstance(error, NetboxBusyError):
            errors.print("A slow NetBox needs a longer --timeout, also in its proxy and gunicorn.")
        if resumable:
            errors.print("Completed changes stay; the same command continues from there.")
        raise typer.Exit(1) from None


def _check(url: str, token: str) -> None:
    """Exits with 2 for an invalid address and for an empty token."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        refuse(f"--url is {url!r}; give the whole address, like https://netbox.example.org.")
    if not token.strip():
        refuse("The token is empty. Set NETBOX_TOKEN, or give --token a value.")


@netbox_app.command("sync")
def sync(
    spec: SpecOption,
    url: UrlOption,
    token: Annotated[str, typer.Option(help="An API token that may write.", envvar="NETBOX_TOKEN")],
    catalog: CatalogOption = None,
    site: SiteOption = None,
    prefix: PrefixOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report the changes without making them.")] = False,
    piece: Annotated[
        int, typer.Option(min=1, max=1000, help="Most objects in a request; fewer where one takes over 10 seconds.")
    ] = 100,
    timeout: TimeoutOption = 120,
) -> None:
    """Create a plan's missing objects in a NetBox, change those that differ, and touch no others.

    Can be repeated: a second sync changes nothing, and an interrupted sync continues where it
    stopped.
    """
    from cubeyard.exports.netbox.records import NetboxRecords
    from cubeyard.exports.netbox.sync import NetboxClient
    from cubeyard.exports.netbox.sync import sync as synchronise
    from cubeyard.plans.view import PlanView

    _check(url, token)
    console = Console(highlight=False, soft_wrap=True)
    with explained(), _refusals(resumable=not dry_run):
        records = NetboxRecords(PlanView.of(built_plan(spec, catalog, prefix), site))
        console.print(f"Site {escape(records.site)}{', nothing is written' if dry_run else ''}")
        tell = told(errors.is_terminal, errors.print)
        written = 0
        with NetboxClient(url, token, timeout) as client:
            for change in synchronise(records, client, dry_run=dry_run, piece=piece, progress=tell):
                written += change.written
                _show(console, change)
        verb = "would be " if dry_run else ""
        console.print(f"{written:,} objects {verb}created, changed or deleted.")


@netbox_app.command("export")
def export(
    spec: SpecOption,
    url: UrlOption,
    token: Annotated[str, typer.Option(help="An API token; it need not write.", envvar="NETBOX_TOKEN")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The zip to write.")],
    catalog: CatalogOption = None,
    site: SiteOption = None,
    prefix: PrefixOption = None,
    timeout: TimeoutOption = 120,
) -> None:
    """Write what `sync` would do as files for NetBox's import pages: missing objects, and changes
    by id. Only reads."""
    from cubeyard.exports.netbox.changes import changes_archive
    from cubeyard.exports.netbox.records import NetboxRecords
    from cubeyard.exports.netbox.sync import NetboxClient
    from cubeyard.exports.netbox.sync import sync as synchronise
    from cubeyard.plans.view import PlanView

    _check(url, token)
    with explained(), _refusals(resumable=False):
        records = NetboxRecords(PlanView.of(built_plan(spec, catalog, prefix), site))
        with NetboxClient(url, token, timeout) as client:
            changes = list(synchronise(records, client, dry_run=True))
        data = b"".join(changes_archive(records, changes))
    try:
        output.write_bytes(data)
    except OSError as error:
        refuse(f"--output: {error.strerror or error}: {output}")
    new, different = (sum(getattr(change, kind) for change in changes) for kind in ("created", "changed"))
    errors.print(f"Wrote {output}: {new:,} objects to create, {different:,} to change.")
