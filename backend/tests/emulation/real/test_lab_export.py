"""The exported lab, started as containerlab would: namespaces, veth pairs and the file's own
commands. Then all servers ping each other."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
import yaml

from cubeyard.engine import Engine
from cubeyard.exports import render
from tests.exports import plans

Json = dict[str, Any]
NETWORKS: dict[str, Json] = {
    "bcube": {"family": "bcube", "n": 3, "k": 1},
    "dcell": {"family": "dcell", "n": 3, "k": 1},
    "torus": {"family": "torus3d", "x": 3, "y": 2, "z": 2},
    "fat-tree": {"family": "fat_tree", "ports": 4, "layers": 3},
    "tree": {"family": "tree", "edge_ports": 4, "servers": 14},
    "leaf-spine": {"family": "leaf_spine", "leaves": 3, "spines": 2, "servers_per_leaf": 4, "uplinks_per_spine": 2},
    "subways-0": {"family": "subways", "type": 0, "p": 2, "q": 4, "l": 2, "c": 1, "clusters": 2},
    "subways-1": {"family": "subways", "type": 1, "p": 2, "q": 4, "l": 4, "c": 1, "clusters": 2},
    "subways-2": {"family": "subways", "type": 2, "p": 2, "q": 4, "l": 4, "c": 2, "clusters": 2},
}
_LABS = count()


class Lab:
    """A lab in separate namespaces, whose names begin with this process's id and the lab's name."""

    def __init__(self, document: Json) -> None:
        self.topology = document["topology"]
        self._prefix = f"lab{os.getpid()}-{next(_LABS)}-"

    def __enter__(self) -> Lab:
        nodes = list(self.topology["nodes"])
        batch = [f"netns add {self._prefix}{node}" for node in nodes]
        for link in self.topology["links"]:
            a, b = link["endpoints"]
            batch.append(
                f"link add {a['interface']} netns {self._prefix}{a['node']} type veth "
                f"peer name {b['interface']} netns {self._prefix}{b['node']}"
            )
        _run(["ip", "-batch", "-"], "\n".join(batch))
        sysctls = self.topology["kinds"]["linux"]["sysctls"].items()
        settings = " && ".join(f"echo {value} > /proc/sys/{name.replace('.', '/')}" for name, value in sysctls)
        for node in nodes:
            self.inside(node, ["sh", "-c", settings])
            self.inside(node, ["ip", "link", "set", "lo", "up"])
        for node, body in self.topology["nodes"].items():
            for command in body["exec"]:
                self.inside(node, shlex.split(command))
        return self

    def __exit__(self, *_: object) -> None:
        _run(["ip", "-batch", "-"], "\n".join(f"netns del {self._prefix}{node}" for node in self.topology["nodes"]))

    def inside(self, node: str, command: list[str]) -> str:
        return _run(["ip", "netns", "exec", self._prefix + node, *command])

    def addresses(self) -> dict[str, str]:
        """The address of each server."""
        nodes = self.topology["nodes"]
        return {node: body["labels"]["address"] for node, body in nodes.items() if body["labels"].get("level") is None}

    def packets(self) -> int:
        """Packets received by all interfaces so far."""
        total = 0
        for node in self.topology["nodes"]:
            lines = self.inside(node, ["cat", "/proc/net/dev"]).splitlines()[2:]
            total += sum(int(line.split(":")[1].split()[1]) for line in lines if "lo:" not in line)
        return total


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[:6]}: {done.stderr[:500]}"
    return done.stdout


@pytest.fixture
def lab(engine: Engine) -> Callable[[Json], Lab]:
    return lambda spec: Lab(
        yaml.load(b"".join(render("containerlab", plans.compute(engine, spec, "current-2026"))), yaml.CSafeLoader)
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("bcube", "fat-tree", "subways-1") else pytest.mark.long)
        for name in NETWORKS
    ],
)
def test_any_two_servers_of_the_exported_lab_reach_each_other(name: str, lab: Callable[[Json], Lab]) -> None:
    with lab(NETWORKS[name]) as up:
        addresses = up.addresses()
        others = " ".join(addresses.values())

        def ping_all(server: str) -> str:
            """Pings each server once, within two seconds; prints the ones that did not answer."""
            command = f"for one in {others}; do ping -c 1 -W 2 -q $one >/dev/null || echo $one; done"
            return up.inside(server, ["sh", "-c", command])

        with ThreadPoolExecutor(4) as pool:
            silent = {server: out.split() for server, out in zip(addresses, pool.map(ping_all, addresses), strict=True)}
        assert not {server: lost for server, lost in silent.items() if lost}


def ask_for_nobody(up: Lab) -> int:
    """The number of packets within a second that one ARP request for an unused address causes."""
    first, *_ = up.addresses()
    port = next(end["interface"] for end in up.topology["links"][0]["endpoints"] if end["node"] == first)
    up.inside(first, ["ip", "route", "add", "10.99.0.1/32", "dev", port])
    before = up.packets()
    up.inside(first, ["sh", "-c", "ping -c 1 -W 1 -q 10.99.0.1 >/dev/null || true"])
    return up.packets() - before


@pytest.mark.long
@pytest.mark.parametrize("name", ["fat-tree", "subways-1"])
def test_a_broadcast_ends_in_a_lab_with_loops(name: str, lab: Callable[[Json], Lab]) -> None:
    with lab(NETWORKS[name]) as up:
        # In addition to the ARP request, each of some hundred new interfaces announces itself by
        # IPv6.
        assert ask_for_nobody(up) < 2_000


@pytest.mark.long
def test_bridges_in_a_loop_would_storm(lab: Callable[[Json], Lab]) -> None:
    """Shows that the test above can fail: with bridges as switches, the same request circulates
    forever."""
    built = lab({"family": "fat_tree", "ports": 4, "layers": 2})
    for node, body in built.topology["nodes"].items():
        if node.startswith("s"):
            links = (end for link in built.topology["links"] for end in link["endpoints"] if end["node"] == node)
            ports = [f"ip link set dev {end['interface']} master fabric up" for end in links]
            bridge = " && ".join(["ip link add name fabric type bridge", "ip link set dev fabric up", *ports])
            body["exec"] = [f"sh -c '{bridge}'"]
    with built as up:
        assert ask_for_nobody(up) > 10_000
