"""Servers as pods of one namespace of a Kubernetes cluster, by the official client.

The worker creates them directly: the run's row and lease are authoritative, so there is no operator
and no custom resource. A ConfigMap per run owns its pods, a deadline ends them, and the reaper
removes leftovers of dead workers, by labels. The number of calls grows with the number of pods only
for creation; polling needs one list per interval for all nodes together. [ours]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal

from cubeyard.emulation.cluster.errors import ClusterRefusedError, NodeAwayError, PodsStayError
from cubeyard.emulation.deploy.beside import (
    NO_COMMAND,
    ImageRefusedError,
    ProgramState,
    not_pulled,
    refuse_failed,
    too_large,
)
from cubeyard.emulation.deploy.containers import Came, Isolate, Signal
from cubeyard.emulation.deploy.manifests import Announce, no_announcement
from cubeyard.emulation.deploy.names import MEMORY_BYTES, SCRATCH_BYTES, pod_name
from cubeyard.emulation.deploy.pod_calls import PodCalls, calls_of
from cubeyard.emulation.deploy.pod_document import USER_CONTAINER, pod_document
from cubeyard.emulation.deploy.pod_state import PodState
from cubeyard.emulation.deploy.quotas import refuse_over_quota
from cubeyard.emulation.setup.user_images import Beside, without_command
from cubeyard.settings import EmulationCluster

Json = dict[str, Any]

GONE_SECS = 40.0
"""Time limit for the removal of pods: a grace period of 1 s each, on nodes that respond."""
UNSCHEDULED_SECS = 10.0
"""A pod may have to wait until another run ends. After this time, the run reports why it waits."""
REAPED_SECS = 1.0
"""Maximum age of the list with which the reaper finds leftovers, host by host."""
MOST_VOLUMES = MEMORY_BYTES // SCRATCH_BYTES - 1
"""Number of folders in memory for an image, in addition to `/tmp`."""
KNOWN_SECS = 5.0
"""Maximum age of the list for finding a container that has been running since the run began."""
NOT_PULLED = frozenset({"ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName"})
NEVER_STARTS = NOT_PULLED | {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}


class Pods:
    """The pods of one owner on one node."""

    wired_by: Literal["pids", "containers"] = "containers"

    def __init__(
        self,
        owner: str,
        cluster: EmulationCluster,
        node: str,
        signal: Signal | None = None,
        isolate: Isolate | None = None,
        *,
        local_images: bool = False,
        announce: Announce = no_announcement,
        image_bytes: int = 0,
    ) -> None:
        """`announce` returns the manifests of users' images; `image_bytes` limits their total
        size."""
        self._owner = owner
        self._cluster = cluster
        self._node = node
        self._signal = signal
        self._isolate = isolate
        self._local_images = local_images
        self._announce = announce
        self._image_bytes = image_bytes
        self._made: dict[str, tuple[str, int, Json]] = {}
        """By name of the pod: run, server and document."""
        self._names: dict[str, tuple[str, Beside]] = {}
        """By pod with a user's program: the server's name, and the user's image."""

    @property
    def _calls(self) -> PodCalls:
        return calls_of(self._cluster, self._owner)

    def image(self) -> str:
        return self._cluster.image

    def answer(self) -> None:
        self._calls.version.since(time.monotonic())

    def close(self) -> None:
        """Does nothing: the client belongs to the process and stays open."""

    def create(
        self,
        run_id: str,
        servers: Mapping[int, str],
        image: str,
        mounts: dict[int, str],  # noqa: ARG002 - a pod has no folder of its node's
        *,
        host_names: Mapping[int, str],
        raw_sockets: bool,
        beside: Mapping[int, Beside],
        check: Callable[[int], None],
        came: Came,
    ) -> dict[int, str]:
        """Raises ClusterRefusedError for missing permissions, quotas, policies and pods that cannot
        start, each with a readable message, and ImageRefusedError for user programs."""
        self._refuse_beforehand(len(servers), len(beside), raw_sockets=raw_sockets)
        volumes = self._volumes_of(servers, beside)
        check(0)
        uid = self._calls.owner_of(run_id)
        made = {
            pod_name(run_id, server): (
                run_id,
                server,
                pod_document(
                    self._cluster, self._owner, run_id, uid, server,
                    host_name=host_names[server], image=image, node=self._node, beside=beside.get(server),
                    volumes=volumes[beside[server].image] if server in beside else (), local_images=self._local_images,
                ),
            )
            for server in servers
        }  # fmt: skip
        self._made.update(made)
        self._names.update({pod_name(run_id, server): (servers[server], item) for server, item in beside.items()})
        self._calls.create(document for _, _, document in made.values())
        self._wait_until_running(run_id, set(made), check, came)
        if beside:
            images = {server: item.image for server, item in beside.items()}
            refuse_failed(servers, images, lambda: self.programs(run_id))
        return {server: name for name, (_, server, _) in made.items()}

    def _volumes_of(self, servers: Mapping[int, str], beside: Mapping[int, Beside]) -> dict[str, tuple[str, ...]]:
        """By image: the folders that it declares as VOLUME. Raises ImageRefusedError before
        anything is pulled, for images that are too large by their manifests."""
        first_of = {item.image: servers[server] for server, item in sorted(beside.items(), reverse=True)}
        volumes: dict[str, tuple[str, ...]] = {}
        total_bytes = 0
        for image, server in first_of.items():
            about = self._announce(image)
            volumes[image] = about.volumes if about is not None else ()
            total_bytes += about.size_bytes if about is not None else 0
            if total_bytes > self._image_bytes:
                raise too_large(server, image, self._image_bytes)
            if len(volumes[image]) > MOST_VOLUMES:
                why = (
                    f"declares {len(volumes[image])} folders as VOLUME, and a pod's memory has room for {MOST_VOLUMES}"
                )
                raise ImageRefusedError(server, image, why, "Take another image.")
        return volumes

    def _refuse_beforehand(self, servers: int, beside: int, *, raw_sockets: bool) -> None:
        if raw_sockets:
            raise ClusterRefusedError(
                "servers that forward in user space need NET_RAW, which pods of level restricted may not have",
                'Take mode "namespaces", or the dataplane "kernel".',
            )
        now = time.monotonic()
        refused = self._calls.refused.since(now)
        if refused:
            raise ClusterRefusedError(
                f"this account may not {', '.join(refused)} in namespace {self._cluster.namespace}",
                "Bind it to the Role of the chart (deploy/helm/cubeyard).",
            )
        refuse_over_quota(self._calls.quotas.since(now), self._cluster.namespace, servers, beside)

    def _wait_until_running(self, run_id: str, names: set[str], check: Callable[[int], None], came: Came) -> None:
        began = time.monotonic()
        isolated: set[str] = set()
        reported: set[str] = set()
        while True:
            pods = self._calls.pods(self._look_again(), run_id)
            isolated |= self._isolate_new(run_id, [pods[name] for name in names - isolated if name in pods])
            running = [name for name in names if name in pods and self._runs_whole(pods[name])]
            check(len(running))
            if fresh := set(running) - reported:
                # Not only once all run: the API server reports the last ones up to a second late,
                # and meanwhile the processors can wire the others.
                came({self._made[name][1]: pods[name].container for name in fresh})
                reported |= fresh
            if len(running) == len(names):
                return
            late = time.monotonic() - began
            for name in sorted(names - set(running)):
                if name not in pods:
                    raise ClusterRefusedError(f"pod {name} was deleted while it started", "Start the run again.")
                self._refuse_stuck(pods[name], late)

    def _isolate_new(self, run_id: str, pods: list[PodState]) -> set[str]:
        """Removes the network of pods whose gates wait for it; returns the names of these pods.
        Their user programs start next."""
        waiting = {self._made[pod.name][1]: pod for pod in pods if pod.gate}
        if waiting:
            assert self._isolate is not None, "the network of pods is taken down by the fabric"
            self._isolate(run_id, {server: pod.gate for server, pod in waiting.items()})
        return {pod.name for pod in waiting.values()}

    def _runs_whole(self, pod: PodState) -> bool:
        """Whether the server is running and its user program has started; the program may have
        ended again."""
        return bool(pod.container) and (pod.program is not None or pod.name not in self._names)

    def _look_again(self) -> float:
        """Waits for the next poll. Returns the earliest useful time of a list, since another host
        may have polled meanwhile."""
        since = time.monotonic()
        time.sleep(self._calls.look_secs)
        return since

    def _refuse_stuck(self, pod: PodState, late: float) -> None:
        """Raises with Kubernetes' reason if the pod cannot run, or its time is up."""
        name, reason, why = pod.name, pod.reason, pod.why
        if pod.phase in ("Failed", "Succeeded"):
            raise ClusterRefusedError(f"pod {name} ended at once: {why or reason or pod.phase}")
        if reason in NEVER_STARTS and pod.waits == USER_CONTAINER:
            server, beside = self._names[name]
            if reason in NOT_PULLED:
                raise not_pulled(server, beside.image, f"{reason}: {why}")
            if NO_COMMAND in why.lower():
                raise without_command(beside)
            raise ImageRefusedError(server, beside.image, f"does not start: {reason}: {why}", "See to its command.")
        if reason in NEVER_STARTS:
            raise ClusterRefusedError(
                f"pod {name} does not start: {reason}: {why}", f"Its image is {self._cluster.image}."
            )
        if reason == "Unschedulable" and late > UNSCHEDULED_SECS:
            fix = f"Free node {self._node}, take fewer servers, or mode namespaces."
            raise ClusterRefusedError(f"pod {name} stays Pending: {why}", fix)
        if late > self._cluster.start_secs:
            message = f"{reason}: {why}" if reason else pod.phase
            raise ClusterRefusedError(f"pod {name} does not run after {late:.0f} s: {message}", "Look at its events.")

    def where(self) -> None:
        return None

    def kill(self, container: str) -> None:
        self._signalled(container, "kill")

    def pause(self, container: str) -> None:
        self._signalled(container, "pause")

    def unpause(self, container: str) -> None:
        self._signalled(container, "resume")

    def _signalled(self, container: str, what: Literal["kill", "pause", "resume"]) -> None:
        assert self._signal is not None, "pods are signalled by the fabric"
        run_id, server, _ = self._made[container]
        beside = ""
        if container in self._names:
            pod = self._calls.pods(time.monotonic() - KNOWN_SECS).get(container)
            beside = (
                "" if pod is None or pod.program is None or pod.program.ended is not None else pod.program.container
            )
        self._signal(run_id, server, what, beside)

    def start(self, container: str) -> int | str:
        """Replaces a dead pod, which cannot run again, by a new one with the same name. That takes
        seconds."""
        run_id, server, document = self._made[container]
        self._calls.delete(container)
        deadline = time.monotonic() + GONE_SECS
        self._until_gone(lambda pods: [pod for pod in pods if pod.name == container], run_id, deadline)
        self._calls.create([document])
        came: dict[int, int | str] = {}
        self._wait_until_running(run_id, {container}, lambda _: None, came.update)
        return came[server]

    def runs(self) -> dict[str, list[str]]:
        """The runs on all nodes: if one host removes pods, they no longer exist for other hosts
        either."""
        since = time.monotonic() - REAPED_SECS
        ids = self._calls.owners(since)
        result: dict[str, list[str]] = {run: [] for run in ids.values() if run}
        for pod in self._calls.pods(since).values():
            result.setdefault(ids.get(pod.run, pod.run), []).append(pod.name)
        return result

    def living(self, run_id: str) -> int:
        pods = self._calls.pods(time.monotonic(), run_id).values()
        return sum(1 for pod in pods if pod.node == self._node and pod.container)

    def programs(self, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:  # noqa: ARG002 - listed anyway
        if not self._names:
            return {}
        pods = self._calls.pods(time.monotonic(), run_id)
        result = {self._made[name][1]: pods[name].program for name in self._names if name in pods}
        return {server: state for server, state in result.items() if state is not None}

    def take_over(self, run_id: str) -> None:
        """Pod names do not depend on the owner, so pods of an earlier owner must be removed."""
        self._calls.take_over(run_id)

    def remove(self, run_id: str, away: Collection[str] = ()) -> list[str]:
        """Removes a run's pods on all nodes. Raises PodsStayError if some remain after GONE_SECS,
        and NodeAwayError as soon as only pods on nodes that are `away` remain: these nodes'
        kubelets remove them later."""

        def until_gone(deadline: float) -> None:
            self._until_gone(lambda pods: [pod for pod in pods if pod.node not in away], run_id, deadline)
            stay = self._calls.pods(time.monotonic(), run_id).values() if away else ()
            if stay:
                nodes = ", ".join(sorted({pod.node for pod in stay}))
                raise NodeAwayError(
                    f"{len(stay)} pods wait for {nodes} to be back. The next look of the worker removes them."
                )

        self._calls.remove(run_id, until_gone, GONE_SECS)
        self._made = {name: item for name, item in self._made.items() if item[0] != run_id}
        self._names = {name: item for name, item in self._names.items() if name in self._made}
        return []

    def _until_gone(self, chosen: Callable[[Iterable[PodState]], list[PodState]], run_id: str, deadline: float) -> None:
        since = time.monotonic()
        while pods := chosen(self._calls.pods(since, run_id).values()):
            if time.monotonic() > deadline:
                nodes = sorted({pod.node for pod in pods})
                raise PodsStayError(
                    f"{len(pods)} pods on {', '.join(nodes)} do not go: the node may be away. The next look of the worker removes them."
                )
            since = self._look_again()
