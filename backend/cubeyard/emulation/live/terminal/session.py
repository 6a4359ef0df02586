"""One terminal, from the shell's start to its end, and all terminals of the process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from pydantic import BaseModel, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from cubeyard.emulation.deploy.shells import OpenShell
from cubeyard.emulation.live.terminal.schemas import FromPage, Resized, ServerNews, TerminalEnd, TerminalState, Typed
from cubeyard.kit.auth.revocation import until_revoked
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

log = structlog.get_logger(__name__)

LOOK_SECS = 1.0
"""Interval for checking the state of a terminal's server."""
LOOKS_AFTER_KILL = 8
KILLED = 128 + 9
"""The exit status of a process that got SIGKILL."""
CLOSE_SECS = 8.0
"""Time limit for ending all shells when the server stops; uvicorn waits longer than this."""
OFF = "Terminals are turned off here (CUBEYARD_TERMINALS)."
NAMESPACES = (
    "This run's servers are network namespaces, which share this machine's files: the page opens shells in containers only. "
    "Use the command below, or start a run with servers as containers."
)
PODS = "This run's servers are pods of a cluster: use the command below, where kubectl is."
STOPPING = "The server stops."
PAUSED = "This server is frozen by a fault. What is typed waits until the fault is recovered."
RESUMED = "This server runs again."
STARTED = "Shell started."
GONE = "The server's container has ended: a fault turned it off, or the run is over."
NOT_UNDERSTOOD = 1007
POLICY = 1008


class Terminals:
    """Counts the terminals of this process, and ends them when the process stops."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._places = 0
        self._open: set[asyncio.Task[Any]] = set()
        self.closed = False
        # Each terminal waits for its shell in a separate thread, outside the pool for requests.
        self.readers = CapacityLimiter(settings.terminal_limit)
        self.helpers = CapacityLimiter(2 * settings.terminal_limit)

    @property
    def idle_secs(self) -> float:
        return self._settings.terminal_idle_secs

    def refusal(self, mode: str) -> str:
        """Why no terminal can be opened in a run with this mode; empty if one can."""
        if not self._settings.terminals:
            return OFF
        if mode == "namespaces":
            return NAMESPACES
        if self._settings.cluster is not None:
            return PODS
        if self.closed:
            return STOPPING
        if self._places >= self._settings.terminal_limit:
            limit = self._settings.terminal_limit
            return f"{limit} terminals are open, which is the limit (CUBEYARD_TERMINAL_LIMIT). Close one, then open this again."
        return ""

    def state(self, reason: str) -> TerminalState:
        return TerminalState(
            available=not reason,
            reason=reason,
            open=self._places,
            limit=self._settings.terminal_limit,
            idle_secs=self.idle_secs,
        )

    @contextmanager
    def place(self, mode: str) -> Iterator[None]:
        """Reserves one of the terminals for a task, which ends with `hang_up`. Raises a 409 if none
        is free."""
        if reason := self.refusal(mode):
            raise ProblemError(409, "no-terminal", reason)
        task = asyncio.current_task()
        assert task is not None
        self._places += 1
        self._open.add(task)
        try:
            yield
        finally:
            self._open.discard(task)
            self._places -= 1

    def hang_up(self) -> None:
        """Ends all terminals, because the server stops."""
        self.closed = True
        for task in self._open:
            task.cancel()

    async def close(self) -> None:
        """Waits until every shell has ended, up to a time limit."""
        self.hang_up()
        if waiting := [task for task in self._open if task is not asyncio.current_task()]:
            await asyncio.wait(waiting, timeout=CLOSE_SECS)


async def converse(websocket: WebSocket, terminals: Terminals, start: Callable[[], OpenShell]) -> None:
    """Copies bytes between a page and a shell until one of them ends; then ends the shell and what
    it has started."""
    shell = await run_sync(start, limiter=terminals.helpers)
    session = _Session(websocket, terminals, shell)
    end = TerminalEnd(reason=STOPPING, exit_code=None)
    try:
        await _say(websocket, ServerNews(state="running", text=STARTED))
        end = await session.until_end()
    except asyncio.CancelledError:
        if not terminals.closed:
            raise
    finally:
        with contextlib.suppress(ProblemError):
            await _shielded(run_sync(shell.close, limiter=terminals.helpers))
    await ended(websocket, end)


async def ended(websocket: WebSocket, end: TerminalEnd) -> None:
    """Sends the page the reason for the end, and closes."""
    with contextlib.suppress(RuntimeError, WebSocketDisconnect, OSError):
        if websocket.application_state is WebSocketState.CONNECTED:
            await _say(websocket, end)
            await websocket.close(1000, end.reason[:100])


async def _say(websocket: WebSocket, news: BaseModel) -> None:
    await websocket.send_text(news.model_dump_json())


async def _shielded(work: Coroutine[Any, Any, None]) -> None:
    """Completes the work, even if the task around it is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=CLOSE_SECS)
        raise


