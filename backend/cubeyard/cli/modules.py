"""Services that users write, for the command line: their files, template folders, trials, and
messages while `emulate` runs."""

from __future__ import annotations

import base64
import random
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import EXIT_INTERRUPTED, errors, explained, refuse
from cubeyard.cli.place import stoppable
from cubeyard.cli.processes import LIBRARY, ServiceFile
from cubeyard.emulation.network.network import Network

Json = dict[str, Any]

TEMPLATES = Path(__file__).parent / "service_templates"
NAME = re.compile(r"^[a-z][a-z0-9-]{0,31}$")
FIRST_ID = 256
KEY = "{key}"
"""In a message: a key coordinate drawn for each server."""
SHOWN_ANSWERS = 20
SETTLE_SECS = 2.0
"""After this time the servers have learned the torus, so messages reach the servers of their
keys."""


def read_module(path: str) -> bytes:
    """A module's file. Exits with 2 if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        refuse(f"{path} cannot be read: {error.strerror or error}.")


def read_services(given: list[str]) -> tuple[list[Json], list[ServiceFile]]:
    """`FILE` or `NAME=FILE`: modules as an experiment has them, and services that run in processes;
    numbered in their order."""
    services: list[Json] = []
    files: list[ServiceFile] = []
    for at, text in enumerate(given):
        name, _, path = text.partition("=") if "=" in text else (_name_of(text), "", text)
        content = read_module(path)
        if is_python(path):
            files.append(ServiceFile(name, FIRST_ID + at, Path(path)))
        else:
            module = base64.b64encode(content).decode()
            services.append({"name": name, "id": FIRST_ID + at, "module": module})
    return services, files


def is_name(text: str) -> bool:
    """Whether it names a service that servers host, rather than a file."""
    return NAME.fullmatch(text) is not None and not Path(text).exists()


def is_python(path: str) -> bool:
    """Whether a service runs in a process rather than as a module."""
    return Path(path).suffix == ".py"


def _name_of(path: str) -> str:
    """A service's name from its file's: small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", Path(path).stem.lower()).strip("-")[:32].strip("-")
    if NAME.fullmatch(name) is None:
        refuse(f"{path} gives no name for a service: write --service-file NAME={path}.")
    return name


def read_messages(given: list[str], services: list[str]) -> list[tuple[str, str]]:
    """`NAME=TEXT`: the service and the message. Exits with 2 for anything else."""
    messages = []
    for text in given:
        name, sign, message = text.partition("=")
        if not sign or not name or not message:
            known = ", ".join(services) or "cache"
            refuse(f"--service-message {text} is not NAME=TEXT, with NAME like {known}.")
        messages.append((name, message))
    return messages


def with_key(text: str, network: Network, draws: random.Random) -> str:
    """The text with a key of the torus drawn for it."""
    size = [network.spec.get(axis, 1) for axis in "xyz"]
    return text.replace(KEY, ",".join(str(draws.randrange(item)) for item in size))


def send_messages(
    socket: Path, run_id: str, network: Network, messages: Iterable[tuple[str, str]], *, seed: int
) -> None:
    """Every message to every server's instance. Raises if the fabric refuses a message."""
    from cubeyard.emulation.fabric.client import FabricClient

    draws = random.Random(seed)  # noqa: S311 - keys of a demonstration, the same for a seed
    with FabricClient(socket) as fabric:
        for service, text in messages:
            for server in network.servers:
                message = with_key(text, network, draws)
                fabric.call("tell", run=run_id, server=server, service=service, message=message)


def answers(events: list[Json]) -> Iterator[tuple[float, str, str]]:
    """Messages of services from a run's events: time, service and text."""
    for event in events:
        if event.get("kind") == "protocol" and event.get("name") == "service-answer":
            cells = {cell["name"]: cell["value"] for cell in event["cells"]}
            yield event["at_secs"], str(cells.get("service", "")), str(cells.get("answer", ""))


def print_answers(console: Console, events: list[Json]) -> None:
    """The first answers of services, and their number."""
    message = list(answers(events))
    for at, service, answer in message[:SHOWN_ANSWERS]:
        console.print(f"  [dim]{at:.2f} s  {escape(service)}[/dim]  {escape(answer)}", highlight=False)
    if len(message) > SHOWN_ANSWERS:
        console.print(f"  … {len(message)} answers in all; --json prints them.", highlight=False)


