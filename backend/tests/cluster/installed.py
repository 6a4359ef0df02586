"""The chart, rendered and installed by the real Helm."""

from __future__ import annotations

import base64
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.cluster.machines import Cluster, ClusterFailedError, wait
from tests.cluster.programs import built
from tests.cluster.service import Service
from tests.deployment.service_image import FIRST, NAME

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "helm" / "cubeyard"
MANIFESTS = ROOT / "deploy" / "kubernetes" / "cubeyard.yaml"
NAMESPACE, SERVERS = "cubeyard", "cubeyard-servers"
HOST = "cubeyard.test"
"""The host name in the URLs of the tests' browsers."""
READY_SECS = 240
WORKERS = 2
SMALL_REQUESTS = (
    f"worker.replicas={WORKERS}", "worker.resources.requests.cpu=100m", "worker.resources.requests.memory=256Mi",
    "api.resources.requests.cpu=100m", f"api.allowedHosts={{{HOST}}}", r"emulation.nodeSelector.cubeyard\.test/kubelet=yes",
)  # fmt: skip
"""The nodes are one machine of few processors."""


def helm(*words: str, secs: float = 60) -> str:
    done = subprocess.run([str(built("helm")), *words], capture_output=True, text=True, check=False, timeout=secs)
    if done.returncode != 0:
        raise ClusterFailedError(done.stderr.strip())
    return done.stdout


def chosen(*values: str) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def rendered(*values: str, release: str = "cubeyard", chart: Path = CHART) -> str:
    """The chart as documents, with its default values and these: `emulation.underlay=node`."""
    given = chosen("database.existingSecret=cubeyard-database", "secrets.draw=true", *values)
    return helm("template", release, str(chart), "--kube-version", "1.34.4", "--namespace", NAMESPACE, *given)


def documents(*values: str, release: str = "cubeyard", chart: Path = CHART) -> list[Json]:
    text = rendered(*values, release=release, chart=chart)
    return [item for item in yaml.load_all(text, yaml.CSafeLoader) if item]


def install(cluster: Cluster, database_url: str) -> Service:
    """Follows docs/how-to/kubernetes.md: one `helm install`, here with an image that is already on
    the nodes, and small requests."""
    core = client.CoreV1Api(cluster.api)
    try:
        cluster_helm(
            cluster, "install", "cubeyard", str(CHART), "--create-namespace", "--wait", "--timeout", f"{READY_SECS}s",
            *chosen(
                f"image.repository={NAME}", f"image.tag={FIRST}", f"database.url={database_url}", "secrets.draw=true",
                *SMALL_REQUESTS,
            ),
        )  # fmt: skip
    except ClusterFailedError as error:
        raise ClusterFailedError(f"{error}\n{_why(cluster, core)}") from error
    wait(lambda: fabrics_ready(core) == len(cluster.nodes), "the fabrics are not ready", lambda: _why(cluster, core))
    token = core.read_namespaced_secret("cubeyard-token", NAMESPACE).data["token"]
    address = core.read_namespaced_service("cubeyard", NAMESPACE).spec.cluster_ip
    return Service(f"http://{address}", HOST, base64.b64decode(token).decode())


def cluster_helm(cluster: Cluster, *words: str) -> str:
    return helm(
        *words, "--namespace", NAMESPACE, "--kubeconfig", str(cluster.kubeconfig("admin")), secs=READY_SECS + 60
    )


def outside(cluster: Cluster) -> Json:
    """The value of CUBEYARD_CLUSTER for a worker outside the cluster, with the permissions of the
    chart's worker."""
    core = client.CoreV1Api(cluster.api)
    reported: Json = yaml.safe_load(core.read_namespaced_config_map("cubeyard-cluster", NAMESPACE).data["cluster.json"])
    keys = core.read_namespaced_secret("cubeyard-keys", NAMESPACE).data
    token = core.create_namespaced_service_account_token("cubeyard-worker", NAMESPACE, {"spec": {}}).status.token
    return {
        **reported,
        "keys": _worker_keys(cluster.folder / "keys", keys),
        "kubeconfig": str(cluster.kubeconfig("worker", token)),
    }


