"""The state of one server of a live run: its node's report through the fabric, with names instead
of ids and addresses.

The report consists of sections of columns and rows. This code is independent of the meaning of
sections: cells are translated by their column's kind, and all other data are passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from cubeyard.emulation.deploy.names import shell_command
from cubeyard.emulation.fabric.client import FabricError, FabricGoneError
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.elsewhere import LiveClient
from cubeyard.emulation.measure.events import FIRST_PORT
from cubeyard.emulation.network.network import Network
from cubeyard.emulation.setup.flows import MAX_FLOWS
from cubeyard.kit.errors import ProblemError, not_found

Json = dict[str, Any]

ANSWER_SECS = 2.0
"""A node responds within a millisecond, a paused one never."""


def server_of(network: Network, run_id: str, name: str) -> int:
    """The id of a server. Raises a 404."""
    server = network.id_of.get(name)
    if server is None or server not in network.servers:
        raise not_found(f"server {name} in run {run_id}")
    return server


def inspect(hosts: Hosts, network: Network, run_id: str, name: str, mode: str = "containers") -> schemas.ServerState:
    """Raises a 404 if the server is not in the run, a 409 if it does not respond, a 503 without a
    fabric."""
    server = server_of(network, run_id, name)
    spread = hosts.spread(network)
    host = spread.hosts[spread.host_of[server]]
    with LiveClient(host) as fabric:
        try:
            known = fabric.call("inspect", ANSWER_SECS, run=run_id, server=server)
        except (FabricError, FabricGoneError) as error:
            raise ProblemError(
                409, "server-silent", f"Server {name} does not answer: {host.said(error.detail)}"
            ) from error
    try:
        return described(network, run_id, server, known, shell_command(run_id, server, name, mode, hosts.cluster))
    except (ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:  # a node may send anything
        why = f"its report is not valid: {type(error).__name__} {str(error).splitlines()[0]}"
        raise ProblemError(409, "server-silent", f"Server {name} does not answer: {why[:200]}") from error


def inspect_switch(hosts: Hosts, network: Network, run_id: str, name: str) -> schemas.SwitchState:
    """Raises a 404 if the switch is not in the run, a 409 if the fabric does not have the run, a
    503 without a fabric."""
    switch = network.id_of.get(name)
    if switch is None or switch not in network.switches:
        raise not_found(f"switch {name} in run {run_id}")
    state = schemas.SwitchState(run_id=run_id, switch=name, id=switch, sections=[])
    if network.protocol["switches"] == "bridges":
        return state
    # Routers and chips are on one host.
    with LiveClient(hosts.spread(network).hosts[0]) as fabric:
        try:
            known = fabric.call("inspect", ANSWER_SECS, run=run_id, server=switch)
        except (FabricError, FabricGoneError) as error:
            raise ProblemError(409, "switch-silent", f"Switch {name} does not answer: {error.detail}") from error
    state.sections = [schemas.InspectionSection.model_validate(section) for section in known["sections"]]
    _name(network, state.sections)
    return state


def _name(network: Network, sections: list[schemas.InspectionSection]) -> None:
    """Replaces ids and addresses by names in sections. Raises the errors of `Cells.row`."""
    cells = Cells(network)
    for section in sections:
        kinds = [column.kind for column in section.columns]
        section.rows = [cells.row(kinds, row) for row in section.rows]


def described(network: Network, run_id: str, server: int, known: Json, shell: str = "") -> schemas.ServerState:
    """A node's report with names. Raises ValidationError, KeyError, TypeError, ValueError or
    AttributeError if the report is invalid."""
    state = schemas.ServerState(
        run_id=run_id,
        server=network.name_of[server],
        id=server,
        shell=shell,
        counts=known["counts"],
        sections=known["sections"],
    )
    _name(network, state.sections)
    return state


class Cells:
    """Replaces ids and addresses in cells by names, according to the kind of the column."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._named: dict[str, Callable[[Any], Any]] = {
            "server": self._server,
            "servers": self._servers,
            "flow": self._flow,
            "paths": lambda paths: [{**path, "servers": self._servers(path["servers"])} for path in paths],
        }

    def row(self, kinds: list[str], row: list[Any]) -> list[Any]:
        """A row with names. A path whose number equals the row's `path-id` is marked as `used`.
        Raises the errors of `named`, and ValueError if the row does not have a cell per column."""
        cells = [self.named(kind, cell) for kind, cell in zip(kinds, row, strict=True)]
        if "path-id" in kinds and "paths" in kinds:
            in_use = cells[kinds.index("path-id")]
            for path in cells[kinds.index("paths")] or []:
                path["used"] = path["path_id"] == in_use
        return cells

    def named(self, kind: str, cell: Any) -> Any:
        """A cell with names. Raises KeyError, TypeError or ValueError if the cell does not have
        this kind."""
        if cell is None:
            return None
        if kind in self._named:
            return self._named[kind](cell)
        if not isinstance(cell, bool | int | float | str):
            raise TypeError(f"a cell of kind {kind} is neither a number nor a text")
        return cell

    def _server(self, server: Any) -> str:
        return self._network.name_of.get(int(server), str(server))

    def _servers(self, servers: Any) -> list[str]:
        return [self._server(server) for server in servers]

    def _flow(self, flow: Json) -> Json:
        """A flow's ends by name, or by address if they are external. `flow` is its row, null for
        flows of other applications and for responses."""
        row = int(flow["dport"]) - FIRST_PORT
        ends = {end: self._network.server_at(str(flow[end])) or str(flow[end]) for end in ("src", "dst")}
        ports = {name: int(flow[name]) for name in ("proto", "sport", "dport")}
        # Systems assign ports to clients far above those of the workload.
        return {**ends, **ports, "flow": row if 0 <= row < MAX_FLOWS else None}
