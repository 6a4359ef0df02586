"""Every format gives the same small network; differences between formats are reported."""

from __future__ import annotations

import warnings

import pydot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.kit.errors import ProblemError
from cubeyard.topologies.readers import detect, dot
from tests.conftest import examples
from tests.topologies.files import CONTAINERLAB, CSV, FILES, GRAPHML, imported, links, roles

ROLES = {"web1": "server", "web2": "server", "leaf1": "switch", "leaf2": "switch", "spine1": "switch"}
ENDS = sorted((("leaf1", "web1"), ("leaf2", "web2"), ("leaf1", "spine1"), ("leaf2", "spine1")))


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_network(name: str) -> None:
    result = imported(FILES[name], name)
    assert roles(result.spec) == ROLES
    assert [(a[0], b[0]) for a, b in links(result.spec)] == ENDS
    assert (("leaf1", "swp3"), ("web1", "eth1")) in links(result.spec) or name == "small.gexf"
    reported = sorted(rate.gbps for rate in result.rates for _ in range(rate.links))
    if not name.startswith("netbox"):
        assert reported == [10, 10, 40, 40]
    assert result.findings == []
    assert [node["role"] for node in result.spec["nodes"]] == ["server"] * 2 + ["switch"] * 3


@pytest.mark.parametrize("name", FILES)
def test_the_content_says_the_format_without_the_file_s_name(name: str) -> None:
    assert imported(FILES[name]).spec == imported(FILES[name], name).spec


def test_assumptions_about_a_file_are_reported() -> None:
    result = imported(CONTAINERLAB, "x.yml")
    assert result.left_out == ["A link to the host, a management network or a tunnel: line 17."]
    assert result.assumed == ["1 link without a rate: 10 Gb/s assumed."]
    netbox = imported(FILES["netbox.csv"])
    assert netbox.left_out == ["It is no cable between two interfaces (dcim.powerport): line 6."]
    assert [(item.where, item.reason) for item in netbox.skipped] == [
        ("line 6", "It is no cable between two interfaces (dcim.powerport).")
    ]
    assert netbox.assumed == ["4 links without a rate: 10 Gb/s assumed."]
    assert imported(FILES["netbox.csv"], link_gbps=25).spec["link_gbps"] == 25


def test_two_directions_are_one_link_and_parallel_links_stay() -> None:
    directed = GRAPHML.replace(b'"undirected"', b'"directed"')
    back = directed.replace(
        b"</graph>", b'<edge source="leaf1" target="web1"/><edge source="spine1" target="leaf1"/></graph>'
    )
    assert [(a[0], b[0]) for a, b in links(imported(back).spec)] == ENDS
    assert imported(back).assumed == ["2 links back along one that is there already: both directions are one link."]
    undirected = GRAPHML.replace(b"</graph>", b'<edge source="spine1" target="leaf1"/></graph>')
    assert len(imported(undirected).spec["links"]) == 5


def test_a_list_that_has_each_link_from_both_ends_has_it_once() -> None:
    rows = [("leaf1", "web1"), ("leaf1", "web2"), ("leaf1", "leaf2"), ("leaf2", "web3"), ("leaf1", "leaf2")]
    text = "".join(f"{a},{b}\n" for a, b in [("source", "target"), *rows, *((b, a) for a, b in rows)])
    both = imported(text.encode())
    assert len(both.spec["links"]) == len(rows)
    assert both.assumed[0].startswith("5 links back along one")
    # One row without its reverse shows that each row is a link.
    assert len(imported(f"{text}leaf2,web4\n".encode()).spec["links"]) == 2 * len(rows) + 1


def test_lldp_tells_a_link_twice() -> None:
    text = b"""{"web1": {"lldp": {"interface": {"eth1": {"chassis": {"leaf1": {}}, "port": {"id": {"type": "ifname", "value": "swp3"}}}}}},
      "leaf1": {"lldp": {"interface": {"swp3": {"chassis": {"web1": {}}, "port": {"id": {"type": "ifname", "value": "eth1"}}}}}}}"""
    result = imported(text)
    assert links(result.spec) == [(("leaf1", "swp3"), ("web1", "eth1"))]
    assert result.format == "lldp"


def test_loops_and_lonely_nodes_are_left_out_by_name() -> None:
    text = CSV + b"leaf1,leaf1,10G,,\r\n"
    assert imported(text).left_out == ["A link from a node to itself: line 6 (leaf1)."]
    lonely = GRAPHML.replace(b"</graph>", b'<node id="alone"/></graph>')
    assert imported(lonely).left_out == ["A node without a link: alone."]


def test_names_become_host_names_and_labels_count_for_ids_of_programs() -> None:
    result = imported(b"source,target\nWeb 1,Leaf_1\nweb-1,Leaf_1\n12,Leaf_1\n\xc3\xa4,Leaf_1\n")
    assert list(roles(result.spec)) == ["web-1-2", "web-1", "n12", "a", "leaf-1"]
    assert result.assumed[0].startswith("4 names changed into host names")
    assert "Nodes are called by their labels" in imported(FILES["small.gexf"]).assumed[0]
    dashes = imported("source,target\nleaf\u20131,web\u22121\n".encode())
    assert sorted(node["name"] for node in dashes.spec["nodes"]) == ["leaf-1", "web-1"]


