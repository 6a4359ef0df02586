"""The cabling as Graphviz DOT, one edge per cable with its ports, for cable checkers and network
simulators.

`"h0132":"eth0" -- "s0-013":"P2"` is the form of the Prescriptive Topology Manager (`topology.dot`)
and of NVIDIA Air. Each device carries a `function`, which Air needs; rack and unit are for people;
both programs ignore them.
"""

from __future__ import annotations

from collections.abc import Iterator

from cubeyard.exports.formats import Progress
from cubeyard.exports.interfaces import interfaces
from cubeyard.exports.links import LinkFacts
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain, slug
from cubeyard.plans.view import PlanView

_LINES_PER_PIECE = 4_000


def _quoted(text: str) -> str:
    """A quoted ID of DOT, in which only the quote is escaped."""
    return '"' + plain(text).replace('"', '\\"').replace("\n", " ") + '"'


def _drawn(ports: list[str]) -> str:
    """A record's label with a cell for each port. Interface names need no escapes."""
    return '"{\\N|{' + "|".join(f"<{port}> {port}" for port in ports) + '}}"'


def _function(tables: PlanTables, device: int) -> str:
    """`server`, or `switch-l2` for the switches of level 2."""
    return f"switch-l{tables.device_level[device]}" if tables.device_kind[device] else "server"


def cable_graph(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Devices by host name, then one edge per cable. Ports have the names of Linux interfaces."""
    tables = PlanTables(plan)
    a_ends, b_ends = interfaces(tables)
    yield f"// {provenance(plan)}\ngraph {_quoted(slug(plan.name, 'plan'))} {{\n".encode()
    ports: list[list[str]] = [[] for _ in tables.hosts]
    for end, names in (("a_device", a_ends), ("b_device", b_ends)):
        for device, name in zip(plan.cables[end].tolist(), names, strict=True):
            ports[device].append(name)
    # Graphviz warns of an edge's port that its node does not draw. In labels, \N is the node's
    # name.
    pieces = [
        f"  {_quoted(host)} [shape=record, label={_drawn(ports[i])}, function={_quoted(_function(tables, i))}, rack={_quoted(tables.rack_names[tables.device_rack[i]])}, "
        f"unit={tables.device_unit[i]}];\n"
        for i, host in enumerate(tables.hosts)
    ]
    yield "".join(pieces).encode()
    progress(0.3, "devices")
    pieces = []
    gbps = LinkFacts(tables).gbps
    for cable in tables.rows():
        a, b = _quoted(tables.hosts[cable.a_device]), _quoted(tables.hosts[cable.b_device])
        pieces.append(f'  {a}:"{a_ends[cable.index]}" -- {b}:"{b_ends[cable.index]}" [gbps="{gbps[cable.index]:g}"];\n')
        if len(pieces) == _LINES_PER_PIECE:
            yield "".join(pieces).encode()
            pieces.clear()
    yield "".join(pieces).encode() + b"}\n"
    progress(1.0, "cables")
