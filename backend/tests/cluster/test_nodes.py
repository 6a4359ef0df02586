"""Nodes that are drained, and that are cut off, in the middle of runs: each run says so by the node's name, the rest is removed, and
nothing is left once the node is back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from cubeyard.emulation.deploy.reaper import reap
from cubeyard.emulation.fabric.place import Place
from tests.cluster.emulate import Emulate
from tests.cluster.installed import NAMESPACE, SERVERS, WORKERS, fabrics_ready, left, wait_for_pods
from tests.cluster.machines import Cluster, Node, wait
from tests.cluster.service import Service
from tests.cluster.sweeps import POINTS, SWEPT, points_once, workers

Json = dict[str, Any]
OVER_SECS = 25
"""For a run with a node that is cut off, on a busy machine: 8 s until that is noticed, and what is on the other node removed."""


def evict(core: Any, pod: Any) -> int:
    """As `kubectl drain` asks. The answer's status: 429 where a budget does not allow it now."""
    told = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.metadata.name, "namespace": pod.metadata.namespace},
    }
    try:
        core.create_namespaced_pod_eviction(pod.metadata.name, pod.metadata.namespace, told)
    except ApiException as error:
        return int(error.status)
    return 201


def drained(core: Any, node: str, secs: float = 120) -> list[str]:
    """`kubectl drain --ignore-daemonsets --force`: what is on a node is evicted, again and again while a budget forbids. Whom one
    held up."""
    held_up: list[str] = []
    deadline = time.monotonic() + secs
    while True:
        found = [
            pod
            for space in (NAMESPACE, SERVERS)
            for pod in core.list_namespaced_pod(space, field_selector=f"spec.nodeName={node}").items
            if not any(one.kind == "DaemonSet" for one in pod.metadata.owner_references or [])
        ]
        if not found:
            return held_up
        assert time.monotonic() < deadline, [one.metadata.name for one in found]
        for pod in found:
            if pod.metadata.deletion_timestamp is None:
                status = evict(core, pod)
                assert status in (201, 404, 429), (pod.metadata.name, status)
                if status == 429:
                    held_up.append(pod.metadata.name)
        time.sleep(0.5)


@contextmanager
def cordoned(core: Any, node: str) -> Iterator[None]:
    core.patch_node(node, {"spec": {"unschedulable": True}})
    try:
        yield
    finally:
        core.patch_node(node, {"spec": {"unschedulable": False}})


def test_a_drained_node_ends_the_run_by_name_and_the_services_move(
    service: Service, emulate: Emulate, cluster: Cluster
) -> None:
    core = client.CoreV1Api(cluster.api)
    process = emulate.start("--mode", "containers", "--seconds", "60")
    wait_for_pods(cluster, 16)
    time.sleep(5)
    with cordoned(core, "node-b"):
        drained(core, "node-b")
        said = emulate.finish(process, code=2)["said"]
        assert "error: Host node-b: All servers' containers ended at once" in said, said
        wait(lambda: not left(cluster), "something is left", lambda: str(left(cluster)), secs=20)
        wait(lambda: ready(core, "api") == 2 and ready(core, "worker") == WORKERS, "they do not move", secs=120)
        assert {one.spec.node_name for one in listed(core, "api") + listed(core, "worker")} == {"node-a"}
        assert service.get("/healthz")["status"] == "ok"


def listed(core: Any, component: str) -> list[Any]:
    found = core.list_namespaced_pod(NAMESPACE, label_selector=f"app.kubernetes.io/component={component}").items
    return [one for one in found if one.metadata.deletion_timestamp is None]


def ready(core: Any, component: str) -> int:
    return sum(
        all(one.ready for one in pod.status.container_statuses or [None])
        for pod in listed(core, component)
        if pod.status.pod_ip
    )


@contextmanager
def cut_off(node: Node) -> Iterator[None]:
    """Its cable to all others is pulled."""
    node.output("ip", "link", "set", "under", "down")
    try:
        yield
    finally:
        node.output("ip", "link", "set", "under", "up")
        node.output("ip", "route", "replace", "default", "via", "10.88.0.1")
        for other in ("2", "3"):
            if not node.address.endswith(other):
                node.output("ip", "route", "replace", f"10.99.{other}.0/24", "via", f"10.88.0.{other}")


