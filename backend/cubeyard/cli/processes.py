"""Services in processes, for the command line: a process next to each server, started here, outside
the fabric and without its privileges.

The node of a server listens at a socket of its run's folder. The command connects to it and passes
the connection to the process, which therefore needs no other access. A process that ends, or that
the node disconnects, is started again after a growing delay. All of them end with this process,
because the kernel kills them then (`cubeyard_service.py`).
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.errors import ProblemError

LIBRARY = Path(__file__).parent / "service_templates" / "cubeyard_service.py"
ANSWER_SECS = 10.0
"""A process ends after 1 s of processor time, or after sleeping for this time."""
ANSWER_BYTES = 1 << 18
LOOK_AGAIN_SECS = 0.2
"""Interval of attempts to connect: a server is starting, or is off."""
FIRST_DELAY_SECS = 1.0
LONGEST_DELAY_SECS = 60.0
STEADY_SECS = 10.0
"""A process that ran for this time is started again with the first delay."""
READY_SECS = 30.0


class ServiceProcessError(ProblemError):
    """A service's process ended, or does not answer."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, "service-process", detail)


@dataclass(frozen=True)
class ServiceFile:
    """A service whose instances are processes."""

    name: str
    id: int
    path: Path


def start(path: Path, end: socket.socket) -> subprocess.Popen[bytes]:
    """A process that answers the calls that come by a socket."""
    words = [sys.executable, "-s", "-B", str(LIBRARY), str(path.resolve()), str(end.fileno()), str(os.getpid())]
    return subprocess.Popen(
        words,
        pass_fds=[end.fileno()],
        stdin=subprocess.DEVNULL,
        # Its output is for its author, not part of a report.
        stdout=2,
        env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"},
        # Signals of the keyboard go to this process, which ends the service.
        start_new_session=True,
    )


@contextmanager
def answering(path: Path) -> Iterator[Callable[[bytes], bytes]]:
    """A process that has all instances of a service, for a trial: answers its calls. Raises
    ServiceProcessError when it does not."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.settimeout(ANSWER_SECS)
    with here, there:
        process = start(path, there)
        there.close()

        def answer(call: bytes) -> bytes:
            message = b""
            try:
                here.send(call)
                message = here.recv(ANSWER_BYTES)
            except TimeoutError:
                raise ServiceProcessError(f"The service has not answered for {ANSWER_SECS:g} s.") from None
            except OSError:
                pass  # the process has ended; an empty answer means the same
            if not message:
                raise ServiceProcessError(_why(process.wait()))
            return message

        try:
            yield answer
        finally:
            process.kill()
            process.wait()


def _why(code: int) -> str:
    if code == -signal.SIGPROF:
        return "A call of the service took more than 1 s of processor time, which ended its process: it loops."
    if code < 0:
        return f"The service's process was ended by {signal.Signals(-code).name}."
    return f"The service's process ended with code {code}."


@dataclass
class _Beside:
    """The process of a service at a server."""

    folder: Path
    file: ServiceFile
    connection: socket.socket | None = None
    """The process's end of the connection, kept to notice when the node closes its end."""
    process: subprocess.Popen[bytes] | None = None
    handle: int = -1
    """Of the process, to notice its end."""
    began: float = 0.0
    tries_at: float = 0.0
    delay_secs: float = FIRST_DELAY_SECS
    started: int = 0

    def connect(self, now: float) -> None:
        self.tries_at = now + LOOK_AGAIN_SECS
        try:
            folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            # By its folder, because a socket's path may have only 107 bytes.
            connection.connect(f"/proc/self/fd/{folder}/{self.file.id}")
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            connection.close()
        else:
            self.connection = connection
        finally:
            os.close(folder)

    def start(self, now: float) -> None:
        """The process reads a message of the node."""
        assert self.connection is not None
        self.connection.setblocking(True)
        self.process = start(self.file.path, self.connection)
        self.handle = os.pidfd_open(self.process.pid)
        self.began = now
        self.started += 1

    def end(self, now: float) -> None:
        """Sends as much as the socket takes; the rest is sent later."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            os.close(self.handle)
            if now - self.began >= STEADY_SECS:
                self.delay_secs = FIRST_DELAY_SECS
        if self.connection is not None:
            self.connection.close()
        self.process = self.connection = None
        self.tries_at = now + self.delay_secs
        self.delay_secs = min(2 * self.delay_secs, LONGEST_DELAY_SECS)

    def waits_for(self) -> Iterator[tuple[int, int]]:
        """The descriptors to wait for, with the events of each."""
        if self.connection is not None:
            # While its process reads, only the end of the connection matters.
            yield self.connection.fileno(), 0 if self.process is not None else select.POLLIN
        if self.process is not None:
            yield self.handle, select.POLLIN


@dataclass
class ServiceProcesses:
    """The processes of a run's services, one a service and server. `begin` starts them, `end` ends
    them."""

    place: Place
    run: str
    servers: Iterable[int]
    files: Sequence[ServiceFile]
    _all: list[_Beside] = field(default_factory=list)
    _ends: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _error: OSError | None = None

    def begin(self) -> None:
        """Once the servers are up."""
        if self._thread is not None or not self.files:
            return
        # Where the fabric has a server's sockets: `State::run_folder`.
        runs = self.place.state / "runs" / self.run
        self._all = [_Beside(runs / str(server) / "services", file) for server in self.servers for file in self.files]
        self._thread = threading.Thread(target=self._watch, name="service-processes", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until each server has its processes. Raises ServiceProcessError."""
        until = time.monotonic() + READY_SECS
        while any(item.started == 0 for item in self._all):
            if self._error is not None:
                hint = "Run the command as root, or write the service as a module."
                raise ServiceProcessError(f"The servers cannot be reached: {self._error}. {hint}")
            if time.monotonic() > until:
                missing = sum(item.started == 0 for item in self._all)
                raise ServiceProcessError(f"{missing} servers are not connected to their service's process.")
            time.sleep(0.05)

    def end(self) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        try:
            while not self._ends.is_set():
                self._turn()
        except OSError as error:
            self._error = error
        finally:
            for item in self._all:
                item.end(0.0)

    def _turn(self) -> None:
        poll = select.poll()
        of: dict[int, _Beside] = {}
        for item in self._all:
            if item.connection is None and time.monotonic() >= item.tries_at:
                item.connect(time.monotonic())
            for descriptor, events in item.waits_for():
                poll.register(descriptor, events)
                of[descriptor] = item
        with suppress(InterruptedError):
            for descriptor, events in poll.poll(100):
                item, now = of[descriptor], time.monotonic()
                gone = events & (select.POLLHUP | select.POLLERR) or descriptor == item.handle
                if gone and item.connection is not None:
                    item.end(now)
                elif item.process is None and item.connection is not None:
                    item.start(now)
