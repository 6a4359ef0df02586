"""Cubeyard in containers, from nothing: images built on a real engine, started by docker-compose, a
plan made over REST, processes killed, and everything taken down again."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from .compose import Deployment, new_deployment
from .engine import Docker, as_root
from .images import Images

PAPER_CONTAINER = {"family": "bcube", "n": 8, "k": 3, "servers": 2048}
NOTHING = {"containers": [], "networks": [], "volumes": []}
EMULATED = {
    "plan": {"family": "bcube", "n": 4, "k": 1},
    "workload": {"kind": "permutation"},
    "engine": "emulation",
    "link_gbps": 0.02,
    "seeds": [7],
    "emulation": {"mode": "containers", "seconds": 8, "settle_secs": 1, "calibrate_secs": 0.5},
}


@pytest.fixture(scope="module")
def deployment(docker: Docker, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    secrets = tmp_path_factory.mktemp("secrets")
    made = new_deployment(docker, images.arguments(), secrets)
    try:
        made.compose("build")
        made.compose("up", "--detach")
        for service in ("db", "api"):
            made.wait_healthy(service)
        yield made
    finally:
        made.compose("down", "--volumes", "--remove-orphans", check=False)
        subprocess.run(as_root("rm", "-rf", "--one-file-system", str(made.fabric_folder)), check=False)
        if not docker.ours:
            docker.run("image", "rm", "--force", made.environment["CUBEYARD_IMAGE"], check=False)


@pytest.fixture(scope="module")
def plan(deployment: Deployment) -> dict[str, object]:
    """The paper's container, saved over REST."""
    body = {"name": "The paper's container", "spec": {"topology": PAPER_CONTAINER}}
    reply = deployment.request("POST", "/api/v1/plans", body)
    assert reply.status == 201, reply
    assert isinstance(reply.body, dict)
    return reply.body


def test_a_plan_is_made_over_rest(deployment: Deployment, plan: dict[str, object]) -> None:
    read = deployment.request("GET", f"/api/v1/plans/{plan['id']}")
    assert read.status == 200, read
    summary = read.body["summary"]
    assert {name: summary["counts"][name] for name in ("servers", "switches", "links")} == {
        "servers": 2048,
        "switches": 1280,
        "links": 8192,
    }
    assert summary["certificate"]["passed"] is True
    assert read.body["plan_hash"] == plan["plan_hash"]


def test_nobody_gets_in_without_the_token(deployment: Deployment) -> None:
    assert deployment.request("GET", "/api/v1/plans", token=None).status == 401
    assert deployment.request("GET", "/api/v1/plans", token="not-the-token").status == 401
    assert deployment.request("GET", "/api/v1/plans").status == 200


@pytest.mark.long
def test_another_host_name_is_refused(deployment: Deployment) -> None:
    reply = deployment.request("GET", "/api/v1/plans", Host="attacker.example")
    assert reply.status in {400, 403, 421}, reply


def test_the_page_is_served_to_whoever_has_the_token(deployment: Deployment) -> None:
    page = deployment.request("GET", "/", Accept="text/html")
    assert page.status == 200
    assert '<div id="root">' in page.body
    assert "Cubeyard" in deployment.request("GET", "/docs/reference/cli.html", Accept="text/html").body
    stranger = deployment.request("GET", "/", token=None, Accept="text/html")
    assert stranger.status == 200
    assert '<div id="root">' not in stranger.body
    assert 'type="password"' in stranger.body, "a browser without the token is sent to the login page"


@pytest.mark.parametrize("service", ["api", "worker"])
def test_the_service_has_no_more_rights_than_it_needs(deployment: Deployment, service: str) -> None:
    assert deployment.execute(service, "id", "-u").stdout.strip() == "10001"
    assert deployment.execute(service, "touch", "/app/x", check=False).returncode != 0
    status = deployment.execute(service, "cat", "/proc/1/status").stdout
    rights = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith(("CapEff", "NoNewPrivs")))
    assert rights == {"CapEff": "0" * 16, "NoNewPrivs": "1"}


def test_only_the_fabric_has_rights_and_only_the_worker_has_the_engine(deployment: Deployment) -> None:
    result = {name: deployment.host_config(name) for name in ("api", "worker", "fabric")}
    assert not [name for name, host in result.items() if host["Privileged"]]
    assert [name for name, host in result.items() if host["CapAdd"] or host["PidMode"]] == ["fabric"]
    assert result["fabric"]["NetworkMode"] == "none"
    with_engine = [name for name, host in result.items() if any("docker.sock" in bind for bind in host["Binds"])]
    assert with_engine == ["worker"]


def test_no_service_has_a_secret_in_its_environment(deployment: Deployment) -> None:
    secrets = [path.read_text().strip() for path in Path(deployment.environment["CUBEYARD_SECRETS"]).iterdir()]
    assert len(secrets) == 4
    for name in ("api", "worker", "db", "fabric"):
        shown = deployment.docker.run("inspect", deployment.container(name)).stdout
        assert not [secret for secret in secrets if secret in shown], name


