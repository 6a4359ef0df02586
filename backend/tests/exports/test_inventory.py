"""The cable graph, the inventories and the names in them, read as the programs that take them read
them."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable

import networkx as nx
import pydot
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.hostlist import hostlist
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans

# pydot still uses names that pyparsing has renamed.
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated - use")

Json = dict[str, object]
HOST = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
SAFE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def expand(text: str) -> list[str]:
    """Expands a host list like Slurm: brackets with numbers and ranges, with leading zeros kept."""
    out: list[str] = []
    for word in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        stem, _, inside = word.partition("[")
        if not inside:
            out.append(stem)
            continue
        for piece in inside.removesuffix("]").split(","):
            first, _, last = piece.partition("-")
            out += [f"{stem}{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    return out


@given(st.lists(st.from_regex(r"[hs][0-9]{1,4}(-[0-9]{1,4}){0,3}", fullmatch=True), unique=True))
def test_a_host_list_expands_to_the_same_hosts(hosts: list[str]) -> None:
    assert sorted(expand(hostlist(hosts))) == sorted(hosts)


def test_runs_of_hosts_fold() -> None:
    assert hostlist(["h0000", "h0001", "h0002", "h0010"]) == "h[0000-0002,0010]"
    assert hostlist(["h2-9", "h2-10", "h2-11", "h3-0"]) == "h2-9,h2-[10-11],h3-0"


def check_dot(plan: PlanView, data: bytes) -> None:
    """Graphviz' own grammar, by another parser: each device once, each cable once with its two
    ports."""
    (graph,) = pydot.graph_from_dot_data(data.decode())
    hosts = plan.host_names
    nodes = {node.get_name().strip('"') for node in graph.get_nodes()}
    assert nodes == set(hosts)
    drawn = {node.get_name().strip('"'): re.findall(r"<([^>]+)>", node.get("label")) for node in graph.get_nodes()}
    ends: Counter[tuple[str, str]] = Counter()
    pairs: Counter[frozenset[str]] = Counter()
    for edge in graph.get_edges():
        matches = [
            re.fullmatch(r'"([^"]+)":"([^"]+)"', str(end)) for end in (edge.get_source(), edge.get_destination())
        ]
        a, b = ((item[1], item[2]) for item in matches if item)
        ends.update([a, b])
        pairs[frozenset((a[0], b[0]))] += 1
    assert set(ends.values()) <= {1}, "a port has two cables"
    assert sorted(ends) == sorted((host, port) for host, ports in drawn.items() for port in ports), "dot would warn"
    if dot := shutil.which("dot"):
        done = subprocess.run([dot, "-Tplain"], input=data, capture_output=True, check=True)
        assert done.stderr == b""
    columns = zip(plan.cables["a_device"].tolist(), plan.cables["b_device"].tolist(), strict=True)
    assert pairs == Counter(frozenset((hosts[a], hosts[b])) for a, b in columns)


# The parser takes seconds for a thousand cables.
@pytest.mark.parametrize("name", some([name for name in plans.SMALL if name not in ("subways", "fat-tree")], 2))
def test_graphviz_reads_every_cable(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check_dot(plan(name), rendered("dot", name))


def test_graphviz_reads_every_cable_of_a_fat_tree(engine: Engine) -> None:
    view = plans.compute(engine, {"family": "fat_tree", "ports": 4, "layers": 3}, "current-2026")
    check_dot(view, b"".join(render("dot", view)))


def check_ansible(plan: PlanView, data: bytes) -> None:
    inventory = yaml.load(data, yaml.CSafeLoader)["all"]
    assert list(inventory["hosts"]) == plan.host_names
    devices = plan.scene["devices"]
    for i, variables in enumerate(inventory["hosts"].values()):
        assert variables["paper_name"] == devices["name"][i]
        assert (variables["rack"], variables["unit"]) == (plan.rack_names[devices["rack"][i]], devices["unit"][i])
    lines = b"".join(render("hosts", plan)).decode().splitlines()
    hosts_file = {line.split()[1]: line.split()[0] for line in lines if not line.startswith("#")}
    assert inventory["vars"] == {"ansible_host": "{{ address }}"}
    assert {host: variables["address"] for host, variables in inventory["hosts"].items()} == hosts_file
    groups = inventory["children"]
    assert all(re.fullmatch(r"[a-z_][a-z0-9_]*", group) for group in groups)
    racks: Counter[str] = Counter()
    for group, body in groups.items():
        if group.startswith("rack_"):
            racks.update(list(body["hosts"]))
    assert racks == Counter(plan.host_names), "each device is in one rack's group"
    assert len(groups["servers"]["hosts"]) == plan.summary["counts"]["servers"]


def check_slurm(plan: PlanView, data: bytes) -> None:
    """Each server below one switch, and all switches below one."""
    nodes: Counter[str] = Counter()
    switches: list[str] = []
    above: list[str] = []
    for line in data.decode().splitlines():
        if line.startswith("#"):
            continue
        name, what = re.fullmatch(r"SwitchName=(\S+) (Nodes=\S+|Switches=\S+)", line).groups()  # pyright: ignore[reportOptionalMemberAccess]
        kind, _, text = what.partition("=")
        if kind == "Nodes":
            switches.append(name)
            nodes.update(expand(text))
        else:
            above += expand(text)
    kinds = plan.scene["devices"]["kind"]
    assert nodes == Counter(host for host, kind in zip(plan.host_names, kinds, strict=True) if not kind)
    assert len(switches) == 1 or sorted(above) == sorted(switches)


def check_kubernetes(plan: PlanView, data: bytes) -> None:
    nodes = [node for node in yaml.load_all(data, yaml.CSafeLoader) if node]
    kinds = plan.scene["devices"]["kind"]
    assert [node["metadata"]["name"] for node in nodes] == [
        host for host, kind in zip(plan.host_names, kinds, strict=True) if not kind
    ]
    for node in nodes:
        assert (node["apiVersion"], node["kind"]) == ("v1", "Node")
        assert len(node["metadata"]["labels"]) == 3
        assert all(SAFE.fullmatch(value) for value in node["metadata"]["labels"].values())


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_gives_inventories_that_hold_every_server_once(engine: Engine, spec: Json) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    assert all(HOST.fullmatch(host) for host in plan.host_names)
    check_ansible(plan, b"".join(render("ansible", plan)))
    check_slurm(plan, b"".join(render("slurm", plan)))
    check_kubernetes(plan, b"".join(render("kubernetes", plan)))


def test_neighbours_share_a_switch_of_the_lowest_level(rendered: Callable[[str, str], bytes]) -> None:
    lines = rendered("slurm", "paper").decode().splitlines()
    assert "SwitchName=s0-000 Nodes=h[0000-0007]" in lines
    assert "SwitchName=r00 Nodes=h" in rendered("slurm", "torus").decode(), (
        "no switches: the neighbours are those of a rack"
    )


def test_the_prefix_of_the_site_is_in_every_file(engine: Engine) -> None:
    spec: Json = {"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"host_prefix": "dc-a"}}
    plan = plans.compute(engine, spec, "current-2026")
    for wanted in (
        "csv",
        "labels",
        "graphml",
        "dot",
        "ansible",
        "slurm",
        "kubernetes",
        "containerlab",
        "netbox",
        "json",
    ):
        data = b"".join(render(wanted, plan))
        if wanted != "netbox":
            assert b"dc-a-" in data, wanted
    graph = nx.MultiGraph(nx.nx_pydot.read_dot(io.StringIO(b"".join(render("dot", plan)).decode())))
    assert "dc-a-h00" in graph
