"""Sweeps that several worker pods share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from kubernetes import client

from tests.cluster.installed import NAMESPACE, WORKERS
from tests.cluster.machines import Cluster, wait

Json = dict[str, Any]
POINTS = 2000
SWEPT: Json = {
    "plan": {"family": "bcube", "n": 8, "k": 2},
    "workload": {"kind": "all-to-all"},
    "axes": {"failure": {"kind": "switch", "ratios": [0, 0.05, 0.1, 0.15]}, "seeds": POINTS // 4},
}


@contextmanager
def workers(cluster: Cluster, count: int) -> Iterator[None]:
    """Scales to `count` ready workers; restores the previous number afterwards."""
    apps = client.AppsV1Api(cluster.api)

    def scale(replicas: int) -> None:
        apps.patch_namespaced_stateful_set_scale("cubeyard-worker", NAMESPACE, {"spec": {"replicas": replicas}})

    def ready() -> int:
        return apps.read_namespaced_stateful_set("cubeyard-worker", NAMESPACE).status.ready_replicas or 0

    scale(count)
    try:
        wait(lambda: ready() == count, f"there are not {count} workers", lambda: f"{ready()} are ready", secs=120)
        yield
    finally:
        scale(WORKERS)
    wait(lambda: ready() == WORKERS, f"there are not {WORKERS} workers again", secs=180)


def points_once(database: str, run: str) -> None:
    """Each point of SWEPT is in the database once, and frames are numbered without a gap."""
    with psycopg.connect(database) as connection:
        reported = "SELECT count(point), count(DISTINCT point), max(seq) - count(*) FROM run_frames WHERE run_id = %s"
        (points, distinct, gaps) = connection.execute(reported, (run,)).fetchone() or (0, 0, 0)
    assert points == distinct == POINTS
    assert gaps == 0
