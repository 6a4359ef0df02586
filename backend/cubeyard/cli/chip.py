"""`cubeyard chip`: programs of ServerSwitch's switching chip, checked, compared, stepped through, and put into a run."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.capture import Run
from cubeyard.cli.common import EXIT_IMPOSSIBLE, errors, explained, open_database, read_text, refuse, settings_of, write
from cubeyard.cli.place import quiet_logs
from cubeyard.engine import ChipServer, Engine, Json, PlanRejectedError

chip_app = typer.Typer(
    help="Programs of the switching chip: check, compare and step through them, and put them into runs.",
    no_args_is_help=True,
)

File = Annotated[
    str, typer.Argument(help="The program, as text like the paper's Fig. 6 or as JSON; - for standard input.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
BYTES_A_LINE = 16


Bcube = Annotated[
    str | None,
    typer.Option("--bcube", help="n and k of the BCube whose servers share the program, like 4,1."),
]
Server = Annotated[
    str | None,
    typer.Option("--server", help="With --bcube: the server that it is executed for, like 00; the first if left out."),
]


@chip_app.command("check")
def chip_check(
    file: File,
    bcube: Bcube = None,
    server: Server = None,
    in_kernel: Annotated[
        bool, typer.Option("--kernel", help="With --bcube: also whether the chip in the kernel can run it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a program: its limits, and what of each table it takes. Exits with 2 for one that cannot be.

    With --bcube it is checked for every server, its neighbours alive and dead.
    """
    text = read_text(file)
    if bcube is not None:
        spec = _bcube(bcube)
        servers = _of("bcube", "topology", lambda engine: engine.emulation_network(spec, None)["servers"])
        ids = [one["id"] for one in servers]
        _of(file, "program", lambda engine: engine.chip_check_servers(spec, ids, text, in_kernel=in_kernel))
    elif in_kernel:
        refuse("--kernel is for a program that servers share: give --bcube too.")
    at = _at(bcube, server)
    found = _of(file, "program", lambda engine: engine.chip_program(text, at))
    if as_json:
        write(orjson.dumps(found) + b"\n")
        return
    console = Console(soft_wrap=True)
    console.print(f"A program for {found['profile']}, {found['vifs']} interfaces.", highlight=False)
    table = Table("Table", "Entries", "Of", box=None, pad_edge=False)
    for name, use in found["tables"].items():
        table.add_row(name, str(use["entries"]), f"{use['size']:,}")
    console.print(table)
    for key in found["udlks"]:
        console.print(f"UDLK {key['i']}: {escape(key['fields'])}, {key['bytes']} bytes", highlight=False)
    for one in found["never_matched"]:
        console.print(
            f"TCAM[{one['i']}] never matches: TCAM[{one['above']}] has the same key, value and mask.", highlight=False
        )


@chip_app.command("show")
def chip_show(
    file: File,
    bcube: Bcube = None,
    server: Server = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the program as JSON instead of text.")] = False,
) -> None:
    """Print a program in its canonical form: loops written out, tables in order."""
    at = _at(bcube, server)
    found = _of(file, "program", lambda engine: engine.chip_program(read_text(file), at))
    write((found["document"] + "\n" if as_json else found["text"]).encode())


@chip_app.command("diff")
def chip_diff(before: File, after: File, as_json: AsJson = False) -> None:
    """Compare two programs entry by entry. Exits with 1 if they differ."""
    if before == "-" and after == "-":
        refuse("Only one of the two programs can come from standard input.")
    texts = [read_text(before), read_text(after)]
    for name, text in zip((before, after), texts, strict=True):
        _of(name, "program", lambda engine, text=text: engine.chip_program(text))
    found = _of(before, "program", lambda engine: engine.chip_diff(*texts))
    if as_json:
        write(orjson.dumps(found) + b"\n")
    console = Console(soft_wrap=True)
    for one in [] if as_json else found:
        for sign, colour, line in (("-", "red", one.get("before")), ("+", "green", one.get("after"))):
            if line is not None:
                console.print(f"[{colour}]{sign} {escape(line)}[/{colour}]", highlight=False)
    if found:
        raise typer.Exit(1)


