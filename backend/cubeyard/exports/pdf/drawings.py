"""The pack's drawings, at scales of metric rulers: floor plan and elevations, with the title block
of building drawings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cubeyard.exports.drawing.elevations import ElevationStyle, elevation_picture, names_fit, pitch, rack_groups
from cubeyard.exports.drawing.floor import floor_picture
from cubeyard.exports.drawing.scale import UNIT_MM, largest_that_fits, mm, scale_bar
from cubeyard.exports.drawing.svg import Picture, document, stacked
from cubeyard.exports.drawing.trays import tray_picture
from cubeyard.exports.pdf.forms import Section
from cubeyard.exports.pdf.page import Paper
from cubeyard.exports.tables import PlanTables, enclosure_title
from cubeyard.exports.text import plain

Json = dict[str, Any]
MAX_ELEVATIONS = 96
_SCALES = (20, 10)
"""Denominators of elevations: the larger scale is used if names do not fit into devices at the
smaller one."""
_GAP_MM = 3.0


def _placed(name: str, picture: Picture, words: str, files: dict[str, bytes]) -> Json:
    """The picture at its own size on paper."""
    files[name] = document(picture, words, words, printed=True).encode()
    width, height = mm(picture)
    return {"file": name, "width": width, "height": height, "alt": words}


def _page(tables: PlanTables, paper: Paper, title: str, subtitle: str, pictures: list[Json], denominator: int) -> Json:
    return {
        "kind": "drawing", "width": paper.large_width, "height": paper.large_height, "title": title, "subtitle": subtitle,
        "level": 2, "marks": [[1, title]], "pictures": pictures, "bar": None,
        "block": [
            ["Plan", plain(tables.plan.name)[:30]], ["Drawing", title[:28]], ["Plan hash", tables.plan.plan_hash[:12]],
            ["Scale, printed at 100 %", f"1 : {denominator:,} on {paper.large_name.split(' (')[0]}"],
        ],
    }  # fmt: skip


def floor_section(tables: PlanTables, paper: Paper, files: dict[str, bytes]) -> Section:
    """The floor at the largest ruler scale that fits the page, with tray loads below it if there is
    room."""
    words = f"Floor plan of {plain(tables.plan.name)}"
    denominator, floor = largest_that_fits(lambda scale: floor_picture(tables, scale), paper.drawing_box)
    loads = tray_picture(tables, denominator)
    both = None if loads is None else stacked(floor, loads, 48.0)
    whole = both if both is not None and mm(both)[1] <= paper.drawing_box[1] else floor
    subtitle = f"{enclosure_title(tables.plan.scene['enclosure'])} \u00b7 {len(tables.rack_names):,} racks"
    placed = _placed("floor.svg", whole, words, files)
    page = _page(tables, paper, "Floor plan", subtitle, [placed], denominator)
    page["marks"] = []
    return Section("Floor plan", [page])


def elevation_style(tables: PlanTables, paper: Paper) -> ElevationStyle:
    """1 : 20, or 1 : 10 if names need it and the racks fit the page's height."""
    styles = [ElevationStyle(denominator, named=True, titled=False) for denominator in _SCALES]
    tallest = max(tables.plan.scene["racks"]["units"], default=0)
    whole = [style for style in styles if (tallest * style.unit + 100) * UNIT_MM <= paper.drawing_box[1]] or styles[:1]
    return next((style for style in whole if names_fit(tables, style)), whole[-1])


def elevation_section(
    tables: PlanTables, paper: Paper, files: dict[str, bytes], step: Callable[[float], None]
) -> Section:
    """As many racks side by side as fit a page, from the front and from the rear; both on one page
    if they fit."""
    section = Section("Elevations, front and rear")
    style = elevation_style(tables, paper)
    members = tables.devices_by_rack()
    per_page = max(int((paper.drawing_box[0] / UNIT_MM - 44) / max(pitch(tables, style), 1.0)), 1)
    groups = [(label, racks) for label, racks in rack_groups(tables, per_page) if racks[0] < MAX_ELEVATIONS]
    bar = _bar(style.denominator, files)
    for i, (label, racks) in enumerate(groups):
        span = _span(tables, racks)
        sides = [
            (side, elevation_picture(tables, racks, members, style, rear=side == "rear")) for side in ("front", "rear")
        ]
        height = sum(mm(picture)[1] for _, picture in sides) + _GAP_MM
        together = height <= paper.drawing_box[1]
        for views in [sides] if together else [[side] for side in sides]:
            placed = [
                _placed(f"elevation-{i}-{side}.svg", picture, f"Racks {span} from the {side}", files)
                for side, picture in views
            ]
            title = f"Elevations {span}" + ("" if together else f", {views[0][0]}")
            page = _page(tables, paper, title, plain(label), placed, style.denominator)
            page["bar"] = bar
            section.pages.append(page)
        step(i / len(groups))
    return section


def _span(tables: PlanTables, racks: Sequence[int]) -> str:
    return tables.rack_names[racks[0]] + ("" if len(racks) == 1 else f" to {tables.rack_names[racks[-1]]}")


def _bar(denominator: int, files: dict[str, bytes]) -> Json:
    picture = Picture(1120, 64, scale_bar(1060, 6, denominator))
    return _placed("elevation-bar.svg", picture, f"Scale 1 : {denominator}", files)
