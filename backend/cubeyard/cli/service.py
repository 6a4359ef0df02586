"""`cubeyard service`: the services that the servers of a run host, messages to them, and services
that users write."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import orjson
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.capture import Run
from cubeyard.cli.common import (
    errors,
    explained,
    open_database,
    progress,
    quiet_logs,
    refuse,
    session_service,
    settings_of,
    write,
)
from cubeyard.cli.modules import (
    Json,
    answers,
    begin,
    is_name,
    is_python,
    on_packets,
    print_answers,
    print_trial,
    read_module,
    size_of,
)
from cubeyard.cli.output import kept
from cubeyard.cli.processes import ServiceProcessError, answering
from cubeyard.engine import Engine

service_app = typer.Typer(
    help="Services that the servers of a run host, messages to them, and your services.", no_args_is_help=True
)

AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


@service_app.command("list")
def service_list(run: Run, as_json: AsJson = False) -> None:
    """List the services of a run with the messages that they understand."""
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database, database.session() as session:
        result = session_service(session, settings).services(run)
    if as_json:
        write(orjson.dumps(result.model_dump()) + b"\n")
        return
    if not result.items:
        errors.print("The servers of this run host no services.")
    table = Table("Service", "Message", "What it does", "To", box=None)
    for item in result.items:
        if not item.messages:
            table.add_row(item.name, "", escape(item.description), "")
        for form in item.messages:
            to = "every server" if form.to_every_server else "one server"
            table.add_row(item.name, escape(repr(form.example)), escape(form.title), to)
    if result.items:
        Console().print(table)


@service_app.command("send")
def service_send(
    run: Run,
    service: Annotated[str, typer.Argument(help="The service's name, like cache.")],
    message: Annotated[str, typer.Argument(help="The message, like 'get colour'; - for standard input.")],
    server: Annotated[
        str | None, typer.Option(help="The server whose instance gets it, like '(0,0,0)'; default: every server.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Most seconds to wait for answers.")] = 1.0,
    answers: Annotated[int, typer.Option(help="Stops waiting after this number of answers.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Send a message to a service of a run's server and print its answers."""
    from cubeyard.emulation.live import schemas, services
    from cubeyard.emulation.live.elsewhere import live_hosts

    text = sys.stdin.read() if message == "-" else message
    try:
        request = schemas.ServiceMessage.model_validate(
            {"message": text, "server": server, "wait_secs": wait, "answers": answers}
        )
    except ValidationError as error:
        first = error.errors()[0]
        refuse(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        with database.session() as session:
            ready = session_service(session, settings).message(run, service, request)
        result = services.exchange(database, live_hosts(settings, database), ready, request)
    if as_json:
        write(orjson.dumps(result.model_dump()) + b"\n")
        return
    for item in result.answers:
        Console().print(
            f"[dim]{item.at_secs:.2f} s  {escape(item.server)}[/dim]  {escape(item.answer)}", highlight=False
        )
    if result.silent:
        errors.print(f"Servers that do not answer: {escape(', '.join(result.silent))}", highlight=False)
    if not result.answers:
        errors.print(
            f"{len(result.told)} servers received the message. No answer came within {wait:g} s.", highlight=False
        )


class Language(StrEnum):
    """Languages of the templates."""

    RUST = "rust"
    C = "c"
    ZIG = "zig"
    PYTHON = "python"


@service_app.command("new")
def service_new(
    name: Annotated[str, typer.Argument(help="The service's name: small letters, digits and hyphens.")],
    language: Annotated[Language, typer.Option(help="The language.")] = Language.RUST,
) -> None:
    """Begin a service: makes the folder NAME with a template that builds and works."""
    folder = Path(name)
    for path in begin(name, language.value, folder):
        Console().print(f"[dim]made[/dim] {escape(str(path))}", highlight=False, soft_wrap=True)
    build = None
    if language is Language.PYTHON:
        module = f"{name}.py"
    elif language is Language.RUST:
        module = f"target/wasm32-unknown-unknown/release/{name.replace('-', '_')}.wasm"
        build = "cargo build --release"
    else:
        module, build = f"{name}.wasm", "make"
    for step in (f"cd {name}", *([build] if build else []), f"cubeyard service test {module}"):
        Console().print(f"  {escape(step)}", highlight=False, soft_wrap=True)


Module = Annotated[str, typer.Argument(help="The WebAssembly module, its text format, or a Python file.")]
Said = Annotated[str, typer.Option(help="Message to each server's instance; {key} is another key coordinate for each.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]


def _trial(file: str, size: list[int], message: str, seconds: float, seed: int) -> tuple[Json, float]:
    """A trial's report, and the seconds that it took. Exits with 2 if it is no service, with 1 if
    its process ends."""
    options = {"size": size, "secs": seconds, "message": message, "rate_bits_per_sec": 1e8, "seed": seed}
    engine = Engine(settings_of())
    named = is_name(file)
    module = b"" if named else read_module(file)
    began = time.monotonic()
    with explained(), progress("Virtual time") as reported:
        if named:
            report = engine.built_in_trial(file, options, reported)
        elif not is_python(file):
            report = engine.service_trial(module, options, reported)
        else:
            try:
                with answering(Path(file)) as answer:
                    report = engine.service_process_trial(answer, options)
            except ServiceProcessError as error:
                errors.print(error.detail, highlight=False)
                raise typer.Exit(1) from None
    return report, time.monotonic() - began


def _fails(report: Json) -> bool:
    """Whether packets were lost or had no effect. A packet that `packet` consumes at its
    destination is not delivered, but may be answered."""
    return bool(report["lost"]) or not (report["delivered"] or report["answers"])


@service_app.command("test")
def service_test(
    file: Annotated[
        str,
        typer.Argument(
            help="The WebAssembly module, its text format, a Python file, or the name of a service that every server hosts, like cache."
        ),
    ],
    servers: Annotated[int, typer.Option(help="Servers of the torus, like 27 or 8000.")] = 27,
    message: Said = "{key} hello",
    seconds: Annotated[float, typer.Option(help="Virtual time.")] = 10.0,
    seed: Seed = 7,
    as_json: AsJson = False,
) -> None:
    """Try a service on every server of a torus in virtual time, before it runs on packets.

    Exits with 1 if nothing was delivered or answered, or anything was lost.
    """
    report, took_secs = _trial(file, size_of(servers), message, seconds, seed)
    if as_json:
        write(orjson.dumps(report) + b"\n")
    else:
        print_trial(Console(), report, took_secs)
    if _fails(report):
        raise typer.Exit(1)


@service_app.command("run")
def service_run(
    file: Module,
    servers: Annotated[
        int, typer.Option(help="Servers of the torus, like 27, within the limits of this machine.")
    ] = 27,
    message: Said = "{key} hello",
    seconds: Annotated[float, typer.Option(help="Seconds of traffic.")] = 5.0,
    mode: Annotated[
        str, typer.Option(help="containers, or namespaces where there is no Docker engine.")
    ] = "containers",
    seed: Seed = 7,
    as_json: AsJson = False,
) -> None:
    """Try a service in virtual time; if it delivers and loses nothing, run it on servers with real
    packets.

    Exits with 1 if it fails in virtual time, or answers only in virtual time.
    """
    size = size_of(servers)
    report, took_secs = _trial(file, size, message, seconds, seed)
    if not as_json:
        print_trial(Console(), report, took_secs)
    if _fails(report):
        errors.print(
            "It fails in virtual time, so no server was started. Fix the cause of the lost packets, and run it again."
        )
        raise typer.Exit(1)
    run = on_packets(file, size, message, seconds, mode, seed)
    output = len(list(answers(run["events"])))
    document = orjson.dumps({"trial": report, "run": run})
    with kept(f"cubeyard-run-{run['run']}.json", lambda: document):
        if as_json:
            write(document + b"\n")
        else:
            Console().print(f"[bold]With real packets, {servers} servers as {escape(mode)}[/bold]", highlight=False)
            print_answers(Console(), run["events"])
            Console().print(f"{output:,} answers; {report['answers']:,} in virtual time.", highlight=False)
    if report["answers"] and not output:
        raise typer.Exit(1)