def test_a_port_with_two_links_is_told() -> None:
    result = imported(b"source,target,a_port\nweb1,leaf1,eth0\nweb1,leaf2,eth0\n")
    assert [finding.code for finding in result.findings] == ["port-twice"]
    assert "a_port" not in result.spec["links"][1]


@pytest.mark.parametrize(
    ("data", "field", "message"),
    [
        (b"", "body.file", "It is empty."),
        (b"a,b\n1,2\n", None, None),
        (b"x,y\n1,2\n", "body.line 1", "No row has the columns"),
        (b"source,target\nweb1,\n", "body.line 2, column target", "The cell is empty."),
        (b"source,target\nweb1,web1\n", "body.file", "no links"),
        (b"<graphml><graph>", "body.line 1, column 17", "It is not XML"),
        (b"<graphml/>", "body.element graphml", "no <graph>"),
        (b"<other/>", "body.file", "neither GraphML nor GEXF"),
        (b"graph { a -- }", "body.line 1", "A name is expected"),
        (b"graph {\n a -- b\n", "body.line 3", "not closed"),
        (b"graph { a -- b } x", "body.line 1", "Something follows"),
        (b"graph { a ? b }", "body.line 1", "'?' is not expected"),
        (b"topology:\n  nodes: []\n", "body.line 2", "must be a mapping"),
        (b"topology:\n  nodes: {a: }\n  links:\n  - {endpoints: [a:1, b:1]}\n", "body.line 4", "names the node 'b'"),
        (b"topology: {nodes: {a: {kind: linux}}, links: [{endpoints: [a]}]}", "body.line 1", "two endpoints"),
        (b"topology: [\n", None, "It is not YAML"),
        (b'{"results": [{"a_terminations": 1}]}', "body.results[0]", "no cable between two interfaces"),
        (b'{"results": 3, "a_terminations": 1}', "body.results", "no list of cables"),
        (b'{"a_terminations": ', "body.line 1, column 20", "not JSON"),
    ],
)
def test_mistakes_are_told_by_their_place(data: bytes, field: str | None, message: str | None) -> None:
    if message is None:
        assert imported(data).counts.links == 1
        return
    with pytest.raises(ProblemError) as refused:
        imported(data)
    assert refused.value.status == 422
    assert message in refused.value.errors[0].message
    if field is not None:
        assert refused.value.errors[0].field == field


def test_edges_name_nodes_that_are_there() -> None:
    with pytest.raises(ProblemError) as refused:
        imported(GRAPHML.replace(b'<edge source="spine1"', b'<edge source="spine9"'))
    assert refused.value.errors[0].line == 14
    assert "'spine9'" in refused.value.errors[0].message


def test_the_format_can_be_given() -> None:
    assert detect(CSV) == "csv"
    with pytest.raises(ProblemError):
        imported(CSV, format="gexf")


_names = st.sampled_from(["a", "b", "c1", '"d e"', "_f", "7", '"g\\"h"'])
_attributes = st.sampled_from(["", " [role=server]", ' [gbps="10", x=y]', " [a=b][c=d]"])


@st.composite
def _statements(draw: st.DrawFn, depth: int = 2) -> str:
    parts: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 3 if depth else 2))
        if kind == 0:
            parts.append(draw(_names) + draw(_attributes))
        elif kind == 1:
            parts.append(" -- ".join(draw(st.lists(_names, min_size=2, max_size=4))) + draw(_attributes))
        elif kind == 2:
            parts.append(f"{draw(_names)}:p{draw(st.integers(0, 3))} -- {draw(_names)}")
        else:
            parts.append(f"subgraph s{draw(st.integers(0, 9))} {{ {draw(_statements(depth - 1))} }}")
    return draw(st.sampled_from(["; ", "\n"])).join(parts)


def _pydot(text: str) -> tuple[set[str], list[tuple[str, str]]]:
    """Names and edges as pydot reads them."""

    def plain(words: object) -> str:
        name = str(words)
        if name.startswith('"'):
            return name[1 : name.rindex('"')].replace('\\"', '"')
        return name.partition(":")[0]

    nodes: set[str] = set()
    edges: list[tuple[str, str]] = []

    def walk(graph: pydot.Graph) -> None:
        nodes.update(plain(node.get_name()) for node in graph.get_nodes())
        for edge in graph.get_edges():
            pair = plain(edge.get_source()), plain(edge.get_destination())
            nodes.update(pair)
            edges.append(pair)
        for inner in graph.get_subgraphs():
            walk(inner)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graphs = pydot.graph_from_dot_data(text)
    assert graphs
    walk(graphs[0])
    return nodes, sorted(edges)


@settings(max_examples=examples(10), deadline=None)
@given(_statements())
def test_dot_is_read_as_pydot_reads_it(statements: str) -> None:
    text = f"graph g {{ {statements} }}"
    network = dot.read(text.encode())
    assert (set(network.nodes), sorted((edge.a, edge.b) for edge in network.edges)) == _pydot(text)