class _Session:
    def __init__(self, websocket: WebSocket, terminals: Terminals, shell: OpenShell) -> None:
        self._websocket = websocket
        self._terminals = terminals
        self._shell = shell
        self._typed_at = asyncio.get_running_loop().time()

    async def until_end(self) -> TerminalEnd:
        """Waits for the end of the terminal. The first of four tasks that returns determines the
        reason."""
        every = (self._printing(), self._typing(), self._looking(), self._allowed())
        work = [asyncio.ensure_future(item) for item in every]
        try:
            done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            return next(iter(done)).result()
        finally:
            for item in work:
                item.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _printing(self) -> TerminalEnd:
        """Copies output from the shell to the page."""
        while data := await run_sync(self._shell.read, abandon_on_cancel=True, limiter=self._terminals.readers):
            try:
                await self._websocket.send_bytes(data)
            except (RuntimeError, WebSocketDisconnect):
                return TerminalEnd(reason="The page has left.", exit_code=None)
        code = await run_sync(self._shell.exit_code, limiter=self._terminals.helpers)
        # When a container is killed, its shell ends first; the end of the container is visible a
        # moment later.
        for _ in range(LOOKS_AFTER_KILL if code in {None, KILLED} else 1):
            if await run_sync(self._shell.state, limiter=self._terminals.helpers) == "gone":
                return TerminalEnd(reason=GONE, exit_code=None)
            await asyncio.sleep(LOOK_SECS / LOOKS_AFTER_KILL)
        return TerminalEnd(
            reason="The shell has ended." if code is not None else "The connection broke.", exit_code=code
        )

    async def _typing(self) -> TerminalEnd:
        """Copies input from the page to the shell."""
        while True:
            try:
                message = FromPage.validate_json(await self._websocket.receive_text())
            except (WebSocketDisconnect, RuntimeError):
                return TerminalEnd(reason="The page has left.", exit_code=None)
            except (ValidationError, KeyError) as error:
                shown = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "send text, not bytes"
                return TerminalEnd(reason=f"A message was not understood: {shown}", exit_code=None)
            if isinstance(message, Typed):
                self._typed_at = asyncio.get_running_loop().time()
            # In a thread, because a frozen server accepts some input and then blocks.
            await run_sync(self._take, message, abandon_on_cancel=True, limiter=self._terminals.helpers)

    def _take(self, message: Typed | Resized) -> None:
        if isinstance(message, Typed):
            self._shell.write(message.data.encode(errors="replace"))
        else:
            self._shell.resize(message.columns, message.rows)

    async def _allowed(self) -> TerminalEnd:
        return TerminalEnd(reason=await until_revoked(self._websocket.scope), exit_code=None)

    async def _looking(self) -> TerminalEnd:
        """Watches the server's state, and how long there has been no input."""
        loop, known = asyncio.get_running_loop(), "running"
        while True:
            await asyncio.sleep(LOOK_SECS)
            idle_secs = self._terminals.idle_secs
            if loop.time() - self._typed_at > idle_secs:
                return TerminalEnd(reason=f"Closed: nothing was typed for {idle_secs:g} s.", exit_code=None)
            try:
                state = await run_sync(self._shell.state, limiter=self._terminals.helpers)
            except ProblemError as error:
                return TerminalEnd(reason=error.detail, exit_code=None)
            if state == "gone":
                return TerminalEnd(reason=GONE, exit_code=None)
            if state != known and state in ("paused", "running"):
                known = state
                await _say(self._websocket, ServerNews(state=state, text=PAUSED if state == "paused" else RESUMED))
