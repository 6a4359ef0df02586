"""Servers as pods of a real cluster of two nodes on this machine: how fast they come and go beside
bare pods by the same API."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from kubernetes import client

from bench.emulation import OF_BARE, ROUNDS, SIZES, deployment_of, up_and_down
from bench.table import Row, print_rows
from cubeyard.emulation.cluster.client import core
from cubeyard.emulation.deploy.pod_calls import CREATES_AT_A_TIME, LOOK_SECS
from cubeyard.emulation.deploy.pod_document import pod_document
from cubeyard.emulation.fabric.hosts import divided
from cubeyard.emulation.fabric.place import Place
from cubeyard.settings import EmulationCluster, Settings
from tests.cluster.database import a_database
from tests.cluster.installed import install, outside
from tests.cluster.machines import Cluster, a_cluster
from tests.cluster.programs import missing

Json = dict[str, Any]
BARE = "cubeyard.test/bare"


def rows() -> list[Row]:
    """16 and 64 servers over two nodes, wired, against as many pods of the same document that
    nobody wires."""
    if why := missing():
        print(f"pods: not measured: {why}. `bin/cluster build` brings what it takes.", file=sys.stderr)
        return []
    with a_cluster() as cluster, a_database() as database, tempfile.TemporaryDirectory(prefix="cybench") as home:
        install(cluster, database)
        settings = Settings(cluster=EmulationCluster.model_validate(outside(cluster)), home=Path(home))
        return [row for servers, spec in SIZES.items() for row in _rows(cluster, settings, servers, spec)]


def _rows(cluster: Cluster, settings: Settings, servers: int, spec: Json) -> list[Row]:
    assert settings.cluster is not None
    place = Place.of(settings)
    times: list[Json] = []
    rounds = [
        (
            up_and_down(deployment_of(settings, place, spec, "containers"), times),
            _bare(cluster, settings.cluster, servers),
        )
        for _ in range(ROUNDS)
    ]
    wired = ", ".join(f"{item['wire_secs']:.1f}" for item in times)
    matches = []
    for at, what in enumerate(("up", "gone")):
        name = f"{servers} servers in pods of two nodes, {what}"
        every = [Row(name, ours[at], bare[at], "bare pods", "s", OF_BARE) for ours, bare in rounds]
        ratios = ", ".join(f"{row.ratio:.2f}" for row in every)
        middle = sorted(every, key=lambda row: row.ratio)[ROUNDS // 2]
        spent = f"; of these, after the last one came, {wired} s" if what == "up" else ""
        note = f"wall clock; {ROUNDS} rounds: {ratios}{spent}; load {os.getloadavg()[0]:.1f}"
        matches.append(replace(middle, note=note))
    return matches


def _bare(cluster: Cluster, settings: EmulationCluster, servers: int) -> tuple[float, float]:
    """The same image, nodes, number at a time and time between looks; seconds until all run, and
    until all are gone."""
    api = core(settings)
    owner = client.CoreV1Api(cluster.api).create_namespaced_config_map(
        settings.namespace, {"metadata": {"name": "bare"}}
    )
    documents = []
    for node, part in zip(cluster.nodes, divided(servers, [1.0] * len(cluster.nodes)), strict=True):
        for server in part:
            document = pod_document(
                settings,
                "bare",
                "bare",
                owner.metadata.uid,
                server,
                host_name=f"s{server}",
                image=settings.image,
                node=node.name,
            )
            document["metadata"] = {"name": f"bare-{server}", "labels": {BARE: "yes"}}
            documents.append(document)
    reported: Json = {"label_selector": f"{BARE}=yes", "_preload_content": False}

    def listed() -> list[Json]:
        return list(orjson.loads(api.list_namespaced_pod(settings.namespace, **reported).data)["items"])

    def create(document: Json) -> None:
        api.create_namespaced_pod(settings.namespace, document, _preload_content=False)

    try:
        began = time.monotonic()
        with ThreadPoolExecutor(CREATES_AT_A_TIME) as pool:
            list(pool.map(create, documents))
        _until(lambda: all(item["status"]["phase"] == "Running" for item in listed()))
        up_secs = time.monotonic() - began
        began = time.monotonic()
        api.delete_collection_namespaced_pod(settings.namespace, label_selector=f"{BARE}=yes")
        _until(lambda: not listed())
        return up_secs, time.monotonic() - began
    finally:
        client.CoreV1Api(cluster.api).delete_namespaced_config_map("bare", settings.namespace)


def _until(ready: Callable[[], bool]) -> None:
    while not ready():
        time.sleep(LOOK_SECS)


if __name__ == "__main__":
    print_rows(rows())
