"""Nodes that are drained or cut off during runs: each run's reason names the node, the remaining
parts are removed, and nothing is left when the node returns."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from cubeyard.emulation.deploy.reaper import reap
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.db import LOST_SECS
from tests.cluster.emulate import Emulate
from tests.cluster.installed import NAMESPACE, SERVERS, WORKERS, fabrics_ready, left, wait_for_pods
from tests.cluster.machines import Cluster, Node, wait
from tests.cluster.service import Service
from tests.cluster.sweeps import POINTS, SWEPT, points_once, workers

Json = dict[str, Any]
OVER_SECS = 25
"""Time for a run with a cut off node, on a busy machine: 8 s to notice it, and the removal of the
other node's parts."""


def evict(core: Any, pod: Any) -> int:
    """Evicts a pod like `kubectl drain`. Returns the status: 429 if a budget does not allow it
    now."""
    reported = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.metadata.name, "namespace": pod.metadata.namespace},
    }
    try:
        core.create_namespaced_pod_eviction(pod.metadata.name, pod.metadata.namespace, reported)
    except ApiException as error:
        return int(error.status)
    return 201


def drained(core: Any, node: str, secs: float = 120) -> list[str]:
    """`kubectl drain --ignore-daemonsets --force`: evicts all pods of a node, with retries while a
    budget forbids it. Returns the delayed pods."""
    held_up: list[str] = []
    deadline = time.monotonic() + secs
    while True:
        matches = [
            pod
            for space in (NAMESPACE, SERVERS)
            for pod in core.list_namespaced_pod(space, field_selector=f"spec.nodeName={node}").items
            if not any(owner_reference.kind == "DaemonSet" for owner_reference in pod.metadata.owner_references or [])
        ]
        if not matches:
            return held_up
        assert time.monotonic() < deadline, [item.metadata.name for item in matches]
        for pod in matches:
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
        message = emulate.finish(process, code=2)["said"]
        assert "error: Host node-b: All servers' containers ended at once" in message, message
        wait(lambda: not left(cluster), "something is left", lambda: str(left(cluster)), secs=20)
        wait(lambda: ready(core, "api") == 2 and ready(core, "worker") == WORKERS, "they do not move", secs=120)
        assert {item.spec.node_name for item in listed(core, "api") + listed(core, "worker")} == {"node-a"}
        assert service.get("/healthz")["status"] == "ok"


def listed(core: Any, component: str) -> list[Any]:
    result = core.list_namespaced_pod(NAMESPACE, label_selector=f"app.kubernetes.io/component={component}").items
    return [item for item in result if item.metadata.deletion_timestamp is None]


