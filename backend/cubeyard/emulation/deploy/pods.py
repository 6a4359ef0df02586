"""Servers as pods of one namespace of a Kubernetes cluster, by the official client.

The worker makes them itself: a run's truth is its row and lease, so there is no operator and no custom resource. A ConfigMap a run
owns its pods, a deadline ends them, and the reaper removes what a dead worker left, by labels. Calls grow with the number of pods
only where pods are made; whatever is asked of them is one list a look. [ours]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from kubernetes.client.exceptions import ApiException

from cubeyard.emulation.cluster.client import CALL_SECS, core, explained, refused_verbs, version
from cubeyard.emulation.cluster.errors import ClusterRefusedError, PodsStayError
from cubeyard.emulation.deploy.containers import Signal, each
from cubeyard.emulation.deploy.names import PLACE, RUN, owner_name, pod_name
from cubeyard.emulation.deploy.pod_document import label, labels, owner_document, pod_document
from cubeyard.emulation.deploy.quotas import refuse_over_quota
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import EmulationCluster

Json = dict[str, Any]

AT_A_TIME = 8
"""The API server takes more, and the kubelets are no faster for it."""
LOOK_SECS = 0.25
GONE_SECS = 40.0
"""How long pods may take to go: a grace of 1 s each, on nodes that answer."""
UNSCHEDULED_SECS = 10.0
"""A pod that fits nowhere now may fit when another run's has gone; after so long the run says why it waits."""
NEVER_STARTS = frozenset(
    {
        "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff",
        "InvalidImageName", "RunContainerError",
    }
)  # fmt: skip
RIGHTS = {
    "pods": ("create", "get", "list", "delete", "deletecollection"),
    "configmaps": ("create", "get", "list", "delete"),
}
"""What the Role of the chart allows in the servers' namespace."""


