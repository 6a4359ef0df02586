"""Leftovers of a worker that was killed or cut off, and who removes them: its fabric, and its
containers on a host that workers share."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.deploy.docker_containers import DockerContainers
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FabricProcess
from cubeyard.settings import Settings
from tests.deployment.engine import Docker

STARTER = """
import sys, time
from pathlib import Path
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FabricProcess
from cubeyard.settings import Settings
settings = Settings(fabric_dir=Path(sys.argv[1]))
FabricProcess(settings, Place.of(settings)).ensure()
print("started", flush=True)
time.sleep(120)
"""
UNNEEDED_SECS = 10.0
"""How long a fabric continues without a run and a caller."""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a short path, because it contains sockets."""
    with tempfile.TemporaryDirectory(prefix="cubeyard-") as folder:
        yield Path(folder)


def test_a_process_that_takes_a_fabric_over_keeps_it(home: Path, nothing_left: Callable[[], Any]) -> None:
    settings = Settings(fabric_dir=home)
    fabric = FabricProcess(settings, Place.of(settings))
    with subprocess.Popen([sys.executable, "-c", STARTER, str(home)], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        try:
            assert any(line == "started\n" for line in starter.stdout), "it starts no fabric"
            fabric.ensure()
            pid = fabric.pid
        finally:
            starter.kill()
    time.sleep(UNNEEDED_SECS + 4)
    assert fabric.pid == pid is not None, "it is needed"
    fabric.stop()
    assert fabric.pid is None


@pytest.mark.long
def test_a_worker_that_takes_over_a_run_on_a_shared_engine_can_use_its_names(
    home: Path, docker: Docker, nothing_left: Callable[[], Any]
) -> None:
    """Both workers use one Docker engine, where a container's name depends only on its run and
    server."""
    run, other = "0192f3a1b2c3d4e5f607182930414277", "1192f3a1b2c3d4e5f607182930414277"
    servers = {0: "00", 1: "01"}
    cut_off, goes_on = (DockerContainers(Settings(), owner, f"unix://{docker.socket}") for owner in ("one", "two"))

    def create(of: DockerContainers, run_id: str) -> set[str]:
        (home / run_id).mkdir(exist_ok=True)
        mounts = {server: str(home / run_id) for server in servers}
        made = of.create(
            run_id, servers, of.image(), mounts,
            host_names=servers, raw_sockets=False, beside={}, check=lambda _: None, came=lambda _: None,
        )  # fmt: skip
        return set(made.values())

    try:
        create(cut_off, run)
        kept = create(cut_off, other)
        goes_on.take_over(run)
        assert {which: set(ids) for which, ids in cut_off.runs().items()} == {other: kept}
        mine = create(goes_on, run)
        cut_off.remove(run)
        assert set(goes_on.runs()[run]) == mine, "a worker that returns removes nothing of the worker that continued"
        goes_on.take_over(run)
        assert goes_on.living(run) == len(servers), "a worker's own containers are no leftovers"
    finally:
        for containers in (cut_off, goes_on):
            for run_id in (run, other):
                containers.remove(run_id)
            containers.close()
