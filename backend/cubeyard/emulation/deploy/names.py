"""Names and labels of a server on its machine, and how to open a shell in it."""

from __future__ import annotations

import hashlib
import shlex

from cubeyard.settings import EmulationCluster

RUN, SERVER, PLACE = "cubeyard.run", "cubeyard.server", "cubeyard.place"
"""Labels of containers and pods: the run, the server, and the owner."""
BESIDE = "cubeyard.beside"
"""Label of a container with a user's program: the number of its server."""
MARK = "CUBEYARD_RUN"
"""Environment variable of each container of a run. Without it the fabric wires no pod, and ends no
leftover process (`host/belonging.rs`)."""
MEMORY_BYTES = 256 * 1024 * 1024
"""Memory limit of a server, and of the user's program on it."""
PROCESSES = 256
"""Limit for the number of processes, where Docker runs them."""
SCRATCH_BYTES = 16 * 1024 * 1024
"""Size of `/tmp` of a user's program, which is in memory."""


def container_name(run_id: str, server_name: str) -> str:
    """The container name of a server, as shown by `docker ps`."""
    plain = "".join(letter if letter.isalnum() or letter in "_.-" else "-" for letter in server_name)
    return f"cubeyard-{run_id[:8]}-{plain}"


def beside_name(run_id: str, server_name: str) -> str:
    """The container name of a user's program, as shown by `docker ps`."""
    return f"{container_name(run_id, server_name)}-image"


def owner_name(run_id: str, owner: str) -> str:
    """Name of the ConfigMap that owns the pods of one run and one worker: deleting it deletes the
    remaining pods. If another worker takes over the run, it makes its own ConfigMap."""
    return f"cubeyard-{_digest(run_id)}-{_digest(owner)[:8]}"


def pod_name(run_id: str, server: int) -> str:
    """The pod name of a server, as shown by `kubectl get pods`."""
    return f"cubeyard-{_digest(run_id)}-{server}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def namespace_name(run_id: str, server: int) -> str:
    """The namespace name of a server without a container, as shown by `ip netns`."""
    return f"cy-{run_id[:8]}-{server}"


def shell_command(run_id: str, server: int, name: str, mode: str, cluster: EmulationCluster | None = None) -> str:
    """A command that opens a shell in a server's network, on the server's machine and with that
    machine's tools (`ping`, `ss`, `tcpdump`). In a pod, it is the shell of the image."""
    if mode == "containers" and cluster is not None:
        return f"kubectl --namespace {cluster.namespace} exec --stdin --tty {pod_name(run_id, server)} -- sh"
    if mode == "namespaces":
        return f"sudo ip netns exec {namespace_name(run_id, server)} bash"
    container = shlex.quote(container_name(run_id, name))
    return f"sudo nsenter --net --target \"$(docker inspect --format '{{{{.State.Pid}}}}' {container})\" bash"
