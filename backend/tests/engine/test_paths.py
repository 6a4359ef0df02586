"""Parallel paths of two servers, against the minimum-cost flow of networkx."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine, PlanRejectedError
from tests.conftest import examples

SPECS: list[dict[str, Any]] = [
    {"family": "bcube", "n": 4, "k": 1},
    {"family": "bcube", "n": 3, "k": 2, "servers": 18},
    {"family": "dcell", "n": 3, "k": 1},
    {"family": "dcell", "n": 2, "k": 2, "servers": 30},
    {"family": "torus3d", "x": 3, "y": 3, "z": 2},
    {"family": "fat_tree", "ports": 4, "layers": 3},
    {"family": "tree", "edge_ports": 4, "servers": 14},
    {"family": "leaf_spine", "leaves": 3, "spines": 2, "servers_per_leaf": 3, "uplinks_per_spine": 2},
    {"family": "torus2d", "x": 3, "y": 4},
    {"family": "jellyfish", "switches": 6, "ports": 5, "servers_per_switch": 2},
    {"family": "dragonfly", "a": 2, "p": 2, "h": 1},
    {"family": "subways", "type": 1, "p": 2, "q": 4, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2},
]
RELAYING = {"bcube", "dcell", "torus2d", "torus3d"}


def edges_of(engine: Engine, spec: dict[str, Any]) -> tuple[list[str], int, list[tuple[int, int]]]:
    """Names of nodes, how many are servers, and the ends of every link."""
    topology = engine.topology(spec)
    a, b, _ = topology.edges()
    return (
        topology.names(0, topology.node_count),
        int(json.loads(topology.counts_json())["servers"]),
        list(zip(a.tolist(), b.tolist(), strict=True)),
    )


def reference(
    spec: dict[str, Any], servers: int, edges: list[tuple[int, int]], ends: tuple[int, int], gone: set[int]
) -> tuple[int, int]:
    """How many paths there are, and their links in all, by a flow of least cost: each node carries
    one path, the ends any number."""
    relays = spec["family"] in RELAYING
    live = [edge for i, edge in enumerate(edges) if i not in gone]
    live = [edge for edge in live if all(relays or node >= servers or node in ends for node in edge)]

    def stub(server: int, other: int) -> tuple[int, int]:
        """Where paths part, and the links up to there: a server's only neighbour if it has one
        cable."""
        planned = sum(server in edge for edge in edges)
        near = [b if a == server else a for a, b in live if server in (a, b)]
        return (near[0], 1) if planned == 1 and near and near[0] != other else (server, 0)

    (first, before), (last, after) = stub(ends[0], ends[1]), stub(ends[1], ends[0])
    if first == last:
        return 1, before + after
    graph = nx.DiGraph()
    graph.add_nodes_from([("out", first), ("in", last)])
    for node in {node for edge in live for node in edge} - {first, last}:
        graph.add_edge(("in", node), ("out", node), capacity=1, weight=0)
    for a, b in live:
        for here, there in ((a, b), (b, a)):
            if here == last or there == first:
                continue
            capacity = graph.get_edge_data(("out", here), ("in", there), {"capacity": 0})["capacity"]
            graph.add_edge(("out", here), ("in", there), capacity=capacity + 1, weight=1)
    flow = nx.max_flow_min_cost(graph, ("out", first), ("in", last))
    count = sum(flow[("out", first)].values())
    cost = sum(graph.edges[u, v]["weight"] * amount for u, out in flow.items() for v, amount in out.items())
    return count, cost + count * (before + after)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec['family']}-{spec.get('n', spec.get('ports', ''))}")
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_paths_are_as_many_and_as_short_as_the_flow_of_least_cost(
    engine: Engine, spec: dict[str, Any], data: st.DataObject
) -> None:
    names, servers, edges = edges_of(engine, spec)
    source, destination = data.draw(st.permutations(range(servers)))[:2]
    gone = data.draw(st.sets(st.integers(0, len(edges) - 1), max_size=len(edges) // 3))
    pairs = {frozenset(edges[i]) for i in gone}
    gone = {
        i for i, edge in enumerate(edges) if frozenset(edge) in pairs
    }  # a name means every link between two devices
    without = sorted({f"{names[a]}/{names[b]}" for a, b in (edges[i] for i in gone)})[:100]
    result = engine.paths_between(spec, names[source], names[destination], without)
    count, links = reference(spec, servers, edges, (source, destination), gone)
    assert (len(result["paths"]), sum(len(path["links"]) for path in result["paths"])) == (count, links)
    assert (result["reason"] is None) == (count > 0)
    for path in result["paths"]:
        assert path["devices"][0] == names[source]
        assert path["devices"][-1] == names[destination]
        for link, ends in zip(path["links"], pairwise(path["devices"]), strict=True):
            assert {names[end] for end in edges[link]} == set(ends)
            assert link not in gone


def test_the_example_of_the_bcube_paper(engine: Engine) -> None:
    """Between servers 00 and 11 of a BCube(4,1): two paths, over 01 and over 10 [bcube §3.2]."""
    result = engine.paths_between({"family": "bcube", "n": 4, "k": 1}, "00", "11")
    assert [path["devices"] for path in result["paths"]] == [
        ["00", "<0,0>", "01", "<1,1>", "11"],
        ["00", "<1,0>", "10", "<0,1>", "11"],
    ]
    item = engine.paths_between({"family": "bcube", "n": 4, "k": 1}, "h00", "h11", ["00/<0,0>"])
    assert [path["devices"] for path in item["paths"]] == [["00", "<1,0>", "10", "<0,1>", "11"]]


@pytest.mark.parametrize(
    ("ends", "without", "where"),
    [
        (("00", "99"), [], "destination"),
        (("<0,0>", "01"), [], "source"),
        (("00", "00"), [], "destination"),
        (("00", "01"), ["nothing"], "without"),
        (("00", "01"), ["00/11"], "without"),
    ],
)
def test_what_is_not_there_is_refused_by_name(
    engine: Engine, ends: tuple[str, str], without: list[str], where: str
) -> None:
    with pytest.raises(PlanRejectedError) as refused:
        engine.paths_between({"family": "bcube", "n": 4, "k": 1}, *ends, without)
    (finding,) = refused.value.findings
    assert finding["where"] == where
    assert finding["hint"]
