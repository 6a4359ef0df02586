"""docs/how-to/several-hosts.md, followed on two machines: keys, a fabric and a relay on each, and a
run over both, in the open and over WireGuard."""

from __future__ import annotations

import json
import os
import re
import shutil
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
TUNNELS, WIREGUARD = 14789, 51820
SHORT = "--mode namespaces --seconds 2 --settle 1 --calibrate 0 --json"


def blocks() -> list[str]:
    """The blocks of commands in the how-to."""
    return re.findall(r"```sh\n(.*?)```", (ROOT / "docs/how-to/several-hosts.md").read_text(), re.DOTALL)


def on(machine: Machine, commands: str, checkout: Path) -> list[str]:
    """Runs commands on a machine as root, which needs no sudo."""
    return machine.inside("bash", "-ec", f'cd {checkout}\nsudo() {{ "$@"; }}\n{commands}')


def connects(machine: Machine) -> bool:
    return ":7117 " in machine.output("ss", "-Hltn")


@contextmanager
def started(machine: Machine, commands: str, checkout: Path) -> Iterator[None]:
    """Runs programs that listen on a machine, until the context ends."""
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


def checkout(folder: Path) -> None:
    """The programs where the how-to has them."""
    binary = program(Settings(), FABRIC)
    assert binary is not None
    (folder / ".setup").mkdir()
    (folder / ".setup" / "programs").symlink_to(binary.parent)
    (folder / "bin").symlink_to(ROOT / "bin")


def ours(emulate: str, folder: Path, changes: list[tuple[str, str]]) -> str:
    """The how-to's emulation without Docker engines, with the key here and other changes."""
    emulate = "\n".join(line for line in emulate.splitlines() if not line.startswith("docker "))
    for old, new in [("/etc/cubeyard/worker", str(folder / "keys/worker")), *changes]:
        assert emulate.count(old) == 1, old
        emulate = emulate.replace(old, new)
    return emulate


@pytest.mark.long
def test_the_how_to_is_followed_word_for_word(tmp_path: Path) -> None:
    """Only the names of host b and of the folder with its key, and the Docker engines, differ."""
    make_keys, serve, emulate, *_ = blocks()
    checkout(tmp_path)
    subprocess.run(["bash", "-ec", make_keys], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    emulate = ours(emulate, tmp_path, [("b:7117", "10.9.0.2:7117")])
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


@pytest.mark.long
@pytest.mark.skipif(shutil.which("wg-quick") is None, reason="there is no wg-quick (package wireguard-tools)")
def test_over_wireguard_no_frame_of_a_run_is_in_the_open(tmp_path: Path) -> None:
    """The how-to's keys and interfaces of WireGuard; the network between the hosts then carries no
    packet of a tunnel, which it does without them."""
    _, serve, emulate, *more = blocks()
    (configure,) = (block for block in more if "--wireguard" in block)
    (up,) = (block for block in more if "wg-quick up" in block)
    checkout(tmp_path)
    for name, address in (("a", "10.9.0.1"), ("b", "10.9.0.2")):
        assert configure.count(f"{name}=") == 1
        configure = re.sub(rf"\b{name}=\S+", f"{name}={address}", configure)
    done = subprocess.run(
        ["bash", "-ec", configure], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60
    )
    underlays = re.findall(r"underlay (\S+)", done.stdout)
    wireguard = [(f'"{old}"', f'"{new}"') for old, new in zip(("10.9.0.1", "10.9.0.2"), underlays, strict=True)]
    far_relay = ("b:7117", "10.9.0.2:7117")
    environment = {**plain_environment(), "CUBEYARD_HOME": str(tmp_path / "home")}
    with bare_machines("10.9.0.") as machines, ExitStack() as running:
        for machine in machines:
            for port in (TUNNELS, WIREGUARD):
                machine.output("iptables", "-A", "INPUT", "-i", "under", "-p", "udp", "--dport", str(port))
            machine.output("mount", "-t", "tmpfs", "tmpfs", "/etc/wireguard")
            # WireGuard in user space keeps the output of its caller open.
            commands = f"exec >{machine.folder}/wireguard.log 2>&1\n{up.replace('HOST', machine.name)}"
            subprocess.run(on(machine, commands, tmp_path), check=True, timeout=30)
            running.callback(machine.output, "wg-quick", "down", "cubeyard")
        for machine in machines:
            running.enter_context(started(machine, serve, tmp_path))
        encrypted = f"{ours(emulate, tmp_path, [far_relay, *wireguard])} {SHORT}"
        for command, in_the_open in ((encrypted, False), (f"{ours(emulate, tmp_path, [far_relay])} {SHORT}", True)):
            before = [packets(machine) for machine in machines]
            done = subprocess.run(
                on(machines[0], command, tmp_path), env=environment, capture_output=True, text=True, check=False,
                timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["aggregate_goodput_bits_per_sec"] > 0
            for machine, (tunnels, wireguards) in zip(machines, before, strict=True):
                now = packets(machine)
                assert (now[0] > tunnels + 100) is in_the_open, (tunnels, now)
                assert (now[1] > wireguards + 100) is not in_the_open, (wireguards, now)


def packets(machine: Machine) -> list[int]:
    """Packets of tunnels and of WireGuard that came by the cable, so far."""
    lines = machine.output("iptables", "-nvxL", "INPUT").splitlines()[2:]
    return [int(line.split()[0]) for line in lines]
