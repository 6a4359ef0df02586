"""A cluster's API in this process, the settings of a worker that calls it, and the recorded signal
requests to the fabric."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cubeyard.settings import EmulationCluster
from tests.emulation.cluster.fake_api import FakeCluster, serving


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def settings(cluster: FakeCluster, tmp_path: Path) -> Iterator[EmulationCluster]:
    with serving(cluster, tmp_path) as result:
        yield result


@pytest.fixture
def signals() -> list[tuple[str, int, str, str]]:
    return []