class Pods:
    """The pods of one owner on one node."""

    wired_by: Literal["pids", "containers"] = "containers"

    def __init__(self, owner: str, cluster: EmulationCluster, node: str, signal: Signal | None = None) -> None:
        self._owner = owner
        self._cluster = cluster
        self._node = node
        self._signal = signal
        self._made: dict[str, tuple[str, int, Json]] = {}
        """Run, server and document of each pod of ours, by its name."""
        self._removing: dict[str, float] = {}
        """Until when the pods of a run that is being removed are waited for."""

    @property
    def _api(self) -> Any:
        return core(self._cluster)

    def image(self) -> str:
        return self._cluster.image

    def answer(self) -> None:
        version(self._cluster, 1.0)

    def close(self) -> None:
        """The client is the process's own, and stays open."""

    def create(
        self,
        run_id: str,
        servers: Mapping[int, str],
        image: str,
        mounts: dict[int, str],  # noqa: ARG002 - a pod has no folder of its node's
        *,
        host_names: Mapping[int, str],
        raw_sockets: bool,
        check: Callable[[int], None],
    ) -> dict[int, str]:
        """Raises ClusterRefusedError for missing rights, quotas, policies and pods that cannot start, each in words."""
        self._refuse_beforehand(len(servers), raw_sockets=raw_sockets)
        check(0)
        uid = self._owner_of(run_id)

        def one(server: int) -> None:
            document = pod_document(
                self._cluster, self._owner, run_id, uid, server,
                host_name=host_names[server], image=image, node=self._node,
            )  # fmt: skip
            self._create(document)
            self._made[pod_name(run_id, server)] = (run_id, server, document)

        each(one, servers, AT_A_TIME)
        self._wait_until_running(run_id, {pod_name(run_id, server) for server in servers}, check)
        return {server: pod_name(run_id, server) for server in servers}

    def _refuse_beforehand(self, servers: int, *, raw_sockets: bool) -> None:
        if raw_sockets:
            raise ClusterRefusedError(
                "servers that forward in user space need NET_RAW, which pods of level restricted may not have",
                'Take mode "namespaces", or the dataplane "kernel".',
            )
        refused = refused_verbs(self._cluster, RIGHTS)
        if refused:
            raise ClusterRefusedError(
                f"this account may not {', '.join(refused)} in namespace {self._cluster.namespace}",
                "Bind it to the Role of the chart (deploy/helm/cubeyard).",
            )
        refuse_over_quota(self._api, self._cluster.namespace, servers)

    def _owner_of(self, run_id: str) -> str:
        """The uid of the run's ConfigMap; whichever host comes first makes it."""
        with explained():
            try:
                made = self._api.create_namespaced_config_map(
                    self._cluster.namespace, owner_document(self._owner, run_id), _request_timeout=CALL_SECS
                )
            except ApiException as error:
                if error.status != 409:
                    raise
                made = self._api.read_namespaced_config_map(
                    owner_name(run_id), self._cluster.namespace, _request_timeout=CALL_SECS
                )
        return str(made.metadata.uid)

    def _create(self, document: Json) -> None:
        with explained():
            self._api.create_namespaced_pod(self._cluster.namespace, document, _request_timeout=CALL_SECS)

    def _wait_until_running(self, run_id: str, names: set[str], check: Callable[[int], None]) -> None:
        began = time.monotonic()
        while True:
            pods = {one.metadata.name: one for one in self._listed(run_id)}
            running = [name for name in names if name in pods and _container_id(pods[name])]
            check(len(running))
            if len(running) == len(names):
                return
            late = time.monotonic() - began
            for name in sorted(names - set(running)):
                if name not in pods:
                    raise ClusterRefusedError(f"pod {name} was deleted while it started", "Start the run again.")
                self._refuse_stuck(pods[name], late)
            time.sleep(LOOK_SECS)

    def _refuse_stuck(self, pod: Any, late: float) -> None:
        """Raises if the pod will not run, or has had its time; says why as Kubernetes does."""
        name, reason, why = pod.metadata.name, *_waits_for(pod)
        if pod.status.phase in ("Failed", "Succeeded"):
            raise ClusterRefusedError(f"pod {name} ended at once: {why or reason or pod.status.phase}")
        if reason in NEVER_STARTS:
            raise ClusterRefusedError(
                f"pod {name} does not start: {reason}: {why}", f"Its image is {self._cluster.image}."
            )
        if reason == "Unschedulable" and late > UNSCHEDULED_SECS:
            fix = f"Free node {self._node}, take fewer servers, or mode namespaces."
            raise ClusterRefusedError(f"pod {name} stays Pending: {why}", fix)
        if late > self._cluster.start_secs:
            said = f"{reason}: {why}" if reason else str(pod.status.phase)
            raise ClusterRefusedError(f"pod {name} does not run after {late:.0f} s: {said}", "Look at its events.")

    def found_by(self, containers: dict[int, str]) -> dict[int, int | str]:
        with explained():
            pods = {
                one.metadata.name: one
                for one in self._api.list_namespaced_pod(
                    self._cluster.namespace,
                    label_selector=f"{PLACE}={label(self._owner)}",
                    field_selector=f"spec.nodeName={self._node}",
                    _request_timeout=CALL_SECS,
                ).items
            }
        found: dict[int, int | str] = {}
        for server, name in containers.items():
            pod = pods.get(name)
            identity = _container_id(pod) if pod is not None else ""
            if not identity:
                said = _waits_for(pod)[1] if pod is not None else "its pod is gone"
                raise ProblemError(500, "server-ended", f"Server {server} ended at once: {said}")
            found[server] = identity
        return found

    def kill(self, container: str) -> None:
        self._signalled(container, "kill")

    def pause(self, container: str) -> None:
        self._signalled(container, "pause")

    def unpause(self, container: str) -> None:
        self._signalled(container, "resume")

    def _signalled(self, container: str, what: Literal["kill", "pause", "resume"]) -> None:
        assert self._signal is not None, "pods are signalled by the fabric"
        run_id, server, _ = self._made[container]
        self._signal(run_id, server, what)

    def start(self, container: str) -> int | str:
        """A dead pod does not run again: another of its name takes its place, which takes seconds."""
        run_id, server, document = self._made[container]
        with explained():
            try:
                self._api.delete_namespaced_pod(
                    container, self._cluster.namespace, grace_period_seconds=0, _request_timeout=CALL_SECS
                )
            except ApiException as error:
                if error.status != 404:
                    raise
        deadline = time.monotonic() + GONE_SECS
        self._until_gone(lambda: [one for one in self._listed(run_id) if one.metadata.name == container], deadline)
        self._create(document)
        self._wait_until_running(run_id, {container}, lambda _: None)
        return self.found_by({server: container})[server]

    def runs(self) -> dict[str, list[str]]:
        """Whatever their node: what one host's part removes is gone for the others too."""
        with explained():
            selector = f"{PLACE}={label(self._owner)}"
            told = {"label_selector": selector, "_request_timeout": CALL_SECS}
            owners = self._api.list_namespaced_config_map(self._cluster.namespace, **told).items
            pods = self._api.list_namespaced_pod(self._cluster.namespace, **told).items
        # A label may only stand for the run's id; the ConfigMap holds it.
        ids = {one.metadata.labels[RUN]: (one.data or {}).get("run", "") for one in owners}
        found: dict[str, list[str]] = {run: [] for run in ids.values() if run}
        for pod in pods:
            run = ids.get(pod.metadata.labels[RUN], pod.metadata.labels[RUN])
            found.setdefault(run, []).append(pod.metadata.name)
        return found

    def living(self, run_id: str) -> int:
        return sum(1 for pod in self._listed(run_id) if pod.spec.node_name == self._node and _container_id(pod))

    def remove(self, run_id: str) -> list[str]:
        """The pods first, by one call, then what owns them. Raises PodsStayError if some are still there after GONE_SECS."""
        with explained():
            self._api.delete_collection_namespaced_pod(
                self._cluster.namespace,
                label_selector=self._selector(run_id),
                propagation_policy="Background",
                _request_timeout=CALL_SECS,
            )
        # A further try looks once: the pods have had their time.
        deadline = self._removing.setdefault(run_id, time.monotonic() + GONE_SECS)
        self._until_gone(lambda: self._listed(run_id), deadline)
        self._removing.pop(run_id, None)
        with explained():
            try:
                self._api.delete_namespaced_config_map(
                    owner_name(run_id), self._cluster.namespace, _request_timeout=CALL_SECS
                )
            except ApiException as error:
                if error.status != 404:
                    raise
        self._made = {name: one for name, one in self._made.items() if one[0] != run_id}
        return []

    def _until_gone(self, left: Callable[[], list[Any]], deadline: float) -> None:
        while pods := left():
            if time.monotonic() > deadline:
                nodes = sorted({str(one.spec.node_name) for one in pods})
                raise PodsStayError(
                    f"{len(pods)} pods on {', '.join(nodes)} do not go: the node may be away. The next look of the worker removes them."
                )
            time.sleep(LOOK_SECS)

    def _selector(self, run_id: str) -> str:
        wanted = labels(self._owner, run_id)
        return ",".join(f"{name}={wanted[name]}" for name in (PLACE, RUN))

    def _listed(self, run_id: str) -> list[Any]:
        with explained():
            return self._api.list_namespaced_pod(
                self._cluster.namespace, label_selector=self._selector(run_id), _request_timeout=CALL_SECS
            ).items


def _container_id(pod: Any) -> str:
    """Of a pod that runs: its container's id without the runtime's name; empty for another."""
    for status in pod.status.container_statuses or []:
        if status.state is not None and status.state.running is not None and status.container_id:
            return str(status.container_id).rpartition("://")[2]
    return ""


def _waits_for(pod: Any) -> tuple[str, str]:
    """Why a pod does not run: a reason in one word, and in a sentence."""
    for status in pod.status.container_statuses or []:
        state = status.state
        if state is not None and state.waiting is not None and state.waiting.reason != "ContainerCreating":
            return str(state.waiting.reason), str(state.waiting.message or "")
        if state is not None and state.terminated is not None:
            ended = state.terminated
            return str(ended.reason), str(ended.message or f"exit status {ended.exit_code}")
    for condition in pod.status.conditions or []:
        if condition.type == "PodScheduled" and condition.status == "False":
            return str(condition.reason), str(condition.message or "")
    return str(pod.status.reason or ""), str(pod.status.message or "")
