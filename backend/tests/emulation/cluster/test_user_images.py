"""Users' programs as second containers of pods: requests to the cluster, the report of a program
that does not run, and that it shares its server's faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.cluster.errors import ClusterRefusedError
from cubeyard.emulation.deploy.beside import ImageRefusedError
from cubeyard.emulation.deploy.containers import Came, containers_of
from cubeyard.emulation.deploy.manifests import Announced
from cubeyard.emulation.deploy.names import pod_name
from cubeyard.emulation.deploy.pod_document import USER_CONTAINER
from cubeyard.emulation.deploy.pod_state import PodState
from cubeyard.emulation.deploy.pods import Pods
from cubeyard.emulation.fabric.hosts import Host
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import EmulationCluster, Settings
from tests.emulation.cluster.fake_api import NAMESPACE, FakeCluster, refuse_unrestricted

Json = dict[str, Any]
RUN = "0192f3a1b2c3d4e5f607182930414243"
SERVERS = {at: f"0{at}" for at in range(4)}
WEB = Beside("example.com/web:1", ("serve", "--name", "$(HOSTNAME)"), {"CUBEYARD_SERVER": "01", "PRICE": "$(x)"})
BESIDE = {1: WEB, 3: WEB}
DATA = Beside("example.com/data:1")
"""An image that its registry describes."""


@pytest.fixture
def pods(
    settings: EmulationCluster,
    cluster: FakeCluster,
    signals: list[tuple[str, int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> Pods:
    monkeypatch.setattr("cubeyard.emulation.deploy.beside.GRACE_SECS", 0.1)

    def isolate(run: str, containers: Mapping[int, str]) -> None:
        assert run == RUN
        with cluster.lock:
            cluster.isolated |= set(containers.values())

    return Pods(
        "home-worker-0", settings, "node-a", lambda *signal: signals.append(signal), isolate,
        announce=lambda image: Announced(60, ("/data", "/tmp")) if image == DATA.image else None, image_bytes=100,
    )  # fmt: skip


def create(pods: Pods, beside: dict[int, Beside] = BESIDE, came: Came = lambda _: None) -> dict[int, str]:
    names = {at: f"s{at}" for at in SERVERS}
    return pods.create(
        RUN, SERVERS, pods.image(), {},
        host_names=names, raw_sockets=False, beside=beside, check=lambda _: None, came=came,
    )  # fmt: skip


def container(cluster: FakeCluster, server: int) -> Json:
    """The second container of a server's pod."""
    _, result = cluster.objects[NAMESPACE, "pods", pod_name(RUN, server)]["spec"]["containers"]
    return result


