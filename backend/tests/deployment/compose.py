"""Cubeyard under `docker-compose`: up, calls to its API, a look inside, down."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubeyard.emulation.deploy.names import RUN

from .engine import Docker, as_root, call

CHECKOUT = Path(__file__).resolve().parents[3]


def free_port() -> int:
    """A TCP port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def compose_command(environment: dict[str, str]) -> list[str]:
    """`docker-compose` where there is one, else the plugin `docker compose`."""
    for command in (["docker-compose"], ["docker", "compose"]):
        try:
            if subprocess.run([*command, "version"], env=environment, capture_output=True, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            continue
    raise AssertionError("neither docker-compose nor `docker compose` is on this machine: install docker-compose")


@dataclass(frozen=True)
class Reply:
    """The API's response. `body` is JSON parsed, or text if it is not JSON."""

    status: int
    body: Any


@dataclass(frozen=True)
class Deployment:
    """One project of docker-compose. Its variables are in `environment`, its page on
    `127.0.0.1:port`."""

    docker: Docker
    project: str
    port: int
    token: str
    environment: dict[str, str]

    def compose(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        file = str(CHECKOUT / "docker-compose.yml")
        command = [*compose_command(self.environment), "--project-name", self.project, "--file", file, *arguments]
        return call(command, environment=self.environment, check=check, cwd=CHECKOUT)

    def container(self, service: str) -> str:
        """The id of the service's one container, running or not."""
        listed = self.docker.run(
            "ps", "--all", "--quiet", *self._mine(), "--filter", f"label=com.docker.compose.service={service}"
        )
        (identity,) = listed.stdout.split()
        return identity

    def state(self, service: str) -> dict[str, Any]:
        (inspected,) = json.loads(self.docker.run("inspect", self.container(service)).stdout)
        return {**inspected["State"], "restarts": inspected["RestartCount"]}

    def execute(self, service: str, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.docker.run("exec", self.container(service), *command, check=check)

    def kill(self, service: str) -> None:
        """`kill -9` on the service's first process, like a crash, so that its restart policy
        applies."""
        pid = self.state(service)["Pid"]
        if Path(f"/proc/{pid}").exists():
            subprocess.run(as_root("kill", f"-{int(signal.SIGKILL)}", str(pid)), check=True)
        else:  # the engine runs elsewhere: it kills the container itself, and does not restart it then
            self.docker.run("kill", "--signal=KILL", self.container(service))
            self.docker.run("start", self.container(service))

    def wait_healthy(self, service: str, *, after_restarts: int = -1, limit_secs: float = 120) -> None:
        """Waits until the service's health check passes, having restarted more than
        `after_restarts` times."""
        deadline = time.monotonic() + limit_secs
        state: dict[str, Any] = {}
        while time.monotonic() < deadline:
            state = self.state(service)
            if (
                state["Running"]
                and state["restarts"] > after_restarts
                and state.get("Health", {}).get("Status") == "healthy"
            ):
                return
            time.sleep(0.5)
        logs = self.docker.run("logs", "--tail", "60", self.container(service))
        raise AssertionError(f"{service} is not healthy after {limit_secs} s: {state}\n{logs.stdout}\n{logs.stderr}")

    def request(self, method: str, path: str, body: object = None, *, token: str | None = "", **headers: str) -> Reply:
        """Calls the published port. `token` is the configured one unless given; None sends none."""
        sent = {"Content-Type": "application/json", **headers}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, content = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            status, content = refusal.code, refusal.read()
        try:
            return Reply(status, json.loads(content))
        except ValueError:
            return Reply(status, content.decode("utf-8", errors="replace"))

    def wait(self, what: str, until: Callable[[], Any], limit_secs: float = 90) -> Any:
        deadline = time.monotonic() + limit_secs
        while not (result := until()):
            if time.monotonic() > deadline:
                logs = self.compose("logs", "--tail", "40", "worker", "fabric", check=False)
                raise AssertionError(f"waited {limit_secs} s for {what}\n{logs.stdout}")
            time.sleep(0.2)
        return result

    def start_run(self, experiment: dict[str, Any]) -> str:
        """The id of a run of a new experiment."""
        made = self.request("POST", "/api/v1/experiments", experiment)
        assert made.status == 201, made
        return str(self.request("POST", f"/api/v1/experiments/{made.body['id']}/runs", {}).body["id"])

    def ended(self, run: str) -> dict[str, Any] | None:
        """The run, if it has ended."""
        row = self.request("GET", f"/api/v1/runs/{run}").body
        return row if row["state"] in ("succeeded", "failed", "cancelled") else None

    def servers(self, run: str) -> list[str]:
        """Names of a run's servers that are containers now."""
        result = self.docker.run("ps", "--all", "--filter", f"label={RUN}={run}", "--format", "{{.Names}}")
        return result.stdout.split()

    def host_config(self, service: str) -> dict[str, Any]:
        return json.loads(self.docker.run("inspect", self.container(service)).stdout)[0]["HostConfig"]

    @property
    def fabric_folder(self) -> Path:
        return Path(self.environment["CUBEYARD_FABRIC_DIR"])

    def left_behind(self) -> dict[str, list[str]]:
        """Names of this project's containers, networks and volumes that the engine still has."""
        return {
            "containers": self.docker.run("ps", "--all", "--quiet", *self._mine()).stdout.split(),
            "networks": self.docker.run("network", "ls", "--quiet", *self._mine()).stdout.split(),
            "volumes": self.docker.run("volume", "ls", "--quiet", *self._mine()).stdout.split(),
        }

    def _mine(self) -> tuple[str, str]:
        return ("--filter", f"label=com.docker.compose.project={self.project}")


def new_deployment(docker: Docker, variables: dict[str, str], folder: Path) -> Deployment:
    """A project with a name, a port and secrets that no other has; the secrets are in the
    folder."""
    port = free_port()
    project = f"cubeyard-test-{os.getpid()}"
    token = os.urandom(24).hex()
    # Signs that a connection string or a shell would trip over: the deployment must not.
    passwords = {f"{name}-password": f"p'@$s/wo:rd?#%{os.urandom(8).hex()}" for name in ("owner", "server", "worker")}
    for name, value in {**passwords, "token": token}.items():
        (folder / name).write_text(f"{value}\n")
        (folder / name).chmod(0o444)
    environment = {
        **docker.environment,
        **variables,
        "CUBEYARD_SECRETS": str(folder),
        "CUBEYARD_PORT": str(port),
        "CUBEYARD_BIND": "127.0.0.1",
        "CUBEYARD_ALLOWED_HOSTS": "",
        "CUBEYARD_IMAGE": f"{project}:latest",
        "CUBEYARD_FABRIC_DIR": f"/run/cubeyard/{project}",
        "DOCKER_SOCKET": str(docker.socket),
        "DOCKER_GID": str(docker.socket.stat().st_gid),
    }
    return Deployment(docker, project, port, token, environment)
