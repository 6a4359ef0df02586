"""The worker's side: opens shells for callers at its socket. Only processes of the worker's user
can connect."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from cubeyard.emulation.deploy import shells
from cubeyard.emulation.deploy.shell_relay.exchange import SOCKETS, Answer, Question, receive, send
from cubeyard.emulation.deploy.shells import OpenShell, Shell
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.errors import ProblemError, not_found
from cubeyard.kit.ids import new_id
from cubeyard.settings import Settings

log = structlog.get_logger(__name__)

QUESTION_SECS = 10
"""Time limit for a caller's question."""
BYTES = 32 * 1024
FULL = "{} shells are open, which is the limit (CUBEYARD_TERMINAL_LIMIT). Close one, then open this again."

Opener = Callable[[Question], OpenShell]
Checker = Callable[[Question], None]


class ShellRelay:
    """Listens from `start` to `close`, with a thread for each connection, and at most `limit`
    shells."""

    def __init__(self, folder: Path, opened: Opener, check: Checker, limit: int) -> None:
        self._path = folder / SOCKETS.replace("*", f"{socket.gethostname()}-{os.getpid()}")
        self._opened = opened
        self._check = check
        self._limit = limit
        self._shells: dict[str, OpenShell] = {}
        self._places = threading.Semaphore(limit)
        self._listener: socket.socket | None = None

    @classmethod
    def of(cls, settings: Settings) -> ShellRelay:
        """The relay to the engines of these settings."""
        place = Place.of(settings)
        hosts = Hosts.of(settings, place)

        def place_of(question: Question) -> tuple[str, str, str, tuple[int, str]]:
            host = _host(hosts, question.host)
            return host.docker, hosts.owner, question.run, (question.server, question.name)

        return cls(
            place.for_api,
            lambda question: Shell(*place_of(question), question.prompt, question.idle_secs),
            lambda question: shells.check(*place_of(question)),
            settings.terminal_limit,
        )

    def start(self) -> None:
        """Starts to listen. Removes sockets of workers that died."""
        for path in self._path.parent.glob(SOCKETS):
            if not _answers(path):
                path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self._path))
        self._path.chmod(0o600)
        listener.listen()
        self._listener = listener
        threading.Thread(target=self._listen, args=(listener,), name="shell-relay", daemon=True).start()

    def close(self) -> None:
        """Ends all shells and stops listening."""
        if self._listener is None:
            return
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._listener = None
        for shell in list(self._shells.values()):
            shell.close()

    def _listen(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="shell-relay", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(QUESTION_SECS)
            question = receive(connection, Question)
            connection.settimeout(None)
            try:
                if question.what == "open":
                    self._carry(connection, question)
                else:
                    send(connection, Answer(value=self._answer(question)))
            except ProblemError as error:
                send(connection, Answer.of(error))

    def _answer(self, question: Question) -> str | int | None:
        if question.what == "check":
            self._check(question)
            return None
        shell = self._shells.get(question.shell)
        if shell is None:
            raise not_found("shell with this id")
        match question.what:
            case "resize":
                shell.resize(question.columns, question.rows)
            case "state":
                return shell.state()
            case "exit_code":
                return shell.exit_code()
            case _:
                shell.close()
        return None

    def _carry(self, connection: socket.socket, question: Question) -> None:
        """Opens a shell and copies bytes between it and the connection. The shell ends with the
        connection."""
        if not self._places.acquire(blocking=False):
            raise ProblemError(409, "no-terminal", FULL.format(self._limit))
        try:
            shell, name = self._opened(question), new_id()
            self._shells[name] = shell
            try:
                send(connection, Answer(value=name))
                threading.Thread(target=_print, args=(shell, connection), name="shell-relay", daemon=True).start()
                while data := connection.recv(BYTES):
                    shell.write(data)
            finally:
                del self._shells[name]
                shell.close()
        finally:
            self._places.release()


def _print(shell: OpenShell, connection: socket.socket) -> None:
    """Sends the shell's output until its end. The connection stays open, so that the other side can
    request the exit code."""
    with contextlib.suppress(OSError):
        while data := shell.read():
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def _host(hosts: Hosts, name: str) -> Host:
    result = next((host for host in hosts.every if host.name == name), None)
    if result is None:
        raise not_found(f"host named {name!r}")
    return result


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as item:
        try:
            item.connect(str(path))
        except OSError:
            return False
    return True
