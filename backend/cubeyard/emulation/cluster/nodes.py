"""The nodes that emulations may use: those on which a pod of the fabric's DaemonSet is ready."""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.emulation.cluster.client import CALL_SECS, core, explained
from cubeyard.emulation.cluster.errors import ClusterRefusedError
from cubeyard.settings import MAX_HOSTS, EmulationCluster

FABRIC_LABEL = "app.kubernetes.io/component=fabric"


@dataclass(frozen=True)
class FabricNode:
    """A node with a fabric."""

    name: str
    address: str
    """The address of the fabric's pod, where its relay listens."""
    underlay: str
    """The address for its tunnels: the pod's, or the node's."""


def fabric_nodes(cluster: EmulationCluster) -> tuple[tuple[FabricNode, ...], tuple[str, ...]]:
    """The nodes that runs use, at most MAX_HOSTS, and the names of the others. The first nodes by
    name are used, so that every process makes the same choice. Needs one call for any number of
    nodes.

    Raises ClusterGoneError, and ClusterRefusedError if there is no node or this account has no
    permission to list pods.
    """
    with explained():
        pods = core(cluster).list_namespaced_pod(
            cluster.fabrics, label_selector=FABRIC_LABEL, _request_timeout=CALL_SECS
        )
    result, waiting = [], []
    for pod in pods.items:
        if pod.metadata.deletion_timestamp is not None:
            continue
        conditions = {condition.type: condition.status for condition in pod.status.conditions or []}
        if conditions.get("Ready") != "True" or not pod.status.pod_ip or not pod.spec.node_name:
            waiting.append(pod.spec.node_name or pod.metadata.name)
            continue
        underlay = pod.status.pod_ip if cluster.underlay == "pod" else pod.status.host_ip
        result.append(FabricNode(pod.spec.node_name, pod.status.pod_ip, underlay))
    if not result:
        why = f"those on {', '.join(sorted(waiting))} are not ready" if waiting else "there is none"
        fix = f"Look at `kubectl -n {cluster.fabrics} get pods -l {FABRIC_LABEL} -o wide`."
        raise ClusterRefusedError(f"no node has a ready pod of cubeyard-fabric; {why}", fix)
    result.sort(key=lambda node: node.name)
    return tuple(result[:MAX_HOSTS]), tuple(node.name for node in result[MAX_HOSTS:])