def ready(core: Any, component: str) -> int:
    return sum(
        all(container_status.ready for container_status in pod.status.container_statuses or [None])
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
        message = emulate.finish(process, code=2)["said"]
        took = time.monotonic() - began
        print(f"the run ended {took:.1f} s after the node was cut off: {message[-300:]}")
        assert re.search(
            "error: Host node-b: (The connection to )?cubeyard-fabric (broke|did not answer|has sent nothing|went away|does not answer)",
            message,
        ), message
        assert took < OVER_SECS
        result = left(cluster)
        assert {item.spec.node_name for item in core.list_namespaced_pod(SERVERS).items} <= {"node-b"}
        assert not any(place.endswith("node-a") for place in result), result
    wait(lambda: len(cluster.ready_nodes()) == 2 and fabrics_ready(core) == 2, "the node is not back", secs=90)

    def nothing() -> bool:
        reap(emulate.settings, Place.of(emulate.settings))
        return left(cluster) == {}

    wait(nothing, "something is left", lambda: str(left(cluster)), secs=90)


EMULATED: Json = {
    "plan": {"family": "bcube", "n": 4, "k": 1},
    "workload": {"kind": "all-to-all"},
    "engine": "emulation",
    "link_gbps": 0.005,
    "seeds": [7],
    "emulation": {"mode": "containers", "seconds": 20, "settle_secs": 1, "calibrate_secs": 0.5},
}


def a_worker_on(core: Any, node: str, other: str) -> None:
    """Earlier tests may have left all of them on the other node."""
    if node not in {item.spec.node_name for item in listed(core, "worker")}:
        with cordoned(core, other):
            core.delete_namespaced_pod(f"cubeyard-worker-{WORKERS - 1}", NAMESPACE)
            wait(lambda: node in {item.spec.node_name for item in listed(core, "worker")}, "no worker moves", secs=60)
            wait(lambda: ready(core, "worker") == WORKERS, "the worker that moved is not ready", secs=120)


def whose(core: Any, count: int = 16) -> str:
    """The node of the worker whose servers run; empty while not all do."""
    servers = core.list_namespaced_pod(SERVERS).items
    if sum(server.status.phase == "Running" for server in servers) < count:
        return ""
    owner = str(servers[0].metadata.labels["cubeyard.place"])
    return next(str(item.spec.node_name) for item in listed(core, "worker") if owner.endswith(item.metadata.name))


def fabrics_known(core: Any) -> list[str]:
    """The nodes on which the fabric is ready according to the cluster: for a node that is away, its
    containers keep their last state."""
    pods = core.list_namespaced_pod(NAMESPACE, label_selector="app.kubernetes.io/component=fabric").items
    ready = {
        pod.spec.node_name
        for pod in pods
        for condition in pod.status.conditions
        if (condition.type, condition.status) == ("Ready", "True")
    }
    return sorted(ready)


def state_of(database: str, run: str) -> tuple[str, str, int]:
    """State, reason and attempts from the database, because an API pod can be cut off too."""
    with psycopg.connect(database) as connection:
        result = connection.execute("SELECT state, reason, attempts FROM runs WHERE id = %s", (run,)).fetchone()
    assert result is not None
    return result


def test_an_emulation_whose_worker_is_cut_off_ends_and_leaves_nothing_once_it_is_back(
    service: Service, cluster: Cluster, database: str
) -> None:
    """The other worker takes over the run when its lease ends. The result depends on whether the
    cluster has noticed by then that the node is away: either the run ends with the node's name as
    the reason, or it is measured on the other node alone."""
    core = client.CoreV1Api(cluster.api)
    a_worker_on(core, "node-b", "node-a")
    for _ in range(12):
        run = service.start_run(EMULATED)
        wait(lambda: whose(core) != "", "the servers do not run", lambda run=run: str(state_of(database, run)))
        if whose(core) == "node-b":
            break
        assert service.request("POST", f"/api/v1/runs/{run}/cancel", {}).status == 200
        wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=30)
    assert whose(core) == "node-b", "chance never gave a run to the worker on node-b"
    time.sleep(3)
    with cut_off(cluster.nodes[1]):
        began = time.monotonic()

        def over() -> bool:
            return state_of(database, run)[0] not in {"queued", "running"}

        wait(over, "the run does not end", lambda: str(state_of(database, run)), secs=150)
        state, reason, attempts = state_of(database, run)
        print(f"{state} {time.monotonic() - began:.1f} s after its worker was cut off, attempt {attempts}: {reason}")
        assert attempts == 2, (state, reason)
        assert state == "succeeded" or (state == "failed" and "Host node-b: " in reason), reason
        wait(lambda: cluster.ready_nodes() == ["node-a"], "node-b counts as ready", secs=90)
        wait(lambda: fabrics_known(core) == ["node-a"], "the fabric of node-b counts as ready", secs=60)
        after = service.wait("the next run to start", lambda: service.start_run(EMULATED))
        wait(lambda: state_of(database, after)[0] not in {"queued", "running"}, "the queue stands still", secs=120)
        assert state_of(database, after)[0] == "succeeded", state_of(database, after)
        result = left(cluster)
        assert not {"pods", "owners"} & set(result), result
        assert not any(place.endswith("node-a") for place in result), result
    wait(lambda: len(cluster.ready_nodes()) == 2 and fabrics_ready(core) == 2, "the node is not back", secs=90)
    wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=120)
    wait(lambda: ready(core, "api") == 2 and ready(core, "worker") == WORKERS, "not all are back", secs=180)
    assert state_of(database, run) == (state, reason, attempts), "who came back writes nothing"


