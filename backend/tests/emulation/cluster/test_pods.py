"""Servers as pods: the real Kubernetes client with an API server in this process. Tests the created
objects, errors before anything is created, and complete removal."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.cluster.errors import ClusterGoneError, ClusterRefusedError, NodeAwayError
from cubeyard.emulation.deploy.containers import containers_of
from cubeyard.emulation.deploy.names import pod_name, shell_command
from cubeyard.emulation.deploy.pod_calls import LOOK_SECS, RIGHTS
from cubeyard.emulation.deploy.pod_document import label
from cubeyard.emulation.deploy.pods import Pods
from cubeyard.emulation.deploy.probe import probe
from cubeyard.emulation.deploy.schemas import Capability
from cubeyard.emulation.fabric.fabrics import on_every
from cubeyard.emulation.fabric.hosts import Host, Hosts, divided
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.terminal.session import Terminals
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import MAX_HOSTS, EmulationCluster, Settings
from tests.emulation.cluster.fake_api import NAMESPACE, FakeCluster, RefusedError, refuse_unrestricted

Json = dict[str, Any]
RUN, OTHER = "0192f3a1b2c3d4e5f607182930414243", "0192f3a1b2c3d4e5f607182930414244"
SERVERS = {at: f"<0,{at}>" for at in range(8)}


@pytest.fixture
def pods(settings: EmulationCluster, signals: list[tuple[str, int, str, str]]) -> Pods:
    return Pods("home-worker-0", settings, "node-a", lambda *signal: signals.append(signal))


def create(pods: Pods, run: str = RUN, servers: dict[int, str] = SERVERS, **more: Any) -> dict[int, str]:
    reported: Json = {
        "host_names": {at: f"s{at}" for at in servers},
        "raw_sockets": False,
        "beside": {},
        "check": lambda _: None,
        "came": lambda _: None,
        **more,
    }
    return pods.create(run, servers, pods.image(), {}, **reported)


def containers(pods: Pods, servers: dict[int, str] = SERVERS, **more: Any) -> dict[int, int | str]:
    """Creates the servers' pods; returns for each server the id by which the fabric finds it."""
    result: dict[int, int | str] = {}
    create(pods, servers=servers, came=result.update, **more)
    return result


def test_a_shell_in_a_pod_is_a_command_of_kubectl(settings: EmulationCluster) -> None:
    reported = shell_command(RUN, 3, "<0,3>", "containers", settings)
    assert reported == f"kubectl --namespace {NAMESPACE} exec --stdin --tty {pod_name(RUN, 3)} -- sh"
    assert "nsenter" in shell_command(RUN, 3, "<0,3>", "containers")
    assert "ip netns" in shell_command(RUN, 3, "<0,3>", "namespaces", settings)
    refused = Terminals(Settings(cluster=settings)).refusal("containers")
    assert "kubectl" in refused


def test_each_server_is_a_pod_on_its_node_and_its_process_is_looked_up_by_container(
    pods: Pods, cluster: FakeCluster
) -> None:
    seen: list[int] = []
    result: dict[int, int | str] = {}
    made = create(pods, check=seen.append, came=result.update)
    assert made == {at: pod_name(RUN, at) for at in SERVERS}
    assert sorted(made.values()) == cluster.names("pods")
    assert seen[0] == 0
    assert seen[-1] == len(SERVERS)
    assert {pod["spec"]["nodeName"] for pod in cluster.pods()} == {"node-a"}
    assert result.keys() == SERVERS.keys()
    assert pods.wired_by == "containers"
    assert len(set(result.values())) == len(SERVERS)
    assert all(isinstance(item, str) and len(item) == 64 and "/" not in item for item in result.values())
    assert pods.living(RUN) == len(SERVERS)


