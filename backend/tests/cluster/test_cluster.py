"""Real Kubernetes on two nodes of this machine: sixteen servers of BCube_1 in namespaces and in
pods, faults, refusals, kills; and nothing left. `make test TEST=cluster` brings what it takes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, utils

from cubeyard.emulation.deploy.probe import probe
from cubeyard.emulation.deploy.reaper import reap
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.fabric.place import Place
from tests.cluster.emulate import Emulate, check_report
from tests.cluster.installed import (
    MANIFESTS,
    NAMESPACE,
    SERVERS,
    documents,
    fabric_tasks,
    fabrics_ready,
    left,
    manifests,
    rendered,
    wait_for_pods,
)
from tests.cluster.machines import MTU, Cluster, ClusterFailedError, wait
from tests.cluster.programs import missing

Json = dict[str, Any]
DCELL = '{"family":"dcell","n":4,"k":1}'


def test_the_nodes_say_what_they_have(emulate: Emulate) -> None:
    result = probe(emulate.settings)
    assert result.ready, result
    assert result.modes == ["containers", "namespaces"]
    assert [(host.name, host.ready, host.underlay_mtu) for host in result.hosts] == [
        ("node-a", True, MTU), ("node-b", True, MTU),
    ]  # fmt: skip


def test_sixteen_servers_in_namespaces_of_two_nodes_survive_a_pulled_cable(emulate: Emulate, cluster: Cluster) -> None:
    """The dense mode: no pod for a server. Server 00 reaches 20, on the other node, by the pulled
    cable's switch."""
    result = emulate.run("--mode", "namespaces", "--seconds", "6", "--fault", "cable-pulled=00/<1,0>@2-4")
    check_report(result)
    assert result["faults"][0]["moves"] > 0
    assert left(cluster) == {}


def test_sixteen_pods_on_two_nodes_survive_a_pulled_cable_and_a_killed_server(
    emulate: Emulate, cluster: Cluster
) -> None:
    process = emulate.start(
        "--mode", "containers", "--seconds", "12",
        "--fault", "cable-pulled=00/<1,0>@2-4", "--fault", "server-frozen=11@4-5", "--fault", "server-killed=33@6-8",
    )  # fmt: skip
    pods = wait_for_pods(cluster, 16)
    assert sorted({pod.spec.node_name for pod in pods}) == ["node-a", "node-b"]
    enforced = client.CoreV1Api(cluster.api).read_namespace(SERVERS).metadata.labels
    assert enforced["pod-security.kubernetes.io/enforce"] == "restricted"
    wait(lambda: network_down(cluster), "the cluster's network of the servers is not down", secs=20)
    # The next pod takes seconds to start.
    result = emulate.finish(process, may_overrun="server-killed")
    check_report(result)
    cable, frozen, killed = result["faults"]
    assert not {"overran_secs", "lasted_secs"} & (cable.keys() | frozen.keys())
    assert cable["moves"] > 0
    assert frozen["recovered_at_secs"] is not None
    assert killed["recovered_at_secs"] is not None, "another pod took its place"
    assert left(cluster) == {}


def test_a_dcell_has_its_direct_cables_over_two_nodes(emulate: Emulate, cluster: Cluster) -> None:
    """Twenty servers, each with a cable to a server of another cell: the cables between the nodes
    are separate tunnels."""
    result = emulate.finish(
        emulate.start("--mode", "namespaces", "--workload", "permutation", "--seconds", "4", spec=DCELL)
    )
    assert len(result["per_flow"]) == 20
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0
    assert left(cluster) == {}


def test_a_pod_that_somebody_deletes_is_a_lost_server_and_the_rest_goes_on(emulate: Emulate, cluster: Cluster) -> None:
    process = emulate.start("--mode", "containers", "--seconds", "8")
    pods = wait_for_pods(cluster, 16)
    time.sleep(5)
    (gone,) = [pod.metadata.name for pod in pods if pod.metadata.labels["cubeyard.server"] == "5"]
    client.CoreV1Api(cluster.api).delete_namespaced_pod(gone, SERVERS, grace_period_seconds=1)
    result = emulate.finish(process)
    assert [event["server"] for event in result["events"] if event["kind"] == "node-lost"] == [5]
    assert result["timings"]["kept"] == []
    assert left(cluster) == {}


