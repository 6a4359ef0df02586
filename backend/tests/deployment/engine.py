"""A Docker engine for the deployment test: the one that runs already, or one of our own.

Our own has its own data folder, socket, bridge and address pool, so that it meets nothing of
another engine's, and it leaves the machine's firewall rules as it found them. It is stopped by its
own process id.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

START_LIMIT_SECS = 60
STOP_LIMIT_SECS = 60


class EngineUnavailableError(RuntimeError):
    """No Docker engine runs and none could be started; the message gives the reason."""


@dataclass(frozen=True)
class Docker:
    """A way to call the Docker engine. `environment` is what a child process needs in order to
    reach it."""

    environment: dict[str, str]
    ours: bool
    log: Path | None = field(default=None)

    @property
    def socket(self) -> Path:
        """Where it listens on this machine."""
        return Path(self.environment.get("DOCKER_HOST", "").removeprefix("unix://") or "/var/run/docker.sock")

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs `docker ARGUMENTS`; raises with its output when it fails and `check` is set."""
        return call(["docker", *arguments], environment=self.environment, check=check)


def call(
    command: list[str], *, environment: dict[str, str], check: bool = True, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end with its output captured as text; a failure shows the last of that
    output."""
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False, cwd=cwd)
    if check and done.returncode != 0:
        message = f"{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{message}")
    return done


def as_root(*command: str) -> list[str]:
    """The command as root: as it is for root, else by `sudo` without a question."""
    return list(command) if os.geteuid() == 0 else ["sudo", "-n", *command]


def plain_environment() -> dict[str, str]:
    """This process's environment, with the folders in which Debian keeps `dockerd` and
    `iptables`."""
    environment = dict(os.environ)
    environment["PATH"] = f"{environment.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
    # The classic builder is the one that every engine has: BuildKit's front end is a separate
    # package on Debian.
    environment.update(DOCKER_BUILDKIT="0", COMPOSE_DOCKER_CLI_BUILD="0")
    return environment


class OwnEngine:
    """An engine started here. It can be killed, and started again on what it has."""

    def __init__(self, docker: Docker, start: Callable[[str], subprocess.Popen[bytes]], folder: Path) -> None:
        self.docker = docker
        self._start = start
        self._folder = folder
        self._process, self._driver = self._first()

    def _first(self) -> tuple[subprocess.Popen[bytes], str]:
        """Started with the first storage driver that works here: overlay2, else vfs (which copies
        whole layers)."""
        try:
            return self._start("overlay2"), "overlay2"
        except EngineUnavailableError:
            return self._start("vfs"), "vfs"

    @property
    def address(self) -> dict[str, str]:
        """By which a program finds it."""
        return {"DOCKER_HOST": self.docker.environment["DOCKER_HOST"]}

    def kill(self) -> None:
        """As `kill -9` does: its containers stay as they are. Its containerd, which ends with it,
        has ended too."""
        below = self._folder / "exec" / "containerd" / "containerd.pid"
        containerd = Path("/proc") / below.read_text().strip()
        _signal(signal.SIGKILL, self._process, self._folder)
        self._process.wait(STOP_LIMIT_SECS)
        deadline = time.monotonic() + STOP_LIMIT_SECS
        while containerd.exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def start(self) -> None:
        """Start it again after a kill, with the containers that it had."""
        self._process = self._start(self._driver)

    def stop(self) -> None:
        """End it, and its containers with it."""
        _stop(self._process, self._folder)


@contextmanager
def docker_engine(folder: Path) -> Iterator[Docker]:
    """The engine that `docker info` finds, else one started here with its state under `folder`."""
    environment = plain_environment()
    if _answers(environment):
        yield Docker(environment, ours=False)
        return
    with own_engine(folder) as engine:
        yield engine.docker


@contextmanager
def own_engine(folder: Path) -> Iterator[OwnEngine]:
    """An engine started here with its state under `folder`, whether another one runs or not."""
    environment = plain_environment()
    if shutil.which("dockerd", path=environment["PATH"]) is None:
        raise EngineUnavailableError("no Docker engine runs and there is no dockerd to start: install docker.io")
    environment["DOCKER_HOST"] = f"unix://{folder}/docker.sock"
    mounted = _mounts(folder)
    rules = _saved_firewall()
    forwarding = Path("/proc/sys/net/ipv4/ip_forward").read_text().strip()
    bridge, address, pool = _free_network()
    log = folder / "dockerd.log"
    call(as_root("ip", "link", "add", bridge, "type", "bridge"), environment=environment)
    try:
        call(as_root("ip", "address", "add", address, "dev", bridge), environment=environment)
        docker = Docker(environment, ours=True, log=log)
        engine = OwnEngine(docker, lambda driver: _start(folder, driver, bridge, pool, environment, log), folder)
        try:
            yield engine
        finally:
            engine.stop()
            _end_orphans(folder)
            _unmount(folder, mounted)
    finally:
        call(as_root("ip", "link", "delete", bridge), environment=environment, check=False)
        _restore_firewall(rules, forwarding)
        call(
            as_root("rm", "-rf", "--one-file-system", f"{folder}/data", f"{folder}/exec"),
            environment=environment,
            check=False,
        )


def _answers(environment: dict[str, str]) -> bool:
    if shutil.which("docker", path=environment["PATH"]) is None:
        raise EngineUnavailableError("there is no docker command: install docker.io")
    return call(["docker", "info"], environment=environment, check=False).returncode == 0


def _start(
    folder: Path, driver: str, bridge: str, pool: ipaddress.IPv4Network, environment: dict[str, str], log: Path
) -> subprocess.Popen[bytes]:
    command = as_root(
        "dockerd",
        *("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/dockerd.pid"),
        *("--host", environment["DOCKER_HOST"], "--bridge", bridge, "--mtu", str(_mtu())),
        *("--default-address-pool", f"base={pool},size=26", "--storage-driver", driver),
    )
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    deadline = time.monotonic() + START_LIMIT_SECS
    while process.poll() is None and time.monotonic() < deadline:
        if _answers(environment):
            return process
        time.sleep(0.3)
    _stop(process, folder)
    raise EngineUnavailableError(f"dockerd does not start here; the last it said:\n{log.read_text()[-3000:]}")


def _stop(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Ends dockerd by its process id: with SIGTERM, then SIGKILL. Its containerd ends with it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        _signal(number, process, folder)
        try:
            process.wait(timeout=STOP_LIMIT_SECS)
        except subprocess.TimeoutExpired:
            continue


def _end_orphans(folder: Path) -> None:
    """Containers that an engine which was killed, and not started again, has left with the
    processes that watch over them."""
    parents: dict[str, str] = {}
    watchers: set[str] = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            reported = (path / "cmdline").read_bytes().split(b"\0")
            parents[path.name] = (path / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if f"{folder}/exec/containerd/containerd.sock".encode() in reported and b"-id" in reported:
            watchers.add(path.name)
    orphans = watchers | {pid for pid, parent in parents.items() if parent in watchers}
    if orphans:
        subprocess.run(as_root("kill", "-9", *sorted(orphans)), check=False, capture_output=True)


def _mounts(folder: Path) -> dict[str, str]:
    """Where something is mounted at or below a folder, by the mount's number, in the order it was
    done."""
    rows = (line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return {row[0]: row[4] for row in rows if Path(row[4]).is_relative_to(folder)}


def _unmount(folder: Path, before: dict[str, str]) -> None:
    """An engine mounts its data folder on itself, and one that was killed leaves its containers'
    file systems mounted too."""
    for number, below in reversed(_mounts(folder).items()):
        if number not in before:
            call(as_root("umount", "--lazy", below), environment=plain_environment(), check=False)


def _signal(number: signal.Signals, process: subprocess.Popen[bytes], folder: Path) -> None:
    pidfile = folder / "dockerd.pid"
    pid = int(pidfile.read_text()) if pidfile.exists() else process.pid
    subprocess.run(as_root("kill", f"-{int(number)}", str(pid)), check=False, capture_output=True)


def _free_network() -> tuple[str, str, ipaddress.IPv4Network]:
    """A bridge name, its address with prefix, and a pool for further networks, all clear of this
    machine's routes."""
    listed = subprocess.run(["ip", "-4", "route", "show", "table", "all"], text=True, capture_output=True, check=False)
    taken: list[ipaddress.IPv4Network] = []
    for word in listed.stdout.split():
        try:
            network = ipaddress.ip_network(word, strict=False)
        except ValueError:
            continue
        if isinstance(network, ipaddress.IPv4Network) and network.prefixlen > 0:
            taken.append(network)
    for block in ipaddress.IPv4Network("172.16.0.0/12").subnets(new_prefix=20):
        if not any(block.overlaps(network) for network in taken):
            halves = list(block.subnets(new_prefix=21))
            bridge = f"cyb{os.getpid()}-{block.network_address.packed[2]:x}"[:15]
            return bridge, f"{next(halves[0].hosts())}/24", halves[1]
    raise EngineUnavailableError("no free private address block for Docker's networks on this machine")


def _mtu() -> int:
    """The MTU of the way out, in bytes: larger packets from containers could be lost on it without
    a word."""
    route = subprocess.run(
        ["ip", "-4", "route", "show", "default"], text=True, capture_output=True, check=False
    ).stdout.split()
    if "dev" not in route:
        return 1500
    return int(Path(f"/sys/class/net/{route[route.index('dev') + 1]}/mtu").read_text())


def _saved_firewall() -> str | None:
    saved = subprocess.run(
        as_root("iptables-save"), text=True, capture_output=True, check=False, env=plain_environment()
    )
    return saved.stdout if saved.returncode == 0 else None


def _restore_firewall(rules: str | None, forwarding: str) -> None:
    """Restores the firewall: Docker leaves its chains and a FORWARD policy of DROP."""
    if rules is None:
        return
    tables = {line[1:] for line in rules.splitlines() if line.startswith("*")}
    # A table that was not there before has nothing to be restored to: empty it.
    for table in ("filter", "nat"):
        if table not in tables:
            policy = (
                ("INPUT", "FORWARD", "OUTPUT")
                if table == "filter"
                else ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING")
            )
            rules += f"*{table}\n" + "".join(f":{chain} ACCEPT [0:0]\n" for chain in policy) + "COMMIT\n"
    environment = plain_environment()
    subprocess.run(
        as_root("iptables-restore"), input=rules, text=True, check=False, capture_output=True, env=environment
    )
    subprocess.run(
        as_root("sysctl", "-qw", f"net.ipv4.ip_forward={forwarding}"), check=False, capture_output=True, env=environment
    )


def main() -> None:
    """For programs that are not Python: prints where an engine listens, and stops it when the
    standard input ends."""
    folder = Path(tempfile.mkdtemp(prefix="cubeyard-docker-"))
    try:
        with docker_engine(folder) as engine:
            print(f"unix://{engine.socket}", flush=True)
            sys.stdin.read()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
