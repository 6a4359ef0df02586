"""Programs for the chips of a live run, committed atomically at each server while packets flow."""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.emulation.fabric.client import FabricError
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.elsewhere import LiveClient
from cubeyard.emulation.network.network import Network
from cubeyard.frames.network import FrameHosts
from cubeyard.kit.errors import ProblemError

READ_SECS = 2.0
COMMIT_SECS = 30.0
"""Time limit of a commit. 1,024 servers with full tables take a few seconds."""


@dataclass(frozen=True)
class Commit:
    """A program that every server can run."""

    run_id: str
    network: Network
    program: str
    placed: FrameHosts | None = None
    """The placement of servers on hosts."""


def running(hosts: Hosts, network: Network, run_id: str) -> schemas.ChipProgramState:
    """The program of the chips. Raises a 409 if the run's network does not exist, a 503 without a
    fabric."""
    host = hosts.spread(network).hosts[0]
    with LiveClient(host) as fabric:
        try:
            result = fabric.call("program", READ_SECS, run=run_id)
        except FabricError as error:
            raise ProblemError(409, "not-wired", f"The run has no network now: {host.said(error.detail)}") from None
    return schemas.ChipProgramState(program=result["program"])


def commit(hosts: Hosts, change: Commit) -> schemas.ChipCommitted:
    """Commits it on every host. Raises a 409 if the run's network does not exist, a 503 without a
    fabric."""
    servers, micros = 0, 0
    for host in hosts.of_run(change.placed).spread(change.network).hosts:
        with LiveClient(host) as fabric:
            try:
                done = fabric.call("program", COMMIT_SECS, run=change.run_id, program=change.program)
            except FabricError as error:
                raise ProblemError(
                    409, "not-committed", f"The program was not committed: {host.said(error.detail)}"
                ) from None
        servers += done["servers"]
        micros = max(micros, done["micros"])
    return schemas.ChipCommitted(servers=servers, micros=micros)
