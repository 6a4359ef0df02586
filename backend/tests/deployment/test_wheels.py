"""`pip install cubeyard[server]` from the wheels of `make wheels`, and `cubeyard run`, on a
distribution without Rust and Node.js."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .engine import Docker, call
from .images import ROOT, Images

# The locked packages come first, so that the second installation needs no index: it fails if a
# wheel of ours or a requirement is missing.
DOCKERFILE = """
FROM {base}
COPY requirements.txt *.whl /wheels/
RUN python3 -m venv /opt/cubeyard \\
    && /opt/cubeyard/bin/pip install --no-cache-dir --require-hashes -r /wheels/requirements.txt \\
    && /opt/cubeyard/bin/pip install --no-cache-dir --no-index --find-links /wheels 'cubeyard[server]' \\
    && rm -r /wheels \\
    && echo 'cubeyard:x:10001:10001::/tmp:/usr/sbin/nologin' >>/etc/passwd && echo 'cubeyard:x:10001:' >>/etc/group
USER 10001:10001
ENV HOME=/tmp CUBEYARD_HOME=/tmp/cubeyard PATH=/opt/cubeyard/bin:$PATH
"""
CALL = """
import json, sys, urllib.request
path, body = sys.argv[1], sys.argv[2].encode() or None
headers = {"Content-Type": "application/json", "Accept": "text/html, application/json"}
request = urllib.request.Request(f"http://127.0.0.1:8080{path}", data=body, headers=headers)
print(urllib.request.urlopen(request, timeout=30).read().decode())
"""
START_SECS = 120


@pytest.fixture(scope="module")
def container(docker: Docker, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The id of a container in which `cubeyard run` serves."""
    folder, name = tmp_path_factory.mktemp("wheels"), f"cubeyard-test-wheels:p{os.getpid()}"
    call([str(ROOT / "bin/wheels"), str(folder)], environment=docker.environment)
    shutil.copy(ROOT / "backend/requirements.txt", folder)
    (folder / "Dockerfile").write_text(DOCKERFILE.format(base=images.base))
    docker.run("build", "--quiet", "--tag", name, str(folder))
    identity = docker.run("run", "--detach", "--network=none", name, "cubeyard", "run").stdout.strip()
    try:
        _wait(docker, identity)
        yield identity
    finally:
        docker.run("rm", "--force", "--volumes", identity, check=False)
        docker.run("image", "rm", "--force", name, check=False)


def _wait(docker: Docker, identity: str) -> None:
    deadline = time.monotonic() + START_SECS
    while _request(docker, identity, "/livez", check=False).returncode != 0:
        if time.monotonic() > deadline:
            logs = docker.run("logs", identity)
            raise AssertionError(f"no answer within {START_SECS} s\n{logs.stdout}\n{logs.stderr}")
        time.sleep(1)


def _request(
    docker: Docker, identity: str, path: str, body: str = "", *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    return docker.run("exec", identity, "/opt/cubeyard/bin/python", "-c", CALL, path, body, check=check)


@pytest.mark.long
def test_an_installation_from_wheels_serves_page_documents_and_plans(docker: Docker, container: str) -> None:
    tools = docker.run("exec", container, "sh", "-c", "command -v cargo rustc node npm", check=False)
    assert tools.stdout == "", "the base image has what the wheels must not need"
    assert '<div id="root">' in _request(docker, container, "/").stdout
    assert "Cubeyard" in _request(docker, container, "/docs/reference/cli.html").stdout
    body = '{"name": "From wheels", "spec": {"topology": {"family": "bcube", "n": 4, "k": 1}}}'
    assert '"From wheels"' in _request(docker, container, "/api/v1/plans", body).stdout
    assert '"From wheels"' in _request(docker, container, "/api/v1/plans").stdout


@pytest.mark.long
def test_the_wheels_bring_the_programs_of_the_emulation(docker: Docker, container: str) -> None:
    code = (
        "from cubeyard.settings import Settings; from cubeyard.emulation.fabric.process import *;"
        "print(*(program(Settings(), name) for name in (FABRIC, NODE)))"
    )
    paths = docker.run("exec", container, "/opt/cubeyard/bin/python", "-c", code).stdout.split()
    assert [Path(path).parent for path in paths] == [Path("/opt/cubeyard/bin")] * 2
    assert docker.run("exec", container, paths[0], "probe", "--json").stdout.startswith("{")
