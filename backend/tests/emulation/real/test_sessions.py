"""Sessions with containers: TCP over BCube, cables pulled, servers killed, flows moved, nothing
left over."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.fabric.process import FABRIC
from tests.deployment.engine import Docker

from .conftest import Command

Json = dict[str, Any]
SMALL = '{"family":"bcube","n":4,"k":1}'
TINY = '{"family":"bcube","n":2,"k":1}'
SHORT = ("--settle", "1", "--calibrate", "0.5")
Left = Callable[[], dict[str, set[str]]]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["containers", "namespaces"])
def test_an_all_to_all_reaches_the_ideal(emulate: Command, nothing_left: Left, mode: str) -> None:
    result = emulate.run("--spec", SMALL, "--link-rate", "100M", "--seconds", "5", "--mode", mode, *SHORT)
    assert result["fidelity"]["verdict"] == "faithful", result["fidelity"]
    share = result["aggregate_goodput_bits_per_sec"] / result["ideal_bits_per_sec"]
    assert share >= 0.95, (share, result["fidelity"])
    slowest = min(flow["goodput_bits_per_sec"] for flow in result["per_flow"])
    assert slowest > 0, "all 240 TCP connections make progress"
    assert len(result["per_server"]) == 16
    assert len(result["per_link"]) == 32
    for link in result["per_link"]:
        assert 0 < link["ab_bits_per_sec"] < 1.05 * 100e6, link
        assert 0 < link["ba_bits_per_sec"] < 1.05 * 100e6, link
        for way in ("ab", "ba"):
            # The segments of super-packets are counted separately, so none is larger than the MTU
            # plus the Ethernet header.
            mean_bytes = link[f"{way}_bits_per_sec"] / 8 * result["total"]["secs"] / link[f"{way}_packets"]
            assert 64 < mean_bytes < 9014, link
            assert 0 < link[f"{way}_longest_queue_bytes"] < 1.5e6, "80 ms of the rate may wait, and a packet more"
    assert result["windows"].keys() == {"before"}
    assert result["timings"]["kept"] == []


def test_a_pulled_cable_moves_its_flows(emulate: Command, nothing_left: Left) -> None:
    pulled = "cable-pulled=00/<0,0>@3-7"
    result = emulate.run(
        "--spec", SMALL, "--workload", "one-to-all", "--link-rate", "50M", "--seconds", "10", "--fault", pulled, *SHORT
    )
    (fault,) = result["faults"]
    assert (fault["injected_at_secs"], fault["recovered_at_secs"]) == pytest.approx((3, 7), abs=0.3)
    assert fault["detected_secs"] < 0.1, "carrier loss is detected immediately"
    assert fault["moves"] > 0
    assert fault["first_move_secs"] < 0.1
    during = result["windows"]["during"]
    assert during["stalled_flows"] == 0, "every flow found another path"


@pytest.mark.long
def test_a_killed_server_takes_only_its_own_flows_along(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(
        "--spec", SMALL, "--workload", "permutation", "--link-rate", "20M", "--seconds", "12",
        "--fault", "server-killed=11@3", "--set", 'timers={"hello_secs":0.3}', *SHORT,
    )  # fmt: skip
    (fault,) = result["faults"]
    assert fault["targets"] == ["11"]
    after = {(flow["source"], flow["destination"]): flow["goodput_bits_per_sec"] for flow in result["per_flow"]}
    whole = [rate for ends, rate in after.items() if "11" not in ends]
    assert min(whole) > 0
    assert result["windows"]["during"]["stalled_flows"] <= 2


@pytest.mark.long
@pytest.mark.parametrize("server", ["00", "11"])
@pytest.mark.parametrize("mode", ["containers", "namespaces"])
def test_a_server_that_comes_back_has_its_flows_again(
    emulate: Command, nothing_left: Left, server: str, mode: str
) -> None:
    report = emulate.run(
        "--spec", TINY, "--workload", "permutation", "--link-rate", "20M", "--seconds", "20", "--mode", mode,
        "--fault", f"server-killed={server}@2-5", "--set", 'timers={"hello_secs":0.3}', *SHORT,
    )  # fmt: skip
    before, after = (report["windows"][part] for part in ("before", "after"))
    assert after["goodput_bits_per_sec"] > 0.7 * before["goodput_bits_per_sec"]
    assert after["stalled_flows"] == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("--workload", "permutation", "--protocol", "udp", "--set", "flow_bits_per_sec=5e6"),
        ("--workload", '{"kind":"one-to-several","source":"00","destinations":["01","11"]}', "--set", 'delivery="pipeline"'),
        ("--workload", '{"kind":"one-to-several","source":"00","destinations":["01","11"]}', "--set", 'delivery="complete-graph"'),
    ],
    ids=["UDP", "pipeline", "complete graph"],
)  # fmt: skip
def test_every_kind_of_flow_begins_again_with_its_server(
    emulate: Command, nothing_left: Left, words: tuple[str, ...]
) -> None:
    report = emulate.run(
        "--spec", TINY, "--link-rate", "20M", "--seconds", "16", "--fault", "server-killed=01@2-5",
        "--set", 'timers={"hello_secs":0.3}', *SHORT, *words,
    )  # fmt: skip
    before, after = (report["windows"][part] for part in ("before", "after"))
    assert after["goodput_bits_per_sec"] > 0.7 * before["goodput_bits_per_sec"]
    assert after["stalled_flows"] == 0


def test_a_broken_hypothesis_is_a_failed_command(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(
        "--spec", TINY, "--workload", "permutation", "--link-rate", "20M", "--seconds", "30",
        "--fault", "switch-off=all switches@2", "--hypothesis", "goodput-share>=0.5 for 1s", *SHORT, code=1,
    )  # fmt: skip
    assert result["ended"] == "aborted"
    assert result["verdict"]["outcome"] == "broken"
    assert result["verdict"]["broken_at_secs"] < 8


def test_servers_are_containers_without_rights(emulate: Command, docker: Docker, nothing_left: Left) -> None:
    process = emulate.start("--spec", TINY, "--seconds", "60", *SHORT)
    servers: list[str] = []
    deadline = time.monotonic() + 60
    while len(servers) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
        servers = docker.run("ps", "--quiet", "--filter", "label=cubeyard.run").stdout.split()
    assert len(servers) == 4
    inspected = docker.run(
        "inspect",
        "--format",
        "{{.HostConfig.CapDrop}} {{.HostConfig.NetworkMode}} {{.HostConfig.Privileged}} {{.Config.Hostname}}",
        *servers,
    )
    assert set(inspected.stdout.splitlines()) == {f"[ALL] none false h{name}" for name in ("00", "01", "10", "11")}
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130, message


@pytest.mark.long
def test_two_at_once_do_not_meet(emulate: Command, nothing_left: Left) -> None:
    arguments = ("--spec", TINY, "--workload", "permutation", "--link-rate", "20M", "--seconds", "5", *SHORT)
    first, second = emulate.start(*arguments), emulate.start(*arguments, "--mode", "namespaces")
    for process in (first, second):
        _, message = process.communicate(timeout=120)
        assert process.returncode == 0, message


@pytest.mark.long
def test_killed_at_any_moment_the_next_start_is_clean(emulate: Command, docker: Docker, nothing_left: Left) -> None:
    """`kill -9` of the command, the fabric or a node, with containers and namespaces, at moments
    from before the first server until the traffic."""
    draws = random.Random(2009)
    times = int(os.environ.get("CUBEYARD_KILLS", "8"))
    for turn in range(times):
        mode, what = ("namespaces", "containers")[turn % 2], ("command", "fabric", "node")[turn % 3]
        with emulate.start("--spec", TINY, "--seconds", "30", "--mode", mode, *SHORT) as process:
            time.sleep(draws.uniform(0.3, 4.5))
            others = {"fabric": fabrics, "node": lambda owner: nodes(owner, docker)}
            victims = others[what](process.pid) if what in others else []
            os.kill(draws.choice(victims) if victims else process.pid, signal.SIGKILL)
            if not victims:
                process.wait(20)  # not for the end of its output: its fabric lives longer and still prints
            else:
                process.send_signal(signal.SIGINT)
                _, message = process.communicate(timeout=60)
                assert process.returncode in (2, 130), (turn, what, message)
    emulate.run("--spec", TINY, "--workload", "one-to-one", "--seconds", "1", "--mode", "containers", *SHORT)


def test_a_killed_command_leaves_no_process_even_without_a_next_start(emulate: Command, nothing_left: Left) -> None:
    with emulate.start("--spec", TINY, "--seconds", "60", "--mode", "namespaces", *SHORT) as process:
        deadline = time.monotonic() + 60
        while not (result := fabrics(process.pid)):
            assert time.monotonic() < deadline, "it starts no fabric"
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(20)
        # The fabric first ends the command's run, and then itself, once nobody has needed it for
        # ten seconds.
        deadline = time.monotonic() + 60
        while set(_pids()) & set(result):
            assert time.monotonic() < deadline, "its fabric continues"
            time.sleep(0.2)
    emulate.run("--spec", TINY, "--workload", "one-to-one", "--seconds", "1", "--mode", "namespaces", *SHORT)


def fabrics(owner: int) -> list[int]:
    """The fabric of a command."""
    place = f"/run/cubeyard/cli-{owner}/".encode()
    return [pid for pid in _pids() if place in _read(pid, "cmdline") and FABRIC.encode() in _read(pid, "cmdline")]


def nodes(owner: int, docker: Docker) -> list[int]:
    """The nodes of a command's servers, in containers or not."""
    parents = fabrics(owner)
    plain = [pid for pid in _pids() if any(f"PPid:\t{parent}\n".encode() in _read(pid, "status") for parent in parents)]
    listed = docker.run("ps", "--quiet", "--filter", f"label=cubeyard.place=cli-{owner}").stdout.split()
    result = docker.run("inspect", "--format", "{{.State.Pid}}", *listed, check=False).stdout if listed else ""
    return sorted([*plain, *(int(pid) for pid in result.split() if pid != "0")])


def _pids() -> list[int]:
    return sorted(int(path.name) for path in Path("/proc").glob("[0-9]*"))


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
