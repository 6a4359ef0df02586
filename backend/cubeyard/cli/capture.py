"""`cubeyard capture` and `cubeyard shell`: looking into a run of the server while its packets flow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from sqlalchemy.orm import Session

from cubeyard.cli.common import errors, explained, open_database, refuse, settings_of, write
from cubeyard.cli.place import quiet_logs
from cubeyard.emulation.live.service import SessionService
from cubeyard.engine import Engine
from cubeyard.settings import Settings

PIPE = Path("-")
Run = Annotated[str, typer.Argument(help="The run's id, as its page and `GET /api/v1/runs` have it.")]


def capture(
    run: Run,
    link: Annotated[str | None, typer.Option(help="A link by its two ends, like '00/<0,0>'.")] = None,
    port: Annotated[str | None, typer.Option(help="A server and its port, like 00:1, instead of a link.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Also write the file here, or to standard output with -, for `| wireshark -k -i -`."
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Most seconds.")] = 10.0,
    max_bytes: Annotated[int, typer.Option(help="Most bytes of the file.")] = 4 * 2**20,
    packet_bytes: Annotated[int, typer.Option(help="Bytes kept of each packet.")] = 65_535,
) -> None:
    """Capture the packets of a link or port of a run to a pcapng file, which is kept with the run.

    Wireshark opens it as soon as the capture ends: `cubeyard capture RUN --link A/B --seconds 5 -o - | wireshark -k -i -`.
    """
    if output == PIPE and sys.stdout.isatty():
        refuse("-o - writes a binary file: give it to a program, like `| wireshark -k -i -`, or name a file.")
    from cubeyard.emulation.fabric.hosts import Hosts
    from cubeyard.emulation.fabric.place import Place
    from cubeyard.emulation.live import captures, schemas

    server, _, number = (port or "").rpartition(":")
    asked = {
        "link": link,
        "server": server or None,
        "port": number or None,
        "max_secs": seconds,
        "max_bytes": max_bytes,
        "packet_bytes": packet_bytes,
    }
    try:
        request = schemas.CaptureRequest.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        refuse(f"{'.'.join(str(part) for part in first['loc']) or '--link or --port'}: {first['msg']}")
    settings = settings_of()
    quiet_logs(settings)
    hosts = Hosts.of(settings, Place.of(settings))
    with explained(), open_database(settings) as database:
        with database.session() as session:
            made, target, limits = _service(session, settings).capture(run, hosts, request)
        captures.make(database, made.id, target, made.run_id, limits)
        with database.session() as session:
            service = _service(session, settings).captures
            (found,) = (one for one in service.of_run(made.run_id).items if one.id == made.id)
            if found.state == "done" and output is not None:
                content, _, _ = service.file(made.run_id, made.id)
                _put(output, b"".join(content))
    if found.state != "done":
        errors.print(f"[bold red]error:[/bold red] {found.reason}", highlight=False)
        raise typer.Exit(1)
    to_pipe = output == PIPE
    where = f", as capture {found.id}" if output is None or to_pipe else f" to {output}"
    # What is read by another program is the file alone.
    Console(stderr=to_pipe).print(
        f"{found.packets} packets of {found.target}, {found.size_bytes:,} bytes{where}.", highlight=False
    )


def _put(output: Path, content: bytes) -> None:
    """To a file, or to the program behind a pipe. Exits with 2 if the file cannot be written."""
    if output == PIPE:
        write(content)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        refuse(f"--output cannot be written: {error.strerror or error}: {output}")


def shell(
    run: Run,
    server: Annotated[str, typer.Argument(help="The server's name, like 00.")],
) -> None:
    """Print the command that opens a shell in the network of a run's server."""
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database, database.session() as session:
        print(_service(session, settings).shell(run, server))


def _service(session: Session, settings: Settings) -> SessionService:
    return SessionService(session, Engine(settings))
