"""`helm uninstall` during a run: all objects of the chart and the run are removed. The file's name
makes it the last test of the cluster that these tests share."""

from __future__ import annotations

from typing import Any

import psycopg
from kubernetes import client

from tests.cluster.installed import NAMESPACE, SERVERS, cluster_helm
from tests.cluster.machines import Cluster, wait
from tests.cluster.service import Service

MADE_BY_KUBERNETES = {"ConfigMap kube-root-ca.crt", "ServiceAccount default"}


def there(cluster: Cluster) -> set[str]:
    """Every object in the namespace, and what the chart has outside of it."""
    api = cluster.api
    core, apps, rights = client.CoreV1Api(api), client.AppsV1Api(api), client.RbacAuthorizationV1Api(api)
    lists: dict[str, Any] = {
        "Secret": core.list_namespaced_secret,
        "ConfigMap": core.list_namespaced_config_map,
        "Service": core.list_namespaced_service,
        "ServiceAccount": core.list_namespaced_service_account,
        "Pod": core.list_namespaced_pod,
        "PersistentVolumeClaim": core.list_namespaced_persistent_volume_claim,
        "Deployment": apps.list_namespaced_deployment,
        "StatefulSet": apps.list_namespaced_stateful_set,
        "DaemonSet": apps.list_namespaced_daemon_set,
        "Job": client.BatchV1Api(api).list_namespaced_job,
        "Role": rights.list_namespaced_role,
        "RoleBinding": rights.list_namespaced_role_binding,
        "PodDisruptionBudget": client.PolicyV1Api(api).list_namespaced_pod_disruption_budget,
        "Ingress": client.NetworkingV1Api(api).list_namespaced_ingress,
        "NetworkPolicy": client.NetworkingV1Api(api).list_namespaced_network_policy,
    }
    matches = {f"{kind} {item.metadata.name}" for kind, every in lists.items() for item in every(NAMESPACE).items}
    outside = {
        "ClusterRole": rights.list_cluster_role,
        "ClusterRoleBinding": rights.list_cluster_role_binding,
        "PriorityClass": client.SchedulingV1Api(api).list_priority_class,
    }
    matches |= {
        f"{kind} {item.metadata.name}"
        for kind, every in outside.items()
        for item in every().items
        if "cubeyard" in item.metadata.name
    }
    matches |= {
        f"Namespace {item.metadata.name}" for item in core.list_namespace().items if item.metadata.name == SERVERS
    }
    return matches - MADE_BY_KUBERNETES


def test_nothing_stays_of_an_installation_that_is_removed_but_the_database(
    service: Service, cluster: Cluster, database: str
) -> None:
    before = there(cluster)
    assert {"Secret cubeyard-database", "Secret cubeyard-token", "Secret cubeyard-keys"} <= before
    plan = service.request(
        "POST", "/api/v1/plans", {"name": "kept", "spec": {"topology": {"family": "bcube", "n": 4, "k": 1}}}
    )
    assert plan.status == 201
    cluster_helm(cluster, "uninstall", "cubeyard", "--wait", "--timeout", "120s")
    wait(lambda: there(cluster) == set(), "something stays", lambda: str(there(cluster)), secs=120)
    with psycopg.connect(database) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM plans WHERE id = %s", (plan.body["id"],)).fetchone() or (0,)
    assert kept == 1, "the database is its owner's"