def test_servers_are_containers_that_send_real_packets(deployment: Deployment) -> None:
    def ready() -> bool:
        return deployment.request("GET", "/api/v1/emulation").body["modes"] == ["containers", "namespaces"]

    deployment.wait("the worker to tell of its Docker engine", ready)
    run = deployment.start_run(EMULATED)

    def all_up() -> bool:
        return len(deployment.servers(run)) == 16

    deployment.wait("16 servers in `docker ps`", all_up)
    _a_shell_opens(deployment, run)
    row = deployment.wait("the run's end", lambda: deployment.ended(run))
    assert row["state"] == "succeeded", row
    report = deployment.request("GET", f"/api/v1/runs/{run}/results").body["report"]
    assert report["aggregate_goodput_bits_per_sec"] > 0.5 * report["ideal_bits_per_sec"], report
    assert report["fidelity"]["verdict"] in ("faithful", "host-limited"), report["fidelity"]
    assert report["timings"]["kept"] == []
    assert deployment.servers(run) == []
    assert deployment.execute("fabric", "ls", "/run/netns").stdout.split() == [], "no namespace of the run is left"


def _a_shell_opens(deployment: Deployment, run: str) -> None:
    """The API has no engine: the worker opens the shell for it."""
    address = f"/api/v1/runs/{run}/servers/00/terminal"

    def available() -> bool:
        return deployment.request("GET", address).body["available"]

    deployment.wait("a terminal", available)
    sent = {"Authorization": f"Bearer {deployment.token}"}
    with connect(f"ws://127.0.0.1:{deployment.port}{address}", additional_headers=sent) as terminal:
        terminal.send(json.dumps({"type": "input", "data": "echo $((40 + 2)) in $(hostname); exit 7\n"}))
        printed, end = b"", {}
        while end.get("type") != "end":
            message = terminal.recv(60)
            if isinstance(message, bytes):
                printed += message
            else:
                end = json.loads(message)
    assert b"42 in " in printed, (printed, end)
    assert (end["exit_code"], end["reason"]) == (7, "The shell has ended."), end


@pytest.mark.long
def test_the_command_line_works_in_the_image(deployment: Deployment) -> None:
    spec = '{"family":"bcube","n":4,"k":1}'
    image = deployment.environment["CUBEYARD_IMAGE"]
    done = deployment.docker.run(
        "run", "--rm", "--network=none", "--read-only", image, "topology", "--spec", spec, "--edges"
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 32
    assert lines[0].split() == ["00", "<0,0>", "0"]


@pytest.mark.long
def test_without_a_token_it_refuses_to_listen_to_everyone(deployment: Deployment) -> None:
    image = deployment.environment["CUBEYARD_IMAGE"]
    done = deployment.docker.run(
        "run", "--rm", "--network=none", "--read-only", "--tmpfs=/tmp", image, "run", check=False
    )
    assert done.returncode != 0
    assert "token" in (done.stdout + done.stderr).lower()


@pytest.mark.parametrize("service", ["api", "db"])
@pytest.mark.long
def test_a_killed_container_comes_back_with_the_plan(
    deployment: Deployment, plan: dict[str, object], service: str
) -> None:
    before = deployment.state(service)["restarts"]
    deployment.kill(service)
    deployment.wait_healthy(service, after_restarts=before)
    reply = deployment.request("GET", f"/api/v1/plans/{plan['id']}")
    for _ in range(40):  # the API needs a moment to find its database again
        if reply.status == 200:
            break
        time.sleep(0.5)
        reply = deployment.request("GET", f"/api/v1/plans/{plan['id']}")
    assert reply.status == 200, reply
    assert reply.body["plan_hash"] == plan["plan_hash"]


@pytest.mark.long
def test_the_worker_is_killed_and_comes_back(deployment: Deployment) -> None:
    before = deployment.state("worker")["restarts"]
    deployment.kill("worker")
    deadline = time.monotonic() + 60
    while not ((state := deployment.state("worker"))["Running"] and state["restarts"] > before):
        assert time.monotonic() < deadline, state
        time.sleep(0.5)


@pytest.mark.long
def test_nothing_is_left_when_it_is_taken_down_with_a_run_under_way(deployment: Deployment) -> None:
    run = deployment.start_run({**EMULATED, "plan": {"family": "bcube", "n": 2, "k": 1}})
    deployment.wait("4 servers in `docker ps`", lambda: len(deployment.servers(run)) == 4)
    assert deployment.left_behind() != NOTHING
    deployment.compose("down", "--volumes", "--remove-orphans")
    assert deployment.left_behind() == NOTHING
    assert deployment.servers(run) == []
    left = [path.name for path in deployment.fabric_folder.rglob("*") if not path.is_dir()]
    assert sorted(left) == ["cubeyard-fabric", "lock"], "of the fabric's folder, which the next one opens"
