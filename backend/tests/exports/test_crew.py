"""Power schedule, labels for printers, the tester's list and draw.io elevations, read back and
compared with the plan."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings

from cubeyard.engine import Engine
from cubeyard.exports import ExportOptions, render
from cubeyard.exports.drawio import RACK_PIXELS, UNIT_PIXELS
from cubeyard.plans.view import PlanView
from tests.conftest import examples
from tests.exports import plans

Json = dict[str, Any]


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def check_power(plan: PlanView, rows: list[dict[str, str]]) -> None:
    """The bill's cords and PDUs; every watt of every rack; no outlet twice, and no more than there
    are."""
    quantity = Counter[str]()
    for line in plan.bom["lines"]:
        quantity[line["category"]] += line["quantity"]
    assert len(rows) == quantity["cord"]
    assert len({row["pdu"] for row in rows}) == quantity["pdu"]
    assert len({(row["pdu"], row["outlet"]) for row in rows}) == len(rows)
    cords = Counter(row["host_name"] for row in rows)
    assert all(int(row["cords"]) == cords[row["host_name"]] for row in rows)
    assert {row["host_name"] for row in rows} == set(plan.host_names)
    rack_of = dict(zip(plan.host_names, (plan.rack_names[rack] for rack in plan.scene["devices"]["rack"]), strict=True))
    drawn: dict[str, float] = defaultdict(float)
    by_pdu: dict[str, float] = defaultdict(float)
    for row in rows:
        assert row["rack"] == rack_of[row["host_name"]]
        drawn[row["rack"]] += float(row["watts"] or 0)
        by_pdu[row["pdu"]] += float(row["watts"] or 0)
        if plan.pdu:
            assert 1 <= int(row["outlet"]) <= plan.pdu["attributes"]["outlets"]
    for row in rows:
        assert float(row["pdu_watts"]) == pytest.approx(by_pdu[row["pdu"]], abs=0.06 * len(rows))
    for name, watts in zip(plan.rack_names, plan.scene["racks"]["power_watts"], strict=True):
        # A schedule has a decimal; a rack may be empty.
        assert drawn[name] == pytest.approx(watts, abs=0.06 * len(rows))


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_has_an_outlet_for_every_cord(engine: Engine, spec: Json) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check_power(plan, table(b"".join(render("power", plan))))


@pytest.mark.parametrize("name", ["priced", "paper", "partless", "subways"])
def test_the_schedule_adds_up_to_the_racks(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check_power(plan(name), table(rendered("power", name)))


def test_the_pdus_of_a_rack_share_its_load(
    plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    loads: dict[str, dict[str, float]] = defaultdict(dict)
    for row in table(rendered("power", "priced")):
        loads[row["rack"]][row["pdu"]] = float(row["pdu_watts"])
    limit = plan("priced").pdu["attributes"]["power_limit_watts"]  # pyright: ignore[reportOptionalSubscript]
    for pdus in loads.values():
        assert max(pdus.values()) - min(pdus.values()) <= 230 + 11, "at most one server apart"
        assert max(pdus.values()) <= limit


@pytest.mark.parametrize("name", ["dcell", "torus", "subways", "partless"])
def test_printers_get_two_labels_a_cable(name: str, plan: Callable[[str], PlanView]) -> None:
    view = plan(name)
    files = {
        printer: b"".join(render("labels", view, options=ExportOptions(printer=printer)))
        for printer in ("brady", "brother", "dymo")
    }
    ends = [label for pair in zip(view.near_labels, view.far_labels, strict=True) for label in pair]
    names = [view.cable_name(i // 2) for i in range(len(ends))]
    metres = [view.cables["stock_mm"][i // 2] / 1000 for i in range(len(ends))]
    assert all(file.isascii() for file in files.values())
    brady, brother, dymo = map(table, files.values())
    assert [f"{row['Line 1']}/{row['Line 2']}" for row in brady] == ends
    assert [row["Line 3"] for row in brady] == [
        f"{cable} {length:g} m" for cable, length in zip(names, metres, strict=True)
    ]
    assert [row["Barcode"] for row in brady] == names
    assert {row["Quantity"] for row in brady} == {"1"}
    assert [row["Flag front"] for row in brother] == [row["Flag back"] for row in brother] == ends
    assert [row["Cable"] for row in brother] == names
    assert [f"{row['TEXT']}/{row['TEXT_1']}" for row in dymo] == ends
    devices = list(zip(view.cables["a_device"].tolist(), view.cables["b_device"].tolist(), strict=True))
    here = [view.host_names[device] for pair in devices for device in pair]
    there = [view.host_names[device] for a, b in devices for device in (b, a)]
    for rows, near, far in (
        (brady, "Host name", "Far host name"),
        (brother, "Host name", "Far host name"),
        (dymo, "HOST_NAME", "FAR_HOST_NAME"),
    ):
        assert [row[near] for row in rows] == here
        assert [row[far] for row in rows] == there


@pytest.mark.parametrize("name", ["dcell", "subways", "leaf-spine", "partless"])
def test_the_tester_gets_the_cables_that_it_can_test(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view = plan(name)
    rows = table(rendered("tester", name))
    media = [
        "" if part >= len(view.parts) else view.parts[part]["attributes"]["medium"]
        for part in view.cables["part"].tolist()
    ]
    tested = [i for i, medium in enumerate(media) if medium.startswith(("cat", "fibre"))]
    assert [row["Cable ID"] for row in rows] == [view.cable_name(i) for i in tested]
    for row, i in zip(rows, tested, strict=True):
        assert (row["Label near"], row["Label far"]) == (view.near_labels[i], view.far_labels[i])
        assert float(row["Planned length (m)"]) == view.cables["stock_mm"][i] / 1000
        assert ("Cat 6" in row["Test limit"]) == media[i].startswith("cat")
        assert row["Near host name"] == view.host_names[view.cables["a_device"][i]]


def test_fibre_is_tested_by_its_mode(engine: Engine) -> None:
    spec: Json = {
        "topology": {"family": "leaf_spine", "leaves": 2, "spines": 2, "servers_per_leaf": 4},
        "cabling": {"media": "fibre"},
    }
    plan = plans.compute(engine, spec, "current-2026")
    rows = table(b"".join(render("tester", plan)))
    assert len(rows) == plan.cable_count
    assert {row["Test limit"] for row in rows} == {"TIA-568.3-D Multimode"}


def _box(cell: ElementTree.Element) -> tuple[float, float, float, float]:
    geometry = cell.find("mxGeometry")
    assert geometry is not None
    x, y, width, height = (float(geometry.get(key, "nan")) for key in ("x", "y", "width", "height"))
    return x, y, width, height


@pytest.mark.parametrize("name", ["dcell", "torus", "subways", "paper"])
def test_drawio_shows_every_device_where_it_stands(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view = plan(name)
    devices = view.scene["devices"]
    root = ElementTree.fromstring(rendered("drawio", name))
    assert root.tag == "mxfile"
    result: dict[str, tuple[str, float, float, float, float]] = {}
    for page in root.iter("diagram"):
        cells = page.findall("./mxGraphModel/root/*")
        ids = [cell.get("id") for cell in cells]
        assert len(set(ids)) == len(ids)
        assert ids[:2] == ["0", "1"]
        racks = {cell.get("id"): (str(cell.get("value")), _box(cell)[3]) for cell in cells if cell.get("parent") == "1"}
        for shape in page.iter("object"):
            cell = shape.find("mxCell")
            assert cell is not None
            rack, tall = racks[cell.get("parent")]
            x, y, width, height = _box(cell)
            assert shape.get("label") not in result
            result[str(shape.get("label"))] = (rack, x, tall - y - height, width, height)
    assert set(result) == {host for host, unit in zip(view.host_names, devices["unit"], strict=True) if unit}
    taken: set[tuple[str, int, int]] = set()
    for i, host in enumerate(view.host_names):
        if host not in result:
            continue
        rack, x, bottom, width, height = result[host]
        assert rack == view.rack_names[devices["rack"][i]]
        assert bottom == pytest.approx((devices["unit"][i] - 1) * UNIT_PIXELS)
        assert height == devices["height_units"][i] * UNIT_PIXELS
        assert width == pytest.approx(RACK_PIXELS / devices["slots"][i], abs=0.01)
        at = (rack, devices["unit"][i], round(x / width))
        assert at not in taken, "two devices on one place"
        taken.add(at)


def test_hostile_names_stay_text(hostile: PlanView) -> None:
    root = ElementTree.fromstring(b"".join(render("drawio", hostile)))
    names = {shape.get("part_name") for shape in root.iter("object")}
    assert names
    for wanted in ("power", "labels", "tester"):
        for row in table(b"".join(render(wanted, hostile))):
            assert not any((value or "").startswith(("=", "+", "-", "@")) for value in row.values())
