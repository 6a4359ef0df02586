"""The Docker engine dies while packets flow: the run ends with a clear state, and the next start
removes its leftovers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubeyard.emulation.deploy.names import PLACE
from tests.deployment.engine import EngineUnavailableError, OwnEngine, own_engine

from .conftest import skip
from .test_live import API, Live, home

pytestmark = pytest.mark.long

__all__ = ["home"]
Left = Callable[[], dict[str, set[str]]]


@pytest.fixture
def engine() -> Iterator[OwnEngine]:
    """A separate engine for this test, so that no other test's engine is killed."""
    with tempfile.TemporaryDirectory(prefix="cubeyard-docker-", ignore_cleanup_errors=True) as folder:
        try:
            with own_engine(Path(folder)) as engine:
                yield engine
        except EngineUnavailableError as error:
            skip(str(error))


def test_a_killed_docker_engine_ends_the_run_clearly(home: Path, engine: OwnEngine, nothing_left: Left) -> None:
    host = {"DOCKER_HOST": engine.docker.environment["DOCKER_HOST"]}

    def containers() -> list[str]:
        return engine.docker.run("ps", "--all", "--quiet", "--filter", f"label={PLACE}").stdout.split()

    with Live(home, **host) as server:
        run = server.start(mode="containers")
        server.flowing(run)
        assert len(containers()) == 4
        engine.kill()

        fault = {"kind": "server-killed", "target": {"names": ["11"]}}
        assert server.call("POST", f"{API}/runs/{run}/faults", fault)[0] == 202
        row = server.call("POST", f"{API}/runs/{run}/cancel")[1]
        row = server.ended(run)
        assert row["state"] in ("cancelled", "failed"), row
        machine = server.call("GET", f"{API}/emulation")[1]
        assert machine["modes"] == ["namespaces"], "containers are no longer offered"

    engine.start()
    with Live(home, **host):
        deadline = time.monotonic() + 30
        while containers():
            assert time.monotonic() < deadline, "the next start removes the leftovers"
            time.sleep(0.2)
