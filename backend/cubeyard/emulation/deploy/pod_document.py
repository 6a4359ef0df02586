"""The API server's document for the pod of one server. It meets Pod Security `restricted` and uses
nothing of the node."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from cubeyard.emulation.deploy.names import MARK, MEMORY_BYTES, PLACE, RUN, SCRATCH_BYTES, SERVER, owner_name, pod_name
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.settings import EmulationCluster

Json = dict[str, Any]

SOCKET = "@cubeyard"
"""The fabric binds this abstract socket inside the server's network, so that no folder must be
mounted."""
SERVER_CONTAINER, USER_CONTAINER, GATE_CONTAINER = "node", "image", "gate"
NOBODY = 65534
DISK_BYTES = 256 * 1024 * 1024
"""Disk limit of a user's program with a writable root: the kubelet evicts a pod that exceeds it."""
REQUESTED = {"cpu": "10m", "memory": "24Mi"}
LABEL_CHARACTERS = 63


def label(text: str) -> str:
    """A label value for a text: the text itself if it is a valid value."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "-", text)
    if plain == text and len(text) <= LABEL_CHARACTERS and (not text or (text[0].isalnum() and text[-1].isalnum())):
        return text
    return f"{plain[:40].strip('-_.') or 'x'}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def labels(owner: str, run_id: str) -> dict[str, str]:
    return {PLACE: label(owner), RUN: label(run_id), "app.kubernetes.io/part-of": "cubeyard"}


def owner_document(owner: str, run_id: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": owner_name(run_id, owner), "labels": labels(owner, run_id)},
        "data": {"run": run_id, "owner": owner},
    }


def pod_document(
    cluster: EmulationCluster,
    owner: str,
    run_id: str,
    owner_uid: str,
    server: int,
    *,
    host_name: str,
    image: str,
    node: str,
    beside: Beside | None = None,
    volumes: Sequence[str] = (),
    local_images: bool = False,
) -> Json:
    """The document of a server with its user program `beside` it. Each folder that the program's
    image declares in `volumes` is mounted in memory with a limit: otherwise the node would store it
    on its disk. Without `local_images`, an image that the node already has is used only if the
    registry would give it to this user too. The node is selected by affinity instead of `nodeName`,
    so that a pod that does not fit stays Pending, with a reason."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(run_id, server),
            "labels": {**labels(owner, run_id), SERVER: str(server)},
            "annotations": {"kubectl.kubernetes.io/default-container": SERVER_CONTAINER},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": owner_name(run_id, owner), "uid": owner_uid}
            ],
        },
        "spec": {
            "hostname": re.sub(r"[^a-z0-9-]", "-", host_name.lower())[:63].strip("-") or f"server-{server}",
            "restartPolicy": "Never",
            "activeDeadlineSeconds": cluster.deadline_secs,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "dnsPolicy": "Default",
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}
                }
            },
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": NOBODY,
                "runAsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                _server_container(cluster, image, run_id),
                *([] if beside is None else [_user_container(beside, volumes, local_images=local_images)]),
            ],
            **(
                {}
                if beside is None
                else {
                    "volumes": [_memory(at) for at, _ in _mounts(volumes)],
                    "initContainers": [_gate_container(cluster, image, run_id)],
                }
            ),
        },
    }


SCRATCH = "/tmp"  # noqa: S108 - the container's own
RIGHTS: Json = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def _server_container(cluster: EmulationCluster, image: str, run_id: str) -> Json:
    return {
        "name": SERVER_CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [cluster.program, "--socket", SOCKET],
        "env": [{"name": MARK, "value": run_id}],
        "securityContext": RIGHTS,
        "resources": {"requests": REQUESTED, "limits": {"memory": str(MEMORY_BYTES)}},
    }


def _gate_container(cluster: EmulationCluster, image: str, run_id: str) -> Json:
    """A first container that ends once the fabric has removed the cluster's network. No program of
    the user starts before that."""
    return {
        **_server_container(cluster, image, run_id),
        "name": GATE_CONTAINER,
        "command": [cluster.program, "--until-isolated"],
    }


def _user_container(beside: Beside, volumes: Sequence[str], *, local_images: bool) -> Json:
    disk = {"ephemeral-storage": str(DISK_BYTES)} if beside.writable else {}
    return {
        "name": USER_CONTAINER,
        "image": beside.image,
        "imagePullPolicy": "IfNotPresent" if local_images else "Always",
        **({"command": [_verbatim(word) for word in beside.command]} if beside.command else {}),
        "env": [{"name": name, "value": _verbatim(value)} for name, value in beside.environment.items()],
        "securityContext": {**RIGHTS, "readOnlyRootFilesystem": not beside.writable},
        "resources": {"requests": REQUESTED, "limits": {"memory": str(MEMORY_BYTES), **disk}},
        "volumeMounts": [{"name": name, "mountPath": folder} for name, folder in _mounts(volumes)],
        # The API server then shows the last output as the reason for the end.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _mounts(volumes: Sequence[str]) -> list[tuple[str, str]]:
    """Names and folders of the mounts in memory."""
    others = sorted({folder for folder in volumes if folder != SCRATCH})
    return [("scratch", SCRATCH), *((f"volume-{number}", folder) for number, folder in enumerate(others))]


def _memory(name: str) -> Json:
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": str(SCRATCH_BYTES)}}


def _verbatim(text: str) -> str:
    """Escapes `$(NAME)`, which only Kubernetes replaces by variables."""
    return text.replace("$(", "$$(")
