"""A thousand servers' pods on a hundred nodes, by a real API server and scheduler: how long, and
how many calls."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubernetes import client

from cubeyard.emulation.cluster.client import connect
from cubeyard.emulation.deploy.pod_calls import CREATES_AT_A_TIME, LOOK_SECS, RIGHTS
from cubeyard.emulation.deploy.pods import Pods
from cubeyard.emulation.fabric.fabrics import on_every
from cubeyard.emulation.fabric.hosts import Host, divided
from cubeyard.settings import EmulationCluster
from tests.cluster.fake_nodes import fake_nodes
from tests.cluster.installed import SERVERS, left
from tests.cluster.machines import Cluster

Json = dict[str, Any]
NODES, COUNT = 100, 1000
RUN = "0192f3a1b2c3d4e5f607182930414299"
PER_SERVER = 1.1
"""Calls for each server, from nothing to nothing, at most: one makes its pod."""


class Counted:
    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.at_a_time = self.most_at_a_time = 0


@contextmanager
def counted(cluster: EmulationCluster) -> Iterator[Counted]:
    """The calls that Cubeyard's client of the cluster makes."""
    rest, result, lock = connect(cluster).rest_client, Counted(), threading.Lock()
    request = rest.request

    def one(method: str, url: str, *more: Any, **given: Any) -> Any:
        what = urlsplit(url).path.rpartition("/")[2] if method != "DELETE" else "all or one"
        with lock:
            result.calls[f"{method} {what}"] += 1
            result.at_a_time += 1
            result.most_at_a_time = max(result.most_at_a_time, result.at_a_time)
        try:
            return request(method, url, *more, **given)
        finally:
            with lock:
                result.at_a_time -= 1

    rest.request = one
    try:
        yield result
    finally:
        rest.request = request


def test_a_thousand_servers_on_a_hundred_nodes_take_a_call_each_and_little_more(cluster: Cluster, told: Json) -> None:
    settings = EmulationCluster.model_validate({**told, "start_secs": 240})
    core = client.CoreV1Api(cluster.api)
    with fake_nodes(cluster, NODES) as nodes, counted(settings) as result:
        hosts = [Host(name, Path("/nowhere")) for name in nodes.names]
        every = [Pods("home-worker-scale", settings, host.name) for host in hosts]
        parts = [{server: str(server) for server in part} for part in divided(COUNT, [1.0] * NODES)]
        began = time.monotonic()

        def up(host: int) -> dict[int, int | str]:
            names = {server: f"s{server}" for server in parts[host]}
            found: dict[int, int | str] = {}
            every[host].create(
                RUN,
                parts[host],
                settings.image,
                {},
                host_names=names,
                raw_sockets=False,
                beside={},
                check=lambda _: None,
                came=found.update,
            )
            return found

        try:
            containers = [item for part in on_every(hosts, up) for item in part.values()]
            up_secs = time.monotonic() - began
            assert len(set(containers)) == COUNT
            placed = Counter(item.spec.node_name for item in core.list_namespaced_pod(SERVERS).items)
            assert placed == dict.fromkeys(nodes.names, COUNT // NODES)
        finally:
            down_began = time.monotonic()
            on_every(hosts, lambda host: every[host].remove(RUN))
            down_secs = time.monotonic() - down_began
        looks = (time.monotonic() - began) / LOOK_SECS
    print(f"{COUNT} pods on {NODES} nodes: up {up_secs:.1f} s, down {down_secs:.1f} s, {sum(result.calls.values())} calls "
          f"({dict(result.calls)}), at most {result.most_at_a_time} at a time")  # fmt: skip
    assert result.calls["POST pods"] == COUNT
    assert sum(result.calls.values()) <= PER_SERVER * COUNT + min(looks, 0.1 * COUNT), result.calls
    assert result.calls["POST selfsubjectaccessreviews"] <= 4 * sum(map(len, RIGHTS.values()))
    assert result.most_at_a_time <= CREATES_AT_A_TIME + 4, "no storm"
    assert left(cluster) == {}
