"""The pack's A3 drawings: floor plan and elevations, with the title block building drawings have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cubeyard.exports.drawing.elevations import PAPER, ElevationStyle, elevation_picture, rack_groups
from cubeyard.exports.drawing.floor import UNITS_PER_METRE, floor_picture
from cubeyard.exports.drawing.svg import Picture, document, stacked
from cubeyard.exports.drawing.trays import tray_picture
from cubeyard.exports.pdf.sheets import A3_LANDSCAPE, Section
from cubeyard.exports.tables import PlanTables, enclosure_title
from cubeyard.exports.text import plain

Json = dict[str, Any]
MAX_ELEVATIONS = 96
RACKS_PER_SHEET = 8
_BOX_MM = (398.0, 242.0)
"""Room for pictures on an A3 page, between head and title block."""


def _placed(name: str, picture: Picture, box: tuple[float, float], words: str, files: dict[str, bytes]) -> Json:
    """The picture as large as the box allows."""
    files[name] = document(picture, words, words, printed=True).encode()
    scale = min(box[0] / picture.width, box[1] / picture.height)
    return {"file": name, "width": picture.width * scale, "height": picture.height * scale, "alt": words}


def _page(tables: PlanTables, title: str, subtitle: str, pictures: list[Json], scale: str, level: int) -> Json:
    return {
        "kind": "drawing", "width": A3_LANDSCAPE[0], "height": A3_LANDSCAPE[1], "title": title, "subtitle": subtitle,
        "level": level, "bookmark": True, "pictures": pictures,
        "block": [
            ["Plan", plain(tables.plan.name)[:34]], ["Drawing", title[:28]], ["Plan hash", tables.plan.plan_hash[:12]], ["Scale", scale],
        ],
    }  # fmt: skip


def floor_section(tables: PlanTables, files: dict[str, bytes]) -> Section:
    floor, loads = floor_picture(tables), tray_picture(tables)
    words = f"Floor plan of {plain(tables.plan.name)}"
    # Tray loads go below, at the same scale, where the floor leaves them room.
    both = None if loads is None else stacked(floor, loads)
    whole = both if both is not None and both.height / both.width <= _BOX_MM[1] / _BOX_MM[0] else floor
    placed = _placed("floor.svg", whole, _BOX_MM, words, files)
    scale = UNITS_PER_METRE * placed["width"] / whole.width  # millimetres of paper a metre of floor
    subtitle = f"{enclosure_title(tables.plan.scene['enclosure'])} \u00b7 {len(tables.rack_names):,} racks"
    return Section("Floor plan", [_page(tables, "Floor plan", subtitle, [placed], f"1 : {1000 / scale:.0f} on A3", 1)])


def elevation_section(tables: PlanTables, files: dict[str, bytes], step: Callable[[float], None]) -> Section:
    """Eight racks a page: above from the front, below from the rear."""
    section = Section("Elevations, front and rear")
    members = tables.devices_by_rack()
    groups = [(label, racks) for label, racks in rack_groups(tables, RACKS_PER_SHEET) if racks[0] < MAX_ELEVATIONS]
    style: ElevationStyle = PAPER
    for i, (label, racks) in enumerate(groups):
        span = tables.rack_names[racks[0]] + ("" if len(racks) == 1 else f" to {tables.rack_names[racks[-1]]}")
        pictures = [
            _placed(
                f"elevation-{i}-{'rear' if rear else 'front'}.svg",
                elevation_picture(tables, racks, members, style, rear=rear),
                (_BOX_MM[0], (_BOX_MM[1] - 3) / 2),
                f"Racks {span} from the {'rear' if rear else 'front'}",
                files,
            )
            for rear in (False, True)
        ]
        title = f"Elevations {span}"
        section.pages.append(_page(tables, title, plain(label), pictures, "not to scale", 1 if i == 0 else 2))
        step(i / len(groups))
    return section
