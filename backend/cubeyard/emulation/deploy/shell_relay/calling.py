"""The API's side: a shell that a worker has opened for it."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from cubeyard.emulation.deploy.shell_relay.exchange import SOCKETS, Answer, Question, receive, send
from cubeyard.kit.errors import ProblemError

ANSWER_SECS = 30
BYTES = 32 * 1024
GONE = "No worker with a Docker engine answers. Terminals open once one runs."


class RelayedShell:
    """A shell at the other end of a socket, with the interface of a local one."""

    def __init__(self, folder: Path, question: Question) -> None:
        """Raises a 409 if the server is off, a 503 without a worker."""
        self._path, self._connection = _any_worker(folder)
        try:
            self._name = str(asked(self._connection, question.model_copy(update={"what": "open"})))
            self._connection.settimeout(None)
        except BaseException:
            self._connection.close()
            raise

    def read(self) -> bytes:
        """Reads the shell's output; empty once it has ended."""
        try:
            return self._connection.recv(BYTES)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        """Writes input. Input that nobody reads is lost."""
        with contextlib.suppress(OSError):
            self._connection.sendall(data)

    def resize(self, columns: int, rows: int) -> None:
        """Sets the terminal's size. Ignored if the shell has just ended."""
        with contextlib.suppress(ProblemError):
            self._ask(Question(what="resize", shell=self._name, columns=columns, rows=rows))

    def state(self) -> str:
        """`running`, `paused`, or `gone`. Raises a 503 if the worker is gone."""
        return str(self._ask(Question(what="state", shell=self._name)))

    def exit_code(self) -> int | None:
        """The exit code; None if the shell is still running, or ended with its container."""
        try:
            code = self._ask(Question(what="exit_code", shell=self._name))
        except ProblemError:
            return None
        return code if isinstance(code, int) else None

    def close(self) -> None:
        """Ends the shell and everything it has started. Can be called again."""
        with contextlib.suppress(ProblemError):
            self._ask(Question(what="close", shell=self._name))
        self.hang_up()

    def hang_up(self) -> None:
        """Closes the connection, so that the worker ends the shell soon. Readers get the end of the
        output."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _ask(self, question: Question) -> str | int | None:
        with contextlib.closing(connected(self._path)) as connection:
            return asked(connection, question)


def has_relay(folder: Path) -> bool:
    """Whether a worker listens, or listened when it died."""
    return any(folder.glob(SOCKETS))


def check(folder: Path, question: Question) -> None:
    """Raises the errors that opening a shell would raise."""
    _, connection = _any_worker(folder)
    with contextlib.closing(connection):
        asked(connection, question.model_copy(update={"what": "check"}))


def _any_worker(folder: Path) -> tuple[Path, socket.socket]:
    """Connects to any of the workers, which all use the same engine."""
    for path in sorted(folder.glob(SOCKETS)):
        with contextlib.suppress(ProblemError):
            return path, connected(path)
    raise ProblemError(503, "no-worker", GONE)


def connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ANSWER_SECS)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        raise ProblemError(503, "no-worker", GONE) from error
    return connection


def asked(connection: socket.socket, question: Question) -> str | int | None:
    try:
        send(connection, question)
        answer = receive(connection, Answer)
    except OSError as error:
        raise ProblemError(503, "no-worker", GONE) from error
    return answer.taken()
