"""`cubeyard webhook`: programs that are called when a run ends or a plan changes, from the server's
database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import errors, explained, open_database, quiet_logs, refuse, settings_of
from cubeyard.webhooks.schemas import MAX_URL_CHARACTERS, EventType, WebhookCreate

webhook_app = typer.Typer(help="Programs that are called when a run ends or a plan changes.", no_args_is_help=True)
Event = StrEnum("Event", list(get_args(EventType)))
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id, as `webhook list` shows it.")]


@webhook_app.command("create")
def create(
    url: Annotated[str, typer.Argument(help="Where events are sent, on a host that CUBEYARD_WEBHOOK_HOSTS lists.")],
    event: Annotated[list[Event] | None, typer.Option(help="Only these events; may be repeated. Default: all.")] = None,
) -> None:
    """Create a webhook and print the secret of its signatures; it cannot be read again."""
    if not 0 < len(url) <= MAX_URL_CHARACTERS:
        refuse(f"The URL has {len(url)} characters; it must have 1 to {MAX_URL_CHARACTERS}.")
    with explained(), _service() as service:
        wanted = {"events": [item.value for item in event]} if event else {}
        webhook = service.create(WebhookCreate.model_validate({"url": url, **wanted}))
    errors.print(f"Webhook {webhook.id}. Keep its secret now: it is shown only once.")
    print(webhook.secret)


@webhook_app.command("list")
def listing() -> None:
    """List the webhooks, without their secrets."""
    table = Table("Id", "URL", "Events", "Made by", "Made", box=None)
    with explained(), _service() as service:
        for item in service.list().items:
            made = item.created_at.isoformat(timespec="minutes")
            table.add_row(item.id, escape(item.url), ", ".join(item.events), escape(item.created_by), made)
    Console().print(table)


@webhook_app.command("delete")
def delete(webhook_id: IdArgument) -> None:
    """Delete a webhook and its deliveries."""
    with explained(), _service() as service:
        service.delete(webhook_id)
    errors.print(f"Webhook {webhook_id} is deleted.")


@webhook_app.command("test")
def test(webhook_id: IdArgument) -> None:
    """Send an event `test`. The worker sends it; `webhook deliveries` shows the result."""
    with explained(), _service() as service:
        delivery = service.test(webhook_id)
    errors.print(f"Delivery {delivery.id} is queued.")


@webhook_app.command("deliveries")
def deliveries(
    webhook_id: IdArgument,
    limit: Annotated[int, typer.Option(min=1, max=200, help="The number of latest deliveries to list.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="As `GET /api/v1/webhooks/ID/deliveries` answers.")] = False,
) -> None:
    """List the deliveries of a webhook, the latest first."""
    with explained(), _service() as service:
        result = service.deliveries(webhook_id, cursor=None, limit=limit)
    if as_json:
        print(result.model_dump_json(indent=2))
        return
    table = Table("Id", "Event", "Created", "State", "Attempts", "Error", box=None)
    for item in result.items:
        made = item.created_at.isoformat(timespec="seconds")
        table.add_row(item.id, item.event, made, item.state, str(item.attempts), escape(item.error or ""))
    Console().print(table)


@contextmanager
def _service() -> Iterator[Any]:
    settings = settings_of()
    quiet_logs(settings)
    with open_database(settings) as database:
        from cubeyard.kit.auth.who import COMMAND_LINE, Actor
        from cubeyard.kit.db import CALLER
        from cubeyard.webhooks.hosts import Hosts
        from cubeyard.webhooks.service import WebhookService

        with database.session() as session:
            session.info[CALLER] = Actor(COMMAND_LINE)
            yield WebhookService(session, Hosts(settings.webhook_hosts), COMMAND_LINE)
