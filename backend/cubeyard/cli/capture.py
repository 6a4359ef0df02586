"""`cubeyard capture` and `cubeyard shell`: inspect a live run of the server."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from pydantic import ValidationError
from rich.console import Console

from cubeyard.cli.common import (
    errors,
    explained,
    open_database,
    quiet_logs,
    refuse,
    session_service,
    settings_of,
    size,
    write,
)

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
    live: Annotated[
        Path | None,
        typer.Option(
            "--write", "-w", help="Write packets here while they flow, or to standard output with -; nothing is kept."
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Most seconds: 10; with -w 3600.")] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(parser=size, metavar="SIZE", help="Most bytes of the file, like 1MiB: 4 MiB; with -w 256 MiB."),
    ] = None,
    packet_bytes: Annotated[int, typer.Option(help="Bytes kept of each packet.")] = 65_535,
    match_protocol: Annotated[
        str | None, typer.Option(help="With -w, only arp, icmp, tcp, udp, control or service packets.")
    ] = None,
    match_host: Annotated[
        str | None, typer.Option(help="With -w, only from or to this server or IPv4 address.")
    ] = None,
    match_port: Annotated[int | None, typer.Option(help="With -w, only from or to this TCP or UDP port.")] = None,
) -> None:
    """Capture the packets of a link or port of a run to a pcapng file, which is stored with the
    run.

    A TCP packet can be larger than the MTU: it is captured before the kernel cuts it (segmentation
    offload).

    For Wireshark: `cubeyard capture RUN --link A/B -w - | wireshark -k -i -`, until the run,
    the link or Wireshark ends.
    """
    for name, path in (("-o", output), ("-w", live)):
        if path == PIPE and sys.stdout.isatty():
            refuse(f"{name} - writes a binary file: give it to a program, like `| wireshark -k -i -`, or name a file.")
    if output is not None and live is not None:
        refuse("Give either -o, for a file that is kept with the run, or -w, for packets while they flow.")
    matches = {"match_protocol": match_protocol, "match_host": match_host, "match_port": match_port}
    if live is None and (first := next((name for name, value in matches.items() if value is not None), None)):
        refuse(f"--{first.replace('_', '-')} needs -w: files that are kept with the run hold every packet.")
    from cubeyard.emulation.live import captures, schemas
    from cubeyard.emulation.live.elsewhere import live_hosts

    server, _, number = (port or "").rpartition(":")
    requested = {
        "link": link,
        "server": server or None,
        "port": number or None,
        **({} if seconds is None else {"max_secs": seconds}),
        **({} if max_bytes is None else {"max_bytes": max_bytes}),
        "packet_bytes": packet_bytes,
    }
    if live is not None:
        _stream(run, {**requested, **matches}, live)
        return
    request = _checked(schemas.CaptureRequest, requested)
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        hosts = live_hosts(settings, database)
        with database.session() as session:
            made, target, limits = session_service(session, settings).capture(run, hosts, request)
        captures.make(database, made.id, target, made.run_id, limits)
        with database.session() as session:
            service = session_service(session, settings).captures
            (result,) = (item for item in service.of_run(made.run_id).items if item.id == made.id)
            if result.state == "done" and output is not None:
                content, _, _ = service.file(made.run_id, made.id)
                _put(output, b"".join(content))
    if result.state != "done":
        errors.print(f"[bold red]error:[/bold red] {result.reason}", highlight=False)
        raise typer.Exit(1)
    to_pipe = output == PIPE
    where = f", as capture {result.id}" if output is None or to_pipe else f" to {output}"
    # Standard output has only the file, for the program that reads it.
    Console(stderr=to_pipe).print(
        f"{result.packets} packets of {result.target}, {result.size_bytes:,} bytes{where}. {ended_by(result)}",
        highlight=False,
    )


def ended_by(capture: Any) -> str:
    """The reason of a capture's end, and the option that moves its limit."""
    from cubeyard.emulation.live.packets.streams import ENDS

    limits = {
        "bytes": f"{capture.max_bytes:,} bytes: --max-bytes",
        "secs": f"{capture.max_secs:g} s: --seconds",
    }
    if capture.end in limits:
        return f"Ended at the limit of {limits[capture.end]} sets another one."
    return ENDS.get(capture.end, "")


def _checked(kind: Any, asked: dict[str, Any]) -> Any:
    """The request. Exits with 2 if it is not valid."""
    try:
        return kind.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        refuse(f"{'.'.join(str(part) for part in first['loc']) or '--link or --port'}: {first['msg']}")


def _stream(run: str, asked: dict[str, Any], to: Path) -> None:
    """Write packets while they flow, to a file or to the program behind a pipe, until either end
    closes."""
    from cubeyard.emulation.fabric.hosts import Hosts
    from cubeyard.emulation.fabric.place import Place
    from cubeyard.emulation.live.packets.schemas import StreamRequest
    from cubeyard.emulation.live.packets.streams import Seen

    request = _checked(StreamRequest, asked)
    settings = settings_of()
    quiet_logs(settings)
    hosts = Hosts.of(settings, Place.of(settings))
    with explained():
        with open_database(settings) as database, database.session() as session:
            watched = session_service(session, settings).watched(run, hosts, request)
        seen = Seen(watched)
        try:
            # A separate descriptor, because the interpreter closes standard output at its end.
            with os.fdopen(os.dup(1), "wb", 0) if to == PIPE else to.open("wb", 0) as file:
                asyncio.run(_pour(watched, seen, file))
            reason = seen.end().reason
        except KeyboardInterrupt:
            reason = "Stopped."
        except BrokenPipeError:
            reason = "The reader has left."
        except OSError as error:
            refuse(f"--write cannot be written: {error.strerror or error}: {to}")
    missed = f", {seen.end().missed} more arrived faster than they were read" if seen.end().missed else ""
    errors.print(f"{seen.packets} packets of {watched.target.name}{missed}. {reason}", highlight=False)


async def _pour(watched: Any, seen: Any, file: BinaryIO) -> None:
    from cubeyard.emulation.live.packets.streams import PacketStreams

    async with aclosing(PacketStreams().parts(watched)) as parts:
        async for part in parts:
            seen.add(part)
            if isinstance(part, bytes):
                left = memoryview(part)
                while left:
                    left = left[file.write(left) :]


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
        print(session_service(session, settings).shell(run, server, settings.cluster))
