"""Networks of real servers: how fast they come and go beside bare containers and Mininet, and what watching them costs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.table import Row
from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.deploy.docker_containers import AT_A_TIME, DockerContainers
from cubeyard.emulation.deploy.docker_engine import DockerGoneError
from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FABRIC, NODE, FabricProcess, program
from cubeyard.emulation.setup.question import read
from cubeyard.engine import Engine
from cubeyard.kit.ids import new_id
from cubeyard.settings import Settings

SIZES = {16: {"family": "bcube", "n": 4, "k": 1}, 64: {"family": "bcube", "n": 8, "k": 1}}
SUBWAYS = {"family": "subways", "type": 1, "p": 2, "q": 8, "l": 4, "aggs_per_cluster": 2}
"""16 servers and 6 routers, where the smaller BCube has 16 servers and 8 bridges."""
ROUNDS = 3
"""Of bare containers and ours by turns: what else the machine does comes and goes, and the round in the middle counts."""
OF_BARE = 1 / 1.15
"""Promised: at most 1.15 times as long as bare containers."""
OF_MININET = 4.0
OF_BCUBE = 1 / 2
"""Promised: a network of routers takes at most twice as long as one of bridges with as many servers."""
CORE_SHARE = 0.05
WATCH_SECS = 10.0
MININET_PYTHON = "/usr/bin/python3"
MININET = """
import sys, time
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.link import TCLink
from mininet.log import setLogLevel
setLogLevel("error")
n = int(sys.argv[1])
began = time.monotonic()
net = Mininet(switch=LinuxBridge, link=TCLink, controller=None)
servers = [net.addHost(f"h{i}") for i in range(n * n)]
for level in range(2):
    for digit in range(n):
        switch = net.addSwitch(f"s{level * n + digit + 1}")
        for other in range(n):
            server = servers[digit * n + other] if level == 0 else servers[other * n + digit]
            net.addLink(server, switch, bw=100)
