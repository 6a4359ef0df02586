"""The program that forks: it imports readers once, and each file is read in a copy of it that
begins within milliseconds.

It has one thread and waits at a socket. A message names a reader's module and brings a socket on
which its copy talks: the copy's pidfd, then the request, then the outcome. It ends when the
server's end of its socket closes.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from cubeyard.kit.errors import ProblemError

LENGTH = struct.Struct("!Q")
LENGTH_ERROR = struct.error
"""The error of an incomplete length."""
GRACE_SECS = 2
"""The server ends a process that takes too long. If the server is gone, the kernel does it so much
later."""
READ_WITH = "READ_WITH"
"""What a reader's module calls the modules that it imports only when it reads: here they are
imported with it."""
NICENESS = 5
"""Requests that need no reader go first."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    secs: float
    memory_bytes: int
    """Beside what the program has before it reads."""


@dataclass(frozen=True, slots=True)
class ReaderRequest:
    reader: Callable[..., Any]
    """Pickled by its name."""
    arguments: tuple[Any, ...]
    limits: ReaderLimits


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Literal["value", "problem", "memory", "failed"]
    value: Any = None
    """What the reader returned, the parts of its `ProblemError`, or the traceback of a failure."""


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    for item in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(item, signal.SIG_IGN)  # meant for the server, whose end is seen at the socket
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets copies that ended
    imported: set[str] = set()
    while True:
        message, (*ends,), _, _ = socket.recv_fds(control, 4096, 1)
        if not message:
            return
        module = message.decode()
        if module not in imported:
            for item in getattr(import_module(module), READ_WITH, ()):
                import_module(item)
            imported.add(module)
            gc.freeze()
        if os.fork() == 0:
            control.close()
            _copy(socket.socket(fileno=ends[0]))
        os.close(ends[0])


def _copy(talk: socket.socket) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        socket.send_fds(talk, [b"p"], [os.pidfd_open(os.getpid())])
        request: ReaderRequest = pickle.loads(received(talk))  # noqa: S301 - from the server
        send(talk, outcome(request))
        code = 0
    finally:
        os._exit(code)


def outcome(request: ReaderRequest) -> bytes:
    """Pickled, as it is sent. The limits of memory hold for the reader alone: what it returned has
    to be told."""
    limits = request.limits
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, limits.secs + GRACE_SECS)
    os.nice(NICENESS)
    _limit_memory(_mapped_bytes() + limits.memory_bytes)
    try:
        result = Outcome("value", request.reader(*request.arguments))
    except ProblemError as error:
        result = Outcome("problem", parts_of(error))
    except MemoryError:
        result = Outcome("memory")
    except Exception:
        result = Outcome("failed", traceback.format_exc())
    _limit_memory(resource.RLIM_INFINITY)
    return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)


def parts_of(error: ProblemError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in ("status", "code", "detail", "errors", "findings", "headers")}


def _limit_memory(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _mapped_bytes() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - a look without an object for the path
        return int(file.read().split()[0]) * resource.getpagesize()


def send(talk: socket.socket, data: bytes) -> None:
    talk.sendall(LENGTH.pack(len(data)))
    talk.sendall(data)


def received(talk: socket.socket) -> bytearray:
    (length,) = LENGTH.unpack(exactly(talk, LENGTH.size))
    return exactly(talk, length)


def exactly(talk: socket.socket, length: int) -> bytearray:
    """Raises EOFError if the other end closes before all of it is here."""
    out = bytearray(length)
    view, have = memoryview(out), 0
    while have < length:
        got = talk.recv_into(view[have:])
        if got == 0:
            raise EOFError
        have += got
    return out
