"""Labs deployed by the real containerlab, where the environment names it:
`CONTAINERLAB=... make test TEST=containerlab`.

Needs root and a Docker engine, or `dockerd` to start one. containerlab is a single program: a
release of it, or `go build github.com/srl-labs/containerlab`. The lab's image is made of this
machine's own programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.clab import IMAGE
from tests.deployment.engine import Docker, call, docker_engine
from tests.emulation.real.images import image_of
from tests.exports import plans

CONTAINERLAB = os.environ.get("CUBEYARD_TEST_CONTAINERLAB", "")
pytestmark = pytest.mark.skipif(
    not CONTAINERLAB,
    reason="no containerlab: name the program in CONTAINERLAB, and run make test TEST=containerlab",
)
SPECS: dict[str, dict[str, Any]] = {
    "bcube": {"family": "bcube", "n": 2, "k": 1},
    "dcell": {"family": "dcell", "n": 2, "k": 1},
    "torus": {"family": "torus3d", "x": 2, "y": 2, "z": 2},
    "fat-tree": {"family": "fat_tree", "ports": 4, "layers": 3},
    "leaf-spine": {"family": "leaf_spine", "leaves": 2, "spines": 2, "servers_per_leaf": 2, "uplinks_per_spine": 2},
    "subways-0": {"family": "subways", "type": 0, "p": 2, "q": 4, "l": 2, "c": 1, "clusters": 1},
    "subways-1": {"family": "subways", "type": 1, "p": 2, "q": 4, "l": 3, "c": 1, "clusters": 1},
    "tree": {"family": "tree", "edge_ports": 4, "servers": 6},
}
PACKETS_PER_PING = 60
"""Sent over all ports for one ping and its answer: two for each of the hops, and what resolves
addresses. A storm sends millions."""


@pytest.fixture(scope="module")
def docker() -> Iterator[Docker]:
    folder = Path(tempfile.mkdtemp(prefix="cubeyard-lab-"))
    with docker_engine(folder) as engine:
        image_of(engine, folder, "sh", "ip", "ping", "tc", "sleep", name=IMAGE, command=["sleep", "infinity"])
        yield engine
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", SPECS)
def test_any_two_servers_of_a_deployed_lab_reach_each_other(
    engine: Engine, docker: Docker, tmp_path: Path, name: str
) -> None:
    """From its own routes, without a storm, and still so with the rates of its links set."""
    plan = plans.compute(engine, SPECS[name], "current-2026", f"lab {name}")
    (tmp_path / "lab.clab.yml").write_bytes(b"".join(render("containerlab", plan)))
    (tmp_path / "rates.sh").write_bytes(b"".join(render("containerlab-rates-script", plan)))
    lab = yaml.safe_load((tmp_path / "lab.clab.yml").read_text())
    if not _may_be_privileged():
        lab["topology"]["defaults"] |= {"privileged": False, "cap-add": ["NET_ADMIN", "NET_RAW"]}
        (tmp_path / "lab.clab.yml").write_text(yaml.safe_dump(lab, sort_keys=False))
    nodes = lab["topology"]["nodes"]
    servers = {node: fields["labels"]["address"] for node, fields in nodes.items() if node.startswith("h")}

    def within(node: str, *command: str) -> str:
        return docker.run("exec", f"clab-{lab['name']}-{node}", *command).stdout

    containerlab = [CONTAINERLAB, "--runtime", "docker"]
    call([*containerlab, "deploy", "-t", "lab.clab.yml"], environment=docker.environment, cwd=tmp_path)
    try:
        for divisor in (None, "1000"):
            if divisor:
                call(["sh", "rates.sh"], environment={**docker.environment, "RATE_DIVISOR": divisor}, cwd=tmp_path)
            before = _sent(within, nodes)
            for node in servers:
                others = [address for other, address in servers.items() if other != node]
                lost = within(
                    node, "sh", "-c", f"for a in {' '.join(others)}; do ping -nqc1 -W5 $a >/dev/null || echo $a; done"
                )
                assert lost == "", f"{node} does not reach {lost}"
            pings = len(servers) * (len(servers) - 1)
            assert _sent(within, nodes) - before < PACKETS_PER_PING * pings, "a storm"
    finally:
        call(
            [*containerlab, "destroy", "-t", "lab.clab.yml", "--cleanup"], environment=docker.environment, cwd=tmp_path
        )


def _may_be_privileged() -> bool:
    """Whether this machine can give a container all rights, which containerlab does by default; one
    in a sandbox cannot."""
    held = re.search(r"^CapBnd:\s+(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    return held is not None and int(held[1], 16) == (1 << (last + 1)) - 1


def _sent(within: Callable[..., str], nodes: dict[str, Any]) -> int:
    """Packets that all ports of all nodes have sent."""
    return sum(
        port["stats64"]["tx"]["packets"]
        for node in nodes
        for port in json.loads(within(node, "ip", "-s", "-j", "link"))
    )