net.start()
up = time.monotonic()
net.stop()
print(up - began, time.monotonic() - up)
"""


def rows() -> list[Row]:
    """Those that this machine can measure; the others are said not to be."""
    settings = Settings()
    if os.geteuid() != 0 or any(program(settings, name) is None for name in (FABRIC, NODE)):
        print("emulation: not measured, it needs root and the programs of `make setup`", file=sys.stderr)
        return []
    with _place(settings) as place:
        return [
            *_containers(settings, place),
            *_namespaces(settings, place),
            *_routers(settings, place),
            *_telemetry(settings, place),
        ]


@contextmanager
def _place(settings: Settings) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="cybench", dir="/run") as folder:
        place = Place(Path(folder))
        fabric = FabricProcess(settings, place)
        fabric.ensure()
        try:
            yield place
        finally:
            fabric.stop()


def _deployment(settings: Settings, place: Place, spec: dict[str, Any], mode: str) -> Deployment:
    document = {
        "plan": {"spec": spec},
        "workload": {"kind": "permutation"},
        "link_gbps": 0.1,
        "seeds": [7],
        "faults": [],
        "emulation": {"mode": mode},
    }
    return Deployment(settings, place, new_id(), read(Engine(settings), document))


def _unseen(done: int, total: int) -> None:
    """Nobody watches the servers come."""
    _ = done, total


def _up_and_down(deployment: Deployment) -> tuple[float, float]:
    """Seconds until every node has its network and says so, and until nothing is left."""
    try:
        up_secs = deployment.up(_unseen)["up_secs"]
    finally:
        down = deployment.down()
    assert not down["kept"], down
    return up_secs, down["down_secs"]


def _containers(settings: Settings, place: Place) -> list[Row]:
    docker = DockerContainers(settings, place.name)
    binary = program(settings, NODE)
    assert binary is not None
    try:
        image = docker.image()
    except DockerGoneError as error:
        print(f"containers: not measured. {error.detail}", file=sys.stderr)
        return []
    _bare(docker, image, 4)
    found = []
    for servers, spec in SIZES.items():
        rounds = [
            (_up_and_down(_deployment(settings, place, spec, "containers")), _bare(docker, image, servers))
            for _ in range(ROUNDS)
        ]
        for at, what in enumerate(("up", "gone")):
            name = f"{servers} servers in containers, {what}"
            every = [Row(name, ours[at], bare[at], "bare containers", "s", OF_BARE) for ours, bare in rounds]
            ratios = ", ".join(f"{row.ratio:.2f}" for row in every)
            middle = sorted(every, key=lambda row: row.ratio)[ROUNDS // 2]
            found.append(replace(middle, note=f"wall clock; {ROUNDS} rounds: {ratios}"))
    docker.close()
    return found


def _bare(docker: DockerContainers, image: str, servers: int) -> tuple[float, float]:
    """The same image and the same number at a time, without a network."""

    def create(_: int) -> str:
        made = docker.api.create_container(image, host_config=docker.api.create_host_config(network_mode="none"))["Id"]
        docker.api.start(made)
        return made

    def remove(one: str) -> None:
        docker.api.remove_container(one, force=True, v=True)

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        made, up_secs = _timed(lambda: list(pool.map(create, range(servers))))
        _, down_secs = _timed(lambda: list(pool.map(remove, made)))
    return up_secs, down_secs


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    found = work()
    return found, time.monotonic() - began


def _namespaces(settings: Settings, place: Place) -> list[Row]:
    has_mininet = subprocess.run([MININET_PYTHON, "-c", "import mininet"], capture_output=True, check=False)
    if has_mininet.returncode != 0:
        print("Mininet: not measured, `apt-get install mininet` brings it", file=sys.stderr)
        return []
    found = []
    for servers, spec in SIZES.items():
        # In a namespace of its own: its bridges meet nobody's.
        command = ["unshare", "--net", "--mount", MININET_PYTHON, "-c", MININET, str(spec["n"])]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        their_up, their_down = (float(one) for one in said.split())
        up, down = _up_and_down(_deployment(settings, place, spec, "namespaces"))
        promised = OF_MININET if servers == max(SIZES) else 1.0
        found.append(Row(f"{servers} plain namespaces, up", up, their_up, "Mininet", "s", promised, "wall clock"))
        found.append(Row(f"{servers} plain namespaces, gone", down, their_down, "Mininet", "s", 1.0, "wall clock"))
    return found


def _routers(settings: Settings, place: Place) -> list[Row]:
    """A network whose switches are routers beside one of bridges, by turns; the round in the middle counts."""

    def up(spec: dict[str, Any]) -> float:
        return _up_and_down(_deployment(settings, place, spec, "namespaces"))[0]

    bridges = SIZES[min(SIZES)]
    up(SUBWAYS)
    name = f"{min(SIZES)} servers and 6 routers of Subways, up"
    every = [Row(name, up(SUBWAYS), up(bridges), "BCube(4,1)", "s", OF_BCUBE) for _ in range(ROUNDS)]
    ratios = ", ".join(f"{row.ratio:.2f}" for row in every)
    middle = sorted(every, key=lambda row: row.ratio)[ROUNDS // 2]
    return [replace(middle, note=f"wall clock; {ROUNDS} rounds: {ratios}")]


def _telemetry(settings: Settings, place: Place) -> list[Row]:
    """The fabric's processor time while it reads every counter of 64 servers ten times a second and somebody listens."""
    deployment = _deployment(settings, place, SIZES[max(SIZES)], "namespaces")
    deployment.up(_unseen)
    try:
        with FabricClient(place.socket) as fabric, FabricClient(place.socket) as stream:
            (run,) = fabric.call("runs")["runs"]
            stream.subscribe(run["run"])
            frames = stream.frames(5.0)
            next(frames)
            began, before = time.monotonic(), _cpu_secs(fabric.pid)
            while time.monotonic() - began < WATCH_SECS:
                assert next(frames) is not None
            share = (_cpu_secs(fabric.pid) - before) / (time.monotonic() - began)
    finally:
        deployment.down()
    return [Row("10 Hz telemetry of 64 servers", share, CORE_SHARE, "a ceiling", "of a core")]


def _cpu_secs(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
