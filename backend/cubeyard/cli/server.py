"""`cubeyard run`, `worker` and `openapi`: the server, its background worker, and the description of
its API."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cubeyard.cli.admin import auth_of
from cubeyard.cli.common import errors, explained, open_database, refuse, settings_of, write
from cubeyard.engine import Engine
from cubeyard.kit import alive, logs
from cubeyard.kit.home import remarks
from cubeyard.kit.signals import ending
from cubeyard.settings import Settings


def run(
    host: Annotated[
        str | None, typer.Option(help="The address to listen on. Addresses other than loopback need a token.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port to listen on.")] = None,
    worker: Annotated[bool, typer.Option(help="Also carry out background exports and runs in this process.")] = True,
) -> None:
    """Serve the page and the API."""
    with _none_is_garbage():
        from cubeyard.app import create_app
        from cubeyard.serve import serve

    settings = settings_of(host=host, port=port)
    logs.configure(settings.log_level, settings.log_format)
    if settings.database_url is None:
        for sentence in remarks(settings.home):
            errors.print(sentence, highlight=False)
    with explained():
        _require_token(settings)
        serve(create_app(settings, worker=worker), settings)


def work(
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End as soon as no export and no run is queued or under way anywhere.")
    ] = False,
    beat: Annotated[
        Path | None, typer.Option(help="A file to touch every 5 s, for probes that notice a worker that hangs.")
    ] = None,
) -> None:
    """Carry out background exports and runs, from the server's database. Any number of workers
    share the points of a sweep."""
    with _none_is_garbage():
        from cubeyard.kit.db import Database
        from cubeyard.kit.schema import make_ready
        from cubeyard.runs.lease import Watch
        from cubeyard.worker import supervise

    settings = settings_of()
    logs.configure(settings.log_level, settings.log_format)

    async def until_told() -> None:
        stopping = asyncio.Event()
        for item in ending():
            asyncio.get_running_loop().add_signal_handler(item, stopping.set)
        watch = Watch()
        beating = asyncio.create_task(alive.beat(beat, lambda: watch.hung)) if beat else None
        await supervise(settings, database, engine, stopping, until_idle=until_idle, watch=watch)
        if beating is not None:
            beating.cancel()

    with explained():
        database, engine = Database(settings, connections=1), Engine(settings)
        try:
            make_ready(database)
            asyncio.run(until_told())
        finally:
            database.close()


def openapi(
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write, or - for standard output.")] = "-",
) -> None:
    """Write the description of the API as OpenAPI JSON."""
    with _none_is_garbage():
        from cubeyard.app import create_app, openapi_text

    text = openapi_text(create_app(Settings()))
    if output == "-":
        write(text)
    else:
        Path(output).write_bytes(text)


@contextmanager
def _none_is_garbage() -> Iterator[None]:
    """Modules stay until the process ends, so searching them for garbage is wasted: it takes a
    tenth of the server's start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _require_token(settings: Settings) -> None:
    """Exits with 2 if others can reach the server and there is no token."""
    from cubeyard.kit.auth.guard import configured_token
    from cubeyard.kit.schema import migrate_own

    if not settings.exposed or configured_token(settings):
        return
    with open_database(settings, check=False) as database:
        migrate_own(database)
        with auth_of(database, settings) as service:
            if service.any_token():
                return
    refuse(
        f"Listening on {settings.host}{' behind a proxy' if settings.trusted_proxies else ''} lets others connect, and there is no API token. "
        "Make one with `cubeyard token create`, or set CUBEYARD_TOKEN, or listen on 127.0.0.1."
    )
