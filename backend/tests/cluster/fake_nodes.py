"""Nodes without a machine, like those of kwok. Each is a Node object with room for 110 pods and a
renewed lease; a pod scheduled there counts as running at once for the API server, and ends when it
is deleted."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import orjson
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from tests.cluster.machines import Cluster, wait

Json = dict[str, Any]
FAKE = "cubeyard.test/fake"
BEAT_SECS = 10.0
LEASES = "kube-node-lease"
AT_A_TIME = 8


class FakeNodes:
    def __init__(self, cluster: Cluster, names: list[str]) -> None:
        self._core = client.CoreV1Api(cluster.api)
        self._leases = client.CoordinationV1Api(cluster.api)
        self.names = names
        self.patched = 0
        """How many pods were made to run."""
        self._over = threading.Event()
        self._started: set[str] = set()

    def make(self) -> None:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            list(pool.map(self._make, self.names))

    def _make(self, name: str) -> None:
        self._core.create_node({"metadata": {"name": name, "labels": {FAKE: "yes"}}})
        room = {"cpu": "32", "memory": "256Gi", "pods": "110"}
        now = _now()
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "Fake",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        self._core.patch_node_status(name, {"status": {"capacity": room, "allocatable": room, "conditions": [ready]}})
        lease = {
            "metadata": {"name": name},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": _exact_now()},
        }
        self._leases.create_namespaced_lease(LEASES, lease)

    def beat(self) -> None:
        while not self._over.wait(BEAT_SECS):
            for name in self.names:
                with suppress(ApiException, HTTPError):
                    self._leases.patch_namespaced_lease(name, LEASES, {"spec": {"renewTime": _exact_now()}})

    def play(self) -> None:
        """Plays the kubelets, by watching the API server."""
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            while not self._over.is_set():
                with suppress(ApiException, HTTPError):
                    answer = self._core.list_pod_for_all_namespaces(
                        watch=True, timeout_seconds=5, _preload_content=False
                    )
                    for line in _lines(answer):
                        event = orjson.loads(line)
                        pool.submit(self._see, event["type"], event["object"])

    def _see(self, kind: str, pod: Json) -> None:
        if kind == "DELETED" or pod.get("spec", {}).get("nodeName") not in self.names:
            return
        meta = pod["metadata"]
        with suppress(ApiException):
            if "deletionTimestamp" in meta:
                self._core.delete_namespaced_pod(meta["name"], meta["namespace"], grace_period_seconds=0)
            elif meta["uid"] not in self._started:
                self._started.add(meta["uid"])
                self._core.patch_namespaced_pod_status(
                    meta["name"], meta["namespace"], _running(pod), _preload_content=False
                )
                self.patched += 1

    def remove(self) -> None:
        self._over.set()
        for name in self.names:
            with suppress(ApiException):
                self._core.delete_node(name)
            with suppress(ApiException):
                self._leases.delete_namespaced_lease(name, LEASES)


def _running(pod: Json) -> Json:
    now = _now()
    statuses = [
        {
            "name": container["name"], "image": container["image"], "imageID": "", "ready": True, "started": True, "restartCount": 0,
            "containerID": f"containerd://{hashlib.sha256(pod['metadata']['uid'].encode()).hexdigest()}",
            "state": {"running": {"startedAt": now}},
        }
        for container in pod["spec"]["containers"]
    ]  # fmt: skip
    return {"status": {"phase": "Running", "startTime": now, "containerStatuses": statuses}}


def _lines(answer: Any) -> Iterator[bytes]:
    held = b""
    for piece in answer.stream(65536, decode_content=False):
        *whole, held = (held + piece).split(b"\n")
        yield from filter(None, whole)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _exact_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@contextmanager
def fake_nodes(cluster: Cluster, count: int) -> Iterator[FakeNodes]:
    """Ready, and free to be scheduled on."""
    nodes = FakeNodes(cluster, [f"fake-{number:03}" for number in range(count)])
    threads = [threading.Thread(target=item, daemon=True) for item in (nodes.beat, nodes.play)]
    try:
        nodes.make()
        for thread in threads:
            thread.start()
        core = client.CoreV1Api(cluster.api)

        def free() -> bool:
            listed = core.list_node(label_selector=FAKE).items
            return len(listed) == count and not any(item.spec.taints for item in listed)

        wait(free, "the fake nodes are not free to be scheduled on")
        yield nodes
    finally:
        nodes.remove()
        for thread in threads:
            thread.join(BEAT_SECS)
        time.sleep(0.1)
