"""One cluster, with the chart installed, for all of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.database import a_database
from tests.cluster.emulate import Emulate
from tests.cluster.installed import install, outside
from tests.cluster.machines import Cluster, a_cluster
from tests.cluster.programs import missing
from tests.cluster.service import Service

Json = dict[str, Any]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if why := missing():
        pytest.fail(why)
    with a_cluster() as result:
        yield result


@pytest.fixture(scope="session")
def postgres(cluster: Cluster) -> Iterator[tuple[str, Path]]:
    assert cluster.nodes
    with a_database() as made:
        yield made


@pytest.fixture(scope="session")
def database(postgres: tuple[str, Path]) -> str:
    """The URL of the PostgreSQL that the installation uses. It listens on the cluster's network."""
    return postgres[0]


@pytest.fixture(scope="session")
def certificate(postgres: tuple[str, Path]) -> Path:
    """Who signed its certificate."""
    return postgres[1]


@pytest.fixture(scope="session")
def service(cluster: Cluster, database: str) -> Service:
    """Cubeyard, installed in the cluster."""
    return install(cluster, database)


@pytest.fixture(scope="session")
def told(cluster: Cluster, service: Service) -> Json:
    """CUBEYARD_CLUSTER of a worker outside, with the rights of the chart's."""
    assert service.token
    return outside(cluster)


@pytest.fixture
def emulate(tmp_path: Path, told: Json) -> Emulate:
    return Emulate(tmp_path, told)