def network_down(cluster: Cluster) -> bool:
    """Whether every server's `eth0`, which the cluster's plug-in made, is down."""
    states = []
    for node in cluster.nodes:
        for line in node.ctr("tasks", "list").splitlines()[1:]:
            pid = line.split()[1]
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"/app/.setup/programs/cubeyard-node"):
                words = ["nsenter", "--net", f"--target={pid}", "ip", "-oneline", "link", "show", "eth0"]
                states.append(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return len(states) == 16 and not any("UP" in re.split("[<>]", state)[1].split(",") for state in states)


def test_a_worker_that_is_killed_leaves_nothing_once_the_next_one_of_its_name_starts(
    emulate: Emulate, cluster: Cluster
) -> None:
    process = emulate.start("--mode", "containers", "--seconds", "60")
    wait_for_pods(cluster, 16)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    assert left(cluster)["pods"], "nobody has removed them yet"
    place = Place.of(emulate.settings)
    assert len(reap(emulate.settings, place)) == 1
    assert left(cluster) == {}
    assert place.remove_abandoned()


def test_a_killed_fabric_ends_the_run_by_name_and_comes_back_clean(emulate: Emulate, cluster: Cluster) -> None:
    process = emulate.start("--mode", "namespaces", "--seconds", "60")
    wait(lambda: "names on node-b" in left(cluster), "no servers on node-b", secs=30)
    time.sleep(3)
    (fabric,) = fabric_tasks(cluster.nodes[1])
    os.kill(fabric, signal.SIGKILL)
    message = emulate.finish(process, code=2)["said"]
    assert "Host node-b:" in message, message
    core = client.CoreV1Api(cluster.api)
    wait(
        lambda: len(fabric_tasks(cluster.nodes[1])) == 1 and fabrics_ready(core) == 2,
        "it does not start again",
        secs=60,
    )
    reap(emulate.settings, Place.of(emulate.settings))
    wait(lambda: left(cluster) == {}, "something is left", lambda: str(left(cluster)), secs=20)


def test_quotas_and_missing_rights_are_told_before_anything_is_made(
    emulate: Emulate, cluster: Cluster, told: Json, tmp_path: Path
) -> None:
    core = client.CoreV1Api(cluster.api)
    core.create_namespaced_resource_quota(SERVERS, {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "5"}}})
    try:
        wait(
            lambda: core.read_namespaced_resource_quota("small", SERVERS).status.hard,
            "the quota is not counted",
            secs=30,
        )
        message = emulate.run("--mode", "containers", "--seconds", "5", code=2)["said"]
        assert re.search(r"8 servers want 8 of pods; quota small .* has 5 left of 5", message), message
        assert left(cluster) == {}
    finally:
        core.delete_namespaced_resource_quota("small", SERVERS)
    token = core.create_namespaced_service_account_token("cubeyard-api", NAMESPACE, {"spec": {}}).status.token
    unable = Emulate(tmp_path, {**told, "kubeconfig": str(cluster.kubeconfig("unable", token))})
    assert [host.name for host in Hosts.of(unable.settings, Place.of(unable.settings)).every] == ["node-a", "node-b"]
    message = unable.run("--mode", "containers", "--seconds", "5", code=2)["said"]
    assert re.search(r"refuses: .*pods is forbidden|may not create pods", message), message
    assert left(cluster) == {}


@pytest.mark.parametrize(
    "values",
    [
        (),
        ("emulation.enabled=false",),
        (
            "emulation.underlay=node",
            "api.ingress.enabled=true",
            "api.ingress.tlsSecret=tls",
            "api.ingress.className=nginx",
        ),
        ("podDisruptionBudget.enabled=false", "existingTokenSecret=t", "emulation.existingKeys=k", "worker.replicas=3"),
    ],
)
@pytest.mark.usefixtures("told")
def test_the_api_server_takes_every_document_of_the_chart(cluster: Cluster, values: tuple[str, ...]) -> None:
    """A dry run under another name than the installed release."""
    matches = [item for item in documents(*values, release="other") if item["kind"] != "Namespace"]
    assert {"Deployment", "StatefulSet", "Service", "Job"} <= {item["kind"] for item in matches}
    assert ("DaemonSet" in {item["kind"] for item in matches}) == ("emulation.enabled=false" not in values)
    assert ("Ingress" in {item["kind"] for item in matches}) == ("api.ingress.enabled=true" in values)
    for document in matches:
        place = document["metadata"].get("namespace", NAMESPACE)
        utils.create_from_dict(cluster.api, document, namespace=place, dry_run="All")


def test_a_chart_without_a_database_says_what_to_give() -> None:
    if why := missing():
        pytest.fail(why)
    with pytest.raises(ClusterFailedError, match=r"database.url is empty: give postgresql://"):
        rendered("database.existingSecret=")


def test_the_plain_manifests_are_the_chart() -> None:
    if why := missing():
        pytest.fail(why)
    assert MANIFESTS.read_text() == manifests(), "`bin/cluster render` writes them anew"


def test_only_the_fabric_has_capabilities_and_only_of_the_compose_file() -> None:
    if why := missing():
        pytest.fail(why)
    compose = (MANIFESTS.parents[2] / "docker-compose.yml").read_text()
    listed = set(
        re.findall(
            r"^      - ([A-Z_]+) #|^      - (CHOWN|DAC_OVERRIDE|FOWNER|SETGID|SETUID|SETPCAP)\b", compose, re.MULTILINE
        )
    )
    wanted = {name for pair in listed for name in pair if name} - {"ALL"}
    for document in documents():
        for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"]["drop"] == ["ALL"]
            assert not context.get("privileged")
            assert set(context["capabilities"].get("add", [])) == (wanted if container["name"] == "fabric" else set())
            assert "requests" in container["resources"]
