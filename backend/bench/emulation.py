"""Networks of real servers: how fast they come and go beside bare containers and Mininet, and what
watching them costs."""

from __future__ import annotations

import json
import os
import statistics
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
from cubeyard.emulation.deploy.names import namespace_name
from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FABRIC, NODE, FabricProcess, program
from cubeyard.emulation.network.network import build
from cubeyard.emulation.setup.question import read
from cubeyard.engine import Engine
from cubeyard.kit.ids import new_id
from cubeyard.settings import Settings

Json = dict[str, Any]

SIZES: dict[int, Json] = {16: {"family": "bcube", "n": 4, "k": 1}, 64: {"family": "bcube", "n": 8, "k": 1}}
OTHERS: dict[int, Json] = {side**3: {"family": "torus3d", "x": side, "y": side, "z": side} for side in (3, 4)}
"""Networks without switches, beside a BCube with as many servers and as many links."""
THEIR_BCUBES: dict[int, Json] = {side**3: {"family": "bcube", "n": side, "k": 2} for side in (3, 4)}
DCELL: Json = {"family": "dcell", "n": 4, "k": 1}
WATCHED: dict[str, Json] = {
    "64 servers of a BCube": SIZES[64],
    "64 servers of a torus": OTHERS[64],
    "56 servers of a DCell": {"family": "dcell", "n": 7, "k": 1},
}
SUBWAYS: Json = {"family": "subways", "type": 1, "p": 2, "q": 8, "l": 4, "aggs_per_cluster": 2}
"""16 servers and 6 routers, where the smaller BCube has 16 servers and 8 bridges."""
ROUNDS = 3
"""Of bare containers and ours by turns: what else the machine does comes and goes, and the round in
the middle counts."""
OF_BARE = 1 / 1.15
"""Promised: at most 1.15 times as long as bare containers."""
OF_BCUBE = 1 / 1.5
"""Promised: at most 1.5 times as long as a BCube. Both ends of each link are at servers, so there
are twice as many ports with a shaper, addresses and programs."""
FREED_SECS = 3.0
"""The kernel removes the namespaces of a run after its end, and what is started meanwhile waits: up
to a second after a BCube, whose switches share a namespace."""
OF_MININET = 4.0
OF_BRIDGES = 1 / 2
"""Promised: a network of routers takes at most twice as long as one of bridges with as many
servers."""
REROUTE_MILLIS = 50.0
PULLS = 5
PULLED_SECS = 1.0
RECOVERED_SECS = 4.0
"""Until link state has led the flow back over the cable: a pull that it does not meet would count
as no loss."""
PROBE_SECS = 0.001
CORE_SHARE = 0.05
WATCH_SECS = 10.0
PROBE = """
import json, socket, sys, threading, time
address, secs, every = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.connect((address, 7007))
probe.settimeout(0.5)
sent, back = [], set()
def listen():
    while True:
        try:
            back.add(int(probe.recv(64)))
        except TimeoutError:
            return
        except ConnectionRefusedError:
            pass
listener = threading.Thread(target=listen)
listener.start()
began = time.monotonic()
while time.monotonic() - began < secs:
    sent.append(time.monotonic())
    probe.send(str(len(sent) - 1).encode())
    time.sleep(every)
listener.join()
json.dump([[at, number in back] for number, at in enumerate(sent)], sys.stdout)
"""
ECHO = """
import socket
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind(("0.0.0.0", 7007))
print("bound", flush=True)
while True:
    echo.sendto(*echo.recvfrom(64))
"""
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
            *_as_fast_as_bcube(settings, place),
            *_routers(settings, place),
            *_telemetry(settings, place),
            _reroute(settings, place),
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


def deployment_of(settings: Settings, place: Place, spec: Json, mode: str) -> Deployment:
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