def fabrics_ready(core: Any) -> int:
    pods = core.list_namespaced_pod(NAMESPACE, label_selector="app.kubernetes.io/component=fabric").items
    return sum(
        all(container_status.ready for container_status in pod.status.container_statuses or [None])
        for pod in pods
        if pod.status.pod_ip
    )


def _worker_keys(folder: Path, data: dict[str, str]) -> str:
    folder.mkdir()
    for name, source in (("ca.crt", "ca.crt"), ("tls.crt", "worker.crt"), ("tls.key", "worker.key")):
        (folder / name).write_bytes(base64.b64decode(data[source]))
    return str(folder)


def _why(cluster: Cluster, core: Any) -> str:
    """Why the fabrics' containers wait, and their output."""
    output = [cluster.nodes[0].said("kubelet")]
    for pod in core.list_namespaced_pod(NAMESPACE).items:
        output.append(f"{pod.metadata.name}: {pod.status.phase} {pod.status.message or ''}")
        for container_status in pod.status.container_statuses or []:
            output.append(
                f"  {container_status.name}: {container_status.state.waiting or container_status.state.terminated or 'runs'}"
            )
            with suppress(ApiException):
                output.append(
                    core.read_namespaced_pod_log(
                        pod.metadata.name, NAMESPACE, container=container_status.name, tail_lines=8
                    )
                )
    events = core.list_namespaced_event(NAMESPACE).items
    return "\n".join([*output, *(f"{event.reason}: {event.message}" for event in events[-8:])])


def left(cluster: Cluster) -> Json:
    """Possible leftovers of runs: pods, owners, names of namespaces, journals."""
    core = client.CoreV1Api(cluster.api)
    result: Json = {
        "pods": [item.metadata.name for item in core.list_namespaced_pod(SERVERS).items],
        "owners": [
            item.metadata.name
            for item in core.list_namespaced_config_map(SERVERS).items
            if item.metadata.name != "kube-root-ca.crt"
        ],
    }
    for node in cluster.nodes:
        for task in fabric_tasks(node):
            root = Path("/proc", str(task), "root", "run")
            names = [path.name for path in (root / "netns").glob("*")] if (root / "netns").exists() else []
            result[f"names on {node.name}"] = names
            result[f"journal on {node.name}"] = [path.name for path in (root / "cubeyard/state/journal").glob("*")]
    return {kind: some for kind, some in result.items() if some}


def fabric_tasks(node: Any) -> list[int]:
    """The processes of the node's fabrics."""
    matches = []
    for line in node.ctr("tasks", "list").splitlines()[1:]:
        pid = int(line.split()[1])
        with suppress(OSError):
            if b"cubeyard-fabric" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                matches.append(pid)
    return matches


def wait_for_pods(cluster: Cluster, count: int, secs: float = 60) -> list[Any]:
    """The servers' pods, as soon as `count` of them run."""
    core = client.CoreV1Api(cluster.api)
    deadline = time.monotonic() + secs
    while True:
        pods = core.list_namespaced_pod(SERVERS).items
        running = [pod for pod in pods if pod.status.phase == "Running"]
        if len(running) == count:
            return running
        assert time.monotonic() < deadline, [(pod.metadata.name, pod.status.phase) for pod in pods]
        time.sleep(0.2)


HEAD = """# The chart of deploy/helm/cubeyard with its default values, for clusters without Helm;
# `bin/cluster render` writes this file. The namespace `cubeyard` and three Secrets come first:
# docs/how-to/kubernetes.md says how. `kubectl apply -f` it, as often as it changes.
"""


def manifests() -> str:
    """The chart for `kubectl apply`, with Secrets that somebody else makes: nothing in it is
    drawn."""
    ours = ("existingTokenSecret=cubeyard-token", "emulation.existingKeys=cubeyard-keys")
    return HEAD + rendered(*ours)