def test_pods_are_owned_end_by_themselves_and_hold_nothing_of_the_node(pods: Pods, cluster: FakeCluster) -> None:
    create(pods)
    (owner,) = [item for key, item in cluster.objects.items() if key[1] == "configmaps"]
    assert owner["data"] == {"run": RUN, "owner": "home-worker-0"}
    for pod in cluster.pods():
        assert [item["uid"] for item in pod["metadata"]["ownerReferences"]] == [owner["metadata"]["uid"]]
        spec = pod["spec"]
        assert spec["activeDeadlineSeconds"] > 0
        assert spec["automountServiceAccountToken"] is False
        assert "volumes" not in spec
        assert spec["restartPolicy"] == "Never"
        (container,) = spec["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["command"][-2:] == ["--socket", "@cubeyard"]


def test_the_fake_admission_refuses_what_a_real_one_does(pods: Pods, cluster: FakeCluster) -> None:
    create(pods, servers={0: "a"})
    (pod,) = cluster.pods()
    refuse_unrestricted(pod)
    pod["spec"]["volumes"] = [{"name": "run", "hostPath": {"path": "/run"}}]
    with pytest.raises(RefusedError, match="volume run"):
        refuse_unrestricted(pod)


def test_looking_costs_one_call_whatever_the_number_of_pods(pods: Pods, cluster: FakeCluster) -> None:
    cluster.looks_until_running = 4
    create(pods)
    pods.remove(RUN)
    calls = Counter(cluster.calls)
    assert calls["create pods"] == len(SERVERS)
    assert calls["list pods"] <= 4 + 1
    assert calls["deletecollection pods"] == 1
    assert calls["get pods"] == calls["delete pods"] == 0


@pytest.mark.long
def test_a_hundred_nodes_need_no_more_calls_than_one(cluster: FakeCluster, settings: EmulationCluster) -> None:
    """One call per pod, and a few for all nodes together. (tests/cluster does this with a thousand
    pods.)"""
    cluster.nodes = {f"node-{at:03}": 110 for at in range(100)}
    hosts = [Host(name, Path("/nowhere")) for name in cluster.nodes]
    every = [Pods("home-worker-0", settings, host.name) for host in hosts]
    parts = [{server: str(server) for server in part} for part in divided(300, [1.0] * 100)]
    began = time.monotonic()
    result = on_every(hosts, lambda host: containers(every[host], parts[host]))
    assert len({item for part in result for item in part.values()}) == 300
    assert on_every(hosts, lambda host: every[host].living(RUN)) == [3] * 100
    on_every(hosts, lambda host: every[host].remove(RUN))
    assert not cluster.objects
    looks = 1 + (time.monotonic() - began) / LOOK_SECS
    calls = Counter(cluster.calls)
    assert calls.pop("create pods") == 300
    assert calls.pop("create configmaps") == 1
    # Lists are shared. If 100 hosts did not share, they would need 100 lists of the current state
    # (`living`). Hosts that request a list while another is being made share the next one. That
    # makes about ten lists, because a hundred threads do not start at the same moment.
    assert calls.pop("list pods") <= looks + 50
    assert sum(calls.values()) <= 20, calls
    assert cluster.reviews <= 4 * sum(map(len, RIGHTS.values()))


def test_hosts_that_ask_at_a_time_share_a_failure_too(settings: EmulationCluster, cluster: FakeCluster) -> None:
    hosts = [Host(f"node-{at}", Path("/nowhere")) for at in range(20)]
    every = [Pods("home-worker-0", settings, host.name) for host in hosts]
    cluster.down = True
    with pytest.raises(ClusterGoneError, match=r"Host node-0: .*leader changed"):
        on_every(hosts, lambda host: every[host].living(RUN))
    cluster.down = False
    assert on_every(hosts, lambda host: every[host].living(RUN)) == [0] * 20


def test_a_missing_right_is_named_before_anything_is_made(pods: Pods, cluster: FakeCluster) -> None:
    cluster.forbidden = {("create", "pods"), ("deletecollection", "pods")}
    with pytest.raises(
        ClusterRefusedError, match=r"may not create pods, deletecollection pods in namespace servers.*Role"
    ):
        create(pods)
    assert not cluster.objects


def test_an_exceeded_quota_is_reported_before_anything_is_created(pods: Pods, cluster: FakeCluster) -> None:
    cluster.put(NAMESPACE, "resourcequotas", {"metadata": {"name": "small"}, "status": {"hard": {"pods": "5"}}})
    with pytest.raises(ClusterRefusedError, match=r"8 servers want 8 of pods; quota small .* has 5 left of 5"):
        create(pods)
    assert not cluster.pods()
    assert not cluster.names("configmaps")
    cluster.objects[NAMESPACE, "resourcequotas", "small"]["status"]["hard"] = {"requests.memory": "100Mi"}
    with pytest.raises(ClusterRefusedError, match=r"of requests.memory; quota small"):
        create(pods)


def test_an_unreadable_quota_is_left_to_the_api_server(pods: Pods, cluster: FakeCluster) -> None:
    cluster.forbidden = {("list", "resourcequotas")}
    cluster.put(NAMESPACE, "resourcequotas", {"metadata": {"name": "small"}, "status": {"hard": {"pods": "5"}}})
    with pytest.raises(ClusterRefusedError, match=r"exceeded quota: small.*Raise the namespace's ResourceQuota"):
        create(pods)
    pods.remove(RUN)
    assert not cluster.pods()
    assert not cluster.names("configmaps")


def test_user_space_forwarding_is_refused_since_pods_have_no_capability(pods: Pods, cluster: FakeCluster) -> None:
    with pytest.raises(ClusterRefusedError, match=r'NET_RAW.*mode "namespaces"'):
        create(pods, raw_sockets=True)
    assert not cluster.calls


def test_a_full_node_is_reported_with_the_message_of_kubernetes(
    pods: Pods, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cubeyard.emulation.deploy.pods.UNSCHEDULED_SECS", 0.3)
    cluster.nodes["node-a"] = 5
    with pytest.raises(ClusterRefusedError, match=r"stays Pending: 0/2 nodes are available: 1 Too many pods.*node-a"):
        create(pods)
    pods.remove(RUN)
    assert not cluster.pods()


def test_an_image_that_is_not_there_ends_the_wait_at_once(pods: Pods, cluster: FakeCluster) -> None:
    cluster.waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    with pytest.raises(ClusterRefusedError, match=r"does not start: ImagePullBackOff: Back-off.*cubeyard:test"):
        create(pods)


def test_pods_that_never_run_end_the_wait_after_its_time(pods: Pods, cluster: FakeCluster) -> None:
    cluster.looks_until_running = 10**6
    with pytest.raises(ClusterRefusedError, match="does not run after 3 s: Pending"):
        create(pods)


def test_users_without_permission_for_pods_are_offered_namespaces(
    cluster: FakeCluster, settings: EmulationCluster, tmp_path: Path
) -> None:
    def pods_of(*, works: bool = False, **more: Any) -> Capability:
        result = probe(Settings(cluster=settings, home=tmp_path, **more), works=works)
        return next(capability for capability in result.capabilities if capability.name == "docker")

    assert "there is none" in pods_of().reason
    cluster.put("cubeyard", "pods", fabric_pod("f-1", "node-a"))
    assert pods_of().available
    cluster.forbidden = {("create", "pods")}
    assert not pods_of().available
    assert "may not create pods in namespace servers" in pods_of().reason
    assert pods_of(fabric_start=False).available, "an API whose workers create pods"
    assert not pods_of(fabric_start=False, works=True).available, "a worker accepts no runs that it cannot carry out"


def test_the_check_can_end_the_wait(pods: Pods, cluster: FakeCluster) -> None:
    cluster.looks_until_running = 10**6

    def cancelled(so_far: int) -> None:
        if cluster.pods():
            raise ProblemError(409, "cancelled", f"after {so_far}")

    with pytest.raises(ProblemError, match="after 0"):
        create(pods, check=cancelled)


def test_started_servers_are_reported_each_once(pods: Pods, cluster: FakeCluster) -> None:
    cluster.late = {pod_name(RUN, 2): 3, pod_name(RUN, 5): 3, pod_name(RUN, 7): 5}
    parts: list[set[int]] = []
    create(pods, came=lambda found: parts.append(set(found)))
    assert parts == [{0, 1, 3, 4, 6}, {2, 5}, {7}]


def test_a_server_that_ends_while_others_start_is_reported_with_its_reason(pods: Pods, cluster: FakeCluster) -> None:
    cluster.late = {pod_name(RUN, 7): 9}
    with pytest.raises(ClusterRefusedError, match=f"pod {pod_name(RUN, 3)} ended at once: out of luck"):
        create(pods, came=lambda _: cluster.end(pod_name(RUN, 3), "out of luck"))
    assert pods.living(RUN) == len(SERVERS) - 2


def test_signals_go_to_the_fabric_and_a_killed_server_is_another_pod(
    pods: Pods, cluster: FakeCluster, signals: list[tuple[str, int, str, str]]
) -> None:
    before: dict[int, int | str] = {}
    made = create(pods, came=before.update)
    pods.kill(made[2])
    pods.pause(made[4])
    pods.unpause(made[4])
    assert signals == [(RUN, 2, "kill", ""), (RUN, 4, "pause", ""), (RUN, 4, "resume", "")]
    cluster.end(made[2])
    again = pods.start(made[2])
    assert again not in before.values()
    assert pods.living(RUN) == len(SERVERS)


def test_removing_takes_one_runs_pods_and_their_owner_and_no_others(
    pods: Pods, cluster: FakeCluster, settings: EmulationCluster
) -> None:
    create(pods)
    create(pods, OTHER, {0: "a"})
    foreign = Pods("somebody-else", settings, "node-b")
    create(foreign, "0192f3a1b2c3d4e5f607182930414299", {0: "a"})
    assert {run: len(names) for run, names in pods.runs().items()} == {RUN: 8, OTHER: 1}
    assert pods.remove(RUN) == []
    assert pods.remove(RUN) == []
    assert list(pods.runs()) == [OTHER]
    pods.remove(OTHER)
    assert len(cluster.pods()) == len(cluster.names("configmaps")) == 1


def test_a_worker_that_takes_over_a_run_keeps_it_when_the_previous_one_returns(
    pods: Pods, cluster: FakeCluster, settings: EmulationCluster
) -> None:
    """A worker is cut off together with its node, so its pods cannot end. When it is back, it
    removes what it had."""
    create(pods)
    cluster.stuck = True
    other = Pods("home-worker-1", settings, "node-b")
    other.take_over(RUN)
    assert not cluster.objects, "kubelets end pods that the API server has deleted"
    assert other.remove(RUN) == []
    cluster.stuck = False
    made = create(other)
    pods.remove(RUN)
    assert pods.runs() == {}
    assert sorted(pod["metadata"]["name"] for pod in cluster.pods()) == sorted(made.values())
    assert len(cluster.names("configmaps")) == 1, "their owner object belongs to the other worker"
    assert other.living(RUN) == len(SERVERS)


def test_pods_of_a_node_that_is_away_are_waited_for_once(
    pods: Pods, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cubeyard.emulation.deploy.pods.GONE_SECS", 0.6)
    create(pods)
    cluster.stuck = True
    for _ in range(2):
        with pytest.raises(ClusterGoneError, match=r"^8 pods on node-a do not go: the node may be away"):
            pods.remove(RUN)
    looks = Counter(cluster.calls)["list pods"]
    with pytest.raises(ClusterGoneError):
        pods.remove(RUN)
    assert Counter(cluster.calls)["list pods"] == looks + 1
    cluster.stuck = False
    pods.remove(RUN)
    assert not cluster.objects


def test_pods_of_a_node_that_is_known_to_be_away_are_not_waited_for(pods: Pods, cluster: FakeCluster) -> None:
    create(pods)
    cluster.stuck = True
    began = time.monotonic()
    with pytest.raises(NodeAwayError, match=r"^8 pods wait for node-a to be back\. The next look"):
        pods.remove(RUN, {"node-a"})
    assert time.monotonic() - began < 5
    assert cluster.names("configmaps"), "their owner object stays, so that they can be found again"
    cluster.stuck = False
    assert pods.remove(RUN, {"node-a"}) == []
    assert not cluster.objects


def test_the_next_worker_of_the_same_name_removes_leftovers_of_a_dead_one(
    pods: Pods, cluster: FakeCluster, settings: EmulationCluster
) -> None:
    create(pods)
    after = containers_of(Settings(cluster=settings), "home-worker-0", Host("node-b", Path("/nowhere")))
    assert set(after.runs()) == {RUN}
    after.remove(RUN)
    assert not cluster.objects


def test_an_owner_without_pods_is_found_too(pods: Pods, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cubeyard.emulation.deploy.pods.REAPED_SECS", 0.0)
    create(pods)
    for name in cluster.names("pods"):
        del cluster.objects[NAMESPACE, "pods", name]
    assert pods.runs() == {RUN: []}


def test_an_api_server_that_does_not_answer_is_gone_not_refusing(pods: Pods, cluster: FakeCluster) -> None:
    pods.answer()
    cluster.down = True
    for ask in (pods.answer, pods.runs, lambda: pods.remove(RUN), lambda: pods.living(RUN)):
        with pytest.raises(ClusterGoneError, match="etcdserver: leader changed"):
            ask()


def test_labels_are_valid_whatever_the_text() -> None:
    assert label("home-worker-0") == "home-worker-0"
    for text in ("x" * 64, "-a", "a b", "ü", "a" * 300):
        made = label(text)
        assert len(made) <= 63
        assert made[0].isalnum()
        assert made[-1].isalnum()
        assert made != label(text + "2")


def fabric_pod(name: str, node: str, ready: str = "True") -> Json:
    return {
        "metadata": {"name": name, "labels": {"app.kubernetes.io/component": "fabric"}},
        "spec": {"nodeName": node, "containers": [{"name": "fabric"}]},
        "status": {
            "podIP": f"127.0.0.{len(node)}",
            "hostIP": f"192.0.2.{len(node)}",
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def test_hosts_are_the_nodes_whose_fabric_is_ready(
    cluster: FakeCluster, settings: EmulationCluster, tmp_path: Path
) -> None:
    result = Settings(cluster=settings)
    with pytest.raises(ClusterRefusedError, match="no node has a ready pod of cubeyard-fabric; there is none"):
        Hosts.of(result, Place(tmp_path))
    cluster.put("cubeyard", "pods", fabric_pod("f-1", "node-bb"))
    cluster.put("cubeyard", "pods", fabric_pod("f-2", "node-a"))
    cluster.put("cubeyard", "pods", fabric_pod("f-3", "node-ccc", "False"))
    hosts = Hosts.of(result, Place(tmp_path)).every
    assert [(host.name, host.underlay, str(host.socket)) for host in hosts] == [
        ("node-a", "127.0.0.6", "127.0.0.6:7117"),
        ("node-bb", "127.0.0.7", "127.0.0.7:7117"),
    ]
    by_node = result.model_copy(update={"cluster": settings.model_copy(update={"underlay": "node"})})
    assert [item.underlay for item in Hosts.of(by_node, Place(tmp_path)).every] == ["192.0.2.6", "192.0.2.7"]


@pytest.mark.long
def test_of_more_nodes_than_a_run_may_have_the_first_are_used_and_that_is_said(
    cluster: FakeCluster, settings: EmulationCluster, tmp_path: Path
) -> None:
    for at in range(MAX_HOSTS + 3):
        cluster.put("cubeyard", "pods", fabric_pod(f"f-{at:02}", f"node-{at:02}"))
    result = Hosts.of(Settings(cluster=settings), Place(tmp_path))
    assert [item.name for item in result.every] == [f"node-{at:02}" for at in range(MAX_HOSTS)]
    assert result.left_out == ("node-64", "node-65", "node-66")
    message = result.said_of_nodes
    assert message.startswith(
        "Runs use 64 of 67 nodes, node-00 to node-63 by name; node-64 and what follows are left out."
    )
    assert "emulation.nodeSelector" in message
    looked = probe(Settings(cluster=settings, home=tmp_path))
    assert next(capability for capability in looked.capabilities if capability.name == "fabric").reason.startswith(
        message
    )
    cluster.delete("cubeyard", "pods", "f-66")
    cluster.delete("cubeyard", "pods", "f-65")
    cluster.delete("cubeyard", "pods", "f-64")
    assert Hosts.of(Settings(cluster=settings), Place(tmp_path)).said_of_nodes == ""
