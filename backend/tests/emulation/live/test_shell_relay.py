"""Shells over the socket between API and worker. Shells of this machine in pseudo-terminals replace
those in containers."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cubeyard.emulation.deploy.shell_relay import calling
from cubeyard.emulation.deploy.shell_relay.calling import RelayedShell
from cubeyard.emulation.deploy.shell_relay.exchange import MAX_LINE_BYTES, Question
from cubeyard.emulation.deploy.shell_relay.serving import ShellRelay
from cubeyard.kit.errors import ProblemError

LIMIT = 2
OFF = 7
"""Id of a server that has no shell."""


class PseudoTerminal:
    """A pseudo-terminal with `/bin/sh` of this machine."""

    def __init__(self) -> None:
        self._own, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["/bin/sh"], stdin=theirs, stdout=theirs, stderr=theirs, env={"PS1": "> "}, start_new_session=True
        )
        os.close(theirs)
        self.closed = 0

    def read(self) -> bytes:
        try:
            return os.read(self._own, 4096)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        with suppress(OSError):
            os.write(self._own, data)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def state(self) -> str:
        return "running" if self.process.poll() is None else "gone"

    def exit_code(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        return self.process.poll()

    def close(self) -> None:
        self.closed += 1
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _check(question: Question) -> None:
    if question.server == OFF:
        raise ProblemError(409, "server-off", f"Server {question.name} is off.")


@pytest.fixture
def opened() -> Iterator[list[PseudoTerminal]]:
    every: list[PseudoTerminal] = []
    yield every
    for pseudo_terminal in every:
        pseudo_terminal.close()


@pytest.fixture
def folder(opened: list[PseudoTerminal]) -> Iterator[Path]:
    def opening(question: Question) -> PseudoTerminal:
        _check(question)
        opened.append(PseudoTerminal())
        return opened[-1]

    with tempfile.TemporaryDirectory(prefix="cy-") as path:
        relay = ShellRelay(Path(path), opening, _check, LIMIT)
        relay.start()
        yield Path(path)
        relay.close()


def question(server: int = 0) -> Question:
    return Question(what="check", run="r1", server=server, name=f"{server:02}")


def until(shell: RelayedShell, text: bytes) -> bytes:
    printed = b""
    while text not in printed:
        data = shell.read()
        assert data, printed
        printed += data
    return printed


def test_a_shell_at_the_other_end_is_like_one_here(folder: Path, opened: list[PseudoTerminal]) -> None:
    calling.check(folder, question())
    shell = RelayedShell(folder, question())
    shell.resize(77, 22)
    shell.write(b"stty size\n")
    until(shell, b"22 77")
    assert (shell.state(), len(opened)) == ("running", 1)
    # All output arrives in order, no matter how much it is.
    shell.write(b"stty -echo; echo; seq 100000; echo done$((1 + 1))\n")
    numbers = until(shell, b"done2\r\n").split(b"\r\n")
    assert [int(line) for line in numbers if line.isdigit()] == list(range(1, 100_001))
    shell.write(b"exit 7\n")
    while shell.read():
        pass
    assert (shell.exit_code(), shell.state()) == (7, "gone")
    shell.close()
    assert opened[0].closed >= 1


def test_a_page_that_disconnects_without_a_message_leaves_no_shell(folder: Path, opened: list[PseudoTerminal]) -> None:
    shell = RelayedShell(folder, question())
    shell.hang_up()
    assert opened[0].process.wait(20) != 0


def test_a_refusal_reaches_the_caller_unchanged(folder: Path) -> None:
    for ask in (lambda: calling.check(folder, question(OFF)), lambda: RelayedShell(folder, question(OFF))):
        with pytest.raises(ProblemError) as refused:
            ask()
        assert (refused.value.status, refused.value.code, refused.value.detail) == (
            409,
            "server-off",
            "Server 07 is off.",
        )


def test_more_shells_than_the_limit_are_refused(folder: Path) -> None:
    shells = [RelayedShell(folder, question()) for _ in range(LIMIT)]
    with pytest.raises(ProblemError, match="2 shells are open, which is the limit"):
        RelayedShell(folder, question())
    shells[0].close()
    deadline = time.monotonic() + 20
    while True:  # the shell's slot is free once its connection has ended
        try:
            shells[0] = RelayedShell(folder, question())
            break
        except ProblemError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    for shell in shells:
        shell.close()


def test_a_missing_worker_is_reported(folder: Path, opened: list[PseudoTerminal]) -> None:
    shell = RelayedShell(folder, question())
    empty = folder / "other"
    empty.mkdir()
    assert not calling.has_relay(empty)
    (empty / "shells-dead-1.sock").touch()  # the socket of a worker that died
    for ask in (lambda: calling.check(empty, question()), lambda: RelayedShell(empty, question())):
        with pytest.raises(ProblemError, match="No worker"):
            ask()
    again = ShellRelay(empty, lambda _: opened[0], _check, LIMIT)
    again.start()
    assert not (empty / "shells-dead-1.sock").exists()
    again.close()
    assert list(empty.iterdir()) == []
    shell.close()


def test_an_invalid_question_only_ends_its_connection(folder: Path) -> None:
    for nonsense in (b"x" * (MAX_LINE_BYTES + 1), b'{"what": "rm"}\n', b'{"what": "open", "idle_secs": -1}\n', b""):
        connection = calling.connected(next(folder.glob("*.sock")))
        with connection:
            with suppress(OSError):
                connection.sendall(nonsense)
                connection.shutdown(1)
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""
    calling.check(folder, question())
    stray = Question(what="state", shell="nobody's")
    with (
        calling.connected(next(folder.glob("*.sock"))) as connection,
        pytest.raises(ProblemError, match="no shell with this id"),
    ):
        calling.asked(connection, stray)


def test_the_relay_ends_its_shells(opened: list[PseudoTerminal]) -> None:
    def opening(_: Question) -> PseudoTerminal:
        opened.append(PseudoTerminal())
        return opened[-1]

    with tempfile.TemporaryDirectory(prefix="cy-") as path:
        relay = ShellRelay(Path(path), opening, _check, LIMIT)
        relay.start()
        shell = RelayedShell(Path(path), question())
        reading = threading.Thread(target=lambda: [None for _ in iter(shell.read, b"")])
        reading.start()
        relay.close()
        reading.join(20)
        assert not reading.is_alive()
        assert opened[0].process.poll() is not None
        with pytest.raises(ProblemError, match="No worker"):
            shell.state()
        shell.close()