HOLD = """
import sys, time
from sqlalchemy import text
from cubeyard.kit.db import Database
from cubeyard.settings import Settings
with Database(Settings(database_url=sys.argv[1])).session() as session:
    session.execute(text("SELECT id FROM runs WHERE id = :run FOR UPDATE"), {"run": sys.argv[2]})
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_that_is_held_on_a_node_that_is_cut_off_is_free_within_seconds(
    service: Service, cluster: Cluster, database: str
) -> None:
    """A worker that writes points locks the run's row: all other workers of the run wait for it."""
    run = service.start_run({**SWEPT, "axes": {"seeds": 1}})
    assert service.ended(run)["state"] == "succeeded"
    words = [sys.executable, "-c", HOLD, database, run]
    with subprocess.Popen(cluster.nodes[1].inside(*words), stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with cut_off(cluster.nodes[1]), psycopg.connect(database) as connection:
                began = time.monotonic()
                connection.execute("SET lock_timeout = '60s'")
                connection.execute("SELECT id FROM runs WHERE id = %s FOR UPDATE", (run,))
                took = time.monotonic() - began
        finally:
            holder.kill()
    print(f"the lock was free {took:.1f} s after its holder was cut off")
    assert took < 2 * LOST_SECS


@pytest.mark.parametrize("component", ["api", "worker"])
def test_a_budget_holds_an_eviction_until_the_first_one_is_back(
    service: Service, cluster: Cluster, component: str
) -> None:
    core = client.CoreV1Api(cluster.api)
    wait(lambda: ready(core, component) == 2, "not both are ready")
    first, second = listed(core, component)
    (budget,) = [
        item
        for item in client.PolicyV1Api(cluster.api).list_namespaced_pod_disruption_budget(NAMESPACE).items
        if item.spec.selector.match_labels["app.kubernetes.io/component"] == component
    ]
    wait(lambda: budget_allows(cluster, budget.metadata.name) == 1, "the budget does not count both")
    assert evict(core, first) == 201
    assert evict(core, second) == 429, "the other one has to stay"
    assert second.metadata.name in {item.metadata.name for item in listed(core, component)}
    wait(lambda: ready(core, component) == 2, "the first one is not back", secs=120)
    wait(lambda: budget_allows(cluster, budget.metadata.name) == 1, "the budget does not allow the next")
    assert service.get("/healthz")["status"] == "ok"


def budget_allows(cluster: Cluster, name: str) -> int:
    result = client.PolicyV1Api(cluster.api).read_namespaced_pod_disruption_budget(name, NAMESPACE)
    return int(result.status.disruptions_allowed)


def chunks_of(database: str, run: str) -> tuple[int, int]:
    """How many chunks workers hold, and how many of those workers have been silent for longer than
    a beat takes."""
    silent = "count(*) FILTER (WHERE heartbeat_at < clock_timestamp() - interval '6 s')"
    query = f"SELECT count(*), {silent} FROM run_chunks WHERE run_id = %s AND holder IS NOT NULL"
    with psycopg.connect(database) as connection:
        held, quiet = connection.execute(query, (run,)).fetchone() or (0, 0)
    return int(held), int(quiet)


def until_over(database: str, run: str, secs: float) -> str:
    """Waits for the end of a run whose workers were lost just now; when what they held was free
    again, in words."""
    began, free_secs, lost, done = time.monotonic(), 0.0, 0, 0
    while state_of(database, run)[0] in {"queued", "running"}:
        quiet = chunks_of(database, run)[1]
        if quiet:
            lost, free_secs = max(lost, quiet), time.monotonic() - began
            done = points_done(database, run)
        assert time.monotonic() - began < secs, state_of(database, run)
        time.sleep(0.5)
    took = time.monotonic() - began
    return f"{lost} chunks were lost and free again after {free_secs:.1f} s, with {done} points written; over after {took:.1f} s"


def points_done(database: str, run: str) -> int:
    with psycopg.connect(database) as connection:
        (count,) = connection.execute("SELECT points_done FROM runs WHERE id = %s", (run,)).fetchone() or (0,)
    return int(count)


def test_points_of_workers_on_a_node_that_is_cut_off_are_done_by_the_others(
    service: Service, cluster: Cluster, database: str
) -> None:
    core = client.CoreV1Api(cluster.api)
    with workers(cluster, 4):
        nodes = sorted(item.spec.node_name for item in listed(core, "worker"))
        assert set(nodes) == {"node-a", "node-b"}, nodes
        run = service.start_run(SWEPT)
        wait(lambda: chunks_of(database, run)[0] == 4, "not all four are at it", lambda: str(chunks_of(database, run)))
        before = points_done(database, run)
        with cut_off(cluster.nodes[1]):
            took = until_over(database, run, 480)
            print(f"{nodes.count('node-b')} of 4 workers cut off with {before} of {POINTS} points written: {took}")
            row = service.ended(run)
            assert (row["state"], row["points_done"]) == ("succeeded", POINTS), row
            points_once(database, run)
        wait(lambda: len(cluster.ready_nodes()) == 2 and fabrics_ready(core) == 2, "the node is not back", secs=90)
    wait(lambda: ready(core, "api") == 2 and ready(core, "worker") == WORKERS, "not all are back", secs=180)
