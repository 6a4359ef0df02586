"""A hundred `kill -9` of servers' processes and of commands, on networks with relaying servers and
with routers: nothing of any run is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cubeyard.emulation.fabric.process import FABRIC, NODE

from .conftest import Command

pytestmark = pytest.mark.long

Left = Callable[[], dict[str, set[str]]]

SEED = int(os.environ.get("CUBEYARD_KILL_SEED", "2009"))
TORUS, DCELL = '{"family":"torus3d","x":4,"y":4,"z":4}', '{"family":"dcell","n":2,"k":2}'
FAT_TREE = '{"family":"fat_tree","ports":6,"layers":3}'
SUBWAYS = '{"family":"subways","type":2,"p":2,"q":8,"l":6,"c":2,"clusters":2,"cores":2,"loops_per_cluster":1,"aggs_per_cluster":2}'
RUNS = {
    "relays": ((TORUS, 64, "ecmp"), (DCELL, 42, "ecmp")),
    "routers": ((SUBWAYS, 48, "detour"), (FAT_TREE, 54, "ecmp")),
}
"""Every run kills all servers' processes, then the command or its fabric."""
KILLS = 100
UP_SECS = 1.5
"""Time from the last process to the first packets, on a machine that is not busy."""
LONGEST_SECS = 0.05
"""Maximum of the random time between two kills."""


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def descends(pid: int, from_pid: int) -> bool:
    while pid > 1:
        pid = parent(pid)
        if pid == from_pid:
            return True
    return False


def processes(new: dict[str, set[str]], program: str, of: int) -> list[int]:
    """Processes with this program that a command or its fabric has started; no others are
    killed."""
    named = (item.split() for item in sorted(new.get("processes", ())))
    return [int(pid) for name, pid in named if name.startswith(program) and descends(int(pid), of)]


def kill(pid: int) -> bool:
    """Kills a process; returns whether it existed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("kind", RUNS)
def test_a_hundred_kills_leave_nothing(emulate: Command, nothing_left: Left, kind: str) -> None:
    draws = Random(SEED)
    killed = 0
    for turn, (spec, servers, balance) in enumerate(RUNS[kind]):
        process = emulate.start(
            "--spec", spec, "--mode", "namespaces", "--workload", "permutation", "--link-rate", "10M", "--seconds", "300",
            "--settle", "0.5", "--calibrate", "0", *(("--balance", balance) if balance != "ecmp" else ()),
        )  # fmt: skip
        deadline = time.monotonic() + 60
        nodes: list[int] = []
        while len(nodes) < servers:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, nothing_left()
            time.sleep(0.05)
            nodes = processes(nothing_left(), NODE, process.pid)
        (fabric,) = processes(nothing_left(), FABRIC, process.pid)
        time.sleep(UP_SECS)
        for pid in draws.sample(nodes, servers):
            time.sleep(draws.uniform(0, LONGEST_SECS))
            killed += kill(pid)
        last = fabric if turn % 2 else process.pid
        killed += kill(last)
        if last == fabric:
            message: Any = process.communicate(timeout=60)
            assert process.returncode == 2, message
            assert "cubeyard-fabric" in message[1], message
        else:
            with process:
                process.wait(20)  # not for the end of its output: its fabric lives longer and still prints
    # The next command removes the leftovers of killed ones.
    result = emulate.run(
        "--spec", DCELL, "--mode", "namespaces", "--workload", "one-to-one", "--link-rate", "10M", "--seconds", "1",
        "--settle", "0.5", "--calibrate", "0",
    )  # fmt: skip
    assert result["aggregate_goodput_bits_per_sec"] > 0
    assert killed >= KILLS
    deadline = time.monotonic() + 30
    while nothing_left():
        assert time.monotonic() < deadline, nothing_left()
        time.sleep(0.2)
