"""The chart, rendered by the real Helm and installed on a cluster; images are this machine's own files."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, utils
from kubernetes.client.exceptions import ApiException

from cubeyard.emulation.fabric.process import FABRIC, program
from cubeyard.settings import Settings
from tests.cluster.machines import SERVER, Cluster, ClusterFailedError, wait
from tests.cluster.programs import built

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "helm" / "cubeyard"
MANIFESTS = ROOT / "deploy" / "kubernetes" / "cubeyard.yaml"
NAMESPACE, SERVERS = "cubeyard", "cubeyard-servers"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
ON_NODES = frozenset(
    {"Namespace", "ConfigMap", "DaemonSet", "Secret", "ServiceAccount", "Role", "RoleBinding", "NetworkPolicy"}
)
"""The API's and workers' own pods would take a PostgreSQL and Services; the tests' worker runs outside, with the worker's rights."""


def helm(*words: str) -> str:
    done = subprocess.run([str(built("helm")), *words], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise ClusterFailedError(done.stderr.strip())
    return done.stdout


def rendered(*values: str, release: str = "cubeyard") -> str:
    """The chart as documents, with its default values and these: `emulation.underlay=node`."""
    chosen = [word for value in ("database.existingSecret=cubeyard-database", *values) for word in ("--set", value)]
    return helm("template", release, str(CHART), "--kube-version", "1.34.4", "--namespace", NAMESPACE, *chosen)


def documents(*values: str, release: str = "cubeyard") -> list[Json]:
    return [one for one in yaml.safe_load_all(rendered(*values, release=release)) if one]


def install(cluster: Cluster) -> Json:
    """The fabric on every node, and rights. What CUBEYARD_CLUSTER has to be for a worker outside."""
    api, core = cluster.api, client.CoreV1Api(cluster.api)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    keys: dict[str, str] = {}
    told: Json = {}
    found = documents(f"emulation.image={SERVER}:1", "emulation.program=/cubeyard-node")
    for document in sorted(found, key=lambda one: one["kind"] != "Namespace"):
        if document["kind"] not in ON_NODES:
            continue
        if document["kind"] == "DaemonSet":
            from_this_machine(document)
        if document["kind"] == "Secret" and document["metadata"]["name"].endswith("-keys"):
            keys = document["data"]
        if document["kind"] == "ConfigMap":
            told = yaml.safe_load(document["data"]["cluster.json"])
        utils.create_from_dict(api, document, namespace=document["metadata"].get("namespace", NAMESPACE))
    wait(lambda: fabrics_ready(core) == len(cluster.nodes), "the fabrics are not ready", lambda: _why(cluster, core))
    token = core.create_namespaced_service_account_token("cubeyard-worker", NAMESPACE, {"spec": {}}).status.token
    return {
        **told,
        "keys": _worker_keys(cluster.folder / "keys", keys),
        "kubeconfig": str(cluster.kubeconfig("worker", token)),
    }


def fabrics_ready(core: Any) -> int:
    pods = core.list_namespaced_pod(NAMESPACE, label_selector="app.kubernetes.io/component=fabric").items
    return sum(all(one.ready for one in pod.status.container_statuses or [None]) for pod in pods if pod.status.pod_ip)


def from_this_machine(daemon_set: Json) -> None:
    """Its image is two programs on nothing: the shell, Python and Cubeyard itself are mounted from this machine, read-only."""
    binary = program(Settings(), FABRIC)
    assert binary is not None
    places = [*SYSTEM, sys.base_prefix, str(ROOT)]
    spec = daemon_set["spec"]["template"]["spec"]
    mounts = []
    for number, place in enumerate([one for one in places if Path(one).exists()]):
        spec["volumes"].append({"name": f"own-{number}", "hostPath": {"path": place}})
        mounts.append({"name": f"own-{number}", "mountPath": place, "readOnly": True})
    spec["volumes"].append({"name": "programs", "hostPath": {"path": str(binary.parent)}})
    mounts.append({"name": "programs", "mountPath": "/app/.setup/programs", "readOnly": True})
    for container in spec["containers"]:
        container["image"] = f"{SERVER}:1"
        container["volumeMounts"] += mounts
        if container["name"] == "relay":
            container["command"] = [sys.executable, "-B", "-m", "cubeyard.cli"]


def _worker_keys(folder: Path, data: dict[str, str]) -> str:
    import base64

    folder.mkdir()
    for name, source in (("ca.crt", "ca.crt"), ("tls.crt", "worker.crt"), ("tls.key", "worker.key")):
        (folder / name).write_bytes(base64.b64decode(data[source]))
    return str(folder)


def _why(cluster: Cluster, core: Any) -> str:
    """What the fabrics' containers wait for, and what they said."""
    said = [cluster.nodes[0].said("kubelet")]
    for pod in core.list_namespaced_pod(NAMESPACE).items:
        said.append(f"{pod.metadata.name}: {pod.status.phase} {pod.status.message or ''}")
        for one in pod.status.container_statuses or []:
            said.append(f"  {one.name}: {one.state.waiting or one.state.terminated or 'runs'}")
            with suppress(ApiException):
                said.append(
                    core.read_namespaced_pod_log(pod.metadata.name, NAMESPACE, container=one.name, tail_lines=8)
                )
    events = core.list_namespaced_event(NAMESPACE).items
    return "\n".join([*said, *(f"{one.reason}: {one.message}" for one in events[-8:])])


def left(cluster: Cluster) -> Json:
    """What runs could have left: pods, owners, names of namespaces, journals."""
    core = client.CoreV1Api(cluster.api)
    found: Json = {
        "pods": [one.metadata.name for one in core.list_namespaced_pod(SERVERS).items],
        "owners": [
            one.metadata.name
            for one in core.list_namespaced_config_map(SERVERS).items
            if one.metadata.name != "kube-root-ca.crt"
        ],
    }
    for node in cluster.nodes:
        for task in fabric_tasks(node):
            root = Path("/proc", str(task), "root", "run")
            names = [one.name for one in (root / "netns").glob("*")] if (root / "netns").exists() else []
            found[f"names on {node.name}"] = names
            found[f"journal on {node.name}"] = [one.name for one in (root / "cubeyard/state/journal").glob("*")]
    return {kind: some for kind, some in found.items() if some}


def fabric_tasks(node: Any) -> list[int]:
    """The processes of the node's fabrics."""
    found = []
    for line in node.ctr("tasks", "list").splitlines()[1:]:
        pid = int(line.split()[1])
        with suppress(OSError):
            if b"cubeyard-fabric" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                found.append(pid)
    return found


def wait_for_pods(cluster: Cluster, count: int, secs: float = 60) -> list[Any]:
    """The servers' pods, once so many run."""
    core = client.CoreV1Api(cluster.api)
    deadline = time.monotonic() + secs
    while True:
        pods = core.list_namespaced_pod(SERVERS).items
        running = [one for one in pods if one.status.phase == "Running"]
        if len(running) == count:
            return running
        assert time.monotonic() < deadline, [(one.metadata.name, one.status.phase) for one in pods]
        time.sleep(0.2)


HEAD = """# The chart of deploy/helm/cubeyard with its default values, for clusters without Helm; `bin/cluster render` writes this file.
# The namespaces and three Secrets come first: docs/kubernetes.md says how.
"""


def manifests() -> str:
    """The chart for `kubectl apply`, with Secrets that somebody else makes: nothing in it is drawn."""
    ours = ("existingTokenSecret=cubeyard-token", "emulation.existingKeys=cubeyard-keys")
    return HEAD + rendered(*ours)
