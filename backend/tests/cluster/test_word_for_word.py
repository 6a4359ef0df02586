"""docs/how-to/kubernetes.md, followed: an installation in an empty namespace with its own Secrets,
an emulation, new keys, an emulation with the new keys, and the plain manifests, twice. The file's
name makes it the last."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from kubernetes import client

from tests.cluster.installed import (
    HOST,
    NAMESPACE,
    READY_SECS,
    ROOT,
    SMALL_REQUESTS,
    chosen,
    cluster_helm,
    fabrics_ready,
    left,
)
from tests.cluster.machines import Cluster, wait
from tests.cluster.programs import built
from tests.cluster.service import Service
from tests.cluster.test_service import EMULATED, check_over_two_nodes
from tests.deployment.compose import free_port
from tests.deployment.service_image import FIRST, NAME

HELM = """#!/bin/sh
case " $* " in *" install "*) set -- "$@" {values} ;; esac
exec {helm} "$@"
"""
"""For `helm install`: the nodes have the image already, and are one machine of few processors."""
KUBECTL = '#!/bin/sh\nexec {} kubectl "$@"\n'


def blocks() -> tuple[str, str]:
    """The commands of an installation and of a rotation of keys. A rollback is in
    `test_upgrade.py`."""
    text = (ROOT / "docs/how-to/kubernetes.md").read_text()
    install, _, rotate = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return install, rotate


@pytest.fixture
def folder(tmp_path: Path, cluster: Cluster, certificate: Path) -> Path:
    """A checkout, with the programs of the test's first in the path."""
    for name in ("bin", "deploy"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "path").mkdir()
    values = shlex.join(chosen(f"image.tag={FIRST}", *SMALL_REQUESTS))
    scripts = {"helm": HELM.format(helm=built("helm"), values=values), "kubectl": KUBECTL.format(built("kubernetes"))}
    for name, text in scripts.items():
        (tmp_path / "path" / name).write_text(text)
        (tmp_path / "path" / name).chmod(0o755)
    shutil.copy(certificate, tmp_path / "ca.crt")
    cluster.kubeconfig("admin")
    return tmp_path


@contextmanager
def followed(words: str, folder: Path, cluster: Cluster) -> Iterator[str]:
    """Yields the output of the commands. Their background programs end with the block."""
    path = f"{folder / 'path'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(cluster.kubeconfig("admin"))}
    with (folder / "printed").open("wb") as printed:
        process = subprocess.Popen(
            ["bash", "-ec", words], cwd=folder, env=environment, stdout=printed, stderr=printed, start_new_session=True
        )
    try:
        status = process.wait(2 * READY_SECS)
        text = (folder / "printed").read_text()
        assert status == 0, text
        yield text
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def emulated(service: Service, cluster: Cluster) -> None:
    run = service.start_run(EMULATED)
    row = service.ended(run)
    assert row["state"] == "succeeded", row
    check_over_two_nodes(service.get(f"/api/v1/runs/{run}/results")["report"])
    wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=30)


def test_the_how_to_is_followed_word_for_word(cluster: Cluster, database: str, folder: Path) -> None:
    """But for the names of the registry and the database, the port, and the values above."""
    core = client.CoreV1Api(cluster.api)
    cluster_helm(cluster, "uninstall", "cubeyard", "--ignore-not-found", "--wait", "--timeout", "120s")
    if NAMESPACE in names(core):
        core.delete_namespace(NAMESPACE)
        wait(lambda: NAMESPACE not in names(core), "the namespace stays")
    port = free_port()
    install, rotate = blocks()
    with psycopg.connect(database) as connection:
        mode = "verify-full" if connection.pgconn.ssl_in_use else "disable"
    user, _, place = database.removeprefix("postgresql://").rpartition("@")
    for of_the_how_to, ours in (
        ("cubeyard:PASSWORD@HOST:5432/cubeyard?sslmode=verify-full", f"{user}@{place}?sslmode={mode}"),
        ("REGISTRY/cubeyard", NAME),
        ("8080:80 ", f"{port}:80 "),
    ):
        assert install.count(of_the_how_to) == 1, of_the_how_to
        install = install.replace(of_the_how_to, ours)

    with followed(install, folder, cluster) as printed:
        (token,) = re.findall(r"(?<![0-9a-f])[0-9a-f]{48}(?![0-9a-f])", printed)
        address = core.read_namespaced_service("cubeyard", NAMESPACE).spec.cluster_ip
        service = Service(f"http://{address}", HOST, token)

        def page() -> bool:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                return answer.status == 200

        service.wait("the page on the forwarded port", page)
    wait(lambda: fabrics_ready(core) == len(cluster.nodes), "the fabrics are not ready", secs=READY_SECS)
    emulated(service, cluster)

    before = core.read_namespaced_secret("cubeyard-keys", NAMESPACE).data
    with followed(rotate, folder, cluster):
        pass
    after = core.read_namespaced_secret("cubeyard-keys", NAMESPACE).data
    assert {name for name in before if before[name] == after.get(name)} == {"ca.crt"}, "who signs them stays"
    status = "kubectl -n cubeyard rollout status --timeout=240s "
    for what in ("daemonset/cubeyard-fabric", "statefulset/cubeyard-worker", "deployment/cubeyard-api"):
        with followed(status + what, folder, cluster):
            pass
    wait(lambda: fabrics_ready(core) == len(cluster.nodes), "the fabrics are not ready", secs=READY_SECS)
    service.wait("the Service's address", lambda: all(service.get("/healthz")["status"] == "ok" for _ in range(20)))
    emulated(service, cluster)
    cluster_helm(cluster, "uninstall", "cubeyard", "--wait", "--timeout", "120s")
    plain = "-f deploy/kubernetes/cubeyard.yaml"
    for expected in ("created", "unchanged|configured"):
        with followed(f"kubectl apply {plain}", folder, cluster) as printed:
            outcomes = [line.rpartition(" ")[2] for line in printed.splitlines() if not line.startswith("Warning")]
            assert len(outcomes) > len(cluster.nodes), printed
            assert all(re.fullmatch(expected, outcome) for outcome in outcomes), printed
    with followed(f"kubectl delete {plain}", folder, cluster):
        pass


def names(core: client.CoreV1Api) -> set[str]:
    return {item.metadata.name for item in core.list_namespace().items}
