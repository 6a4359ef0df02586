"""One Docker engine and one set of base images for all deployment tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .engine import Docker, docker_engine
from .images import Images, make_images
from .service_image import prepared


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A short path under the temporary folder: a Unix socket's path may have 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="cubeyard-docker-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def docker(folder: Path) -> Iterator[Docker]:
    with docker_engine(folder) as engine:
        yield engine


@pytest.fixture(scope="session")
def images(docker: Docker, folder: Path) -> Iterator[Images]:
    made = make_images(docker, folder, tag=f"p{os.getpid()}")
    yield made
    if os.environ.get("CUBEYARD_TEST_KEEP_IMAGE"):  # for the cluster's tests, which come later
        prepared(docker, made)
    if not docker.ours:  # an engine that we started is removed with its images
        docker.run("image", "rm", "--force", *made.names(), check=False)