def up_and_down(deployment: Deployment, times: list[Json] | None = None) -> tuple[float, float]:
    """Seconds until every node has its network and says so, and until nothing is left. What the
    first were spent on joins `times`."""
    try:
        up = deployment.up(_unseen)
    finally:
        down = deployment.down()
    assert not down["kept"], down
    if times is not None:
        times.append(up)
    return up["up_secs"], down["down_secs"]


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
    matches = []
    for servers, spec in SIZES.items():
        rounds = [
            (up_and_down(deployment_of(settings, place, spec, "containers")), _bare(docker, image, servers))
            for _ in range(ROUNDS)
        ]
        for at, what in enumerate(("up", "gone")):
            name = f"{servers} servers in containers, {what}"
            every = [Row(name, ours[at], bare[at], "bare containers", "s", OF_BARE) for ours, bare in rounds]
            ratios = ", ".join(f"{row.ratio:.2f}" for row in every)
            middle = sorted(every, key=lambda row: row.ratio)[ROUNDS // 2]
            matches.append(replace(middle, note=f"wall clock; {ROUNDS} rounds: {ratios}"))
    docker.close()
    return matches


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
    result = work()
    return result, time.monotonic() - began


def _namespaces(settings: Settings, place: Place) -> list[Row]:
    has_mininet = subprocess.run([MININET_PYTHON, "-c", "import mininet"], capture_output=True, check=False)
    if has_mininet.returncode != 0:
        print("Mininet: not measured, `apt-get install mininet` brings it", file=sys.stderr)
        return []
    matches = []
    for servers, spec in SIZES.items():
        # In a namespace of its own: its bridges meet nobody's.
        command = ["unshare", "--net", "--mount", MININET_PYTHON, "-c", MININET, str(spec["n"])]
        message = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        their_up, their_down = (float(word) for word in message.split())
        up, down = up_and_down(deployment_of(settings, place, spec, "namespaces"))
        promised = OF_MININET if servers == max(SIZES) else 1.0
        matches.append(Row(f"{servers} plain namespaces, up", up, their_up, "Mininet", "s", promised, "wall clock"))
        matches.append(Row(f"{servers} plain namespaces, gone", down, their_down, "Mininet", "s", 1.0, "wall clock"))
    return matches


def _routers(settings: Settings, place: Place) -> list[Row]:
    """A network whose switches are routers beside one of bridges, by turns; the round in the middle
    counts."""

    def up(spec: Json) -> float:
        return up_and_down(deployment_of(settings, place, spec, "namespaces"))[0]

    bridges = SIZES[min(SIZES)]
    up(SUBWAYS)
    name = f"{min(SIZES)} servers and 6 routers of Subways, up"
    every = [Row(name, up(SUBWAYS), up(bridges), "BCube(4,1)", "s", OF_BRIDGES) for _ in range(ROUNDS)]
    ratios = ", ".join(f"{row.ratio:.2f}" for row in every)
    middle = sorted(every, key=lambda row: row.ratio)[ROUNDS // 2]
    return [replace(middle, note=f"wall clock; {ROUNDS} rounds: {ratios}")]


def _as_fast_as_bcube(settings: Settings, place: Place) -> list[Row]:
    """A torus beside a BCube of as many servers and links, by turns; the round in the middle
    counts."""
    matches = []
    for servers, spec in OTHERS.items():
        rounds = []
        for _ in range(ROUNDS):
            ours, theirs = (_up_alone(settings, place, item) for item in (spec, THEIR_BCUBES[servers]))
            rounds.append(Row(f"{servers} servers of a torus, up", ours, theirs, "BCube", "s", OF_BCUBE))
        ratios = ", ".join(f"{row.ratio:.2f}" for row in rounds)
        middle = sorted(rounds, key=lambda row: row.ratio)[ROUNDS // 2]
        matches.append(replace(middle, note=f"wall clock, namespaces; {ROUNDS} rounds: {ratios}"))
    return matches


def _up_alone(settings: Settings, place: Place, spec: Json) -> float:
    """Seconds until a network is up, when nothing of an earlier run is left in the kernel."""
    time.sleep(FREED_SECS)
    up, _ = up_and_down(deployment_of(settings, place, spec, "namespaces"))
    return up


def _telemetry(settings: Settings, place: Place) -> list[Row]:
    """The fabric's processor time while it reads every counter of a network ten times a second and
    somebody listens."""
    matches = []
    for what, spec in WATCHED.items():
        with _running(settings, place, spec) as (_, fabric, run_id), FabricClient(place.socket) as stream:
            stream.subscribe(run_id)
            frames = stream.frames(5.0)
            next(frames)
            began, before = time.monotonic(), _cpu_secs(fabric.pid)
            while time.monotonic() - began < WATCH_SECS:
                assert next(frames) is not None
            share = (_cpu_secs(fabric.pid) - before) / (time.monotonic() - began)
        matches.append(Row(f"10 Hz telemetry of {what}", share, CORE_SHARE, "a ceiling", "of a core"))
    return matches


@contextmanager
def _running(settings: Settings, place: Place, spec: Json) -> Iterator[tuple[Deployment, FabricClient, str]]:
    """A network of plain namespaces, a connection to its fabric, and the run's id."""
    deployment = deployment_of(settings, place, spec, "namespaces")
    deployment.up(_unseen)
    try:
        with FabricClient(place.socket) as fabric:
            (run,) = fabric.call("runs")["runs"]
            yield deployment, fabric, run["run"]
    finally:
        deployment.down()


def _reroute(settings: Settings, place: Place) -> Row:
    """For how long packets are lost when the cable between [0,3] and [4,0] is pulled, on the way
    from [0,0] to [4,3] and back: a packet a millisecond, each sent back, the paper's path.
    `[dcell §7.3, Fig. 11]`
    """
    network = build(Engine(settings), DCELL, 1e8, 1500, None)
    source, destination, entry, other = (network.id_of[name] for name in ("[0,0]", "[4,3]", "[0,3]", "[4,0]"))
    link = next(link.id for link in network.links if {link.a[0], link.b[0]} == {entry, other})
    fault = {"id": "cable", "kind": "cable-pulled", "target": {"link": link}}
    lost: list[float] = []
    with _running(settings, place, DCELL) as (_, fabric, run_id):
        inside = {server: ["ip", "netns", "exec", namespace_name(run_id, server)] for server in (source, destination)}
        echo = subprocess.Popen([*inside[destination], sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
        try:
            assert echo.stdout is not None
            assert echo.stdout.readline() == b"bound\n"
            secs = 2.0 + PULLS * (PULLED_SECS + RECOVERED_SECS)
            words = [network.addresses[destination], str(secs), str(PROBE_SECS)]
            probe = subprocess.Popen([*inside[source], sys.executable, "-c", PROBE, *words], stdout=subprocess.PIPE)
            time.sleep(2.0)
            pulled = []
            for _ in range(PULLS):
                pulled.append(time.monotonic())
                fabric.call("inject", run=run_id, fault=fault)
                time.sleep(PULLED_SECS)
                fabric.call("recover", run=run_id, fault="cable")
                time.sleep(RECOVERED_SECS)
            sent = json.loads(probe.communicate(timeout=60)[0])
        finally:
            echo.kill()
            echo.wait()
    for began in pulled:
        missing = [at for at, came in sent if not came and began <= at < began + PULLED_SECS]
        lost.append(1e3 * (missing[-1] - missing[0] + PROBE_SECS) if missing else 0.0)
    assert sum(came for _, came in sent) > 0.8 * len(sent), "most packets come back"
    note = f"packets lost for, {PULLS} pulls: {', '.join(f'{item:.0f}' for item in lost)} ms"
    # Never 0, of which there is no ratio: a packet a millisecond sees no less than one.
    ours = max(statistics.median(lost), 1e3 * PROBE_SECS)
    return Row("DCell's local reroute after a pulled cable", ours, REROUTE_MILLIS, "a ceiling", "ms", 1.0, note)


def _cpu_secs(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
