"""Files of other programs and people, each with the expected network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from cubeyard.kit.errors import ProblemError
from tests.reading.books import workbook
from tests.topologies.files import imported, links, roles

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def names(data: bytes, name: str = "") -> list[str]:
    return sorted(node["name"] for node in imported(data, name).spec["nodes"])


def graphml(keys: str, nodes: dict[str, str], edges: list[tuple[str, str, str]], root: str = GRAPHML) -> bytes:
    """Nodes and edges with the inner XML of each."""
    inner = "".join(f'<node id="{name}">{data}</node>' for name, data in nodes.items())
    inner += "".join(f'<edge source="{a}" target="{b}">{data}</edge>' for a, b, data in edges)
    return f'{root}{keys}<graph edgedefault="undirected">{inner}</graph></graphml>'.encode()


STAR = [("n1", "n0", ""), ("n2", "n0", "")]


@pytest.mark.parametrize(
    "attribute", ["label", "name", "shared name", "nodeName", "node_label", "sysName", "_nx_name", "HostName"]
)
@pytest.mark.parametrize("root", [GRAPHML, "<graphml>", '<g:graphml xmlns:g="urn:x">'])
def test_names_for_people_are_found_in_any_name_space(attribute: str, root: str) -> None:
    nodes = {f"n{i}": f'<data key="l">{name}</data>' for i, name in enumerate(("leaf1", "web1", "web2"))}
    data = graphml(f'<key id="l" for="node" attr.name="{attribute}" attr.type="string"/>', nodes, STAR, root)
    if root.startswith("<g:"):
        data = data.replace(b"</graphml>", b"</g:graphml>")
    assert names(data) == ["leaf1", "web1", "web2"]


def test_labels_are_numbered_only_where_they_are_double() -> None:
    nodes = {str(i): f'<data key="l">{label}</data>' for i, label in enumerate(("Pop A", "Pop B", "None", "None", ""))}
    edges = [("0", "1", ""), ("0", "2", ""), ("1", "3", ""), ("1", "4", "")]
    result = imported(graphml('<key id="l" for="node" attr.name="label"/>', nodes, edges))
    assert sorted(roles(result.spec)) == ["n4", "none", "none-2", "pop-a", "pop-b"]
    assert any("label of several nodes, which are numbered: None" in sentence for sentence in result.assumed)


@pytest.mark.parametrize("ids", ["012", "abc", ("0.0", "1.0", "2.0"), ("n0", "n1", "n2")])
@pytest.mark.parametrize("label", ["{}", "{}\n10.0.0.1", "<b>{}</b><br/>rack 1", "{}\\nrack 1", "{{{}|<p> Et1}}"])
def test_a_name_is_the_first_line_of_a_label_without_its_markup(ids: Sequence[str], label: str) -> None:
    nodes = "".join(
        f'"{at}" [label="{label.format(name)}"];' for at, name in zip(ids, ("leaf1", "web1", "web2"), strict=True)
    )
    data = f'graph {{ {nodes} "{ids[0]}" -- "{ids[1]}" [label="Et1\\n25G"]; "{ids[0]}" -- "{ids[2]}" }}'.encode()
    assert names(data) == ["leaf1", "web1", "web2"]
    assert {rate.gbps: rate.told for rate in imported(data).rates} == {25: True, 10: False}


def test_first_lines_that_several_labels_have_are_no_names() -> None:
    assert names(b'graph { 1 [label="rack\\nleaf1"]; 2 [label="rack\\nweb1"]; 1 -- 2 }') == ["rack-leaf1", "rack-web1"]


def test_rates_in_yed_s_labels_of_edges_are_read() -> None:
    drawn = '<data key="d"><y:PolyLineEdge xmlns:y="urn:y"><y:EdgeLabel>{}</y:EdgeLabel></y:PolyLineEdge></data>'
    data = graphml(
        "",
        {"leaf1": "", "web1": "", "web2": ""},
        [("leaf1", "web1", drawn.format("100 Gbit/s")), ("leaf1", "web2", drawn.format("Et1 - e0"))],
    )
    assert {rate.gbps: rate.told for rate in imported(data).rates} == {100: True, 10: False}


def test_attributes_that_nothing_reads_may_have_any_type() -> None:
    keys = '<key id="p" for="node" attr.name="pos" attr.type="vector_float"/><key id="r" for="node" attr.name="role"/>'
    nodes = {f"n{i}": f'<data key="p">1, 2</data><data key="r">{role}</data>' for i, role in enumerate(("switch", "server", "server"))}  # fmt: skip
    assert roles(imported(graphml(keys, nodes, STAR)).spec) == {"n0": "switch", "n1": "server", "n2": "server"}


@pytest.mark.parametrize("kind", ["folder", "group"])
def test_groups_are_read_open_or_closed(kind: str) -> None:
    def drawn(label: str) -> str:
        return f'<data key="d"><y:ShapeNode xmlns:y="urn:y"><y:NodeLabel>{label}</y:NodeLabel></y:ShapeNode></data>'

    inner = f'<node id="n0::n0">{drawn("leaf-1")}</node><node id="n0::n1">{drawn("web-1")}</node><edge id="n0::e0" source="n0::n1" target="n0::n0"/>'  # fmt: skip
    data = (
        f'{GRAPHML}<graph edgedefault="undirected"><node id="n0" yfiles.foldertype="{kind}">{drawn("Rack A")}'
        f'<graph edgedefault="undirected">{inner}</graph></node><node id="n1">{drawn("spine-1")}</node>'
        '<edge id="e0" source="n0::n0" target="n1"/></graph></graphml>'
    )
    result = imported(data.encode())
    assert sorted(roles(result.spec)) == ["leaf-1", "spine-1", "web-1"]
    assert [entry.reason for entry in result.skipped] == ["A node without a link."]


@pytest.mark.parametrize(
    "space", ["http://www.gexf.net/1.3", "http://gexf.net/1.3", "http://www.gexf.net/1.1draft", ""]
)
def test_gexf_of_every_version_is_read(space: str) -> None:
    viz = ' xmlns:viz="http://www.gexf.net/1.3/viz"'
    nodes = "".join(f'<node id="{i}" label="{name}"><viz:size value="1"/></node>' for i, name in enumerate(("leaf1", "web1", "web2")))  # fmt: skip
    edges = '<edge id="0" source="0" target="1" weight="1.0"/><edge id="1" source="0" target="2" kind="cable"/>'
    xmlns = f' xmlns="{space}"' if space else ""
    data = f'<gexf{xmlns}{viz}><graph defaultedgetype="undirected"><nodes>{nodes}</nodes><edges>{edges}</edges></graph></gexf>'
    assert names(data.encode()) == ["leaf1", "web1", "web2"]


def test_rates_beyond_our_range_are_the_nearest_with_that_reason() -> None:
    keys = '<key id="r" for="edge" attr.name="LinkSpeedRaw"/>'
    nodes = dict.fromkeys(("pop1", "pop2", "site1", "site2"), "")
    rates = ("2000000.0", "64000.0", "3200000000000")
    edges = [(a, b, f'<data key="r">{rate}</data>') for (a, b), rate in zip((("pop1", "pop2"), ("pop1", "site1"), ("pop2", "site2")), rates, strict=True)]  # fmt: skip
    result = imported(graphml(keys, nodes, edges))
    assert sorted((rate.gbps, rate.told) for rate in result.rates) == [(0.001, True), (0.002, True), (1600, True)]
    (finding,) = [entry for entry in result.findings if entry.code == "rates-out-of-range"]
    assert "64 kb/s" in finding.message
    assert "3.2 Tb/s" in finding.message


@pytest.mark.parametrize(
    ("written", "gbps"),
    [
        ("2,5 Gbit/s", 2.5),
        ("2 x 10 Gbps", 20),
        ("100Mb/s", 0.1),
        ("10GBASE-T", 10),
        ("NaN", None),
        ("-", None),
        ("1.6T", 1600),
    ],
)
def test_rates_as_people_write_them(written: str, gbps: float | None) -> None:
    result = imported(f'source;target;speed\nweb1;leaf1;"{written}"\n'.encode())
    (rate,) = result.rates
    assert (rate.gbps, rate.told) == ((gbps, True) if gbps else (10, False))
    assert result.findings == []


def clab(nodes: str) -> bytes:
    ends = [("r1", "r2"), ("r2", "r3"), ("r3", "r1"), ("c1", "r1"), ("c2", "r3")]
    lines = "".join(f'    - endpoints: ["{a}:e{i}", "{b}:f{i}"]\n' for i, (a, b) in enumerate(ends))
    return f"name: ring\ntopology:\n{nodes}  links:\n{lines}".encode()


@pytest.mark.parametrize(
    "image",
    [
        "quay.io/frrouting/frr:10.1.0",
        "bird:2.15",
        "vyos/vyos:1.5",
        "myfrr:1",
        "frr8",
        "local/alpine-router",
        "crpd:23",
        "p4lang/stratum-bmv2",
    ],
)
def test_a_container_with_a_router_s_image_is_a_switch(image: str) -> None:
    own = "".join(f"    r{i}: {{kind: linux}}\n" for i in (1, 2, 3)) + "".join(f"    c{i}: {{kind: linux, image: alpine}}\n" for i in (1, 2))  # fmt: skip
    result = imported(clab(f"  kinds: {{linux: {{image: '{image}'}}}}\n  nodes:\n{own}"))
    assert roles(result.spec) == {"c1": "server", "c2": "server", "r1": "switch", "r2": "switch", "r3": "switch"}


@pytest.mark.parametrize(
    "setting",
    ['binds: ["./daemons:/etc/frr/daemons"]', "sysctls: {net.ipv4.ip_forward: 1}", 'exec: ["sysctl -w net.ipv4.ip_forward=1"]', 'exec: ["vtysh -c conf"]'],
)  # fmt: skip
def test_a_container_that_forwards_is_a_switch(setting: str) -> None:
    own = "".join(f"    r{i}: {{kind: linux, image: alpine, {setting}}}\n" for i in (1, 2, 3)) + "    c1: {kind: linux}\n    c2: {kind: linux}\n"  # fmt: skip
    result = imported(clab(f"  nodes:\n{own}"))
    assert roles(result.spec) == {"c1": "server", "c2": "server", "r1": "switch", "r2": "switch", "r3": "switch"}


def test_a_lab_in_json_with_rates_in_vars_is_read() -> None:
    lab = {
        "topology": {
            "nodes": {"r1": {"kind": "ceos"}, "c1": {"kind": "linux"}},
            "links": [{"endpoints": ["r1:e1", "c1:e1"], "vars": {"speed": "25G"}}],
        }
    }
    assert imported(json.dumps(lab).encode()).spec["link_gbps"] == 25


def test_xml_of_another_encoding_than_it_declares_is_named() -> None:
    data = f"{GRAPHML}<graph><node id='zürich'/></graph></graphml>"
    with pytest.raises(ProblemError, match="without a declared encoding"):
        imported(data.encode("cp1252"))


def test_a_network_without_a_switch_is_told() -> None:
    own = "".join(f"    {name}: {{kind: linux, image: alpine}}\n" for name in ("r1", "r2", "r3", "c1", "c2"))
    assert [entry.code for entry in imported(clab(f"  nodes:\n{own}")).findings] == ["no-switch"]


FOREIGN = {
    "Mermaid": "%% hall 2\ngraph TD\n  A --> B\n", "PlantUML": "@startuml\nA -- B\n", "GNS3": '{"name": "x", "project_id": "1", "topology": {"nodes": []}}',
    "EVE-NG": '<?xml version="1.0"?><!-- a --><lab name="x"/>', "draw.io": "<mxGraphModel/>", "SVG": '<svg xmlns="http://www.w3.org/2000/svg"/>',
    "Visio": '<?xml version="1.0"?><VisioDocument/>', "Modeling Labs": "lab:\n  title: x\nnodes:\n  - id: n0\n",
    "netlab": "module: [ospf]\nnodes: [r1, r2]\nlinks: [r1-r2]\n", "INI or TOML": "[topology]\nx = 1\n", "Python": "from mininet.topo import Topo\n",
    "SNDlib": "?SNDlib native format; type: network;\n",
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_a_format_that_is_not_read_is_named(what: str) -> None:
    with pytest.raises(ProblemError) as error:
        imported(FOREIGN[what].encode())
    assert what in error.value.errors[0].message
    assert error.value.errors[0].hint


def test_many_comments_before_another_root_take_no_time() -> None:
    with pytest.raises(ProblemError, match="neither GraphML nor GEXF"):
        imported(b"<!-- a -->" * 3_000 + b"<other/>")


REFUSED: dict[str, tuple[bytes, str, str]] = {
    "two graphs": (f"{GRAPHML}<graph/>\n<graph/></graphml>".encode(), "The file has 2 graphs.", "Put one graph into a file."),
    "GML": (b'graph [\n node [ id 0 label "leaf1" ]\n]', "It is GML, which is not read.", "Save it as GraphML."),
    "a node twice": (b"topology:\n  nodes:\n    a: {kind: linux}\n    a: {kind: srl}\n", "'a' occurs twice in nodes.", "Remove one"),
    "a node id twice": (graphml("", {}, []).replace(b"</graph>", b'<node id="a"/><node id="a"/></graph>'), "occurs twice", "another id"),
    "an error of Excel": (b"source,target\n#N/A,leaf1\nweb1,leaf1\n", "The cell is #N/A, an error of a formula.", "Correct"),
    "an error in a workbook": (workbook([["source", "target"], ["#REF!", "leaf1"]]), "The cell is #REF!", "Correct"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_read_is_named_with_what_to_do(what: str) -> None:
    data, message, hint = REFUSED[what]
    with pytest.raises(ProblemError) as refused:
        imported(data)
    error = refused.value.errors[0]
    assert message in error.message
    assert hint in (error.hint or "")


TABLES: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "source and destination": (b"Source,Destination,Source Port,Speed\nweb1,leaf1,eth0,25G\nweb2,leaf1,eth0,25G\n", [("leaf1", "web1"), ("leaf1", "web2")]),
    "a title with commas": (b"Cables, hall 2, by M. Example\nsource;target;speed\nweb1;leaf1;25G\n", [("leaf1", "web1")]),
    "one device in several spellings": (b"source,target\nweb1 ,Leaf1\nweb2,leaf1\nWEB1,leaf2\nweb2 ,LEAF2\n", [("leaf1", "web1"), ("leaf1", "web2"), ("leaf2", "web1"), ("leaf2", "web2")]),
    "a workbook": (workbook([["From", "To", "Speed (Gbps)"], ["web1", "leaf1", 25]]), [("leaf1", "web1")]),
    "two devices by their ports": (b"source,target,a_port\nLeaf1,web1,e1\nleaf1,web2,e1\n", [("leaf1", "web2"), ("leaf1-2", "web1")]),
}  # fmt: skip


@pytest.mark.parametrize("what", TABLES)
def test_tables_of_people_are_read(what: str) -> None:
    data, expected = TABLES[what]
    result = imported(data)
    assert [(a[0], b[0]) for a, b in links(result.spec)] == expected
    assert ("names-alike" in [entry.code for entry in result.findings]) == (what == "two devices by their ports")
    assert any("written in several ways" in entry for entry in result.assumed) == ("spellings" in what)


def test_a_site_separates_devices_of_one_name() -> None:
    header = b"side_a_site,side_a_device,side_a_type,side_a_name,side_b_site,side_b_device,side_b_type,side_b_name\n"
    rows = b"".join(b"DC%d,tor1,dcim.interface,e1,DC%d,web1,dcim.interface,e0\n" % (i, i) for i in (1, 2))
    assert names(header + rows) == ["tor1-dc1", "tor1-dc2", "web1-dc1", "web1-dc2"]


def _end(device: str, number: int, port: str) -> dict[str, Any]:
    return {"id": number, "name": port, "device": {"id": number, "name": device}}


@pytest.mark.parametrize("version", [2, 4])
def test_netbox_s_json_of_any_version_is_read(version: int) -> None:
    ends = [(_end("leaf1", 1, "e1"), _end("web1", 2, "eth0")), (_end("leaf1", 1, "e2"), _end("web2", 3, "eth0"))]
    kind = "dcim.interface"
    old = [
        {"termination_a_type": kind, "termination_a": a, "termination_b_type": kind, "termination_b": b}
        for a, b in ends
    ]
    new = [{f"{side}_terminations": [{"object_type": kind, "object": end}] for side, end in zip("ab", pair, strict=True)} for pair in ends]  # fmt: skip
    data = json.dumps({"count": 2, "results": old if version == 2 else new}).encode()
    assert links(imported(data).spec) == [(("leaf1", "e1"), ("web1", "eth0")), (("leaf1", "e2"), ("web2", "eth0"))]
    again = json.loads(data)
    last = again["results"][1]
    (last["termination_a"] if version == 2 else last["a_terminations"][0]["object"])["device"]["id"] = 9
    assert len(names(json.dumps(again).encode())) == 4


def _seen(port: str, device: str, far: str) -> dict[str, Any]:
    return {port: {"chassis": {device: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}}, "port": {"id": {"type": "ifname", "value": far}}}}  # fmt: skip


def test_a_host_name_and_the_same_with_a_domain_are_one_device() -> None:
    document = {
        "leaf1": {"lldp": {"interface": [_seen("e1", "web1.dc1.example.net", "eth0"), _seen("e2", "web2.dc1.example.net", "eth0")]}},
        "web1": {"lldp": {"interface": _seen("eth0", "leaf1.dc1.example.net", "e1")}},
    }  # fmt: skip
    result = imported(json.dumps(document).encode())
    assert (result.counts.nodes, result.counts.links) == (3, 2)


def test_what_arista_and_nx_os_print_is_read() -> None:
    arista = {
        "host": "leaf1",
        "lldpNeighbors": [{"port": "Ethernet1", "neighborDevice": "web1", "neighborPort": "eth0", "ttl": 120}],
    }
    nxos = {
        "leaf1": {
            "TABLE_nbor_detail": {"ROW_nbor_detail": {"l_port_id": "Ethernet1", "sys_name": "web1", "port_id": "eth0"}}
        }
    }
    for document in (arista, nxos):
        assert links(imported(json.dumps(document).encode()).spec) == [(("leaf1", "Ethernet1"), ("web1", "eth0"))]


def test_names_that_differ_only_in_punctuation_are_listed() -> None:
    result = imported(b"source,target\nLeaf-1,web1\nleaf_1,web2\nLEAF 1,web3\n")
    assert [(entry.code, entry.message) for entry in result.findings] == [
        ("names-alike", "Names that differ in little are taken for two devices: Leaf-1 and leaf_1, Leaf-1 and LEAF 1.")
    ]
