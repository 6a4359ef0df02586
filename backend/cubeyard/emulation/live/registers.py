"""Registers of the chip of one server of a run under way: read, and written where they can be. `[serverswitch §3.3.2]`"""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.emulation.fabric.client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric.hosts import Hosts, Spread
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.inspection import server_of
from cubeyard.emulation.network.network import Network
from cubeyard.kit.errors import ProblemError, not_found

ANSWER_SECS = 2.0


@dataclass(frozen=True)
class Chip:
    """The chip of a server."""

    run_id: str
    network: Network
    server: str


def read_all(hosts: Hosts, chip: Chip) -> schemas.ChipRegisters:
    """Raises a 404 for a server that is not in the run, a 409 for one without a chip in the kernel, a 503 without a fabric."""
    return schemas.ChipRegisters(server=chip.server, registers=_ask(hosts, chip))


def read(hosts: Hosts, chip: Chip, register: str) -> schemas.ChipRegister:
    """Raises as `read_all`, and a 404 for a register that the chip does not have."""
    return _of(chip, register, _ask(hosts, chip))


def write(hosts: Hosts, chip: Chip, register: str, value: int) -> schemas.ChipRegister:
    """Raises as `read_all`, and a 422 for a register or a value that cannot be written."""
    return _of(chip, register, _ask(hosts, chip, register=register, value=value))


def _of(chip: Chip, register: str, found: dict[str, int]) -> schemas.ChipRegister:
    if register not in found:
        raise not_found(f"register {register} in the chip of server {chip.server}")
    return schemas.ChipRegister(server=chip.server, name=register, value=found[register])


def _ask(hosts: Hosts, chip: Chip, **write: str | int) -> dict[str, int]:
    server = server_of(chip.network, chip.run_id, chip.server)
    spread = Spread.of(chip.network, hosts.every)
    host = spread.hosts[spread.host_of[server]]
    with FabricClient(host.socket) as fabric:
        try:
            found: dict[str, int] = fabric.call("registers", ANSWER_SECS, run=chip.run_id, server=server, **write)[
                "registers"
            ]
        except (FabricError, FabricGoneError) as error:
            if error.code == "fabric-bad-input":
                raise
            raise ProblemError(
                409, "no-registers", f"Registers of server {chip.server}: {host.said(error.detail)}"
            ) from error
    return found
