"""NetworkPolicies of the chart, measured where they are enforced: who reaches which pod of the
release, and that an emulation needs nothing that they forbid."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from kubernetes import client

from tests.cluster.installed import NAMESPACE, SERVERS, left
from tests.cluster.machines import PAUSE, Cluster, wait
from tests.cluster.policies import CALL, CALL_SECS, RECEIVE, SEND, Outcome, enforced, inside
from tests.cluster.service import Service
from tests.cluster.test_service import EMULATED, check_over_two_nodes

API, RELAY, TUNNELS = 8080, 7117, 14789
RESTRICTED = {
    "allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 10001, "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}  # fmt: skip


@contextmanager
def waiting_pod(cluster: Cluster, namespace: str, node: str) -> Iterator[Any]:
    """A pod without a label, whose process only waits."""
    core = client.CoreV1Api(cluster.api)
    container = {"name": "waits", "image": f"{PAUSE}:1", "imagePullPolicy": "Never", "securityContext": RESTRICTED}
    spec = {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0}
    name = f"waits-on-{node}"
    core.create_namespaced_pod(namespace, {"metadata": {"name": name}, "spec": spec})

    def pod() -> Any:
        return core.read_namespaced_pod(name, namespace)

    try:
        wait(lambda: pod().status.phase == "Running", "the pod does not run", lambda: str(pod().status))
        yield pod()
    finally:
        core.delete_namespaced_pod(name, namespace)


def part(cluster: Cluster, component: str) -> Any:
    """A pod of the release on the second node, if there is one."""
    core = client.CoreV1Api(cluster.api)
    pods = core.list_namespaced_pod(NAMESPACE, label_selector=f"app.kubernetes.io/component={component}").items
    return max((pod for pod in pods if pod.status.phase == "Running"), key=lambda pod: pod.spec.node_name)


def call(cluster: Cluster, caller: Any, called: Any, port: int) -> Outcome:
    command = inside(cluster, caller, "-c", CALL, called.status.pod_ip, str(port))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    match done.stdout.strip():
        case "dropped" | "refused" | "reached" as outcome:
            return outcome
        case other:
            raise AssertionError(other)


def tunnelled(cluster: Cluster, callers: dict[str, Any], called: Any) -> set[str]:
    """The callers whose datagrams reach the port of tunnels."""
    command = inside(cluster, called, "-c", RECEIVE, str(TUNNELS), str(CALL_SECS))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "bound\n"
        for name, caller in callers.items():
            send = inside(cluster, caller, "-c", SEND, called.status.pod_ip, str(TUNNELS), name)
            subprocess.run(send, check=True, timeout=60)
        return set(receiver.stdout.read().split())


@pytest.fixture(scope="module")
def pods(cluster: Cluster, service: Service) -> Iterator[dict[str, Any]]:
    """Pods of the release, strangers in its namespace, and one among the servers."""
    service.wait("the page", lambda: service.get("/healthz")["status"] == "ok")
    near, far = (node.name for node in cluster.nodes)
    with ExitStack() as held:
        yield {
            "stranger": held.enter_context(waiting_pod(cluster, NAMESPACE, near)),
            "neighbour": held.enter_context(waiting_pod(cluster, NAMESPACE, far)),
            "server": held.enter_context(waiting_pod(cluster, SERVERS, near)),
            **{name: part(cluster, name) for name in ("api", "worker", "fabric")},
        }


def other_fabric(cluster: Cluster, pods: dict[str, Any]) -> Any:
    core = client.CoreV1Api(cluster.api)
    listed = core.list_namespaced_pod(NAMESPACE, label_selector="app.kubernetes.io/component=fabric").items
    (other,) = (pod for pod in listed if pod.metadata.name != pods["fabric"].metadata.name)
    return other


def test_pods_are_reached_by_their_callers_alone(cluster: Cluster, service: Service, pods: dict[str, Any]) -> None:
    def outcomes() -> dict[tuple[str, str], Outcome]:
        calls = [
            ("stranger", "api", API), ("stranger", "fabric", RELAY), ("neighbour", "fabric", RELAY), ("stranger", "worker", API),
            ("api", "fabric", RELAY), ("worker", "fabric", RELAY), ("stranger", "server", API), ("server", "api", API),
        ]  # fmt: skip
        return {(caller, called): call(cluster, pods[caller], pods[called], port) for caller, called, port in calls}

    fabrics = {"fabric": other_fabric(cluster, pods)}
    strangers = {"stranger": pods["stranger"], "neighbour": pods["neighbour"]}
    assert outcomes() == {
        ("stranger", "api"): "reached", ("stranger", "fabric"): "reached", ("neighbour", "fabric"): "reached",
        ("stranger", "worker"): "refused", ("api", "fabric"): "reached", ("worker", "fabric"): "reached",
        ("stranger", "server"): "refused", ("server", "api"): "reached",
    }  # fmt: skip
    assert tunnelled(cluster, {**fabrics, **strangers}, pods["fabric"]) == {"fabric", "stranger", "neighbour"}

    with enforced(cluster):
        wait(
            lambda: all(call(cluster, pods[name], pods["fabric"], RELAY) == "dropped" for name in strangers),
            "no policy is enforced", lambda: "\n".join(node.said("policies") for node in cluster.nodes),
        )  # fmt: skip
        assert outcomes() == {
            ("stranger", "api"): "reached", ("stranger", "fabric"): "dropped", ("neighbour", "fabric"): "dropped",
            ("stranger", "worker"): "dropped", ("api", "fabric"): "reached", ("worker", "fabric"): "reached",
            ("stranger", "server"): "dropped", ("server", "api"): "dropped",
        }  # fmt: skip
        assert tunnelled(cluster, {**fabrics, **strangers}, pods["fabric"]) == {"fabric"}

        run = service.start_run(EMULATED)
        row = service.ended(run)
        assert row["state"] == "succeeded", row
        check_over_two_nodes(service.get(f"/api/v1/runs/{run}/results")["report"])
        ours = {"pods": [pods["server"].metadata.name]}
        wait(lambda: left(cluster) == ours, "something is left", lambda: str(left(cluster)), secs=30)
    assert call(cluster, pods["stranger"], pods["fabric"], RELAY) == "reached", "the rules are removed"
