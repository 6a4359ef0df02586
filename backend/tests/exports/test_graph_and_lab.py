"""GraphML is read by NetworkX; the containerlab file obeys containerlab's and Linux's rules."""

from __future__ import annotations

import csv
import io
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import jsonschema_rs
import networkx as nx
import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.interfaces import interface_name
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans

NODE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
IFNAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,14}")


def check_graph(plan: PlanView, data: bytes) -> None:
    graph = nx.MultiGraph(nx.read_graphml(io.BytesIO(data), force_multigraph=True))
    names = plan.host_names
    assert set(graph.nodes) == set(names)
    expected = nx.MultiGraph()
    expected.add_nodes_from(names)
    ends = zip(plan.cables["a_device"].tolist(), plan.cables["b_device"].tolist(), strict=True)
    for i, (a, b) in enumerate(ends):
        expected.add_edge(names[a], names[b], key=plan.cable_name(i))
    assert {(frozenset(e[:2]), e[2]) for e in graph.edges(keys=True)} == {
        (frozenset(e[:2]), e[2]) for e in expected.edges(keys=True)
    }
    for i in range(plan.cable_count):
        a, b = names[plan.cables["a_device"][i]], names[plan.cables["b_device"][i]]
        edge = graph.edges[a, b, plan.cable_name(i)]
        assert edge["level"] == plan.cables["level"][i]
        assert edge["gbps"] == plan.gbps[i]
        assert edge["stock_metres"] == plan.cables["stock_mm"][i] / 1000


@pytest.mark.parametrize("name", some([*plans.SMALL, "paper"], 4))
def test_networkx_reads_the_plans_own_graph(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check_graph(plan(name), rendered("graphml", name))


@pytest.mark.long
def test_nodes_have_places_kinds_and_colours(
    plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    graph = nx.read_graphml(io.BytesIO(rendered("graphml", "paper")))
    assert graph.graph["name"] == plan("paper").name
    node = graph.nodes["s3-777"]
    assert (node["kind"], node["level"], node["label"], node["paper_name"]) == ("switch", 3, "s3-777", "<3,777>")
    assert graph.nodes["h0000"]["location"] == "R00-01A"
    places = Counter((data["x"], data["y"]) for _, data in graph.nodes(data=True))
    assert set(places.values()) == {1}, "two nodes coincide"


def test_hostile_names_stay_xml(hostile: PlanView) -> None:
    root = ElementTree.fromstring(b"".join(render("graphml", hostile)))
    namespace = "{http://graphml.graphdrawing.org/xmlns}"
    assert len(root.findall(f".//{namespace}node")) == 24
    check_graph(hostile, b"".join(render("graphml", hostile)))


SCHEMA = jsonschema_rs.validator_for(
    orjson.loads((Path(__file__).parent / "containerlab/clab.schema.json").read_bytes())
)


def check_lab(plan: PlanView, data: bytes) -> None:
    lab = yaml.load(data, yaml.CSafeLoader)
    SCHEMA.validate(lab)
    assert NODE.fullmatch(lab["name"])
    topology = lab["topology"]
    nodes = topology["nodes"]
    assert list(nodes) == plan.host_names
    ends: Counter[tuple[str, str]] = Counter()
    columns = zip(plan.cables["a_device"].tolist(), plan.cables["b_device"].tolist(), strict=True)
    for link, devices in zip(topology["links"], columns, strict=True):
        assert [end["node"] for end in link["endpoints"]] == [plan.host_names[device] for device in devices]
        for end in link["endpoints"]:
            assert IFNAME.fullmatch(end["interface"])
            ends[end["node"], end["interface"]] += 1
    assert set(ends.values()) <= {1}, "an interface has two links"
    # eth0 is the plan's own port name: containerlab takes it for management unless the node has no
    # such network.
    assert topology["defaults"]["network-mode"] == "none"
    interfaces: dict[str, list[str]] = {name: [] for name in nodes}
    for name, interface in ends:
        interfaces[name].append(interface)
    for name, node in nodes.items():
        commands = " ".join(node["exec"])
        for end in interfaces[name]:
            assert re.search(rf"ip link set dev {re.escape(end)} (up|master)", commands), "a port stays down"
        assert all(len(command) < 120_000 for command in node["exec"]), "too long for one word of a command"
    # containerlab expands $NAME and ${NAME} in the whole file first: only the image may hold one.
    text = data.decode()
    assert text.count("$") == 1
    assert "${CUBEYARD_LAB_IMAGE:=" in text


@pytest.mark.parametrize("name", some([*plans.SMALL, "paper"], 4))
def test_a_lab_has_every_device_and_link(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check_lab(plan(name), rendered("containerlab", name))


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_gives_a_legal_lab_and_graph(engine: Engine, spec: dict[str, object]) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check_lab(plan, b"".join(render("containerlab", plan)))
    check_graph(plan, b"".join(render("graphml", plan)))


def test_a_hostile_plan_name_expands_to_nothing(hostile: PlanView) -> None:
    check_lab(hostile, b"".join(render("containerlab", hostile)))


@pytest.mark.parametrize("name", ["subways", "torus", pytest.param("cube", marks=pytest.mark.long)])
def test_the_rates_join_the_lab_link_by_link(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    lab = yaml.load(rendered("containerlab", name), yaml.CSafeLoader)
    rates = list(csv.DictReader(io.StringIO(rendered("containerlab-rates", name).decode(), newline="")))
    for i, (link, row) in enumerate(zip(lab["topology"]["links"], rates, strict=True)):
        assert link["labels"]["cable"] == row["cable"]
        ends = [(end["node"], end["interface"]) for end in link["endpoints"]]
        assert ends == [(row["a_node"], row["a_interface"]), (row["b_node"], row["b_interface"])]
        assert int(row["rate_bits_per_sec"]) == plan(name).gbps[i] * 1e9
    if name == "subways":
        assert {row["rate_bits_per_sec"] for row in rates} == {"10000000000", "40000000000"}


@given(st.text())
def test_interface_names_are_legal_in_linux(port: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,15}", interface_name(port))


def test_port_names_are_the_plans() -> None:
    assert [interface_name(port) for port in ("eth0", "P7", "x+", "z-")] == ["eth0", "P7", "xp", "zm"]


def test_a_switch_is_a_bridge_only_where_servers_relay(rendered: Callable[[str, str], bytes]) -> None:
    """Bridges in a network with loops send each broadcast round for ever."""
    for name, bridges in (("dcell", True), ("fat-tree", False), ("subways", False), ("trunks", False)):
        lab = yaml.load(rendered("containerlab", name), yaml.CSafeLoader)
        commands = [" ".join(node["exec"]) for host, node in lab["topology"]["nodes"].items() if host.startswith("s")]
        assert commands
        assert all(("type bridge" in command) is bridges for command in commands), name


def test_the_rates_are_set_on_both_ends_of_each_link(
    plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    script = rendered("containerlab-rates-script", "subways").decode()
    calls = re.findall(r"^rate (\S+) (\S+) (\d+)$", script, re.MULTILINE)
    assert len(calls) == 2 * plan("subways").cable_count == len(set(calls))
    assert Counter(bits for *_, bits in calls) == Counter(
        str(round(gbps * 1e9)) for gbps in plan("subways").gbps for _ in "ab"
    )
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
