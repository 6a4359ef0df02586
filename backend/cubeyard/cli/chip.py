"""`cubeyard chip`: programs of ServerSwitch's switching chip, checked, compared, stepped through,
and put into a run; and its servers' chips."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli import chip_live
from cubeyard.cli.capture import Run
from cubeyard.cli.common import (
    EXIT_IMPOSSIBLE,
    errors,
    explained,
    open_database,
    quiet_logs,
    read_text,
    refuse,
    session_service,
    settings_of,
    write,
)
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


OfRun = Annotated[str, typer.Argument(metavar="SERVER", help="As the plan names it, like 00.")]
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
        bool, typer.Option("--kernel", help="With --bcube: also check whether the chip in the kernel can run it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a program: its limits, and its use of each table. Exits with 2 if it is not valid.

    With --bcube it is checked for every server, with neighbours alive and dead.
    """
    text = read_text(file)
    if bcube is not None:
        spec = _bcube(bcube)
        servers = _of("bcube", "topology", lambda engine: engine.emulation_network(spec, None)["servers"])
        ids = [item["id"] for item in servers]
        _of(file, "program", lambda engine: engine.chip_check_servers(spec, ids, text, in_kernel=in_kernel))
    elif in_kernel:
        refuse("--kernel is for a program that servers share: give --bcube too.")
    at = _at(bcube, server)
    result = _of(file, "program", lambda engine: engine.chip_program(text, at))
    if as_json:
        write(orjson.dumps(result) + b"\n")
        return
    console = Console(soft_wrap=True)
    console.print(f"A program for {result['profile']}, {result['vifs']} interfaces.", highlight=False)
    table = Table("Table", "Entries", "Of", box=None, pad_edge=False)
    for name, use in result["tables"].items():
        table.add_row(name, str(use["entries"]), f"{use['size']:,}")
    console.print(table)
    for key in result["udlks"]:
        console.print(f"UDLK {key['i']}: {escape(key['fields'])}, {key['bytes']} bytes", highlight=False)
    for item in result["never_matched"]:
        console.print(
            f"TCAM[{item['i']}] never matches: TCAM[{item['above']}] has the same key, value and mask.", highlight=False
        )


@chip_app.command("show")
def chip_show(
    file: Annotated[
        str, typer.Argument(metavar="FILE|RUN", help="A program (- for standard input), or the id of a run.")
    ],
    of: Annotated[
        str | None, typer.Argument(metavar="SERVER", help="With a run: the server whose chip is shown, with hits.")
    ] = None,
    bcube: Bcube = None,
    server: Server = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the program as JSON instead of text.")] = False,
) -> None:
    """Print a program in its canonical form (loops written out, tables in order), or the program of
    a server's chip in a run."""
    if of is not None:
        chip_live.show(file, of, as_json=as_json)
        return
    at = _at(bcube, server)
    result = _of(file, "program", lambda engine: engine.chip_program(read_text(file), at))
    write((result["document"] + "\n" if as_json else result["text"]).encode())


