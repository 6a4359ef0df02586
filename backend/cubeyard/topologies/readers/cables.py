"""Lists of cables as a network: edge lists and our own schedule (CSV), NetBox's cables (CSV or JSON), what lldpctl prints.

The CSV readers are those of as-built checks; a list of edges needs no ports, and may say what each end is and what the link carries.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any

from cubeyard.asbuilt.readers import lldp, netbox
from cubeyard.asbuilt.readers.listing import Listing, SeenCable
from cubeyard.asbuilt.readers.rows import CsvTable, Header
from cubeyard.topologies.network import Edge, Format, Network, Node, refused
from cubeyard.topologies.readers.text import decoded

_SIDES = {
    side: {
        f"{side}": (
            f"{side}_host_name", f"{side}_device", f"{side}_host", f"{side}_node", side, word, short, f"node_{side}",
            f"device_{side}", f"node{number}", f"device{number}", f"{side}_paper_name",
        ),
        f"{side}_port": (
            f"{side}_port", f"{side}_interface", f"{word}_port", f"{word}_interface", f"{short}_port", f"{short}_interface",
            f"port_{side}", f"interface_{side}", f"port{number}", f"interface{number}",
        ),
        f"{side}_role": (f"{side}_role", f"{side}_type", f"{side}_kind", f"{word}_role", f"{word}_type", f"{word}_kind",
                         f"{short}_role", f"role_{side}"),
        f"{side}_tier": (f"{side}_tier", f"{word}_tier", f"{short}_tier", f"tier_{side}"),
    }
    for side, word, short, number in (("a", "source", "from", 1), ("b", "target", "to", 2))
}  # fmt: skip
_RATES = (
    "gbps", "mbps", "kbps", "bps", "link_gbps", "rate_gbps", "speed_gbps", "bandwidth_gbps", "speed_mbps", "bandwidth_mbps", "rate_bits_per_sec",
    "speed", "bandwidth", "rate", "capacity",
)  # fmt: skip
HEADER = Header(
    "Edge list",
    {**_SIDES["a"], **_SIDES["b"], **{name: (name,) for name in _RATES}},
    (("a",), ("b",)),
)
_NOT_NETWORK = "a cable that is not between two interfaces"


def json_format(head: bytes) -> Format:
    """NetBox's API or lldpctl, by what the text begins with."""
    return "netbox" if b'_terminations"' in head else "lldp"


def read(data: bytes, format: Format, name: str) -> Network:
    """Raises `BadListError` by line, or by field of a JSON document."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        try:
            return _netbox_json(data) if format == "netbox" else _lldp(lldp.read(data, PurePath(name).stem or None))
        except RecursionError:
            raise refused("document", "The JSON is nested too deeply.", "Save it again from its program.") from None
    table = CsvTable.of(data, (netbox.HEADER, netbox.PAGE_HEADER, HEADER))
    if table.header is not HEADER:
        return _listed(netbox.read(table))
    return _edge_list(table)


def _edge_list(table: CsvTable) -> Network:
    network = Network("csv", own=table.titled("cable", "a_paper_name", "b_paper_name"))
    for row in table.rows():
        ends = [row.needed("a"), row.needed("b")]
        if table.mistakes:
            continue
        where = f"line {row.line}"
        for side, end in zip("ab", ends, strict=True):
            given = {name: row.text(f"{side}_{name}") for name in ("role", "tier") if row.text(f"{side}_{name}")}
            if end not in network.nodes:
                network.add_node(end, Node({}, where), row.line)
            if given:
                network.nodes[end].attributes = {**network.nodes[end].attributes, **given}
        rates = {name: row.text(name) for name in _RATES if row.text(name)}
        network.add_edge(Edge(ends[0], ends[1], row.text("a_port"), row.text("b_port"), rates, where), row.line)
    table.done()
    return network


def _listed(listing: Listing) -> Network:
    network = Network("netbox")
    for cable in listing.cables:
        network.add_edge(_edge(cable))
    if listing.skipped:
        network.left_out[_NOT_NETWORK] = [""] * listing.skipped
    return network


def _edge(cable: SeenCable) -> Edge:
    return Edge(cable.a.device, cable.b.device, cable.a.ports[0], cable.b.ports[0], {}, cable.where)


def _lldp(listing: Listing) -> Network:
    """Each link once, whether one of its devices reported it or both."""
    network = Network("lldp")
    seen: dict[tuple[str, str], int] = {}
    for number, cable in enumerate(listing.cables):
        ends = [[(end.device, port) for port in end.ports] for end in (cable.a, cable.b)]
        known = [{seen[port] for port in ports if port in seen} for ports in ends]
        if known[0] & known[1]:
            continue
        for ports in ends:
            for port in ports:
                seen.setdefault(port, number)
        network.add_edge(_edge(cable))
    return network


def _netbox_json(data: bytes) -> Network:
    """NetBox's `/api/dcim/cables/`: one page, or the list of its results."""
    try:
        document = json.loads(decoded(data))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise refused(where, f"The file is not JSON: {error.msg}.", line=error.lineno) from None
    results = document.get("results") if isinstance(document, dict) else document
    where = "results" if isinstance(document, dict) else "document"
    if not isinstance(results, list):
        raise refused(where, "There is no list of cables.", "Save the answer of /api/dcim/cables/?limit=0.")
    network = Network("netbox")
    if isinstance(document, dict) and document.get("next"):
        network.leave_out("further pages of the list", str(document.get("count", ""))[:20])
    for index, cable in enumerate(results):
        _netbox_cable(network, f"{where}[{index}]", cable)
    return network


def _netbox_cable(network: Network, where: str, cable: Any) -> None:
    if not isinstance(cable, dict):
        raise refused(where, "A cable must be an object.", "Save the answer of /api/dcim/cables/?limit=0.")
    sides = [_terminations(f"{where}.{side}_terminations", cable.get(f"{side}_terminations")) for side in "ab"]
    a, b = (ends for ends in sides)
    if not a or not b or (len(a) != len(b) and 1 not in (len(a), len(b))):
        network.leave_out(_NOT_NETWORK, where)
        return
    # A breakout cable has one end on one side and several on the other.
    count = max(len(a), len(b))
    for one, other in zip(a * count if len(a) == 1 else a, b * count if len(b) == 1 else b, strict=False):
        network.add_edge(Edge(one[0], other[0], one[1], other[1], {}, where))


def _terminations(where: str, ends: Any) -> list[tuple[str, str]]:
    """Device and interface of each end; none if one of them is no interface."""
    if not isinstance(ends, list):
        return []
    found: list[tuple[str, str]] = []
    for index, end in enumerate(ends):
        at = f"{where}[{index}]"
        if not isinstance(end, dict):
            raise refused(at, "A termination must be an object.")
        port = end.get("object")
        if end.get("object_type") != netbox.INTERFACE or not isinstance(port, dict):
            return []
        device = port.get("device")
        name = device.get("name") if isinstance(device, dict) else None
        if not isinstance(name, str) or not name.strip():
            raise refused(f"{at}.object.device.name", "The interface's device has no name.", "Name it in NetBox.")
        found.append((name.strip(), str(port.get("name") or "")))
    return found