@chip_app.command("bcube")
def chip_bcube(
    bcube: Annotated[str, typer.Argument(help="n and k, like 4,1.")],
    server: Annotated[
        str | None, typer.Argument(help="The server's name, like 00; left out for the text that all servers share.")
    ] = None,
) -> None:
    """Print the paper's BCube program (Fig. 6), for one server or for all."""
    spec = _bcube(bcube)
    write(_of("bcube", "topology", lambda engine: engine.chip_bcube(spec, server)).encode())


@chip_app.command("trace")
def chip_trace(
    file: Annotated[str | None, typer.Argument(help="The program; left out with --bcube.")] = None,
    packet: Annotated[
        str | None, typer.Option(help="The packet in hexadecimal digits; @FILE reads them from a file.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=7, help="The port that it comes in by.")] = 0,
    bcube: Annotated[str | None, typer.Option(help="Follow a packet through a BCube's chips instead: n,k.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="With --bcube: the source, like 00.")] = None,
    destination: Annotated[str | None, typer.Option("--to", help="With --bcube: the destination, like 13.")] = None,
    path: Annotated[int, typer.Option(min=0, help="With --bcube: which of the parallel paths, from 0.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Step a packet through a chip with a program, or through the chips of a BCube's servers. Exits with 1 if it is lost."""
    if bcube is not None:
        if file is not None or packet is not None or source is None or destination is None:
            refuse("--bcube takes --from and --to, and neither a program nor --packet.")
        _walk(_bcube(bcube), source, destination, path, as_json)
        return
    if file is None or packet is None:
        refuse("Give a program and --packet, or --bcube with --from and --to.")
    text, digits = read_text(file), _digits(packet)
    found = _of(file, "program", lambda engine: engine.chip_trace(text, port, digits))
    if as_json:
        write(orjson.dumps(found) + b"\n")
    else:
        _print_trace(Console(soft_wrap=True), found)
    if found["outcome"] != "sent":
        raise typer.Exit(1)


@chip_app.command("commit")
def chip_commit(run: Run, file: File, as_json: AsJson = False) -> None:
    """Put a program into the chips of all servers of a run, while packets flow."""
    from pydantic import ValidationError

    from cubeyard.emulation.fabric.hosts import Hosts
    from cubeyard.emulation.fabric.place import Place
    from cubeyard.emulation.live import programs, schemas
    from cubeyard.emulation.live.service import SessionService

    try:
        asked = schemas.ChipProgramCommit.model_validate({"program": read_text(file)})
    except ValidationError as error:
        refuse(f"program: {error.errors()[0]['msg']}")
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        with database.session() as session:
            ready = SessionService(session, Engine(settings)).program(run, asked)
        done = programs.commit(Hosts.of(settings, Place.of(settings)), ready)
    if as_json:
        write(orjson.dumps(done.model_dump()) + b"\n")
    else:
        Console().print(
            f"{done.servers} servers run it since {done.micros / 1000:.1f} ms after the order.", highlight=False
        )


@chip_app.command("registers")
def chip_registers(
    run: Run,
    server: Annotated[str, typer.Argument(help="The server's name, like 00.")],
    assignment: Annotated[
        str | None, typer.Option("--write", help="NAME=VALUE: write a register first; 0 clears a counter.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print registers that are 0 too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the registers of the chip of a server, while packets flow."""
    from cubeyard.emulation.fabric.hosts import Hosts
    from cubeyard.emulation.fabric.place import Place
    from cubeyard.emulation.live import registers
    from cubeyard.emulation.live.service import SessionService

    name, equals, value = (assignment or "").partition("=")
    if assignment is not None and not (name and equals and value.isdecimal() and len(value) < 19):
        refuse(f"--write is {assignment!r}: write NAME=VALUE with a whole number, like IN_PACKETS_PORT0=0.")
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        with database.session() as session:
            chip = SessionService(session, Engine(settings)).chip(run, server)
        hosts = Hosts.of(settings, Place.of(settings))
        if assignment is not None:
            registers.write(hosts, chip, name, int(value))
        found = registers.read_all(hosts, chip)
    if as_json:
        write(orjson.dumps(found.model_dump()) + b"\n")
        return
    table = Table("Register", "Value", box=None, pad_edge=False)
    for register, count in found.registers.items():
        if count or every:
            table.add_row(register, f"{count:,}")
    Console(soft_wrap=True).print(table)


def _walk(spec: Json, source: str, destination: str, path: int, as_json: bool) -> None:
    found = _of("bcube", "topology", lambda engine: engine.chip_walk(spec, source, destination, path))
    if as_json:
        write(orjson.dumps(found) + b"\n")
    else:
        console = Console(soft_wrap=True)
        console.print(f"Path {path} of {len(found['paths'])}: {' '.join(found['path'])}", highlight=False)
        for visit in found["visits"]:
            console.print(f"\n[bold]Server {escape(visit['name'])}[/bold]", highlight=False)
            _print_trace(console, visit["trace"])
        console.print("\nArrived." if found["arrived"] else "\nNot arrived.")
    if not found["arrived"]:
        raise typer.Exit(1)


def _print_trace(console: Console, trace: Json) -> None:
    for step in trace["steps"]:
        key = " ".join(f"{part['field']}={part['hex']}" for part in step.get("key", []))
        console.print(f"[cyan]{step['stage']:>16}[/cyan]  {escape(step['text'])}", highlight=False)
        if key:
            console.print(f"{'':>18}[dim]{escape(key)}[/dim]", highlight=False)
        if step.get("entry"):
            entry = step["entry"]
            mask = f" mask {entry['mask']}" if entry["mask"] else ""
            console.print(f"{'':>18}[dim]value {entry['value']}{mask}[/dim]", highlight=False)
        for line in _changes(step):
            console.print(f"{'':>18}{line}", highlight=False)
    console.print(f"[bold]{escape(trace['summary'])}[/bold]", highlight=False)


def _at(bcube: str | None, server: str | None) -> ChipServer | None:
    """The server that a program is executed for. Exits with 2 for a server of no BCube."""
    if bcube is None and server is not None:
        refuse("--server is one of a BCube's: give --bcube too.")
    return None if bcube is None else (_bcube(bcube), server)


def _changes(step: dict[str, Any]) -> list[str]:
    """The lines of a changed packet in which a byte is other than before, such bytes in bold."""
    after, changed = step.get("after"), set(step.get("changed", []))
    if after is None:
        return []
    lines: list[str] = []
    for at in range(0, len(after) // 2, BYTES_A_LINE):
        shown = range(at, min(at + BYTES_A_LINE, len(after) // 2))
        if changed.isdisjoint(shown):
            continue
        pairs = ((byte, after[2 * byte : 2 * byte + 2]) for byte in shown)
        lines.append(
            f"B{at:<4}" + " ".join(f"[bold yellow]{hex_}[/]" if byte in changed else hex_ for byte, hex_ in pairs)
        )
    return lines


def _of(file: str, what: str, work: Any) -> Any:
    """What the engine makes of it. Exits with 2 and every mistake, as FILE:LINE:COLUMN where it has a place."""
    try:
        return work(Engine(settings_of()))
    except PlanRejectedError as error:
        for one in error.findings:
            place = f"{file}:{one['line']}:{one['column']}: " if one.get("line") else ""
            field = "" if place else f"{what}: "
            errors.print(
                f"[bold red]error:[/bold red] {escape(place or field)}{escape(one['message'])} {escape(one['hint'])}",
                highlight=False,
            )
        raise typer.Exit(EXIT_IMPOSSIBLE) from None


def _digits(packet: str) -> str:
    return read_text(packet[1:]) if packet.startswith("@") else packet


def _bcube(text: str) -> Json:
    """n and k of `4,1`. Exits with 2 for anything else."""
    n, comma, k = text.partition(",")
    if not comma or not n.strip().isdecimal() or not k.strip().isdecimal() or len(text) > 12:
        refuse(f"{text!r} is no BCube: write n and k, like 4,1.")
    return {"family": "bcube", "n": int(n), "k": int(k)}
