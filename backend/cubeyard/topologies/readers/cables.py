"""Lists of cables as a network: tables, NetBox's cables and what lldpctl prints, read by
`cubeyard.reading.cables`."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePath

from cubeyard.reading.cables import SeenCable, SeenEnd
from cubeyard.reading.cables import read as read_cables
from cubeyard.reading.names import folded, one_device, port_key, short
from cubeyard.topologies.network import Edge, Network, Node

_Port = tuple[str, str]


def read(data: bytes, name: str) -> Network:
    """Raises `BadFileError` by line, or by field of a JSON document."""
    listing = read_cables(data, PurePath(name).stem or None, ports=False)
    network = Network(listing.format, own=listing.own)
    for row in listing.skipped:
        network.leave_out(row.reason[:1].lower() + row.reason[1:].rstrip("."), row.where)
    if listing.cut_off:
        network.leave_out("further pages of the list", str(listing.cut_off))
    cables = [*listing.cables, *(cable for cable in listing.loose if _name(cable.a) and _name(cable.b))]
    called = _Names(network, cables)
    for cable in _once(cables, called) if listing.format == "lldp" else cables:
        ends = [called.of(end) for end in (cable.a, cable.b)]
        for end, node in zip((cable.a, cable.b), ends, strict=True):
            if node not in network.nodes:
                network.add_node(node, Node({}, cable.where))
            network.nodes[node].attributes = {**network.nodes[node].attributes, **end.attributes}
        a_port, b_port = (end.ports[0] if end.ports else "" for end in (cable.a, cable.b))
        network.add_edge(Edge(ends[0], ends[1], a_port, b_port, cable.attributes, cable.where))
    network.directed = listing.format != "lldp" and _both_ways(network.edges)
    return network


def _both_ways(edges: list[Edge]) -> bool:
    """Whether a list has each link from both of its ends, as a list of neighbours does."""
    counts = Counter(((edge.a, edge.a_port), (edge.b, edge.b_port)) for edge in edges)
    return all(counts[b, a] == count for (a, b), count in counts.items())


def _name(end: SeenEnd) -> str:
    return end.device or end.address


class _Names:
    """One name a device, for all of its spellings; with its site where several devices have the
    name."""

    def __init__(self, network: Network, cables: list[SeenCable]) -> None:
        every = [end for cable in cables for end in (cable.a, cable.b)]
        spelled = list(dict.fromkeys(_name(end) for end in every))
        apart = _apart(cables)
        self._device = one_device(spelled, apart)
        groups: dict[str, list[str]] = defaultdict(list)
        for name, device in self._device.items():
            groups[device].append(name)
        network.spellings += [
            [device, *(entry for entry in names if entry != device)]
            for device, names in groups.items()
            if len(names) > 1
        ]
        network.alike += sorted((min(pair), max(pair)) for pair in apart if len(pair) == 2)
        self._sites: dict[str, set[str]] = defaultdict(set)
        for end in every:
            self._sites[self._device[_name(end)]].add(folded(end.site))

    def of(self, end: SeenEnd) -> str:
        device = self._device[_name(end)]
        return f"{device} ({end.site})" if len(self._sites[device]) > 1 and end.site else device


def _apart(cables: list[SeenCable]) -> set[frozenset[str]]:
    """Spellings that would be one name and are two devices: a cable joins them, or one port of both
    has two other ends."""
    apart: set[frozenset[str]] = set()
    seen: dict[tuple[str, str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    for cable in cables:
        if (
            cable.a.device
            and cable.b.device
            and cable.a.device != cable.b.device
            and _loose(cable.a) == _loose(cable.b)
        ):
            apart.add(frozenset((cable.a.device, cable.b.device)))
        for here, far in ((cable.a, cable.b), (cable.b, cable.a)):
            if here.device and here.ports and far.device:
                other = (_loose(far), port_key(far.ports[0]) if far.ports else "")
                at = seen[_loose(here), folded(here.site), folded(here.ports[0])]
                apart |= {
                    frozenset((here.device, name))
                    for name, known in at.items()
                    if name != here.device and not _may_be_one(known, other)
                }
                at.setdefault(here.device, other)
    return apart


def _may_be_one(entry: tuple[str, str], two: tuple[str, str]) -> bool:
    """Whether two far ends may be one port: one device, and one port unless either is unknown."""
    return entry[0] == two[0] and (entry[1] == two[1] or not entry[1] or not two[1])


def _loose(end: SeenEnd) -> str:
    return short(end.device) or folded(end.device)


def _once(cables: list[SeenCable], called: _Names) -> list[SeenCable]:
    """Each link once, whether one of its devices reported it or both. Reports with a port at both
    ends come first."""
    kept: list[SeenCable] = []
    seen: dict[_Port, int] = {}
    for number, cable in enumerate(sorted(cables, key=lambda entry: not (entry.a.known and entry.b.known))):
        ends = [[(called.of(end), port_key(port)) for port in end.ports] for end in (cable.a, cable.b)]
        known = [{seen[port] for port in ports if port in seen} for ports in ends]
        if known[0] & known[1]:
            continue
        if not (cable.a.known and cable.b.known) and (known[0] or known[1]):
            continue  # the other end has more details
        for ports in ends:
            for port in ports:
                seen.setdefault(port, number)
        kept.append(cable)
    return kept
