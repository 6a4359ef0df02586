"""One small network in every format: two web servers on two leaves under a spine, 10 Gb/s below and
40 above."""

from __future__ import annotations

import json
from typing import Any

from cubeyard.topologies.importing import ImportOptions, import_topology
from cubeyard.topologies.schemas import ImportedTopology

GRAPHML = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="role" attr.type="string"/>
  <key id="d1" for="edge" attr.name="gbps" attr.type="double"/>
  <graph id="small" edgedefault="undirected">
    <node id="web1"><data key="d0">server</data></node>
    <node id="web2"><data key="d0">server</data></node>
    <node id="leaf1"><data key="d0">leaf</data></node>
    <node id="leaf2"><data key="d0">leaf</data></node>
    <node id="spine1"><data key="d0">spine</data></node>
    <edge source="web1" target="leaf1" sourceport="eth1" targetport="swp3"><data key="d1">10</data></edge>
    <edge source="web2" target="leaf2"><data key="d1">10</data></edge>
    <edge source="leaf1" target="spine1"><data key="d1">40</data></edge>
    <edge source="spine1" target="leaf2"><data key="d1">40</data></edge>
  </graph>
</graphml>
"""
GEXF = b"""<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3"><graph defaultedgetype="undirected">
  <attributes class="node"><attribute id="0" title="role" type="string"/></attributes>
  <attributes class="edge"><attribute id="0" title="speed" type="string"/></attributes>
  <nodes>
    <node id="0" label="web1"><attvalues><attvalue for="0" value="server"/></attvalues></node>
    <node id="1" label="web2"><attvalues><attvalue for="0" value="server"/></attvalues></node>
    <node id="2" label="leaf1"><attvalues><attvalue for="0" value="switch"/></attvalues></node>
    <node id="3" label="leaf2"><attvalues><attvalue for="0" value="switch"/></attvalues></node>
    <node id="4" label="spine1"><attvalues><attvalue for="0" value="switch"/></attvalues></node>
  </nodes>
  <edges>
    <edge id="0" source="0" target="2"><attvalues><attvalue for="0" value="10 Gb/s"/></attvalues></edge>
    <edge id="1" source="1" target="3"><attvalues><attvalue for="0" value="10000 Mbps"/></attvalues></edge>
    <edge id="2" source="2" target="4"><attvalues><attvalue for="0" value="40G"/></attvalues></edge>
    <edge id="3" source="4" target="3"><attvalues><attvalue for="0" value="40GbE"/></attvalues></edge>
  </edges>
</graph></gexf>
"""
DOT = b"""// two racks
graph "small" {
  node [role=switch]; leaf1; leaf2; spine1 [label="spine\\n1"]
  node [role=server]
  subgraph cluster_web { web1; web2 }
  edge [gbps=10]
  web1:"eth1" -- leaf1:"swp3"
  "web2" -- leaf2;
  edge [gbps="40"] { leaf1 leaf2 } -- spine1  /* both */
}
"""
CSV = b"source,target,speed,a_port,b_port\r\nweb1,leaf1,10G,eth1,swp3\r\nweb2,leaf2,10G,,\r\nleaf1,spine1,40G,,\r\nleaf2,spine1,40G,,\r\n"
CONTAINERLAB = b"""name: small
topology:
  kinds: {nokia_srlinux: {image: srl}}
  nodes:
    web1: {kind: linux}
    web2: {kind: linux}
    leaf1: {kind: nokia_srlinux}
    leaf2: {kind: nokia_srlinux}
    spine1: {kind: nokia_srlinux}
  links:
    - endpoints: ["web1:eth1", "leaf1:swp3"]
    - {endpoints: ["web2:eth1", "leaf2:swp3"], labels: {gbps: 10}}
    - {endpoints: ["leaf1:e1", "spine1:e1"], labels: {gbps: "40"}}
    - type: veth
      endpoints: [{node: spine1, interface: e2}, {node: leaf2, interface: e1}]
      labels: {gbps: 40}
    - endpoints: ["host:eth9", "leaf2:e9"]
"""
NETBOX_CSV = b"""side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name
web1,dcim.interface,eth1,leaf1,dcim.interface,swp3
web2,dcim.interface,eth1,leaf2,dcim.interface,swp3
leaf1,dcim.interface,e1,spine1,dcim.interface,e1
spine1,dcim.interface,e2,leaf2,dcim.interface,e1
web1,dcim.powerport,PSU1,pdu1,dcim.poweroutlet,1
"""


def _netbox_end(device: str, port: str) -> list[dict[str, Any]]:
    return [{"object_type": "dcim.interface", "object": {"name": port, "device": {"name": device}}}]


NETBOX_JSON = json.dumps(
    {
        "count": 4,
        "next": None,
        "results": [
            {"a_terminations": _netbox_end(*a), "b_terminations": _netbox_end(*b)}
            for a, b in (
                (("web1", "eth1"), ("leaf1", "swp3")),
                (("web2", "eth1"), ("leaf2", "swp3")),
                (("leaf1", "e1"), ("spine1", "e1")),
                (("spine1", "e2"), ("leaf2", "e1")),
            )
        ],
    }
).encode()
FILES: dict[str, bytes] = {
    "small.graphml": GRAPHML, "small.gexf": GEXF, "small.dot": DOT, "small.csv": CSV, "small.clab.yml": CONTAINERLAB,
    "netbox.csv": NETBOX_CSV, "netbox.json": NETBOX_JSON,
}  # fmt: skip


def imported(data: bytes, name: str = "", **options: Any) -> ImportedTopology:
    return import_topology(data, name, ImportOptions(**options))


def links(spec: dict[str, Any]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Both ends of every link with their ports, each link's ends in order, sorted."""
    ends = (
        sorted(((link["a"], link.get("a_port", "")), (link["b"], link.get("b_port", "")))) for link in spec["links"]
    )
    return sorted((a, b) for a, b in ends)


def roles(spec: dict[str, Any]) -> dict[str, str]:
    return {node["name"]: node["role"] for node in spec["nodes"]}
