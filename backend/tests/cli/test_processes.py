"""Processes of services on servers: one is started for each server, restarted after it ends or is
disconnected, and none is left over."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubeyard.cli import processes
from cubeyard.cli.modules import TEMPLATES
from cubeyard.cli.processes import ServiceFile, ServiceProcessError, ServiceProcesses
from cubeyard.emulation.fabric.place import Place

RUN = "0a1b2c3d4e5f6g"
INIT = struct.pack("<BIIQBIQ", 0, 0, 1, 0, 63, 0, 5) + bytes(3) + struct.pack("<HHHI", 3, 3, 3, 1400) + b"greeting"


class Node:
    """Acts like a node: it listens in its folder, and sends a start message to each process that
    connects."""

    def __init__(self, place: Place, server: int) -> None:
        folder = place.state / "runs" / RUN / str(server) / "services"
        folder.mkdir(parents=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(folder / "256"))
        self.listener.listen()
        self.listener.settimeout(30)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def process(self) -> tuple[socket.socket, int]:
        """The connection of a process that connects and responds, and its number."""
        connection, _ = self.listener.accept()
        connection.settimeout(30)
        connection.send(INIT)
        assert connection.recv(1 << 16)[:5] == b"\x01\x00\x00\x00\x00"
        (pid,) = [pid for pid in children() if parent(pid) == os.getpid()]
        return connection, pid


def children() -> list[int]:
    """Processes of services, started by any process."""
    matches = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(processes.LIBRARY).encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                matches.append(int(entry.name))
        except OSError:
            continue
    return matches


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def gone(pid: int) -> bool:
    for _ in range(300):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def place() -> Iterator[Place]:
    # Short: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="cy-") as folder:
        yield Place(Path(folder))


@pytest.fixture
def watched(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceProcesses]:
    monkeypatch.setattr(processes, "FIRST_DELAY_SECS", 0.01)
    watched = ServiceProcesses(place, RUN, [7], [ServiceFile("greeting", 256, TEMPLATES / "service.py")])
    yield watched
    watched.end()


def test_a_process_that_dies_or_is_hung_up_on_is_started_again_and_none_is_left(
    place: Place, watched: ServiceProcesses
) -> None:
    with Node(place, 7) as node:
        watched.begin()
        first, pid = node.process()
        watched.wait()
        os.kill(pid, 9)
        with first:
            assert first.recv(1) == b""
        second, again = node.process()
        assert again != pid
        # The node hangs up: the process is ended, although it reads.
        second.close()
        third, last = node.process()
        assert gone(again)
        watched.end()
        assert gone(last)
        with third:
            assert third.recv(1) == b""


def test_a_server_that_is_not_there_is_waited_for_and_told(
    place: Place, watched: ServiceProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "READY_SECS", 0.3)
    watched.begin()
    with pytest.raises(ServiceProcessError, match="1 servers are not connected"):
        watched.wait()
    with Node(place, 7) as node, node.process()[0]:
        watched.wait()


def test_processes_end_with_who_started_them_however_that_ends() -> None:
    code = f"""
import socket, sys, time
from pathlib import Path
from cubeyard.cli.processes import start
here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
process = start(Path({str(TEMPLATES / "service.py")!r}), there)
here.send({INIT!r})
here.recv(100000)
print(process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert parent(pid) == starter.pid
        starter.kill()
    assert gone(pid)
