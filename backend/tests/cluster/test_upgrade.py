"""`helm upgrade` to a version with a migration more, and back, with runs over and runs under
way."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest
from kubernetes import client
from kubernetes.stream import stream

from tests.cluster.installed import CHART, NAMESPACE, chosen, cluster_helm, fabrics_ready, left
from tests.cluster.machines import Cluster, ClusterFailedError, wait
from tests.cluster.service import Service
from tests.cluster.sweeps import POINTS, SWEPT, points_once
from tests.cluster.test_nodes import listed
from tests.cluster.test_service import EMULATED, check_over_two_nodes
from tests.deployment.service_image import FIRST, NAME, NEXT, newest_migration

Json = dict[str, Any]
LONG: Json = {
    "plan": {"family": "bcube", "n": 4, "k": 1},
    "workload": {"kind": "permutation"},
    "engine": "emulation",
    "link_gbps": 0.005,
    "seeds": [7],
    "emulation": {"mode": "containers", "seconds": 40, "settle_secs": 1, "calibrate_secs": 0.5},
}
SHORT_SWEEP: Json = {
    "plan": {"family": "bcube", "n": 4, "k": 1},
    "workload": {"kind": "all-to-all"},
    "axes": {"seeds": 20},
}


def images(cluster: Cluster) -> set[str]:
    core = client.CoreV1Api(cluster.api)
    return {
        container.image
        for component in ("api", "worker", "fabric")
        for pod in listed(core, component)
        for container in pod.spec.containers
    }


def migrated(database: str) -> list[Any]:
    """The revision of the tables, and how often the next version's migration was done."""
    with psycopg.connect(database) as connection:
        matches: list[Any] = [row[0] for row in connection.execute("SELECT version_num FROM alembic_version")]
        (there,) = connection.execute("SELECT to_regclass('next_version') IS NOT NULL").fetchone() or (False,)
        if there:
            matches += [row[0] for row in connection.execute("SELECT count(*) FROM next_version")]
        return matches


def settled(cluster: Cluster, tag: str) -> None:
    core = client.CoreV1Api(cluster.api)
    wait(lambda: images(cluster) == {f"{NAME}:{tag}"}, "an older pod stays", lambda: str(images(cluster)))
    wait(lambda: fabrics_ready(core) == len(cluster.nodes), "the fabrics are not ready")


def under_way(service: Service, sweep: str, emulation: str) -> None:
    service.wait("points of the sweep", lambda: 0 < service.run(sweep)["points_done"] < POINTS)
    service.wait("the emulation", lambda: service.run(emulation)["state"] == "running")


def over(service: Service, cluster: Cluster, sweep: str, emulation: str) -> Json:
    """The sweep has all its points, the emulation an end in words, and nothing is left of it."""
    row = service.ended(sweep, 300)
    assert (row["state"], row["points_done"]) == ("succeeded", POINTS), row
    ended = service.ended(emulation, 300)
    assert ended["state"] == "succeeded" or ended["reason"], ended
    if ended["state"] == "succeeded":
        assert service.get(f"/api/v1/runs/{emulation}/results")["report"]["timings"]["kept"] == []
    wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=90)
    return ended


def test_an_upgrade_and_a_rollback_lose_nothing(service: Service, cluster: Cluster, database: str) -> None:
    done = service.start_run(SHORT_SWEEP)
    service.ended(done)
    results = service.get(f"/api/v1/runs/{done}/results")
    assert migrated(database) == [newest_migration()]

    began = time.monotonic()
    sweep, emulation = service.start_run(SWEPT), service.start_run(LONG)
    under_way(service, sweep, emulation)
    upgrade(cluster, f"image.tag={NEXT}")
    settled(cluster, NEXT)
    print(f"upgraded after {time.monotonic() - began:.1f} s")
    assert migrated(database) == ["next", 1], "the hook migrates once, whatever the number of pods"
    assert service.get(f"/api/v1/runs/{done}/results") == results
    ended = over(service, cluster, sweep, emulation)
    print(f"the emulation under way {ended['state']}: {ended['reason']!r}, attempts {ended['attempts']}")
    points_once(database, sweep)

    # Back, with the older version's tables first: the newer one knows how.
    sweep, emulation = service.start_run(SWEPT), service.start_run(LONG)
    under_way(service, sweep, emulation)
    downgrade(cluster)
    assert migrated(database) == [newest_migration()]
    cluster_helm(cluster, "rollback", "cubeyard", "--wait", "--timeout", "240s")
    settled(cluster, FIRST)
    assert migrated(database) == [newest_migration()]
    assert service.get(f"/api/v1/runs/{done}/results") == results
    over(service, cluster, sweep, emulation)
    points_once(database, sweep)


def downgrade(cluster: Cluster) -> None:
    """`kubectl exec POD -- cubeyard db downgrade --yes REVISION`, in a pod of the newer version."""
    core = client.CoreV1Api(cluster.api)
    (pod, *_) = [item for item in listed(core, "api") if item.spec.containers[0].image.endswith(f":{NEXT}")]
    message = stream(
        core.connect_get_namespaced_pod_exec, pod.metadata.name, NAMESPACE,
        command=["cubeyard", "db", "downgrade", "--yes", newest_migration()], stdout=True, stderr=True, stdin=False, tty=False,
    )  # fmt: skip
    assert newest_migration() in message, message


def test_a_rollback_without_the_older_tables_keeps_the_newer_pods(
    service: Service, cluster: Cluster, database: str
) -> None:
    """An older version refuses newer tables: its pod does not get ready, and the ones that serve
    stay."""
    upgrade(cluster, f"image.tag={NEXT}")
    settled(cluster, NEXT)
    try:
        with pytest.raises(ClusterFailedError, match=r"deadline|timed out|not ready"):
            cluster_helm(cluster, "rollback", "cubeyard", "--wait", "--timeout", "20s")
        assert service.get("/healthz")["status"] == "ok"
        assert migrated(database) == ["next", 1]
    finally:
        downgrade(cluster)
        upgrade(cluster, f"image.tag={FIRST}")
        settled(cluster, FIRST)


def test_the_nodes_own_addresses_can_carry_the_tunnels(service: Service, cluster: Cluster) -> None:
    """An upgrade that changes settings alone: the pods that read them are replaced, and the fabrics
    are in the nodes' network."""
    core = client.CoreV1Api(cluster.api)
    for underlay, network in (("node", "10.88.0."), ("pod", "10.99.")):
        before = {item.metadata.uid for item in listed(core, "api") + listed(core, "worker")}
        upgrade(cluster, f"emulation.underlay={underlay}")
        settled(cluster, FIRST)
        after = {item.metadata.uid for item in listed(core, "api") + listed(core, "worker")}
        assert not before & after, "a pod with the former settings stays"
        assert all(item.status.pod_ip.startswith(network) for item in listed(core, "fabric"))
        if underlay == "node":
            # Nodes that are busy send connections to the former pods for a while.
            service.wait(
                "the Service's address", lambda: all(service.get("/healthz")["status"] == "ok" for _ in range(20))
            )
            run = service.start_run({**EMULATED, "emulation": {**EMULATED["emulation"], "mode": "namespaces"}})
            row = service.ended(run)
            assert row["state"] == "succeeded", row
            check_over_two_nodes(service.get(f"/api/v1/runs/{run}/results")["report"])
            wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=20)


def upgrade(cluster: Cluster, *values: str) -> None:
    cluster_helm(
        cluster, "upgrade", "cubeyard", str(CHART), "--reuse-values", *chosen(*values), "--wait", "--timeout", "240s"
    )
