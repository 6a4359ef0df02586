"""A served instance whose parts can each be killed and started again: API, worker, fabric, Docker
engine, servers."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Self

import psycopg

from cubeyard.emulation.deploy.names import PLACE, RUN
from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.embedded import EmbeddedPostgres
from cubeyard.settings import Settings
from tests.deployment.engine import OwnEngine
from tests.processes import PROGRAM, Server, environment

from .conftest import lines
from .test_live import Live

SETTINGS = {"CUBEYARD_JOB_LEASE_SECS": "2"}
STOP_SECS = 60


class Instance:
    """All parts run while the context lasts."""

    def __init__(self, home: Path, engine: OwnEngine) -> None:
        self.home = home
        self.engine = engine
        self.place = Place.of(Settings(home=home))
        self._settings = {**SETTINGS, "DOCKER_HOST": engine.docker.environment["DOCKER_HOST"]}
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed together with the instance
        self.seen: set[str] = set()
        """Ids of all containers that have been ours."""
        self.docker_was_killed = False

    def __enter__(self) -> Self:
        self.start_api()
        self.start_worker()
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.worker, self.api.process):
            process.send_signal(signal.SIGTERM)
        for process in (self.worker, self.api.process):
            try:
                process.wait(STOP_SECS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        Server.__exit__(self.api)
        self.log.close()

    def start_api(self) -> None:
        self.api = Live(self.home, "--no-worker", **self._settings)
        self.api.__enter__()

    def start_worker(self) -> None:
        variables = environment(self.home, **self._settings)
        self.worker = subprocess.Popen([*PROGRAM, "worker"], env=variables, stdout=self.log, stderr=self.log)

    def said(self) -> str:
        """The end of the worker's log."""
        self.log.seek(0)
        return self.log.read()[-6000:]

    def containers(self, *more: str) -> list[str]:
        label = f"label={PLACE}={self.place.name}"
        return self.engine.docker.run("ps", "--all", "--quiet", "--no-trunc", "--filter", label, *more).stdout.split()

    def fabric(self) -> int | None:
        try:
            with FabricClient(self.place.socket) as client:
                return client.pid
        except FabricGoneError:
            return None

    def nodes(self) -> list[int]:
        """Process ids of the running servers."""
        running = self.containers("--filter", "status=running")
        if not running:
            return []
        result = self.engine.docker.run("inspect", "--format", "{{.State.Pid}}", *running, check=False).stdout
        return [int(pid) for pid in result.split() if pid != "0"]

    def kill(self, victim: str, draws: Random, wait: Callable[[str, Callable[[], Any]], Any]) -> None:
        """Kills the victim with `kill -9` as soon as it exists."""
        self.seen |= set(self.containers())
        match victim:
            case "api":
                Server.__exit__(self.api)
            case "worker":
                self.worker.kill()
                self.worker.wait()
            case "docker":
                self.docker_was_killed = True
                self.engine.kill()
            case "fabric":
                _kill(wait("a fabric", self.fabric))
            case _:
                _kill(draws.choice(wait("a server", self.nodes)))

    def start_again(self, victim: str) -> None:
        """Starts the victim again, and waits for it. The worker itself restarts the fabric, and a
        dead server stays dead."""
        match victim:
            case "api":
                self.start_api()
            case "worker":
                self.start_worker()
            case "docker":
                self.engine.start()
            case _:
                pass

    def frames(self, run: str) -> list[tuple[int, str, str]]:
        """The committed frames of a run: number, kind and content, read from the database."""
        with psycopg.connect(EmbeddedPostgres(self.home).conninfo()) as connection:
            request = "select seq, kind, md5(payload::text) from run_frames where run_id = %s order by seq"
            return [tuple(row) for row in connection.execute(request, [run])]

    def left(self, run: str) -> dict[str, list[str]]:
        """Leftovers on this machine of an ended run, and of unknown runs."""
        self.seen |= set(result := self.containers())
        groups = [path for path, _, _ in os.walk("/sys/fs/cgroup") if Path(path).name in self.seen and self._ours(path)]
        state = [path for part in ("runs", "journal") for path in (self.place.state / part).glob("*")]
        everything = {
            "containers": result,
            "namespaces": [name for name in lines("ip", "netns", "list") if name.startswith(f"cy-{run[:8]}-")],
            "links": [link for link in links() if link.startswith(("l", "p", "b", "cy0")) and link[-1].isdigit()],
            "locks": self.place.locks(),
            "state": [str(path) for path in state],
            "groups": groups,
        }
        return {kind: some for kind, some in everything.items() if some}

    def _ours(self, group: str) -> bool:
        """Whether a control group belongs to a server. An engine that is killed while it starts a
        container may leave an empty group that belongs to the engine itself."""
        try:
            return bool(Path(group, "cgroup.procs").read_text().strip()) or not self.docker_was_killed
        except OSError:
            return False  # it is being removed


class Others:
    """Objects of other owners with names similar to ours, which must not be changed."""

    NAMESPACE, LINK, RUN_ID = "cy-0ther000-sw", "cy-0ther000", "0ther000000000"

    def __init__(self, engine: OwnEngine, image: str) -> None:
        self._engine = engine
        self._image = image
        self._folder = Path("/run/cubeyard/0badcafe")

    def __enter__(self) -> Self:
        (self._folder / "state" / "journal").mkdir(parents=True)
        (self._folder / "state" / "journal" / f"{self.RUN_ID}.json").write_text("{}")
        lines("ip", "netns", "add", self.NAMESPACE)
        lines("ip", "-n", self.NAMESPACE, "link", "add", "b16", "type", "bridge")
        lines("ip", "-n", self.NAMESPACE, "link", "add", "l0", "type", "veth", "peer", "name", "p0")
        lines("ip", "link", "add", self.LINK, "type", "bridge")
        labels = ("--label", f"{PLACE}=0badcafe", "--label", f"{RUN}={self.RUN_ID}")
        where = ("--network", "none", "--restart", "always", "--name", "cubeyard-0ther000-00")
        self._engine.docker.run("run", "--detach", *where, *labels, self._image)
        self.before = self.now()
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.docker.run("rm", "--force", "cubeyard-0ther000-00", check=False)
        lines("ip", "link", "delete", self.LINK)
        lines("ip", "netns", "delete", self.NAMESPACE)
        lines("rm", "-r", str(self._folder))

    def now(self) -> dict[str, Any]:
        shown = "{{.Id}} {{.State.Running}}"
        return {
            "container": self._engine.docker.run(
                "inspect", "--format", shown, "cubeyard-0ther000-00", check=False
            ).stdout,
            "namespace": links("-n", self.NAMESPACE),
            "bridge": self.LINK in links(),
            "folder": sorted(str(path) for path in self._folder.rglob("*")),
        }


def links(*where: str) -> list[str]:
    """Names of the network cards in a namespace, by default the current one."""
    return sorted(line.split(": ")[1].split("@")[0] for line in lines("ip", *where, "-o", "link"))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself at the same moment