@chip_app.command("diff")
def chip_diff(
    before: Annotated[str, typer.Argument(metavar="FILE|RUN", help="A program, or the id of a run.")],
    after: Annotated[
        str,
        typer.Argument(metavar="FILE|SERVER", help="Another program, or the server of the run whose chip is compared."),
    ],
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="With a run and a server: the program to compare with.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two programs entry by entry, or the chip of a server of a run with a program. Exits
    with 1 if they differ."""
    if before == "-" and after == "-":
        refuse("Only one of the two programs can come from standard input.")
    if file is not None:
        texts = [chip_live.dump(before, after), read_text(file)]
        before, after = f"{before}/{after}", file
    else:
        texts = [read_text(before), read_text(after)]
    for name, text in zip((before, after), texts, strict=True):
        _of(name, "program", lambda engine, text=text: engine.chip_program(text))
    result = _of(before, "program", lambda engine: engine.chip_diff(*texts))
    if as_json:
        write(orjson.dumps(result) + b"\n")
    console = Console(soft_wrap=True)
    for item in [] if as_json else result:
        for sign, colour, line in (("-", "red", item.get("before")), ("+", "green", item.get("after"))):
            if line is not None:
                console.print(f"[{colour}]{sign} {escape(line)}[/{colour}]", highlight=False)
    if result:
        raise typer.Exit(1)


@chip_app.command("dump")
def chip_dump(run: Run, server: OfRun) -> None:
    """Print the tables of a server's chip in a run as a program."""
    write(chip_live.dump(run, server).encode())


@chip_app.command("set")
def chip_set(
    run: Run,
    server: OfRun,
    file: Annotated[
        str, typer.Argument(help="Calls as text, like SetVIfTable(3, NULL, NULL, 2); - for standard input.")
    ],
) -> None:
    """Call the chip of a server of a run while packets flow: tables, interfaces and keys, all in
    one step or none."""
    chip_live.execute(run, server, read_text(file))


@chip_app.command("socket")
def chip_socket(run: Run, server: OfRun) -> None:
    """Print the path of the socket for a server's chip in a run: the socket to mount into its
    container as /run/cubeyard/chip.sock.

    docker run --network none --cap-drop ALL --mount
    type=bind,src=SOCKET,dst=/run/cubeyard/chip.sock IMAGE
    """
    write(f"{chip_live.socket(run, server)}\n".encode())


@chip_app.command("cache")
def chip_cache(
    run: Run,
    server: OfRun,
    port: Annotated[
        int,
        typer.Option(min=1, max=65_535, help="The UDP port of the service; the payload begins with an ID of 4 bytes."),
    ] = 9095,
    max_age: Annotated[
        float, typer.Option(min=0.1, max=86_400, help="Seconds for which a response is answered from its copy.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Cache responses of a service in a relay of a run, until Ctrl-C or the run's end: its chip
    diverts requests that have a cached response, and this program answers them. The run must
    have --dataplane serverswitch (or serverswitch-software) and the chip program
    bcube-cache.chip."""
    chip_live.cache(run, server, port, max_age, as_json=as_json)


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
    port: Annotated[int, typer.Option(min=0, max=7, help="The port by which it arrives.")] = 0,
    bcube: Annotated[str | None, typer.Option(help="Follow a packet through a BCube's chips instead: n,k.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="With --bcube: the source, like 00.")] = None,
    destination: Annotated[str | None, typer.Option("--to", help="With --bcube: the destination, like 13.")] = None,
    path: Annotated[int, typer.Option(min=0, help="With --bcube: which of the parallel paths, from 0.")] = 0,
    run: Annotated[
        str | None, typer.Option(help="Step a packet through the chip of a server of this run instead.")
    ] = None,
    server: Annotated[str | None, typer.Option(help="With --run: the server, like 00.")] = None,
    as_json: AsJson = False,
) -> None:
    """Step a packet through a chip with a program, through the chips of a BCube's servers, or
    through a server's chip in a live run. Exits with 1 if it is lost."""
    if run is not None:
        if file is not None or bcube is not None or packet is None or server is None:
            refuse("--run takes --server, --packet and --port, and neither a program nor --bcube.")
        _end_of_trace(chip_live.trace(run, server, port, _digits(packet)), as_json)
        return
    if bcube is not None:
        if file is not None or packet is not None or source is None or destination is None:
            refuse("--bcube takes --from and --to, and neither a program nor --packet.")
        _walk(_bcube(bcube), source, destination, path, as_json)
        return
    if file is None or packet is None:
        refuse("Give a program and --packet, or --bcube with --from and --to.")
    text, digits = read_text(file), _digits(packet)
    _end_of_trace(_of(file, "program", lambda engine: engine.chip_trace(text, port, digits)), as_json)


@chip_app.command("portland")
def chip_portland(
    source: Annotated[str, typer.Option("--from", help="A host of the fat-tree of four ports, like 000.")] = "000",
    destination: Annotated[str, typer.Option("--to", help="Another host, like 311.")] = "311",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Its UDP source port, which selects one of the equal paths.")
    ] = 0,
    fail: Annotated[
        list[str] | None,
        typer.Option(help="A switch, or a link as A/B, that fails after the first packet; repeatable."),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print what each chip does with each packet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try PortLand on the chips of a fat-tree's 20 switches, in virtual time: ARP by the fabric
    manager, forwarding by PMAC, and the detour around failures. Exits with 1 if the last packet is
    lost."""
    result = _of("portland", "trial", lambda engine: engine.chip_portland(source, destination, port, fail or []))
    if as_json:
        write(orjson.dumps(result) + b"\n")
    else:
        console = Console(soft_wrap=True)
        for name, (address, pmac) in ((source, result["from"]), (destination, result["to"])):
            console.print(f"Host {escape(name)}: {address}, PMAC {pmac or 'none yet'}", highlight=False)
        for attempt in result["attempts"]:
            _print_attempt(console, attempt, trace)
        console.print(f"{result['pairs']} of 240 pairs of hosts reach each other at the end.", highlight=False)
    if not result["attempts"][-1]["arrived"]:
        raise typer.Exit(1)


@chip_app.command("commit")
def chip_commit(run: Run, file: File, as_json: AsJson = False) -> None:
    """Put a program into the chips of all servers of a run, while packets flow."""
    from pydantic import ValidationError

    from cubeyard.emulation.live import programs, schemas
    from cubeyard.emulation.live.elsewhere import live_hosts

    try:
        request = schemas.ChipProgramCommit.model_validate({"program": read_text(file)})
    except ValidationError as error:
        refuse(f"program: {error.errors()[0]['msg']}")
    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        with database.session() as session:
            ready = session_service(session, settings).program(run, request)
        done = programs.commit(live_hosts(settings, database), ready)
    if as_json:
        write(orjson.dumps(done.model_dump()) + b"\n")
    else:
        Console().print(
            f"{done.servers} servers run it since {done.micros / 1000:.1f} ms after the order.", highlight=False
        )


STATES = {"nothing": "All alive", "failed": "Failed, not found yet", "rerouted": "Found by neighbours"}


def _print_attempt(console: Console, attempt: Json, trace: bool) -> None:
    console.print(
        f"\n[bold]{STATES[attempt['state']]}[/bold], at {attempt['at_micros'] / 1000:.2f} ms", highlight=False
    )
    for kind, title in (("arp", "ARP"), ("packet", "Packet")):
        visits = [visit for visit in attempt["visits"] if visit["kind"] == kind]
        if visits:
            console.print(f"  {title}: {escape(' '.join(visit['switch'] for visit in visits))}", highlight=False)
        for visit in visits if trace else []:
            console.print(f"\n  [bold]Switch {escape(visit['switch'])}[/bold]", highlight=False)
            _print_trace(console, visit["trace"])
    console.print("  Arrived." if attempt["arrived"] else "  Lost.")


def _end_of_trace(found: Json, as_json: bool) -> None:
    if as_json:
        write(orjson.dumps(found) + b"\n")
    else:
        _print_trace(Console(soft_wrap=True), found)
    if found["outcome"] != "sent":
        raise typer.Exit(1)


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
    name, equals, value = (assignment or "").partition("=")
    if assignment is not None and not (name and equals and value.isdecimal() and len(value) < 19):
        refuse(f"--write is {assignment!r}: write NAME=VALUE with a whole number, like IN_PACKETS_PORT0=0.")
    with chip_live.chip_of(run, server) as chip:
        if assignment is not None:
            chip.set_register(name, int(value))
        result = chip.registers()
    if as_json:
        write(orjson.dumps(result.model_dump()) + b"\n")
        return
    table = Table("Register", "Value", box=None, pad_edge=False)
    for register, count in result.registers.items():
        if count or every:
            table.add_row(register, f"{count:,}")
    Console(soft_wrap=True).print(table)


def _walk(spec: Json, source: str, destination: str, path: int, as_json: bool) -> None:
    result = _of("bcube", "topology", lambda engine: engine.chip_walk(spec, source, destination, path))
    if as_json:
        write(orjson.dumps(result) + b"\n")
    else:
        console = Console(soft_wrap=True)
        console.print(f"Path {path} of {len(result['paths'])}: {' '.join(result['path'])}", highlight=False)
        for visit in result["visits"]:
            console.print(f"\n[bold]Server {escape(visit['name'])}[/bold]", highlight=False)
            _print_trace(console, visit["trace"])
        console.print("\nArrived." if result["arrived"] else "\nNot arrived.")
    if not result["arrived"]:
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
    """The server that a program is executed for. Exits with 2 without a BCube."""
    if bcube is None and server is not None:
        refuse("--server names a server of a BCube: give --bcube too.")
    return None if bcube is None else (_bcube(bcube), server)


def _changes(step: dict[str, Any]) -> list[str]:
    """The lines of a changed packet that have changed bytes, with these in bold."""
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
    """The program as the engine reads it. Exits with 2 and prints all errors, with FILE:LINE:COLUMN
    if known."""
    try:
        return work(Engine(settings_of()))
    except PlanRejectedError as error:
        for finding in error.findings:
            place = f"{file}:{finding['line']}:{finding['column']}: " if finding.get("line") else ""
            field = "" if place else f"{what}: "
            errors.print(
                f"[bold red]error:[/bold red] {escape(place or field)}{escape(finding['message'])} {escape(finding['hint'])}",
                highlight=False,
            )
        raise typer.Exit(EXIT_IMPOSSIBLE) from None


def _digits(packet: str) -> str:
    return read_text(packet[1:]) if packet.startswith("@") else packet


def _bcube(text: str) -> Json:
    """n and k of `4,1`. Exits with 2 for anything else."""
    n, comma, k = text.partition(",")
    if not comma or not n.strip().isdecimal() or not k.strip().isdecimal() or len(text) > 12:
        refuse(f"{text!r} is not a BCube: write n and k, like 4,1.")
    return {"family": "bcube", "n": int(n), "k": int(k)}
