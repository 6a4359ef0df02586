"""Users' images in the pods of servers: an HTTP server that responds over BCube across nodes, the
effect of faults on it, and the report of a program that does not run. The image is BusyBox of this
machine, imported into the nodes' containerd."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.cluster.emulate import Emulate, check_report
from tests.cluster.images import archive
from tests.cluster.installed import SERVERS, left, wait_for_pods
from tests.cluster.machines import Cluster, wait

Json = dict[str, Any]
NAME = "cubeyard.test/user"
IMAGE = f"{NAME}:1"
PAGE = "server $CUBEYARD_SERVER at $CUBEYARD_ADDRESS, $GREETING"
SERVE = f"""/busybox sh -c 'echo "{PAGE}" > /tmp/index.html; exec /busybox httpd -f -p 8080 -h /tmp'"""
WEB = ("--image", IMAGE, "--image-command", SERVE, "--image-env", "GREETING=good day", "--image-servers", "33")


@pytest.fixture(scope="module", autouse=True)
def _imported(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    busybox = shutil.which("busybox")
    assert busybox is not None, "this machine has no busybox: make setup-test installs it"
    tar = tmp_path_factory.mktemp("user") / "user.tar"
    archive(tar, NAME, {"busybox": Path(busybox)}, ("tmp",), ["/busybox", "sleep", "1000"])
    for node in cluster.nodes:
        node.ctr("images", "import", str(tar))


def pod_of(cluster: Cluster, server: str) -> Any:
    """By its name; they are numbered by digits of base 4."""
    number = str(int(server, 4))
    result = (
        client.CoreV1Api(cluster.api).list_namespaced_pod(SERVERS, label_selector=f"cubeyard.server={number}").items
    )
    return result[0] if len(result) == 1 else None


def process_of(cluster: Cluster, server: str, container: str) -> int | None:
    """The first process of a server's container, or of its user's program, while it runs."""
    pod = pod_of(cluster, server)
    for container_status in (pod and pod.status.container_statuses) or []:
        if container_status.name == container and container_status.state.running is not None:
            identity = container_status.container_id.rpartition("://")[2]
            node = next(each for each in cluster.nodes if each.name == pod.spec.node_name)
            for line in node.ctr("tasks", "list").splitlines():
                if line.startswith(identity):
                    return int(line.split()[1])
    return None


def fetch(client_process: int, address: str) -> str:
    """By an unmodified client in the network of another server. Empty if nobody answers."""
    words = [
        "nsenter",
        "--net",
        f"--target={client_process}",
        "curl",
        "--silent",
        "--max-time",
        "2",
        f"http://{address}:8080/",
    ]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=20).stdout.strip()


def states(process: int) -> set[str]:
    """The states of a process and its threads: T is stopped; empty once it has ended."""
    try:
        return {Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]} - {"Z"}
    except (OSError, IndexError):
        return set()


def test_an_http_server_in_an_image_answers_across_nodes_and_shares_its_servers_fate(
    emulate: Emulate, cluster: Cluster
) -> None:
    process = emulate.start(
        "--mode", "containers", "--seconds", "40", *WEB,
        "--fault", "server-frozen=33@8-13", "--fault", "server-killed=33@18-22",
    )  # fmt: skip
    wait_for_pods(cluster, 16)
    here, there = process_of(cluster, "00", "node"), process_of(cluster, "33", "image")
    assert here is not None
    assert there is not None
    pod = pod_of(cluster, "33")
    assert (pod_of(cluster, "00").spec.node_name, pod.spec.node_name) == ("node-a", "node-b")
    assert pod.spec.automount_service_account_token is False
    second = pod.spec.containers[1]
    address = next(item.value for item in second.env if item.name == "CUBEYARD_ADDRESS")
    wanted = f"server 33 at {address}, good day"
    wait(lambda: fetch(here, address) == wanted, "the image does not answer", secs=30)
    status = Path(f"/proc/{there}/status").read_text()
    reported = dict(
        line.split(":\t", 1)
        for line in status.splitlines()
        if line.startswith(("CapEff", "CapBnd", "NoNewPrivs", "Uid", "Seccomp:"))
    )
    assert reported.pop("Uid").split()[1] == "65534"
    assert reported == {"CapEff": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}

    wait(lambda: states(there) == {"T"}, "the image is not frozen with its server", secs=40)
    assert fetch(here, address) == ""
    wait(lambda: states(there) == {"S"}, "it does not go on with it", secs=20)
    wait(lambda: fetch(here, address) == wanted, "it does not answer again", secs=20)
    wait(lambda: states(there) == set(), "it is not killed with it", secs=20)
    wait(lambda: process_of(cluster, "33", "image") not in (None, there), "no other comes with the next pod", secs=40)
    wait(lambda: fetch(here, address) == wanted, "the next one does not answer", secs=30)
    result = emulate.finish(process, may_overrun="server-killed")
    (image,) = result["images"]
    assert (image["servers"], image["ended"]) == (["33"], []), "faults ended it, not itself"
    assert len(image["identities"]) == 1
    assert result["timings"]["kept"] == []
    assert left(cluster) == {}


def test_nobody_beside_a_server_can_take_its_place_before_the_fabric(emulate: Emulate, cluster: Cluster) -> None:
    """The fabric listens inside the server's network, where the image also runs: it disconnects
    other callers."""
    process = emulate.start("--mode", "containers", "--seconds", "12", *WEB)
    wait_for_pods(cluster, 16)
    wait(
        lambda: (it := process_of(cluster, "33", "image")) is not None and "@cubeyard" in sockets(it),
        "no fabric listens",
    )
    there = process_of(cluster, "33", "image")
    time.sleep(4)
    for _ in range(20):
        intrude = (
            "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(3); "
            "s.connect('\\0cubeyard'); print(s.recv(1000))"
        )
        words = ["nsenter", "--net", f"--target={there}", "python3", "-c", intrude]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
        assert done.stdout.strip() in ("b''", ""), "it got a message of the fabric"
        assert "timed out" not in done.stderr, "it stays connected"
    result = emulate.finish(process)
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0, "its node has lost nothing"
    assert not [event for event in result["events"] if event["kind"] == "node-lost"]


LOOK = "/busybox sh -c '/busybox cat /sys/class/net/eth0/flags; exec /busybox sleep 1000'"
UP = 1


def test_no_program_of_a_user_runs_while_the_clusters_network_is_up(emulate: Emulate, cluster: Cluster) -> None:
    """The first thing that each of them does is to look."""
    process = emulate.start("--mode", "containers", "--seconds", "6", "--image", IMAGE, "--image-command", LOOK)
    core = client.CoreV1Api(cluster.api)
    pods = wait_for_pods(cluster, 16)
    seen: dict[str, int] = {}

    def all_said() -> bool:
        for pod in pods:
            text = core.read_namespaced_pod_log(pod.metadata.name, SERVERS, container="image").strip()
            if text:
                seen[pod.metadata.name] = int(text, 16)
        return len(seen) == 16

    wait(all_said, "not all of them looked", lambda: str(seen), secs=30)
    assert not any(flags & UP for flags in seen.values()), seen
    check_report(emulate.finish(process))
    assert left(cluster) == {}


def sockets(process: int) -> str:
    return Path(f"/proc/{process}/net/unix").read_text()


def test_one_that_ends_later_is_an_event_with_its_last_words(emulate: Emulate, cluster: Cluster) -> None:
    command = "/busybox sh -c 'sleep 16; echo no more room; exit 3'"
    words = ("--image", IMAGE, "--image-command", command, "--image-servers", "01")
    result = emulate.run("--mode", "containers", "--seconds", "30", *words)
    (event,) = [item for item in result["events"] if item["kind"] == "program-ended"]
    assert (event["status"], event["message"], event["image"]) == (3, "no more room", IMAGE)
    assert [item["server"] for item in result["images"][0]["ended"]] == ["01"]
    assert left(cluster) == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--image", "127.0.0.1:1/none/such:1"), "Server 01: image 127.0.0.1:1/none/such:1 cannot be had: its registry does not answer."),
        (("--image", IMAGE, "--image-command", "/no-such-program"), f"Server 01: image {IMAGE} ended with status 128 (it could not be started): "),
        (("--image", IMAGE, "--image-command", "/busybox sh -c 'echo no port; exit 7'"), f"Server 01: image {IMAGE} ended with status 7: no port."),
    ],
)  # fmt: skip
def test_what_does_not_run_is_told_by_server_and_image_and_nothing_is_left(
    emulate: Emulate, cluster: Cluster, words: tuple[str, ...], said: str
) -> None:
    reported = emulate.run("--mode", "containers", "--seconds", "20", *words, "--image-servers", "01", code=2)["said"]
    assert said in reported, reported
    assert left(cluster) == {}
