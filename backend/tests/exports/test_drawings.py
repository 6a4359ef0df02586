"""The SVG is read as XML and typeset by another renderer; the DXF is opened and audited by
ezdxf."""

from __future__ import annotations

import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import ezdxf
import pytest
import typst
from ezdxf import bbox
from ezdxf.addons.drawing import Frontend, RenderContext, layout, svg
from hypothesis import HealthCheck, given, settings
from PIL import Image

from cubeyard.engine import Engine
from cubeyard.exports import ExportOptions, render
from cubeyard.exports.drawing.scale import units_per_metre
from cubeyard.exports.drawing.sheet import FLOOR_SCALE
from cubeyard.exports.palette import LEVELS_DARK, LEVELS_LIGHT
from cubeyard.exports.tables import PlanTables
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("cube", "subways", "torus", "dcell", "fat-tree")
UNITS_PER_METRE = units_per_metre(FLOOR_SCALE)


def rack_boxes(root: ElementTree.Element) -> dict[str, tuple[float, float, float, float]]:
    """Rack name to (x, y, width, height) on the floor plan, in user units."""
    group = next(item for item in root.iter(f"{SVG}g") if item.get("id") == "racks")
    boxes: dict[str, tuple[float, float, float, float]] = {}
    for box in group.iter(f"{SVG}rect"):
        title = box.find(f"{SVG}title")
        assert title is not None
        assert title.text
        x, y, width, height = (float(box.get(key, "nan")) for key in ("x", "y", "width", "height"))
        boxes[title.text.split(":")[0]] = (x, y, width, height)
    return boxes


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_the_floor_plan_is_to_scale(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view, root = plan(name), ElementTree.fromstring(rendered("svg", name))
    boxes = rack_boxes(root)
    racks = view.scene["racks"]
    assert list(boxes) == view.rack_names
    first = boxes[view.rack_names[0]]
    for i, rack in enumerate(view.rack_names):
        x, y, width, height = boxes[rack]
        assert width == pytest.approx(racks["width_metres"][i] * UNITS_PER_METRE, abs=0.01)
        assert height == pytest.approx(racks["depth_metres"][i] * UNITS_PER_METRE, abs=0.01)
        assert x - first[0] == pytest.approx((racks["x_metres"][i] - racks["x_metres"][0]) * UNITS_PER_METRE, abs=0.02)
        assert first[1] - y == pytest.approx((racks["y_metres"][i] - racks["y_metres"][0]) * UNITS_PER_METRE, abs=0.02)


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_a_ruler_on_the_print_measures_the_building(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    """Width and height are millimetres of paper; racks on the floor plan are at 1 : 50, racks'
    heights at 1 : 25, as the scale bars show."""
    root = ElementTree.fromstring(rendered("svg", name))
    width, height = root.get("width", ""), root.get("height", "")
    assert width.endswith("mm")
    assert height.endswith("mm")
    _, _, across, down = map(float, root.get("viewBox", "").split())
    mm = float(width[:-2]) / across
    assert mm == pytest.approx(float(height[:-2]) / down, rel=1e-3)
    racks = plan(name).scene["racks"]
    for i, box in enumerate(rack_boxes(root).values()):
        assert box[2] * mm * 50 == pytest.approx(racks["width_metres"][i] * 1000, abs=1)
    bars = {
        int(group.get("data-scale", "0")): group for group in root.iter(f"{SVG}g") if group.get("class") == "scale-bar"
    }
    assert set(bars) == {50, 25}
    for denominator, bar in bars.items():
        long = sum(float(block.get("width", "nan")) for block in bar.iter(f"{SVG}rect")) * mm
        assert long * denominator / 1000 == pytest.approx(float(bar.get("data-metres", "nan")), rel=1e-3)
        assert f"1 : {denominator}" in [item.text for item in bar.iter(f"{SVG}text")]
    frames = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "frame"]
    tallest = max(float(box.get("height", "nan")) - 6 for box in frames) * mm * 25
    assert tallest == pytest.approx(max(racks["units"]) * 44.45, abs=1)


def test_every_device_is_drawn_from_the_front_and_from_the_rear(
    plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view = plan("cube")
    titles = Counter(item.text for item in ElementTree.fromstring(rendered("svg", "cube")).iter(f"{SVG}title"))
    devices = view.scene["devices"]
    for i in (0, 1, 511, 512, 1215):
        rack, unit = view.rack_names[devices["rack"][i]], devices["unit"][i]
        letter = "ABCD"[devices["slot"][i]]
        assert titles[f"{devices['host'][i]} ({devices['name'][i]}) at {rack}-{unit:02d}{letter}"] == 2
    assert titles["R15, front"] == titles["R15, rear"] == 1


def test_it_follows_the_readers_theme_and_has_a_title(rendered: Callable[[str, str], bytes]) -> None:
    text = rendered("svg", "cube").decode()
    assert "@media (prefers-color-scheme:dark)" in text
    assert all(colour in text for colour in (*LEVELS_LIGHT, *LEVELS_DARK))
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title") is not None
    assert root.find(f"{SVG}desc") is not None
    assert not re.search(r"(href|src)=|url\(|@import|<script", text), "it must need nothing else"


def test_another_renderer_draws_it(rendered: Callable[[str, str], bytes]) -> None:
    """Typeset as a picture on a page, and not an empty one."""
    page = b'#set page(width: 400pt, height: auto, margin: 0pt)\n#image("plan.svg", width: 100%)'
    sources = {"main.typ": page, "plan.svg": rendered("svg", "fat-tree")}
    drawn = typst.compile(sources, format="png", ppi=72.0)  # pyright: ignore[reportArgumentType]
    assert isinstance(drawn, bytes)
    with Image.open(io.BytesIO(drawn)) as picture:
        colours = picture.convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 50


def test_a_large_plan_says_which_elevations_are_missing(engine: Engine) -> None:
    view = plans.compute(engine, {"family": "tree", "edge_ports": 48, "servers": 6000}, "current-2026")
    hidden = len(view.rack_names) - 64
    assert hidden > 0
    assert f"{hidden} of {len(view.rack_names)} racks have no elevation here" in b"".join(render("svg", view)).decode()


def test_hostile_names_stay_text(hostile: PlanView) -> None:
    root = ElementTree.fromstring(b"".join(render("svg", hostile)))
    assert root.find(f".//{SVG}b") is None
    assert any("=cmd" in (item.text or "") for item in root.iter(f"{SVG}text"))


def opened(data: bytes) -> ezdxf.document.Drawing:  # pyright: ignore[reportAttributeAccessIssue]
    return ezdxf.read(io.StringIO(data.decode()))  # pyright: ignore[reportPrivateImportUsage]


@pytest.fixture(scope="module")
def drawing(rendered: Callable[[str, str], bytes]) -> Callable[[str], Any]:
    """`drawing("torus")`: the plan's DXF, opened once. Tests look at it and change nothing."""
    made: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in made:
            made[name] = opened(rendered("dxf", name))
        return made[name]

    return get


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_cad_finds_nothing_wrong_with_the_dxf(name: str, drawing: Callable[[str], Any]) -> None:
    cad = drawing(name)
    audit = cad.audit()
    assert not audit.errors
    assert not audit.fixes
    assert {"container", "racks", "trays", "bundles", "labels", "elevations", "devices", "device-names"} <= {
        layer.dxf.name for layer in cad.layers
    }
    assert cad.header["$INSUNITS"] == 6, "metres"


def check_bundle_routes(plan: PlanView, lines: list[Any]) -> None:
    """The bundles over each tray hold as many cables as the tray, and each line is as long as its
    trays and the ways to them."""
    tables, racks, trays, bundles = PlanTables(plan), plan.scene["racks"], plan.scene["trays"], plan.scene["bundles"]
    held = [0] * len(trays["name"])
    for bundle, line in enumerate(lines):
        points = [(x, y) for x, y, *_ in line.get_points()]
        ends = [bundles["rack_a"][bundle], bundles["rack_b"][bundle]]
        centres = [(racks["x_metres"][rack], racks["y_metres"][rack]) for rack in ends]
        taps = [(racks["tray_x_metres"][rack], racks["tray_y_metres"][rack]) for rack in ends]
        assert [points[0], points[-1]] == [pytest.approx(centre) for centre in centres]
        route = tables.bundle_trays(bundle)
        starts = [(trays["x0_metres"][tray], trays["y0_metres"][tray]) for tray in route]
        stops = [(trays["x1_metres"][tray], trays["y1_metres"][tray]) for tray in route]
        parts = [*zip(starts, stops, strict=True), *zip(centres, taps, strict=True)]
        drawn = sum(math.dist(a, b) for a, b in itertools.pairwise(points))
        assert drawn == pytest.approx(sum(math.dist(a, b) for a, b in parts), abs=0.01)
        for tray in route:
            held[tray] += bundles["cables"][bundle]
    assert held == trays["cables"]


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_the_dxf_is_the_plan(name: str, plan: Callable[[str], PlanView], drawing: Callable[[str], Any]) -> None:
    scene, space = plan(name).scene, drawing(name).modelspace()
    racks = list(space.query('INSERT[layer=="racks"]'))
    result = {insert.get_attrib_text("NAME"): insert.dxf.insert for insert in racks}
    assert list(result) == scene["racks"]["name"]
    for i, rack in enumerate(scene["racks"]["name"]):
        assert result[rack].x == pytest.approx(scene["racks"]["x_metres"][i])
        assert result[rack].y == pytest.approx(scene["racks"]["y_metres"][i])
    trays = list(space.query('LINE[layer=="trays"]'))
    assert [line.dxf.start.z for line in trays] == pytest.approx(scene["trays"]["z_metres"])
    bundles = list(space.query('LWPOLYLINE[layer=="bundles"]'))
    assert len(bundles) == len(scene["bundles"]["rack_a"])
    widths = [line.dxf.const_width * 1000 for line in bundles]
    assert widths == pytest.approx(scene["bundles"]["diameter_mm"])
    check_bundle_routes(plan(name), bundles)
    outline = next(iter(space.query('LWPOLYLINE[layer=="container"]')))
    corners = [point[:2] for point in outline.get_points()]
    assert max(corners) == (scene["enclosure"]["length_metres"], scene["enclosure"]["width_metres"])


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_the_dxf_opens_on_all_of_it(name: str, drawing: Callable[[str], Any]) -> None:
    """The extents in the header hold everything and little more, and the first view shows them."""
    cad = drawing(name)
    drawn = bbox.extents(cad.modelspace())
    low, high = cad.header["$EXTMIN"], cad.header["$EXTMAX"]
    for axis in (0, 1):
        assert low[axis] <= drawn.extmin[axis] <= low[axis] + 1
        assert high[axis] - 2 <= drawn.extmax[axis] <= high[axis]
    view = cad.viewports.get("*ACTIVE")[0]
    wide = view.dxf.height * 1.6
    assert view.dxf.center.x - wide / 2 <= low[0] + 1e-6
    assert view.dxf.center.x + wide / 2 >= high[0] - 1e-6
    assert view.dxf.height >= high[1] - low[1] - 1e-6


@pytest.mark.parametrize("name", ["cube", "subways"])
def test_rack_names_are_upright_in_their_racks(
    name: str, plan: Callable[[str], PlanView], drawing: Callable[[str], Any]
) -> None:
    racks = plan(name).scene["racks"]
    space = drawing(name).modelspace()
    inserts = list(space.query('INSERT[layer=="racks"]'))
    texts = [text for text in space.query('TEXT[layer=="labels"]') if text.dxf.text in set(racks["name"])]
    assert [text.dxf.text for text in texts] == racks["name"]
    for i, (insert, tag) in enumerate(zip(inserts, texts, strict=True)):
        assert all(attribute.is_invisible for attribute in insert.attribs), (
            "LibreCAD shows no attributes: none is relied on"
        )
        assert tag.dxf.rotation == insert.dxf.rotation == 0
        # In the front half, where no column tray runs.
        ahead = tag.dxf.insert.y - racks["y_metres"][i]
        assert (ahead > 0) == (racks["facing"][i] == "north")
        assert abs(ahead) < racks["depth_metres"][i] / 2
        assert abs(tag.dxf.insert.x - racks["x_metres"][i]) < racks["width_metres"][i] / 2


@pytest.mark.parametrize("name", ["cube", "fat-tree"])
def test_elevations_show_every_device_at_its_height_twice(
    name: str, plan: Callable[[str], PlanView], drawing: Callable[[str], Any]
) -> None:
    view, space = plan(name), drawing(name).modelspace()
    devices = view.scene["devices"]
    boxes = list(space.query('LWPOLYLINE[layer=="devices"]'))
    assert len(boxes) == 2 * len(view.host_names)
    assert Counter(item.dxf.text for item in space.query('TEXT[layer=="device-names"]')) == dict.fromkeys(
        view.host_names, 2
    )
    frames = [min(point[1] for point in frame.get_points()) for frame in space.query('LWPOLYLINE[layer=="elevations"]')]
    floors = sorted({round(y, 4) for y in frames})
    heights = Counter()
    for box in boxes:
        low = min(point[1] for point in box.get_points())
        floor = max(y for y in floors if y <= low + 1e-6)
        heights[round((low - floor) / 0.04445) + 1] += 1
    assert heights == {unit: 2 * count for unit, count in Counter(devices["unit"]).items()}


def test_bodies_are_an_option_and_stand_in_space(
    plan: Callable[[str], PlanView], drawing: Callable[[str], Any]
) -> None:
    view = plan("fat-tree")
    cad = opened(b"".join(render("dxf", view, None, ExportOptions(solid=True))))
    assert not cad.audit().errors
    space = cad.modelspace()
    assert len(space.query('INSERT[layer=="solid-devices"]')) == len(view.host_names)
    assert len(space.query('INSERT[layer=="solid-racks"]')) == len(view.rack_names)
    tubes = list(space.query('POLYLINE[layer=="solid-bundles"]'))
    assert len(tubes) == len(view.scene["bundles"]["rack_a"])
    highest = max(view.scene["trays"]["z_metres"])
    for tube in tubes:
        assert tube.is_3d_polyline
        assert max(point.z for point in tube.points()) == pytest.approx(highest, abs=0.1)
    assert not drawing("fat-tree").modelspace().query('INSERT[layer=="solid-devices"]')


def test_a_real_drawing_program_paints_the_dxf(drawing: Callable[[str], Any]) -> None:
    cad = drawing("fat-tree")
    backend = svg.SVGBackend()
    Frontend(RenderContext(cad), backend).draw_layout(cad.modelspace())
    painted = backend.get_string(layout.Page(420, 297), settings=layout.Settings(fit_page=True))
    root = ElementTree.fromstring(painted)
    assert len(list(root.iter(f"{SVG}path"))) > 500


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_can_be_drawn(engine: Engine, spec: dict[str, object]) -> None:
    view = plans.compute(engine, spec, "current-2026")
    assert len(rack_boxes(ElementTree.fromstring(b"".join(render("svg", view))))) == len(view.rack_names)
    assert not opened(b"".join(render("dxf", view))).audit().errors