def test_it_is_a_second_container_without_rights_of_those_servers_alone(pods: Pods, cluster: FakeCluster) -> None:
    create(pods)
    counts = {pod["metadata"]["labels"]["cubeyard.server"]: len(pod["spec"]["containers"]) for pod in cluster.pods()}
    assert counts == {"0": 1, "1": 2, "2": 1, "3": 2}
    result = container(cluster, 1)
    assert result["image"] == WEB.image
    assert result["securityContext"]["readOnlyRootFilesystem"] is True
    assert result["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert result["resources"]["limits"]["memory"] == str(256 * 1024 * 1024)
    pod = cluster.objects[NAMESPACE, "pods", pod_name(RUN, 1)]
    refuse_unrestricted(pod)
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert [set(volume) - {"name"} for volume in pod["spec"]["volumes"]] == [{"emptyDir"}]


def test_folders_that_an_image_declares_are_memory_of_a_limited_size(pods: Pods, cluster: FakeCluster) -> None:
    create(pods, {1: WEB, 3: DATA})
    assert [mount["mountPath"] for mount in container(cluster, 1)["volumeMounts"]] == ["/tmp"]
    assert [mount["mountPath"] for mount in container(cluster, 3)["volumeMounts"]] == ["/tmp", "/data"]
    pod = cluster.objects[NAMESPACE, "pods", pod_name(RUN, 3)]
    refuse_unrestricted(pod)
    mounted = {mount["name"] for mount in container(cluster, 3)["volumeMounts"]}
    memory = {"medium": "Memory", "sizeLimit": str(16 * 1024 * 1024)}
    assert {volume["name"]: volume["emptyDir"] for volume in pod["spec"]["volumes"]} == dict.fromkeys(mounted, memory)


@pytest.mark.parametrize(
    ("sizes", "volumes", "message"),
    [
        ((60, 60), 1, r"Server 01: image .*data:1 makes the run's images larger than 0 MiB, the limit here"),
        ((60, 40), 16, r"Server 03: image .*data:2 declares 16 folders as VOLUME, and a pod's memory has room for 15"),
    ],
)
def test_images_that_are_too_large_by_their_manifests_are_refused_before_any_pod(
    settings: EmulationCluster, cluster: FakeCluster, sizes: tuple[int, int], volumes: int, message: str
) -> None:
    folders = tuple(f"/{number}" for number in range(volumes))
    known = {f"example.com/data:{at}": Announced(size, folders) for at, size in enumerate(sizes, 1)}
    pods = Pods("home-worker-0", settings, "node-a", announce=known.get, image_bytes=100)
    with pytest.raises(ImageRefusedError, match=message):
        create(pods, {1: Beside("example.com/data:1"), 3: Beside("example.com/data:2")})
    assert cluster.pods() == []


@pytest.mark.parametrize(("registries", "policy"), [("docker.io", "Always"), ("docker.io,local", "IfNotPresent")])
def test_an_image_of_the_node_is_taken_as_it_is_only_if_local_ones_are_allowed(
    settings: EmulationCluster, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, registries: str, policy: str
) -> None:
    """A node may have images that other users have pulled with their own secrets."""
    monkeypatch.setattr("cubeyard.emulation.deploy.beside.GRACE_SECS", 0.1)

    def isolate(_: str, containers: Mapping[int, str]) -> None:
        with cluster.lock:
            cluster.isolated |= set(containers.values())

    whole = Settings.model_validate({"cluster": settings.model_dump(), "image_registries": registries})
    pods = containers_of(whole, "home-worker-0", Host("node-a", Path("unused")), lambda *_: None, isolate)
    assert isinstance(pods, Pods)
    create(pods)
    assert container(cluster, 1)["imagePullPolicy"] == policy


def test_it_starts_only_once_the_clusters_network_is_down(
    settings: EmulationCluster, cluster: FakeCluster, signals: list[tuple[str, int, str, str]]
) -> None:
    """A gate container in the pod waits for the removal of the network. Servers without a user
    image have no gate."""
    reported: list[dict[int, str]] = []

    def isolate(_: str, containers: Mapping[int, str]) -> None:
        reported.append(dict(containers))

    pods = Pods("home-worker-0", settings, "node-a", lambda *item: signals.append(item), isolate)
    with pytest.raises(ClusterRefusedError, match="does not run after"):
        create(pods)
    assert [set(item) for item in reported] == [{1, 3}], "the fabric got one call, and nothing opened the gate"
    for pod in cluster.pods():
        first = [item["name"] for item in pod["spec"].get("initContainers", [])]
        user = [item["state"] for item in pod["status"]["containerStatuses"] if item["name"] == "image"]
        assert first == (["gate"] if user else [])
        assert all("waiting" in state for state in user)


def test_its_words_reach_it_as_they_were_given(pods: Pods, cluster: FakeCluster) -> None:
    """Without an escape, the kubelet would replace `$(NAME)` by a variable."""
    create(pods)
    result = container(cluster, 1)
    assert result["command"] == ["serve", "--name", "$$(HOSTNAME)"]
    assert {"name": "PRICE", "value": "$$(x)"} in result["env"]


def test_an_image_without_a_command_runs_its_own_and_may_write_if_allowed(pods: Pods, cluster: FakeCluster) -> None:
    create(pods, {0: Beside("web", writable=True)})
    result = container(cluster, 0)
    assert "command" not in result
    assert result["securityContext"]["readOnlyRootFilesystem"] is False
    assert int(result["resources"]["limits"]["ephemeral-storage"]) > 0


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff"])
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("example.com/web:1: not found", "its registry has no such image or tag"),
        ("dial tcp 10.0.0.7:443: connect: connection refused", "its registry does not answer"),
        ("payroll of 10.0.0.7", "it cannot be pulled"),
    ],
)
def test_an_image_that_cannot_be_pulled_is_reported_by_kind(
    pods: Pods, cluster: FakeCluster, reason: str, words: str, kind: str
) -> None:
    """The message must not contain text from the service at the registry's address."""
    cluster.waiting, cluster.waits = {"reason": reason, "message": words}, "image"
    with pytest.raises(
        ImageRefusedError, match=rf"^Server 01: image example.com/web:1 cannot be had: {kind}\."
    ) as refused:
        create(pods)
    assert "10.0.0.7" not in refused.value.detail


