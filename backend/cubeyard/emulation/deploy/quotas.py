"""Checks that a namespace's quotas have space for a run's pods, before the first pod is created."""

from __future__ import annotations

from typing import Any

from kubernetes.utils.quantity import parse_quantity

from cubeyard.emulation.cluster.errors import ClusterRefusedError
from cubeyard.emulation.deploy.names import MEMORY_BYTES
from cubeyard.emulation.deploy.pod_document import REQUESTED

EACH = {
    "pods": 1,
    "count/pods": 1,
    "requests.cpu": parse_quantity(REQUESTED["cpu"]),
    "cpu": parse_quantity(REQUESTED["cpu"]),
    "requests.memory": parse_quantity(REQUESTED["memory"]),
    "memory": parse_quantity(REQUESTED["memory"]),
    "limits.memory": MEMORY_BYTES,
}
"""The resources of a server's pod that quotas can limit."""


OF_PODS = frozenset({"pods", "count/pods"})


def refuse_over_quota(quotas: list[Any], namespace: str, servers: int, beside: int = 0) -> None:
    """Raises ClusterRefusedError with the resource, the required and the remaining amount.

    `beside` is the number of pods with a user's program, which needs the same amount again.

    Several hosts check in parallel, each for its part: the API server still rejects an excess of
    the total.
    """
    for quota in quotas:
        hard, used = quota.status.hard or {}, quota.status.used or {}
        for resource, each in EACH.items():
            if resource not in hard:
                continue
            wanted = (servers if resource in OF_PODS else servers + beside) * each
            left = parse_quantity(hard[resource]) - parse_quantity(used.get(resource, "0"))
            if wanted > left:
                raise ClusterRefusedError(
                    f"{servers:,} servers want {wanted:,} of {resource}; "
                    f"quota {quota.metadata.name} of namespace {namespace} has {max(left, 0):,} left of {hard[resource]}",
                    "Raise the quota, take fewer servers, or mode namespaces.",
                )
