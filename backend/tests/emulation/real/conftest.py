"""Real packets: root, the two programs, and a Docker engine (a running one, or one started by the
tests).

Without them the tests are skipped with a reason. In CI no test may be skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.deploy.names import PLACE
from cubeyard.emulation.fabric.process import FABRIC, NODE, program
from cubeyard.settings import Settings
from tests.deployment.engine import Docker, EngineUnavailableError, docker_engine
from tests.emulation.real import lanes
from tests.processes import PROGRAM, environment

Json = dict[str, Any]

ENOUGH_SECS = 15


def missing() -> str:
    """Why real packets cannot be sent here; empty if they can."""
    if os.geteuid() != 0:
        return "real packets need root"
    gone = [name for name in (FABRIC, NODE) if program(Settings(), name) is None]
    return f"{' and '.join(gone)} not built: make setup" if gone else ""


def skip(why: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"in CI nothing may skip: {why}")
    pytest.skip(why)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if lanes.shared():
        lanes.longest_first(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """In a lane, runs the test files that no other lane has taken; else pytest's own loop runs."""
    folder = lanes.shared()
    if folder is None or session.testsfailed or session.config.option.collectonly:
        return None
    lanes.run(session, folder)
    return True


@pytest.fixture(scope="session", autouse=True)
def _able() -> None:
    if why := missing():
        skip(why)


@pytest.fixture(scope="session")
def docker() -> Iterator[Docker]:
    folder = Path(tempfile.mkdtemp(prefix="cubeyard-docker-"))
    try:
        with docker_engine(folder) as engine:
            yield engine
    except EngineUnavailableError as error:
        skip(str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Traces:
    """Traces of emulations on this machine: namespaces, containers, folders, processes."""

    def __init__(self, docker: Docker | None) -> None:
        self._docker = docker

    def now(self) -> dict[str, set[str]]:
        result = {
            "namespaces": set(lines("ip", "netns", "list")),
            "links": {line.split(":")[1] for line in lines("ip", "-o", "link") if ": cy" in line},
            "folders": {str(path) for path in Path("/run/cubeyard").glob("*")},
            "processes": set(_processes()),
        }
        if self._docker is not None:
            listed = self._docker.run("ps", "--all", "--quiet", "--filter", f"label={PLACE}").stdout
            result["containers"] = set(listed.split())
        return result


def lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _processes() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/exe"):
        try:
            name = path.readlink().name
        except OSError:
            continue
        if name.startswith((FABRIC, NODE)):
            yield f"{name} {path.parent.name}"


@pytest.fixture
def nothing_left(docker: Docker) -> Iterator[Callable[[], dict[str, set[str]]]]:
    """Checks at the end of a test that the machine is as before. Calling the fixture returns the
    new traces."""
    traces = Traces(docker)
    before = traces.now()

    def new() -> dict[str, set[str]]:
        return {kind: some - before[kind] for kind, some in traces.now().items() if some - before[kind]}

    yield new
    deadline = time.monotonic() + ENOUGH_SECS
    while new() and time.monotonic() < deadline:  # ignores temporary traces of other processes
        time.sleep(0.5)
    assert new() == {}


class Command:
    """Runs `cubeyard emulate` with a separate home."""

    def __init__(self, home: Path, docker: Docker) -> None:
        self.environment = {**environment(home, CUBEYARD_LOG_LEVEL="warning"), **_only_docker(docker)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, "emulate", *arguments, "--json"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> Json:
        return self.finish(self.start(*arguments), code)

    def finish(self, process: subprocess.Popen[str], code: int = 0) -> Json:
        """Waits for the command, which must exit with this code, and returns its output."""
        out, message = process.communicate(timeout=180)
        assert process.returncode == code, (process.returncode, message)
        return json.loads(out) if out else {"said": message}


def _only_docker(docker: Docker) -> dict[str, str]:
    return {key: value for key, value in docker.environment.items() if key.startswith("DOCKER_")}


@pytest.fixture
def emulate(tmp_path: Path, docker: Docker) -> Command:
    return Command(tmp_path, docker)