def begin(name: str, language: str, folder: Path) -> list[Path]:
    """Makes a folder with a template; its files. Exits with 2 if the folder exists or the name is
    not valid."""
    if NAME.fullmatch(name) is None:
        refuse(f"{name} is not a name for a service: small letters, digits and hyphens, a letter first, at most 32.")
    if folder.exists():
        refuse(f"{folder} exists already: choose another name, or remove it.")
    copies = {
        "rust": {
            "Cargo.toml.template": "Cargo.toml",
            "config.toml": ".cargo/config.toml",
            "service.rs": "src/lib.rs",
            "cubeyard.rs": "src/cubeyard.rs",
        },
        "c": {"Makefile.template": "Makefile", "service.c": "service.c", "cubeyard.h": "cubeyard.h"},
        "zig": {"zig.make.template": "Makefile", "service.zig": "service.zig", "cubeyard.zig": "cubeyard.zig"},
        "python": {"service.py": f"{name}.py", LIBRARY.name: LIBRARY.name},
    }[language]
    made = []
    for source, target in {**copies, "README.md": "README.md"}.items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.startswith("cubeyard"):
            shutil.copyfile(TEMPLATES / source, path)
        else:
            text = (TEMPLATES / source).read_text(encoding="utf-8")
            path.write_text(text.replace("CRATE", name.replace("-", "_")).replace("NAME", name), encoding="utf-8")
        made.append(path)
    return made


def size_of(servers: int) -> list[int]:
    """The sides of a torus with this number of servers, as equal as possible. Exits with 2 if there
    is none."""
    best: list[int] | None = None
    for x in range(1, round(servers ** (1 / 3)) + 1):
        if servers % x:
            continue
        for y in range(x, int((servers // x) ** 0.5) + 1):
            if servers // x % y == 0 and servers // x // y <= 256:
                sides = [x, y, servers // x // y]
                if best is None or sides[2] - sides[0] < best[2] - best[0]:
                    best = sides
    if best is None or servers < 2:
        refuse(f"There is no torus of {servers} servers with sides of at most 256: take 27, 64, 125, 1000 or 8000.")
    return best[::-1]


def on_packets(file: str, size: list[int], message: str, seconds: float, mode: str, seed: int) -> Json:
    """Results of a service on a torus with real packets, as `emulate` prints them. Exits if it is
    stopped or refused."""
    from cubeyard.cli.emulate import StoppedError, run_session

    services, files = read_services([file])
    name = services[0]["name"] if services else files[0].name
    question: Json = {
        "plan": {"family": "torus3d", **dict(zip("xyz", size, strict=True))},
        # The least traffic that a session sends next to the service.
        "workload": {"kind": "one-to-one"},
        "engine": "emulation",
        "emulation": {
            "mode": mode, "seconds": seconds, "settle_secs": SETTLE_SECS, "calibrate_secs": 0, "services": services,
        },
        "link_gbps": 0.1,
        "seeds": [seed],
    }  # fmt: skip
    with explained(), stoppable() as interrupted:
        try:
            return run_session(question, interrupted, [(name, message)], files)
        except StoppedError:
            errors.print("Stopped; everything was removed.")
            raise typer.Exit(EXIT_INTERRUPTED) from None


def print_trial(console: Console, report: Json, took_secs: float) -> None:
    """Prints the report of a trial."""
    delivered, hops = report["delivered"], {int(hop): count for hop, count in report["hops"].items()}
    mean = sum(hop * count for hop, count in hops.items()) / delivered if delivered else 0.0
    most = max(hops, default=0)
    console.print(
        f"[bold]{delivered:,} packets delivered[/bold] on {report['servers']:,} servers in {report['secs']:g} s of virtual time "
        f"({took_secs:.1f} s here)",
        highlight=False,
    )
    calls, fuel = report["calls"], report["fuel"]
    table = Table(box=None, show_header=False)
    table.add_row("hops of a packet", f"{mean:.2f} mean, {most} most")
    table.add_row("packets over links", f"{report['carried']:,}")
    table.add_row("calls", f"{calls:,}, {fuel / calls if calls else 0:,.0f} fuel each")
    table.add_row("answers", f"{report['answers']:,}")
    for name, count in report["counters"].items():
        table.add_row(name, f"{count:,}")
    for reason, count in report["lost"].items():
        table.add_row(f"[yellow]{escape(reason)}[/yellow]", f"{count:,}")
    console.print(table)
    for at, server, message in report["said"]:
        console.print(f"  [dim]{at:.3f} s  {escape(server)}[/dim]  {escape(message)}", highlight=False)
    if report["ended_early"]:
        console.print("[yellow]Ended early: links had carried 20 million packets.[/yellow]", highlight=False)
