"""Asking for a reader: it ends when it is done, takes too long, or the client is gone; its errors
are the request's problem."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import anyio
import structlog
from fastapi import Request

from cubeyard.kit.confined import forks as wire
from cubeyard.kit.confined.forks import Outcome, ReaderLimits, ReaderRequest
from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.waiting import while_connected

log = structlog.get_logger(__name__)

T = TypeVar("T")

AT_ONCE = max(1, min(4, os.cpu_count() or 1))
WAITING = 8
"""Files that wait for a reader; with more the client is told to come back."""
LOOK_SECS = 0.1
"""A reader ends so soon after its client has left."""
START_SECS = 60.0
"""The first reader of a kind waits until its modules are imported."""
MAX_RESULT_BYTES = 256 * 1024 * 1024
SECRETS = ("CUBEYARD_", "DATABASE_URL")
"""Not for a process that reads what strangers send."""


class Forks:
    """The program that forks. It starts when it is needed, and again if it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @contextmanager
    def copy(self, module: str) -> Iterator[socket.socket]:
        """The socket of a process that has the module, which is ended with the context."""
        talk, end = socket.socketpair()
        with talk:
            with end:
                self._send(module, end)
            talk.settimeout(START_SECS)
            message, handles, _, _ = socket.recv_fds(talk, 1, 1)
            if not message or not handles:
                raise RuntimeError(f"{module} cannot be imported by the program that forks readers; its log says why")
            (handle,) = handles
            try:
                yield talk
            finally:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                os.close(handle)

    def close(self) -> None:
        with self._lock:
            if self._control is not None and self._program is not None:
                self._control.close()
                self._program.wait()
                self._control = self._program = None

    def _send(self, module: str, end: socket.socket) -> None:
        with self._lock:
            for attempt in (1, 2):
                if self._control is None:
                    self._control, self._program = _start()
                try:
                    socket.send_fds(self._control, [module.encode()], [end.fileno()])
                    return
                except OSError:
                    assert self._program is not None
                    self._control.close()
                    self._program.wait()
                    self._control = self._program = None
                    if attempt == 2:
                        raise


FORKS = Forks()
"""All of this process share it."""
atexit.register(FORKS.close)


class Readers:
    """Reads files in processes of their own, a few at a time. The program that forks them starts
    with the first file."""

    def __init__(self, limits: ReaderLimits, forks: Forks | None = None) -> None:
        self._limits = limits
        self._forks = forks or FORKS
        self._turns: anyio.CapacityLimiter | None = None

    async def read(self, http: Request, reader: Callable[..., T], *arguments: Any) -> T:
        """What the function `reader` of a module returns. Arguments and result are copied.

        Raises the `ProblemError` that it raises, and one for a file that takes too much time or
        memory, or breaks it.
        """
        if self._turns is None:
            self._turns = anyio.CapacityLimiter(AT_ONCE)
        if self._turns.statistics().tasks_waiting >= WAITING:
            detail = f"{WAITING} files are waiting to be read already. Try again in a few seconds."
            raise ProblemError(503, "busy", detail, headers={"retry-after": "5"})
        return await while_connected(http, lambda left: self.run(reader, arguments, left), limiter=self._turns)

    def run(self, reader: Callable[..., T], arguments: tuple[Any, ...], left: Callable[[], bool] = lambda: False) -> T:
        """The same for a thread that waits. `left` says whether to give up."""
        request = pickle.dumps(ReaderRequest(reader, arguments, self._limits), pickle.HIGHEST_PROTOCOL)
        with self._forks.copy(reader.__module__) as talk:
            started = time.monotonic()
            data = self._answer(talk, request, left, started + self._limits.secs)
        if data is None:
            took = time.monotonic() - started
            log.warning("reader_ended", reader=reader.__qualname__, secs=round(took, 1))
            raise self._too_long() if took >= self._limits.secs else self._broken()
        return self._told(reader.__qualname__, pickle.loads(data))  # noqa: S301 - of a copy of our own program

    def _answer(
        self, talk: socket.socket, request: bytes, left: Callable[[], bool], deadline: float
    ) -> bytearray | None:
        """None if the copy ended without one or has no time left."""
        try:
            talk.settimeout(self._limits.secs)
            wire.send(talk, request)
            talk.settimeout(LOOK_SECS)
            while time.monotonic() < deadline:
                with suppress(TimeoutError):
                    (length,) = wire.LENGTH.unpack(talk.recv(wire.LENGTH.size, socket.MSG_WAITALL))
                    if length > MAX_RESULT_BYTES:
                        raise self._too_large()
                    talk.settimeout(self._limits.secs)
                    return wire.exactly(talk, length)
                if left():
                    raise ProblemError(408, "client-left", "The client closed the connection before the file was read.")
        except (OSError, EOFError, wire.LENGTH_ERROR):
            pass
        return None

    def _told(self, reader: str, outcome: Outcome) -> Any:
        if outcome.kind == "problem":
            raise ProblemError(**outcome.value)
        if outcome.kind == "memory":
            log.warning("reader_memory", reader=reader)
            raise self._too_large()
        if outcome.kind == "failed":
            log.error("reader_failed", reader=reader, error=outcome.value)
            raise self._broken()
        return outcome.value

    def _too_long(self) -> ProblemError:
        limit = f"{self._limits.secs:g} s"
        return _refused(f"Reading it takes longer than {limit}, the limit here (CUBEYARD_READER_SECS).", limit)

    def _too_large(self) -> ProblemError:
        limit = f"{self._limits.memory_bytes // 1024**2:,} MiB of memory"
        return _refused(f"Reading it takes more than {limit}, the limit here (CUBEYARD_READER_BYTES).", limit)

    def _broken(self) -> ProblemError:
        return _refused(
            "It is damaged in a way that its reader does not know.", None, "Save it again from its program."
        )


def _refused(message: str, limit: str | None, hint: str = "Send a part of it.") -> ProblemError:
    error = FieldError(field="body", limit=limit, message=message, hint=hint)
    return ProblemError(422, "invalid", f"The file cannot be read. {message}", errors=[error])


def _start() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given = {key: value for key, value in os.environ.items() if not key.startswith(SECRETS)}
    # As this process finds modules; threads of libraries would not be in a copy.
    given |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    code = f"from {wire.__name__} import main; main()"
    with end:
        program = subprocess.Popen(
            [sys.executable, "-P", "-c", code, str(end.fileno())],
            pass_fds=[end.fileno()],
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    return control, program
