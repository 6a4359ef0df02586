"""Rack elevations as a draw.io (diagrams.net) document: one page per row of racks, and every device
a shape with its data from the plan.

The XML is uncompressed. A rack is a container, so that it moves with its devices; a device's data
are shape data, which draw.io shows, searches and exports.
"""

from __future__ import annotations

from collections.abc import Iterator

from cubeyard.exports.formats import Progress
from cubeyard.exports.palette import LIGHT, level_colour
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import xml
from cubeyard.plans.view import PlanView

UNIT_PIXELS = 20
"""Height of a rack unit: at 19 inches a rack is 217 pixels wide on this scale."""
RACK_PIXELS = 220
_NUMBERS_PIXELS, _TITLE_PIXELS, _GAP_PIXELS = 28, 30, 60
RACKS_PER_PAGE = 20

_RACK = (
    f"swimlane;startSize={_TITLE_PIXELS};horizontal=1;collapsible=0;html=0;fillColor={LIGHT.panel};strokeColor={LIGHT.line};"
    f"fontColor={LIGHT.ink};fontStyle=1;"
)
_NUMBER = (
    f"text;html=0;align=right;verticalAlign=middle;fontSize=9;fontColor={LIGHT.muted};strokeColor=none;fillColor=none;"
)


def _device_style(level: int) -> str:
    # The name is dark on white and only the frame has the level's colour, so that it stays
    # readable.
    return (
        f"rounded=0;html=0;whiteSpace=wrap;fontSize=9;fillColor={LIGHT.paper};strokeColor={level_colour(level)};strokeWidth=2;"
        f"fontColor={LIGHT.ink};"
    )


def _pages(tables: PlanTables) -> list[tuple[str, list[int]]]:
    """Racks by page: racks in one row of one container, at most `RACKS_PER_PAGE`."""
    racks = tables.plan.scene["racks"]
    rows: dict[tuple[int, int], list[int]] = {}
    for rack in range(len(tables.rack_names)):
        rows.setdefault((racks["container"][rack], racks["row"][rack]), []).append(rack)
    pages: list[tuple[str, list[int]]] = []
    for members in rows.values():
        for start in range(0, len(members), RACKS_PER_PAGE):
            piece = members[start : start + RACKS_PER_PAGE]
            pages.append((f"{tables.rack_names[piece[0]]} to {tables.rack_names[piece[-1]]}", piece))
    return pages


def elevation_pages(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The document, page by page."""
    tables = PlanTables(plan)
    members = tables.devices_by_rack()
    pages = _pages(tables)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_comment(provenance(plan))} -->\n<mxfile host="Cubeyard">\n'.encode()
    for number, (title, racks) in enumerate(pages):
        yield (
            f'<diagram id="page-{number}" name="{xml(title)}"><mxGraphModel grid="1" gridSize="10" page="0">'
            '<root><mxCell id="0"/><mxCell id="1" parent="0"/>\n'
        ).encode()
        for place, rack in enumerate(racks):
            yield _rack(tables, rack, place, members[rack]).encode()
        yield b"</root></mxGraphModel></diagram>\n"
        progress((number + 1) / len(pages), "elevations")
    yield b"</mxfile>\n"
    progress(1.0, "elevations")


def _comment(text: str) -> str:
    return xml(text).replace("--", "- -")


def _shape(identity: str, value: str, style: str, parent: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<mxCell id="{identity}" value="{xml(value)}" style="{style}" vertex="1" parent="{parent}">'
        f'<mxGeometry x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" as="geometry"/></mxCell>\n'
    )


def _rack(tables: PlanTables, rack: int, place: int, members: list[int]) -> str:
    units = tables.plan.scene["racks"]["units"][rack]
    height = _TITLE_PIXELS + units * UNIT_PIXELS
    parent = f"rack-{rack}"
    x = place * (_NUMBERS_PIXELS + RACK_PIXELS + _GAP_PIXELS)
    width = _NUMBERS_PIXELS + RACK_PIXELS
    pieces = [_shape(parent, tables.rack_names[rack], _RACK, "1", x, 0, width, height)]
    for unit in range(1, units + 1):
        y = height - unit * UNIT_PIXELS
        pieces.append(_shape(f"{parent}-u{unit}", str(unit), _NUMBER, parent, 0, y, _NUMBERS_PIXELS - 4, UNIT_PIXELS))
    # A device without a unit is a finding of the plan and has no position in the drawing.
    pieces += [_device(tables, device, parent, height) for device in members if tables.device_unit[device]]
    return "".join(pieces)


def _device(tables: PlanTables, device: int, parent: str, rack_height: int) -> str:
    slots = max(tables.device_slots[device], 1)
    width = RACK_PIXELS / slots
    tall = tables.device_height[device] * UNIT_PIXELS
    x = _NUMBERS_PIXELS + tables.device_slot[device] * width
    y = rack_height - (tables.device_unit[device] - 1) * UNIT_PIXELS - tall
    facts = (
        ("label", tables.hosts[device]), ("paper_name", tables.paper_names[device]), ("location", tables.locations[device]),
        ("part", tables.part_sku(tables.device_part[device])), ("part_name", tables.part_name(tables.device_part[device])),
    )  # fmt: skip
    attributes = " ".join(f'{name}="{xml(value)}"' for name, value in facts)
    return (
        f'<object id="device-{device}" {attributes}>'
        f'<mxCell style="{_device_style(tables.device_level[device])}" vertex="1" parent="{parent}">'
        f'<mxGeometry x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{tall:g}" as="geometry"/></mxCell></object>\n'
    )