def test_a_node_that_is_cut_off_ends_the_run_by_name_and_keeps_nothing_once_it_is_back(
    emulate: Emulate, cluster: Cluster
) -> None:
    core = client.CoreV1Api(cluster.api)
    process = emulate.start("--mode", "containers", "--seconds", "120")
    wait_for_pods(cluster, 16)
    time.sleep(5)
    with cut_off(cluster.nodes[1]):
        began = time.monotonic()
        said = emulate.finish(process, code=2)["said"]
        took = time.monotonic() - began
        print(f"the run ended {took:.1f} s after the node was cut off: {said[-300:]}")
        assert re.search(
            "error: Host node-b: (The connection to )?cubeyard-fabric (broke|did not answer|has sent nothing|went away|does not answer)",
            said,
        ), said
        assert took < OVER_SECS
        found = left(cluster)
        assert {one.spec.node_name for one in core.list_namespaced_pod(SERVERS).items} <= {"node-b"}
        assert not any(place.endswith("node-a") for place in found), found
    wait(lambda: len(cluster.ready_nodes()) == 2 and fabrics_ready(core) == 2, "the node is not back", secs=90)

    def nothing() -> bool:
        reap(emulate.settings, Place.of(emulate.settings))
        return left(cluster) == {}

    wait(nothing, "something is left", lambda: str(left(cluster)), secs=90)


@pytest.mark.parametrize("component", ["api", "worker"])
def test_a_budget_holds_an_eviction_until_the_first_one_is_back(
    service: Service, cluster: Cluster, component: str
) -> None:
    core = client.CoreV1Api(cluster.api)
    wait(lambda: ready(core, component) == 2, "not both are ready")
    first, second = listed(core, component)
    (budget,) = [
        one
        for one in client.PolicyV1Api(cluster.api).list_namespaced_pod_disruption_budget(NAMESPACE).items
        if one.spec.selector.match_labels["app.kubernetes.io/component"] == component
    ]
    wait(lambda: budget_allows(cluster, budget.metadata.name) == 1, "the budget does not count both")
    assert evict(core, first) == 201
    assert evict(core, second) == 429, "the other one has to stay"
    assert second.metadata.name in {one.metadata.name for one in listed(core, component)}
    wait(lambda: ready(core, component) == 2, "the first one is not back", secs=120)
    wait(lambda: budget_allows(cluster, budget.metadata.name) == 1, "the budget does not allow the next")
    assert service.get("/healthz")["status"] == "ok"


def budget_allows(cluster: Cluster, name: str) -> int:
    found = client.PolicyV1Api(cluster.api).read_namespaced_pod_disruption_budget(name, NAMESPACE)
    return int(found.status.disruptions_allowed)


def test_points_of_workers_on_a_node_that_is_cut_off_are_done_by_the_others(
    service: Service, cluster: Cluster, database: str
) -> None:
    core = client.CoreV1Api(cluster.api)
    with workers(cluster, 4):
        nodes = sorted(one.spec.node_name for one in listed(core, "worker"))
        assert set(nodes) == {"node-a", "node-b"}, nodes
        run = service.start_run(SWEPT)
        service.wait("points of the sweep", lambda: 0 < service.run(run)["points_done"] < POINTS // 2)
        with cut_off(cluster.nodes[1]):
            began = time.monotonic()
            row = service.ended(run, 240)
            print(
                f"the sweep ended {time.monotonic() - began:.1f} s after {nodes.count('node-b')} of 4 workers were cut off"
            )
            assert (row["state"], row["points_done"]) == ("succeeded", POINTS), row
            points_once(database, run)
        wait(lambda: len(cluster.ready_nodes()) == 2 and fabrics_ready(core) == 2, "the node is not back", secs=90)
    wait(lambda: ready(core, "api") == 2 and ready(core, "worker") == WORKERS, "not all are back", secs=180)
