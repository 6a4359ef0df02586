"""What a list of the API server says of one pod, as far as it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.deploy.names import RUN

Json = dict[str, Any]


@dataclass(frozen=True)
class PodState:
    name: str
    run: str
    """The label that stands for the run's id."""
    node: str
    """Empty: none yet."""
    phase: str
    container: str
    """Of a pod that runs: its container's id without the runtime's name; empty for another."""
    reason: str
    """Why it does not run, in one word."""
    why: str
    """The same in a sentence."""

    @classmethod
    def of(cls, pod: Json) -> PodState:
        """From the pod as JSON."""
        status = pod.get("status", {})
        reason, why = _waits_for(status)
        return cls(
            pod["metadata"]["name"],
            pod["metadata"].get("labels", {}).get(RUN, ""),
            pod["spec"].get("nodeName", ""),
            status.get("phase", ""),
            _container_id(status),
            reason,
            why,
        )


def _container_id(status: Json) -> str:
    for one in status.get("containerStatuses") or []:
        if "running" in one.get("state", {}) and one.get("containerID"):
            return str(one["containerID"]).rpartition("://")[2]
    return ""


def _waits_for(status: Json) -> tuple[str, str]:
    for one in status.get("containerStatuses") or []:
        state = one.get("state", {})
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason") != "ContainerCreating":
            return str(waiting.get("reason", "")), str(waiting.get("message", ""))
        if ended:
            return str(ended.get("reason", "")), str(ended.get("message") or f"exit status {ended.get('exitCode')}")
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("reason", "")), str(condition.get("message", ""))
    return str(status.get("reason", "")), str(status.get("message", ""))
