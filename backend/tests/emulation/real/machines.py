"""Simulates two machines on this one: each has a separate network, mounts, a Docker engine and a
fabric; a cable joins them."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cubeyard.emulation.deploy.names import PLACE
from cubeyard.emulation.fabric.process import FABRIC, NODE, program
from cubeyard.settings import Settings
from tests.deployment.engine import Docker, EngineUnavailableError, plain_environment

Json = dict[str, Any]

JUMBO_BYTES = 9100
START_SECS = 60
STOP_SECS = 20
APART = (
    "unshare",
    "--net",
    "--mount",
    "sh",
    "-c",
    "mount -t tmpfs tmpfs /run && ip link set lo up && exec sleep 1000000",
)
"""Command of the process that keeps a machine's namespaces alive while nothing else runs on the
machine."""


@dataclass
class Machine:
    """One of the machines. Its processes were started here, and are ended by their ids."""

    name: str
    underlay: str
    folder: Path
    holder: subprocess.Popen[bytes]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def fabric_socket(self) -> Path:
        return self.folder / "fabric.sock"

    @property
    def docker(self) -> Docker:
        return Docker({**plain_environment(), "DOCKER_HOST": f"unix://{self.folder}/docker.sock"}, ours=True)

    def setting(self) -> Json:
        """The machine's entry for CUBEYARD_HOSTS."""
        host = self.docker.environment["DOCKER_HOST"]
        return {"name": self.name, "fabric": str(self.fabric_socket), "docker": host, "underlay": self.underlay}

    def inside(self, *command: str) -> list[str]:
        """A command that runs another command on the machine."""
        return ["nsenter", "--net", "--mount", f"--target={self.holder.pid}", *command]

    def output(self, *command: str) -> str:
        return subprocess.run(self.inside(*command), capture_output=True, text=True, check=True, timeout=30).stdout

    def start_fabric(self) -> None:
        binaries = {name: program(Settings(), name) for name in (FABRIC, NODE)}
        places = ("--socket", str(self.fabric_socket), "--state", str(self.folder / "state"))
        self._start("fabric", str(binaries[FABRIC]), "serve", *places, "--node", str(binaries[NODE]))
        _wait(self.fabric_socket.exists, f"the fabric of {self.name} does not listen")

    def start_engine(self, driver: str) -> None:
        """Starts Docker without its own network: servers only have the emulated network."""
        self._start(
            "engine", "dockerd",
            *("--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec"),
            *("--pidfile", f"{self.folder}/dockerd.pid", "--host", f"unix://{self.folder}/docker.sock"),
            *("--iptables=false", "--bridge=none", "--storage-driver", driver),
        )  # fmt: skip

    def _start(self, what: str, *command: str) -> None:
        with (self.folder / f"{what}.log").open("ab") as log:
            self.running[what] = subprocess.Popen(
                self.inside(*command), env=plain_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def kill_fabric(self) -> None:
        fabric = self.running.pop("fabric")
        fabric.kill()
        fabric.wait(STOP_SECS)
        self.fabric_socket.unlink()

    def left(self) -> Json:
        """Possible leftovers of a run on the machine."""
        listed = self.docker.run("ps", "--all", "--quiet", "--filter", f"label={PLACE}").stdout.split()
        runs = [path.name for part in ("runs", "journal") for path in (self.folder / "state" / part).glob("*")]
        result = {
            "containers": listed,
            "namespaces": self.output("ip", "netns", "list").split(),
            "tunnels": [line for line in self.output("ss", "-Hunl").splitlines() if ":14789" in line],
            "journal": runs,
        }
        return {kind: some for kind, some in result.items() if some}

    def stop(self) -> None:
        for process in (*self.running.values(), self.holder):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_SECS)


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Raises EngineUnavailableError if no Docker engine can be started."""
    if shutil.which("dockerd", path=plain_environment()["PATH"]) is None:
        raise EngineUnavailableError("there is no dockerd to start: install docker.io")
    with bare_machines("10.77.0.") as machines:
        for machine in machines:
            machine.start_fabric()
        _start_engines(machines)
        yield machines


@contextmanager
def bare_machines(network: str) -> Iterator[tuple[Machine, Machine]]:
    """Two machines with a cable between them and addresses that begin with `network`, but without
    programs."""
    root = Path(tempfile.mkdtemp(prefix="cyh-"))
    with ExitStack() as held:
        held.callback(shutil.rmtree, root, ignore_errors=True)
        machines = [_machine(held, root / name, name, f"{network}{i}") for i, name in enumerate(("a", "b"), 1)]
        _join(machines)
        yield machines[0], machines[1]


def _machine(held: ExitStack, folder: Path, name: str, underlay: str) -> Machine:
    folder.mkdir()
    machine = Machine(name, underlay, folder, subprocess.Popen(APART))
    held.callback(machine.stop)
    comm = Path(f"/proc/{machine.holder.pid}/comm")
    _wait(lambda: comm.read_text() == "sleep\n", f"there is no network for {name}")
    return machine


def _join(machines: Sequence[Machine]) -> None:
    """Joins the machines by one cable, which carries whole jumbo packets inside tunnels."""
    mtu = ("mtu", str(JUMBO_BYTES))
    near, far = (("netns", str(machine.holder.pid)) for machine in machines)
    cable = ["ip", "link", "add", "under", *mtu, *near, "type", "veth", "peer", "name", "under", *mtu, *far]
    subprocess.run(cable, check=True)
    for machine in machines:
        machine.output("ip", "address", "add", f"{machine.underlay}/24", "dev", "under")
        machine.output("ip", "link", "set", "under", "up")


def _start_engines(machines: Sequence[Machine]) -> None:
    """Starts the engines with the first storage driver that works here."""
    for driver in ("overlay2", "vfs"):
        for machine in machines:
            machine.start_engine(driver)
        if all(_answers(machine) for machine in machines):
            return
        for machine in machines:
            engine = machine.running.pop("engine")
            engine.terminate()
            engine.wait(STOP_SECS)
    message = (machines[0].folder / "engine.log").read_text()
    raise EngineUnavailableError(f"dockerd does not start here; the last it said:\n{message[-3000:]}")


def _answers(machine: Machine) -> bool:
    deadline = time.monotonic() + START_SECS
    while machine.running["engine"].poll() is None and time.monotonic() < deadline:
        if machine.docker.run("info", check=False).returncode == 0:
            return True
        time.sleep(0.1)
    return False


def _wait(so: Any, why: str) -> None:
    deadline = time.monotonic() + START_SECS
    while not so():
        assert time.monotonic() < deadline, why
        time.sleep(0.02)
