"""docs/how-to/several-hosts.md, followed on two machines: keys, a fabric and a relay on each, and a
run over both."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cubeyard.emulation.fabric.process import FABRIC, program
from cubeyard.settings import Settings
from tests.deployment.engine import plain_environment

from .machines import Machine, bare_machines

ROOT = Path(__file__).resolve().parents[4]
START_SECS = 60
SHORT = "--mode namespaces --seconds 2 --settle 1 --calibrate 0 --json"


def blocks() -> list[str]:
    """The commands of the how-to."""
    return re.findall(r"```sh\n(.*?)```", (ROOT / "docs/how-to/several-hosts.md").read_text(), re.DOTALL)


def on(machine: Machine, commands: str, checkout: Path) -> list[str]:
    """Runs commands on a machine as root, who needs no sudo."""
    return machine.inside("bash", "-ec", f'cd {checkout}\nsudo() {{ "$@"; }}\n{commands}')


def connects(machine: Machine) -> bool:
    return ":7117 " in machine.output("ss", "-Hltn")


@contextmanager
def started(machine: Machine, commands: str, checkout: Path) -> Iterator[None]:
    """Until the end: programs that listen on a machine."""
    with (machine.folder / "programs.log").open("wb") as log:
        process = subprocess.Popen(
            on(machine, commands, checkout), env=plain_environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + START_SECS
        while not connects(machine):
            assert process.poll() is None, (machine.folder / "programs.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(START_SECS)


@pytest.mark.long
def test_the_how_to_is_followed_word_for_word(tmp_path: Path) -> None:
    """But for the names of b and of the folder with its key, and the Docker engines."""
    make_keys, serve, emulate, *_ = blocks()
    binary = program(Settings(), FABRIC)
    assert binary is not None
    (tmp_path / ".setup").mkdir()
    (tmp_path / ".setup" / "programs").symlink_to(binary.parent)
    (tmp_path / "bin").symlink_to(ROOT / "bin")
    subprocess.run(["bash", "-ec", make_keys], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    emulate = "\n".join(line for line in emulate.splitlines() if not line.startswith("docker "))
    assert emulate.count("b:7117") == emulate.count("/etc/cubeyard/worker") == 1
    emulate = emulate.replace("b:7117", "10.9.0.2:7117").replace("/etc/cubeyard/worker", str(tmp_path / "keys/worker"))
    with bare_machines("10.9.0.") as (near, far), ExitStack() as running:
        environment = {**plain_environment(), "CUBEYARD_HOME": str(tmp_path / "home")}

        def emulated() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                on(near, f"{emulate} {SHORT}", tmp_path), env=environment, capture_output=True, text=True,
                check=False, timeout=120,
            )  # fmt: skip

        running.enter_context(started(near, serve, tmp_path))
        with started(far, serve, tmp_path):
            done = emulated()
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["aggregate_goodput_bits_per_sec"] > 0
            assert [machine.output("ip", "netns", "list") for machine in (near, far)] == ["", ""]
        refused = emulated()
        assert refused.returncode == 2, refused.stdout
        assert re.search(r"Host b: cubeyard-fabric does not answer at 10\.9\.0\.2:7117", refused.stderr), refused.stderr
