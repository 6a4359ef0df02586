"""The parts of the API server's data about a pod that are used here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.deploy.beside import ProgramState, shortened
from cubeyard.emulation.deploy.names import RUN
from cubeyard.emulation.deploy.pod_document import GATE_CONTAINER, SERVER_CONTAINER, USER_CONTAINER

Json = dict[str, Any]

POD_LOGS = "/var/log/pods/"


@dataclass(frozen=True)
class PodState:
    name: str
    run: str
    """Label with the run's id."""
    node: str
    """Empty if it has no node yet."""
    phase: str
    container: str
    """The id of the container of a running server, without the runtime's name; empty otherwise."""
    reason: str
    """Why the pod does not run, in one word."""
    why: str
    """Why the pod does not run, in a sentence."""
    waits: str = ""
    """The container to which the reason applies; empty for the whole pod."""
    program: ProgramState | None = None
    """The state of the user's program, once it has run."""
    gate: str = ""
    """The id of the container that waits for the cluster's network to be down, while it waits."""

    @classmethod
    def of(cls, pod: Json) -> PodState:
        """Parses a pod's JSON."""
        status = pod.get("status", {})
        containers = {item["name"]: item for item in status.get("containerStatuses") or []}
        waits, reason, why = _waits_for(status)
        return cls(
            pod["metadata"]["name"],
            pod["metadata"].get("labels", {}).get(RUN, ""),
            pod["spec"].get("nodeName", ""),
            status.get("phase", ""),
            _running_id(containers.get(SERVER_CONTAINER, {})),
            reason,
            why,
            waits,
            _program(containers.get(USER_CONTAINER, {})),
            next((_running_id(gate) for gate in _gates(status)), ""),
        )


def _gates(status: Json) -> list[Json]:
    return [item for item in status.get("initContainerStatuses") or [] if item["name"] == GATE_CONTAINER]


def _id(status: Json) -> str:
    return str(status.get("containerID", "")).rpartition("://")[2]


def _running_id(status: Json) -> str:
    return _id(status) if "running" in status.get("state", {}) else ""


def _program(one: Json) -> ProgramState | None:
    state = one.get("state", {})
    ended = state.get("terminated")
    if ended is None and "running" not in state:
        return None
    identity = str(one.get("imageID", ""))
    if ended is None:
        return ProgramState(_id(one), identity, None)
    reason = ended.get("reason", "")
    why = "it wanted more memory than it may have" if reason == "OOMKilled" else str(ended.get("message", ""))
    if "no such file" in why and POD_LOGS in why:
        why = ""  # kubelet: the log was gone when it looked, since the pod was removed meanwhile
    status = int(ended.get("exitCode", 0))
    return ProgramState(_id(one), identity, status or (1 if reason == "StartError" else 0), shortened(why))


def _waits_for(status: Json) -> tuple[str, str, str]:
    """The container that is not running, the reason in a word, and in a sentence."""
    for gate in [*_gates(status), *(status.get("containerStatuses") or [])]:
        state = gate.get("state", {})
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason") not in ("ContainerCreating", "PodInitializing"):
            return gate["name"], str(waiting.get("reason", "")), str(waiting.get("message", ""))
        opened = gate["name"] == GATE_CONTAINER and ended and not ended.get("exitCode")
        if ended and gate["name"] != USER_CONTAINER and not opened:
            message = str(ended.get("message") or f"exit status {ended.get('exitCode')}")
            return gate["name"], str(ended.get("reason", "")), message
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return "", str(condition.get("reason", "")), str(condition.get("message", ""))
    return "", str(status.get("reason", "")), str(status.get("message", ""))
