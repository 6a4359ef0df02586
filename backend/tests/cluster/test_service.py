"""Cubeyard's own pods, as `helm install` makes them: the page, plans, an emulation over two nodes
and a sweep that the workers share, all by the Service's address."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.cluster.installed import NAMESPACE, SERVERS, WORKERS, left
from tests.cluster.machines import Cluster, wait
from tests.cluster.service import Service
from tests.cluster.sweeps import POINTS, SWEPT, points_once, workers

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
CHROMIUM = os.environ.get("CUBEYARD_CHROMIUM") or "/usr/bin/chromium"
EMULATED: Json = {
    "plan": {"family": "bcube", "n": 4, "k": 1},
    "workload": {"kind": "all-to-all"},
    "engine": "emulation",
    "link_gbps": 0.005,
    "seeds": [7],
    "faults": [{"kind": "cable-pulled", "target": {"names": ["00/<1,0>"]}, "at_secs": 2.0, "until_secs": 5.0}],
    "emulation": {"mode": "containers", "seconds": 8, "settle_secs": 1, "calibrate_secs": 0.5},
}


def pods(cluster: Cluster, component: str) -> list[Any]:
    core = client.CoreV1Api(cluster.api)
    return core.list_namespaced_pod(NAMESPACE, label_selector=f"app.kubernetes.io/component={component}").items


def test_every_pod_of_the_chart_is_ready_and_none_failed_by_itself(service: Service, cluster: Cluster) -> None:
    assert service.get("/healthz")["status"] == "ok"
    for component, count in (("api", 2), ("worker", WORKERS), ("fabric", len(cluster.nodes))):
        result = pods(cluster, component)
        assert len(result) == count
        for pod in result:
            for container_status in pod.status.container_statuses:
                assert container_status.ready, (pod.metadata.name, container_status)
                # Another test kills a fabric, whose container is started again.
                assert component == "fabric" or container_status.restart_count == 0, (
                    pod.metadata.name,
                    container_status,
                )
    jobs = client.BatchV1Api(cluster.api).list_namespaced_job(NAMESPACE).items
    assert jobs == [], "the migration's hook is gone once it has succeeded"


def test_the_page_and_the_api_are_for_whoever_has_the_token(service: Service) -> None:
    page = service.request("GET", "/", Accept="text/html")
    assert '<div id="root">' in page.body
    stranger = service.request("GET", "/", token=None, Accept="text/html")
    assert stranger.status == 303, "a browser without the token is sent to the login page"
    assert service.request("GET", "/api/v1/plans", token=None).status == 401
    assert service.request("GET", "/api/v1/plans", Host="attacker.example").status in {400, 403, 421}


def test_a_plan_is_made_and_each_of_the_apis_pods_has_it(service: Service, cluster: Cluster) -> None:
    spec = {"topology": {"family": "bcube", "n": 8, "k": 3, "servers": 2048}}
    made = service.request("POST", "/api/v1/plans", {"name": "The paper's container", "spec": spec})
    assert made.status == 201, made
    for pod in pods(cluster, "api"):
        item = Service(f"http://{pod.status.pod_ip}:8080", service.host, service.token)
        assert item.get(f"/api/v1/plans/{made.body['id']}")["summary"]["counts"]["switches"] == 1280


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("component", ["api", "worker"])
def test_a_pod_has_no_more_rights_than_it_needs(cluster: Cluster, component: str) -> None:
    """Read from outside, as the kernel sees it."""
    (item, *_) = pods(cluster, component)
    (container,) = item.status.container_statuses
    identity = container.container_id.rpartition("://")[2]
    node = next(each for each in cluster.nodes if each.name == item.spec.node_name)
    (task,) = [line.split()[1] for line in node.ctr("tasks", "list").splitlines() if line.startswith(identity)]
    status = Path(f"/proc/{task}/status").read_text()
    reported = dict(
        line.split(":\t", 1)
        for line in status.splitlines()
        if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:", "Uid"))
    )
    assert reported.pop("Uid").split()[1] == "10001"
    assert reported == {"CapEff": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}


def test_sixteen_servers_on_two_nodes_with_a_pulled_cable_and_a_verdict(service: Service, cluster: Cluster) -> None:
    result = service.get("/api/v1/emulation")
    assert result["ready"], result
    assert result["modes"] == ["containers", "namespaces"]
    assert [host["name"] for host in result["hosts"]] == ["node-a", "node-b"]
    run = service.start_run(EMULATED)
    core = client.CoreV1Api(cluster.api)

    def spread() -> bool:
        nodes = [
            item.spec.node_name for item in core.list_namespaced_pod(SERVERS).items if item.status.phase == "Running"
        ]
        return len(nodes) == 16 and set(nodes) == {"node-a", "node-b"}

    wait(spread, "there are not sixteen pods on two nodes", lambda: str(service.run(run)))
    row = service.ended(run)
    assert row["state"] == "succeeded", row
    report = service.get(f"/api/v1/runs/{run}/results")["report"]
    check_over_two_nodes(report)
    wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=20)


def check_over_two_nodes(report: Json) -> None:
    assert report["fidelity"]["verdict"] in ("faithful", "host-limited"), report["fidelity"]
    assert report["windows"]["before"]["goodput_bits_per_sec"] > 0.8 * report["ideal_bits_per_sec"]
    assert report["faults"][0]["moves"] > 0, "flows went round the pulled cable"
    assert report["timings"]["kept"] == []


def test_a_sweep_is_shared_by_the_workers_and_each_point_is_there_once(service: Service, cluster: Cluster) -> None:
    run = service.start_run(SWEPT)
    assert service.ended(run, 300)["state"] == "succeeded"
    written = points_written(cluster, run)
    assert sum(written.values()) == POINTS, written
    assert sum(points > 0 for points in written.values()) == WORKERS, written
    row = service.run(run)
    assert row["points_done"] == row["points_total"] == POINTS


def points_written(cluster: Cluster, run: str) -> dict[str, int]:
    """Written points by worker. A worker logs its share after the run has its last state."""
    latest = time.monotonic() + 20
    while sum((written := logged_points(cluster, run)).values()) < POINTS and time.monotonic() < latest:
        time.sleep(0.5)
    return written


def logged_points(cluster: Cluster, run: str) -> dict[str, int]:
    core = client.CoreV1Api(cluster.api)
    result: dict[str, int] = {}
    for pod in pods(cluster, "worker"):
        lines = (
            core.read_namespaced_pod_log(pod.metadata.name, NAMESPACE, _preload_content=False)
            .data.decode()
            .splitlines()
        )
        reported = [json.loads(line) for line in lines if run in line and line.startswith("{")]
        result[pod.metadata.name] = sum(item.get("points", 0) for item in reported)
    return result


def test_a_sweep_is_shared_by_four_workers(service: Service, cluster: Cluster, database: str) -> None:
    with workers(cluster, 4):
        began = time.monotonic()
        run = service.start_run(SWEPT)
        assert service.ended(run, 300)["state"] == "succeeded"
        written = points_written(cluster, run)
        print(f"{POINTS} points by four workers in {time.monotonic() - began:.1f} s: {written}")
    assert len(written) == 4
    assert min(written.values()) > 0, written
    assert sum(written.values()) == POINTS, written
    points_once(database, run)


def test_metrics_are_there_for_prometheus(service: Service) -> None:
    text = service.request("GET", "/metrics").body
    assert re.search(r"^cubeyard_runs", text, re.MULTILINE), text[:600]


def test_a_browser_logs_in_and_sees_a_session_on_two_nodes_to_its_verdict(service: Service, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not Path(CHROMIUM).exists():
        pytest.fail("there is no Node.js, or no Chromium")
    script = Path(__file__).with_name("browser.mjs")
    reported = {
        "address": service.address,
        "host": service.host,
        "token": service.token,
        "chromium": CHROMIUM,
        "folder": str(tmp_path),
    }
    done = subprocess.run(
        [node, str(script)],
        input=json.dumps(reported),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=ROOT / "e2e",
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    message = json.loads(done.stdout)
    assert message["nodes"] == ["node-a", "node-b"]
    assert re.search("faithful|host-limited", message["verdict"]), message
    assert message["errors"] == []
