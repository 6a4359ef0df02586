"""`cubeyard netbox sync`: a plan made in a NetBox over its REST API. Computed here, without a server or a database of ours."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from cubeyard.cli.common import SpecOption, errors, explained
from cubeyard.cli.plan import CatalogOption, built_plan

netbox_app = typer.Typer(
    help="Documents a plan in a NetBox.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@netbox_app.callback()
def _group() -> None:
    """Documents a plan in a NetBox."""


@netbox_app.command("sync")
def sync(
    spec: SpecOption,
    url: Annotated[
        str, typer.Option(help="The NetBox's address, like https://netbox.example.org.", envvar="NETBOX_URL")
    ],
    token: Annotated[str, typer.Option(help="An API token that may write.", envvar="NETBOX_TOKEN")],
    catalog: CatalogOption = None,
    site: Annotated[str | None, typer.Option(help="The NetBox site of the plan. Default: the plan's title.")] = None,
    prefix: Annotated[
        str | None, typer.Option(help="What every host name begins with, as site.host_prefix in the spec.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    piece: Annotated[int, typer.Option(min=1, max=1000, help="Most objects in a request.")] = 100,
) -> None:
    """Create what is missing of a plan in a NetBox, change what differs, and leave everything else alone.

    Can be repeated: a second sync changes nothing, and one that was interrupted goes on where it stopped.
    """
    from cubeyard.exports.netbox.records import NetboxRecords
    from cubeyard.exports.netbox.sync import NetboxClient, NetboxError
    from cubeyard.exports.netbox.sync import sync as synchronise
    from cubeyard.plans.view import PlanView

    console = Console(highlight=False, soft_wrap=True)
    with explained():
        records = NetboxRecords(PlanView.of(built_plan(spec, catalog, prefix), site))
        console.print(f"Site {escape(records.site)}{', nothing is written' if dry_run else ''}")
        tell = (
            (lambda model, done, total: errors.print(f"{model}: {done:,} of {total:,}", end="\r"))
            if errors.is_terminal
            else None
        )
        written = 0
        try:
            with NetboxClient(url, token) as client:
                for change in synchronise(records, client, dry_run=dry_run, piece=piece, progress=tell):
                    written += change.created + change.changed + change.deleted
                    counts = (("create", change.created), ("change", change.changed), ("delete", change.deleted))
                    words = [f"{verb} {count:,}" for verb, count in counts if count] or ["no change"]
                    words.append(f"{change.unchanged:,} as wanted")
                    if change.extra:
                        words.append(f"{change.extra:,} others at the site, left alone")
                    console.print(f"{change.model}: {', '.join(words)}")
                    for example in change.examples if change.changed or change.deleted else ():
                        if not example.startswith("create "):
                            console.print(f"    {escape(example)}")
        except NetboxError as error:
            errors.print(f"[bold red]error:[/bold red] {escape(str(error))}", highlight=False)
            errors.print("What was done stays; the same command goes on from there.")
            raise typer.Exit(1) from None
        verb = "would be " if dry_run else ""
        console.print(f"{written:,} objects {verb}created, changed or deleted.")
