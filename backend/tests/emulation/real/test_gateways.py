"""Servers that are gateways to an external network, and users' own programs inside a server's
network. `[bcube §5.3]`"""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubeyard.emulation.network.network import OUTSIDE_ADDRESS, outside_namespace
from tests.deployment.engine import Docker

from .conftest import Command
from .images import image_of
from .inside import busy_servers, capabilities, enter, frames, inside, named, namespaces, wait_for, wait_for_server

Left = Callable[[], dict[str, set[str]]]
TINY = '{"family":"bcube","n":2,"k":1}'
SMALL = '{"family":"bcube","n":4,"k":1}'
QUIET = ("--settle", "0", "--calibrate", "0", "--workload", "permutation", "--link-rate", "10M")
PING = ("ping", "-i", "0.2", "-W", "2")


def answered(output: str) -> int:
    matched = re.search(r"(\d+) received", output)
    return int(matched[1]) if matched else 0


@pytest.mark.parametrize("dataplane", ["kernel", pytest.param("software", marks=pytest.mark.long)])
def test_every_server_reaches_what_is_outside_and_is_reached(
    emulate: Command, nothing_left: Left, dataplane: str
) -> None:
    before = namespaces()
    process = emulate.start(
        "--spec", TINY, "--mode", "namespaces", "--dataplane", dataplane, "--seconds", "4",
        "--set", 'gateways=["00"]', *QUIET,
    )  # fmt: skip
    first = wait_for_server(before, 0)
    outside = named(outside_namespace(first.split("-")[1]))
    for server in range(4):
        its = first.removesuffix("0") + str(server)
        assert answered(enter(its, *PING, "-c", "2", OUTSIDE_ADDRESS).stdout) == 2, f"{server} out"
        assert answered(enter(outside, *PING, "-c", "2", frames.ip(server)).stdout) == 2, f"{server} in"
    assert emulate.finish(process)["drops"] == {}


@pytest.mark.long
def test_a_dead_gateway_is_replaced_by_another(emulate: Command, nothing_left: Left) -> None:
    before = namespaces()
    process = emulate.start(
        "--spec", SMALL, "--mode", "namespaces", "--seconds", "9", "--set", 'timers={"hello_secs":0.2}',
        "--set", 'gateways=["00","11"]', "--fault", "server-off=11@4", *QUIET,
    )  # fmt: skip
    wait_for_server(before, 0)
    near_the_dead = wait_for_server(before, 7)  # 13: one hop from 11, two from 00
    message = enter(near_the_dead, "ping", "-D", "-i", "0.1", "-w", "6", OUTSIDE_ADDRESS, check=False).stdout
    at_secs = [float(item) for item in re.findall(r"\[([0-9.]+)\] .* ttl=", message)]
    gaps = sorted(later - sooner for sooner, later in itertools.pairwise(at_secs))
    assert 0.5 < gaps[-1] < 3, "three hellos of silence, and then by the other"
    assert gaps[-2] < 1
    assert emulate.finish(process)["faults"][0]["detected_secs"] is not None


@pytest.fixture
def program_image(docker: Docker, tmp_path: Path) -> Iterator[str]:
    name = image_of(docker, tmp_path, "ping", "iperf3", "curl")
    yield name
    docker.run("rmi", "--force", name)


@pytest.mark.long
def test_unmodified_programs_of_any_image_talk_over_the_network(
    emulate: Command, docker: Docker, nothing_left: Left, program_image: str, tmp_path: Path
) -> None:
    process = emulate.start("--spec", TINY, "--seconds", "60", "--set", 'gateways=["00"]', *QUIET)
    servers = wait_for(lambda: busy_servers(docker, 4))
    assert {capabilities(namespace) for _, namespace in servers} == {0}

    def join(server: int, *words: str, how: str = "--rm") -> str:
        return docker.run("run", how, f"--network=container:{servers[server][0]}", program_image, *words).stdout

    assert answered(join(3, *PING, "-c", "3", frames.ip(0))) == 3
    assert answered(join(3, *PING, "-c", "3", OUTSIDE_ADDRESS)) == 3
    listener = join(0, "iperf3", "--server", how="--detach").strip()
    carried = json.loads(join(3, "iperf3", "--client", frames.ip(0), "--time", "2", "--json"))
    docker.run("rm", "--force", listener)
    assert carried["end"]["sum_received"]["bytes"] > 100_000, carried["end"]
    page = tmp_path / "page"
    page.mkdir()
    (page / "index.html").write_text("over BCube")
    serve = (sys.executable, "-m", "http.server", "8000", "--bind", frames.ip(1), "--directory", str(page))
    with subprocess.Popen(inside(servers[1][1], *serve), stderr=subprocess.DEVNULL) as web:
        try:
            again = ("--retry", "20", "--retry-delay", "1", "--retry-connrefused")
            assert join(2, "curl", "--silent", *again, f"http://{frames.ip(1)}:8000/") == "over BCube"
        finally:
            web.terminate()
    process.send_signal(signal.SIGINT)
    emulate.finish(process, code=130)
