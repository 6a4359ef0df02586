"""A fabric whose starter is gone goes on for a process that took it over, and only as long as that."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FabricProcess
from cubeyard.settings import Settings

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
"""For which a fabric goes on without a run and a caller."""


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path: it is a socket's folder."""
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