def test_an_image_without_a_command_is_an_error_of_the_field(pods: Pods, cluster: FakeCluster) -> None:
    cluster.waiting = {"reason": "CreateContainerError", "message": "failed to generate spec: no command specified"}
    cluster.waits = "image"
    with pytest.raises(ProblemError, match=r"Image example.com/web:1 has no command\.") as refused:
        create(pods)
    assert refused.value.errors[0].field == "body.emulation.images.0.command"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"reason": "Error", "exitCode": 1, "message": "no port\n"}, r"ended with status 1: no port\. See"),
        (
            {"reason": "StartError", "exitCode": 128, "message": 'exec: "serve": not found'},
            r'status 128 \(it could not be started\): exec: "serve"',
        ),
        ({"reason": "StartError", "exitCode": 0, "message": "no such file"}, "status 1: no such file"),
        ({"reason": "OOMKilled", "exitCode": 137}, "it was killed.*more memory than it may have"),
    ],
)
def test_a_program_that_fails_at_once_keeps_the_run_from_starting(
    pods: Pods, cluster: FakeCluster, how: Json, said: str
) -> None:
    cluster.ended["image"] = how
    with pytest.raises(ImageRefusedError, match=f"^Server 01: image example.com/web:1 .*{said}"):
        create(pods)
    pods.remove(RUN)
    assert not cluster.pods()


def test_one_that_is_done_is_no_failure(pods: Pods, cluster: FakeCluster) -> None:
    cluster.ended["image"] = {"reason": "Completed", "exitCode": 0}
    result: dict[int, int | str] = {}
    create(pods, came=result.update)
    assert {server: state.ended for server, state in pods.programs(RUN).items()} == {1: 0, 3: 0}
    assert result.keys() == SERVERS.keys()


def test_one_that_ends_later_is_known_with_its_last_words_and_its_server_lives(
    pods: Pods, cluster: FakeCluster
) -> None:
    made = create(pods)
    assert {server: state.ended for server, state in pods.programs(RUN).items()} == {1: None, 3: None}
    cluster.end(made[3], "out of luck", "image")
    state = pods.programs(RUN)[3]
    assert (state.ended, state.said, state.identity) == (137, "out of luck", "sha256:image")
    assert pods.living(RUN) == len(SERVERS)


def test_signals_name_the_container_beside_the_server(
    pods: Pods, cluster: FakeCluster, signals: list[tuple[str, int, str, str]]
) -> None:
    result: dict[int, int | str] = {}
    made = create(pods, came=result.update)
    for server in (0, 3):
        pods.pause(made[server])
        pods.unpause(made[server])
        pods.kill(made[server])
    state = pods.programs(RUN)[3]
    assert state.container not in result.values()
    assert signals == [
        (RUN, server, what, "" if server == 0 else state.container)
        for server in (0, 3)
        for what in ("pause", "resume", "kill")
    ]
    cluster.end(made[3])
    cluster.end(made[3], container="image")
    pods.start(made[3])
    assert pods.programs(RUN)[3].container != state.container, "the server has a new one"


def test_a_quota_counts_its_memory_and_no_pod_for_it(pods: Pods, cluster: FakeCluster) -> None:
    hard = {"pods": "4", "requests.memory": str(5 * 24 * 1024 * 1024)}
    cluster.put(NAMESPACE, "resourcequotas", {"metadata": {"name": "small"}, "status": {"hard": hard}})
    with pytest.raises(ClusterRefusedError, match=r"4 servers want .* of requests.memory; quota small"):
        create(pods)
    create(pods, {1: WEB})


def test_a_log_that_kubelet_did_not_find_is_no_last_word() -> None:
    lost = 'failed to read "/var/log/pods/x-1/image/0.log": lstat /var/log/pods/x-1: no such file or directory'
    for message, words in (("no more room", "no more room"), (lost, "")):
        ended = {"terminated": {"reason": "Error", "exitCode": 3, "message": message}}
        status = {"containerStatuses": [{"name": USER_CONTAINER, "containerID": "containerd://c", "state": ended}]}
        program = PodState.of({"metadata": {"name": "x"}, "spec": {}, "status": status}).program
        assert program is not None
        assert (program.ended, program.said) == (3, words)
