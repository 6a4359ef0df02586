"""The logical network as GraphML, with positions, for NetworkX, yEd and Gephi.

yEd draws nodes and edges from its own `y:` elements and Gephi reads `x`, `y`, `r`, `g`, `b` and
`label`. The file has both, so both programs show positions and colours. Parallel cables are
parallel edges with different ids.
"""

from __future__ import annotations

from collections.abc import Iterator

from cubeyard.exports.formats import Progress
from cubeyard.exports.links import LinkFacts
from cubeyard.exports.palette import LIGHT, level_colour, rgb
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import xml
from cubeyard.plans.view import PlanView

_NODE_KEYS = (
    ("label", "string"), ("paper_name", "string"), ("kind", "string"), ("level", "int"), ("rack", "string"), ("unit", "int"), ("slot", "string"),
    ("location", "string"), ("part", "string"), ("x", "double"), ("y", "double"),
    ("r", "int"), ("g", "int"), ("b", "int"),
)  # fmt: skip
_EDGE_KEYS = (
    ("level", "int"), ("a_port", "string"), ("b_port", "string"), ("label", "string"), ("gbps", "double"),
    ("length_metres", "double"), ("stock_metres", "double"), ("part", "string"), ("colour", "string"),
    ("route", "string"), ("bundle", "string"), ("weight", "double"),
)  # fmt: skip
_ELEMENTS_PER_PIECE = 2_000
_PIXELS_PER_METRE = 600.0
"""Racks are 0.6 m wide, so a rack's devices spread over 360 pixels of the picture. [ours]"""


def _head(plan: PlanView) -> str:
    keys = [f'<key id="n_{name}" for="node" attr.name="{name}" attr.type="{kind}"/>' for name, kind in _NODE_KEYS]
    keys += [f'<key id="e_{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>' for name, kind in _EDGE_KEYS]
    keys += [
        '<key id="g_name" for="graph" attr.name="name" attr.type="string"/>',
        '<key id="g_provenance" for="graph" attr.name="provenance" attr.type="string"/>',
        '<key id="n_graphics" for="node" yfiles.type="nodegraphics"/>',
        '<key id="e_graphics" for="edge" yfiles.type="edgegraphics"/>',
    ]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xmlns:y="http://www.yworks.com/xml/graphml"'
        ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://www.yworks.com/xml/schema/graphml/1.1/ygraphml.xsd">\n'
        + "\n".join(keys)
        + f'\n<graph id="plan" edgedefault="undirected">\n<data key="g_name">{xml(plan.name)}</data>'
        f'<data key="g_provenance">{xml(provenance(plan))}</data>\n'
    )


def _data(prefix: str, pairs: Iterator[tuple[str, object]] | list[tuple[str, object]]) -> str:
    return "".join(f'<data key="{prefix}_{name}">{xml(value)}</data>' for name, value in pairs)


def _nodes(tables: PlanTables) -> Iterator[str]:
    racks = tables.plan.scene["racks"]
    for i, name in enumerate(tables.hosts):
        rack, level = tables.device_rack[i], tables.device_level[i]
        slots = max(tables.device_slots[i], 1)
        # Devices of a rack are placed as seen from the front, across by slot and upwards by unit,
        # so that no two nodes coincide.
        across = ((tables.device_slot[i] + 0.5) / slots - 0.5) * racks["width_metres"][rack] * 0.9
        up = tables.device_unit[i] / max(racks["units"][rack], 1) * racks["depth_metres"][rack] * 0.9
        x = racks["x_metres"][rack] + across
        y = racks["y_metres"][rack] + up - racks["depth_metres"][rack] / 2
        colour = level_colour(level, LIGHT)
        red, green, blue = rgb(colour)
        shape = "rectangle" if tables.device_kind[i] == 0 else "roundrectangle"
        size = 10 if tables.device_kind[i] == 0 else 16
        px, py = x * _PIXELS_PER_METRE - size / 2, -y * _PIXELS_PER_METRE - size / 2
        yield (
            f'<node id="{xml(name)}"><data key="n_graphics"><y:ShapeNode>'
            f'<y:Geometry height="{size}.0" width="{size}.0" x="{px:.2f}" y="{py:.2f}"/>'
            f'<y:Fill color="{colour}" transparent="false"/><y:BorderStyle hasColor="false" type="line" width="1.0"/>'
            f'<y:NodeLabel fontSize="4">{xml(name)}</y:NodeLabel><y:Shape type="{shape}"/></y:ShapeNode></data>'
            + _data(
                "n",
                [
                    ("label", name), ("paper_name", tables.device_names[i]), ("kind", "switch" if tables.device_kind[i] else "server"), ("level", level),
                    ("rack", tables.rack_names[rack]), ("unit", tables.device_unit[i]), ("slot", tables.letters[i]),
                    ("location", tables.locations[i]), ("part", tables.part_sku(tables.device_part[i])),
                    ("x", f"{px + size / 2:.2f}"), ("y", f"{py + size / 2:.2f}"),
                    ("r", red), ("g", green), ("b", blue),
                ],
            )
            + "</node>\n"
        )  # fmt: skip


def _edges(tables: PlanTables) -> Iterator[str]:
    gbps = LinkFacts(tables).gbps
    names = [xml(name) for name in tables.hosts]
    bundles = [*tables.bundle_names, ""]
    for cable in tables.rows():
        yield (
            f'<edge id="{cable.name}" source="{names[cable.a_device]}" target="{names[cable.b_device]}">'
            f'<data key="e_graphics"><y:PolyLineEdge><y:LineStyle color="{level_colour(cable.level)}" type="line" width="1.0"/>'
            '<y:Arrows source="none" target="none"/></y:PolyLineEdge></data>'
            + _data(
                "e",
                [
                    ("level", cable.level), ("a_port", cable.a_port), ("b_port", cable.b_port),
                    ("label", cable.near_label), ("gbps", f"{gbps[cable.index]:g}"),
                    ("length_metres", f"{cable.length_metres:.3f}"), ("stock_metres", f"{cable.stock_metres:g}"),
                    ("part", tables.part_sku(cable.part)), ("colour", cable.colour), ("route", cable.route),
                    ("bundle", bundles[cable.bundle]), ("weight", "1"),
                ],
            )
            + "</edge>\n"
        )  # fmt: skip


def graph_document(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Nodes are devices by host name, edges are cables by name."""
    tables = PlanTables(plan)
    yield _head(plan).encode()
    pieces: list[str] = []
    written = 0
    total = max(len(tables.hosts) + plan.cable_count, 1)
    for source in (_nodes(tables), _edges(tables)):
        for piece in source:
            pieces.append(piece)
            if len(pieces) == _ELEMENTS_PER_PIECE:
                yield "".join(pieces).encode()
                written += len(pieces)
                progress(written / total, "graph")
                pieces.clear()
    yield "".join(pieces).encode() + b"</graph>\n</graphml>\n"
    progress(1.0, "graph")
