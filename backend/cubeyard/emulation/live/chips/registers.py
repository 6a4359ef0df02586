"""Registers of a server's chip in the kernel. The fabric reads and writes them, without the server.
`[serverswitch §3.3.2]`"""

from __future__ import annotations

from cubeyard.emulation.fabric.client import FabricError, FabricGoneError
from cubeyard.emulation.fabric.hosts import Host
from cubeyard.emulation.live.elsewhere import LiveClient
from cubeyard.kit.errors import ProblemError, not_found

ANSWER_SECS = 2.0


def read_all(host: Host, server: int, run_id: str) -> dict[str, int]:
    """All registers by name. Raises a 409 for a server without a chip in the kernel, a 503 without
    a fabric."""
    return _ask(host, server, run_id)


def read(host: Host, server: int, run_id: str, register: str) -> int:
    """The value of one register. Raises the errors of `read_all`, and a 404 for an unknown
    register."""
    try:
        return _of(register, _ask(host, server, run_id, register=register))
    except FabricError as error:
        raise not_found(f"register {register} in the server's chip") from error


def write(host: Host, server: int, run_id: str, register: str, value: int) -> int:
    """Writes a register and returns its new value. Raises the errors of `read_all`, and a 422 for a
    register or a value that cannot be written."""
    return _of(register, _ask(host, server, run_id, register=register, value=value))


def _of(register: str, values: dict[str, int]) -> int:
    if register not in values:
        raise not_found(f"register {register} in the server's chip")
    return values[register]


def _ask(host: Host, server: int, run_id: str, **asked: str | int) -> dict[str, int]:
    with LiveClient(host) as fabric:
        try:
            answer = fabric.call("registers", ANSWER_SECS, run=run_id, server=server, **asked)
        except (FabricError, FabricGoneError) as error:
            if error.code == "fabric-bad-input":
                raise
            raise ProblemError(409, "no-registers", f"The chip has no registers: {host.said(error.detail)}") from error
    registers: dict[str, int] = answer["registers"]
    return registers
