"""`/api/v1/runs/{id}/servers/{name}/terminal`: whether a terminal can be opened, and the terminal
itself as a WebSocket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FolderPath
from typing import Annotated

import structlog
from anyio.to_thread import run_sync
from fastapi import Path, Query, Request, WebSocket
from fastapi.requests import HTTPConnection

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.emulation.deploy import shells
from cubeyard.emulation.deploy.shell_relay import calling
from cubeyard.emulation.deploy.shell_relay.exchange import Question
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.elsewhere import live_hosts, refuse_elsewhere
from cubeyard.emulation.live.service import SessionService, TerminalPlace
from cubeyard.emulation.live.terminal import schemas
from cubeyard.emulation.live.terminal.session import Terminals, converse, ended
from cubeyard.kit.auth.guard import SUBPROTOCOL
from cubeyard.kit.errors import ProblemError, responses
from cubeyard.kit.ids import Id
from cubeyard.kit.routing import api_router
from cubeyard.kit.unit_of_work import mark_caller
from cubeyard.settings import Settings

router = api_router(tags=["emulation"])
log = structlog.get_logger(__name__)

ServerName = Annotated[str, Path(max_length=64, description="As the plan names it.", examples=["00"])]


@router.get(
    "/runs/{id}/servers/{name}/terminal",
    operation_id="read_terminal",
    summary="Whether a shell can be opened in a server of a run",
    responses=responses(404, 409),
)
def read_terminal(engine: EngineOf, request: Request, id: Id, name: ServerName) -> schemas.TerminalState:
    """A WebSocket at the same address, with `columns` and `rows`, is the terminal. The shell has
    the rights of the server's container. To it go JSON messages `{"type": "input", "data"}` and
    `{"type": "resize", "columns", "rows"}`; from it come what the shell prints, as bytes, and JSON
    messages of types `server` and `end`."""
    state = request.app.state
    terminals: Terminals = state.terminals
    hosts = live_hosts(state.settings, state.database)
    with state.database.session() as session:
        result = SessionService(session, engine).terminal(id, name, hosts)
    reason = terminals.refusal(result.mode)
    if not reason:
        try:
            _check(request, hosts, result)
        except ProblemError as error:
            reason = error.detail
    return terminals.state(reason)


@dataclass(frozen=True)
class _Asked:
    id: str
    name: str
    columns: int
    rows: int


@router.websocket("/runs/{id}/servers/{name}/terminal")
async def terminal(
    websocket: WebSocket,
    id: Id,
    name: ServerName,
    columns: Annotated[int, Query(ge=1, le=1000)] = 80,
    rows: Annotated[int, Query(ge=1, le=1000)] = 24,
) -> None:
    """A browser cannot see why a WebSocket was rejected, so the error is sent as the only
    message."""
    offered = websocket.scope.get("subprotocols") or []
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    terminals: Terminals = websocket.app.state.terminals
    request = _Asked(id, name, columns, rows)
    try:
        result = await run_sync(_found, websocket, request)
        with terminals.place(result.mode):
            await converse(websocket, terminals, lambda: _open(websocket, result, request))
    except ProblemError as error:
        await ended(websocket, schemas.TerminalEnd(reason=error.detail, exit_code=None))


def _hosts(websocket: WebSocket) -> Hosts:
    return live_hosts(websocket.app.state.settings, websocket.app.state.database)


def _found(websocket: WebSocket, asked: _Asked) -> TerminalPlace:
    """The place of the shell. Raises a 404 for an unknown run or server, a 409 unless the run is
    live."""
    state = websocket.app.state
    with state.database.session() as session:
        return SessionService(session, state.engine).terminal(asked.id, asked.name, _hosts(websocket))


def _relay(settings: Settings) -> FolderPath | None:
    """The folder through which workers open shells for this process; None if this process has an
    engine itself."""
    folder = Place.of(settings).for_api
    return folder if not settings.fabric_start and calling.has_relay(folder) else None


def _question(settings: Settings, place: TerminalPlace) -> Question:
    number, name = place.server
    return Question(
        what="check",
        host=place.host.name,
        run=place.run_id,
        server=number,
        name=name,
        prompt=place.host_name,
        idle_secs=settings.terminal_idle_secs,
    )


def _check(caller: HTTPConnection, hosts: Hosts, at: TerminalPlace) -> None:
    """Raises the errors that opening a shell would raise."""
    settings = caller.app.state.settings
    if (folder := _relay(settings)) is not None:
        calling.check(folder, _question(settings, at))
        return
    with _named_elsewhere(caller, at):
        shells.check(at.host.docker, hosts.owner, at.run_id, at.server)


@contextmanager
def _named_elsewhere(caller: HTTPConnection, at: TerminalPlace) -> Iterator[None]:
    """If an engine does not have the server: reports when the run is on another machine."""
    try:
        yield
    except ProblemError:
        refuse_elsewhere(caller.app.state.database, "Terminals", at.run_id, at.host)
        raise


def _shell(settings: Settings, hosts: Hosts, place: TerminalPlace) -> shells.OpenShell:
    if (folder := _relay(settings)) is not None:
        return calling.RelayedShell(folder, _question(settings, place))
    idle_secs = settings.terminal_idle_secs
    return shells.Shell(place.host.docker, hosts.owner, place.run_id, place.server, place.host_name, idle_secs)


def _open(websocket: WebSocket, place: TerminalPlace, asked: _Asked) -> shells.OpenShell:
    """Opens a shell. Its opening is recorded in the change log before anybody can type."""
    state = websocket.app.state
    with _named_elsewhere(websocket, place):
        shell = _shell(state.settings, _hosts(websocket), place)
    try:
        shell.resize(asked.columns, asked.rows)
        with state.database.session() as session:
            mark_caller(session, websocket)
            SessionService(session, state.engine).terminal_opened(place)
    except BaseException:
        shell.close()
        raise
    log.info("terminal_opened", run=place.run_id, server=asked.name)
    return shell
