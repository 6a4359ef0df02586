"""`cubeyard chip` for the chip of a server in a run: its tables, calls to it, and a packet stepped
through it."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import explained, open_database, quiet_logs, session_service, settings_of, write
from cubeyard.engine import Json

if TYPE_CHECKING:
    from cubeyard.emulation.live.chips.calls import ServerChip

CACHE_LOOK_SECS = 0.2
"""The time between two checks for old entries while no packet arrives."""
ROWS = 64
"""Entries shown; --json has all."""


@contextmanager
def chip_of(run: str, server: str) -> Iterator[ServerChip]:
    """The chip of a server of a run. Exits with the error message if it does not answer."""
    from cubeyard.emulation.live.elsewhere import live_hosts

    settings = settings_of()
    quiet_logs(settings)
    with explained(), open_database(settings) as database:
        with database.session() as session:
            chip = session_service(session, settings).chip(run, server, live_hosts(settings, database))
        yield chip


def show(run: str, server: str, *, as_json: bool) -> None:
    """Tables with hits, interfaces and registers that are not 0."""
    with chip_of(run, server) as chip:
        state = chip.state()
    if as_json:
        write(orjson.dumps(state.model_dump()) + b"\n")
        return
    console = Console(soft_wrap=True)
    console.print(f"Server {escape(state.server)}: {state.profile}, {len(state.entries)} entries.", highlight=False)
    for key in state.udlks:
        console.print(f"UDLK {key.i}: {escape(key.fields)}, {key.bytes} bytes", highlight=False)
    shown = sorted(state.entries, key=lambda entry: -entry.hits)[:ROWS]
    _print(
        console,
        ("Entry", "UDLK", "Value", "Mask", "Action", "Packets", "Set by"),
        (
            (
                f"{entry.table}[{entry.i}]",
                str(entry.iudlk or ""),
                entry.value,
                entry.mask,
                " ".join(f"{name}={value}" for name, value in entry.action.items()),
                f"{entry.hits:,}",
                "a call" if entry.own else "the program",
            )
            for entry in shown
        ),
    )
    if len(state.entries) > ROWS:
        console.print(f"{len(state.entries) - ROWS} more with fewer packets: --json prints all.")
    vifs = ((str(vif.i), vif.dmac or "kept", vif.smac or "kept", str(vif.oport)) for vif in state.vifs)
    _print(console, ("VIF", "Destination MAC", "Source MAC", "Port"), vifs)
    counted = ((name, f"{value:,}") for name, value in state.registers.items() if value)
    _print(console, ("Register", "Value"), counted)


def dump(run: str, server: str) -> str:
    """The chip as a program."""
    with chip_of(run, server) as chip:
        return chip.text().program


def socket(run: str, server: str) -> str:
    """The path of the server's socket for programs."""
    with chip_of(run, server) as chip:
        return chip.socket()


def cache(run: str, server: str, port: int, max_age_secs: float, *, as_json: bool) -> None:
    """A cache next to the server until Ctrl-C, the end by SIGTERM, or the end of the run; then
    prints its counters."""
    from cubeyard.chip.relayed_cache import RelayedCache
    from cubeyard.chip.serverswitch import ChipError, ServerSwitch
    from cubeyard.cli.common import refuse

    place = socket(run, server)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ServerSwitch.connect(place) as chip:
        try:
            result = RelayedCache(chip, max_age_secs, service_port=port)
        except ChipError as error:
            refuse(f"{error} The run must have the chip program emulator/crates/chip/programs/bcube-cache.chip.")
        try:
            while True:
                result.work(CACHE_LOOK_SECS)
        except KeyboardInterrupt:
            result.close()
        except ConnectionError:
            pass  # the run has ended
    counts = dataclasses.asdict(result.counts)
    if as_json:
        write(orjson.dumps(counts) + b"\n")
        return
    _print(Console(soft_wrap=True), ("Cache", "Number"), ((name, f"{value:,}") for name, value in counts.items()))


def execute(run: str, server: str, calls: str) -> None:
    """Calls as text, all or none."""
    with chip_of(run, server) as chip:
        chip.execute(calls)


def trace(run: str, server: str, port: int, packet: str) -> Json:
    """A packet's steps through the chip's current tables."""
    from pydantic import ValidationError

    from cubeyard.cli.common import refuse
    from cubeyard.emulation.live.chips.schemas import ChipPacket

    try:
        request = ChipPacket.model_validate({"port": port, "packet": packet})
    except ValidationError as error:
        refuse(f"packet: {error.errors()[0]['msg']}")
    with chip_of(run, server) as chip:
        return chip.trace(request).model_dump(exclude_none=True, by_alias=True)


def _print(console: Console, heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    table = Table(*heads, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    if table.row_count:
        console.print(table)
