"""The 3D model is opened by trimesh, a reader of glTF: its nodes, where they are, and the bodies'
geometry."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings

from cubeyard.engine import Engine
from cubeyard.exports import render, solids
from cubeyard.exports.tables import PlanTables
from cubeyard.plans.view import PlanView
from tests.conftest import examples
from tests.exports import plans

NAMES = ("cube", "subways", "torus", "dcell", "fat-tree")


def scene_of(data: bytes) -> Any:
    return trimesh.load_scene(io.BytesIO(data), file_type="glb")


def document_of(data: bytes) -> dict[str, Any]:
    magic, version, size, length, kind = struct.unpack_from("<IIIII", data)
    assert (magic, version, size, kind) == (0x46546C67, 2, len(data), 0x4E4F534A)
    return json.loads(data[20 : 20 + length])


def bounds_of(scene: Any, node: str) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a node's body in the world, in the plan's axes (z upwards)."""
    transform, geometry = scene.graph[node]
    points = trimesh.transform_points(scene.geometry[geometry].vertices, transform)
    points = np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)
    return points.min(axis=0), points.max(axis=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_thing_of_the_plan_is_a_named_node(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view, data = plan(name), rendered("gltf", name)
    scene, tables = scene_of(data), PlanTables(plan(name))
    nodes = set(scene.graph.nodes)
    trays, bundles = [box.name for box in solids.trays(tables)], tables.bundle_names
    assert {*view.host_names, *view.rack_names, *trays, *bundles, "racks", "trays", "bundles", "floor"} <= nodes
    document = document_of(data)
    names = [node["name"] for node in document["nodes"]]
    assert len(set(names)) == len(names)
    racks = {node["name"]: [names[i] for i in node.get("children", [])] for node in document["nodes"]}
    for device in (0, len(view.host_names) - 1):
        assert view.host_names[device] in racks[view.rack_names[view.scene["devices"]["rack"][device]]]


@pytest.mark.parametrize("name", NAMES)
def test_bodies_stand_where_the_plan_says(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view, scene = plan(name), scene_of(rendered("gltf", name))
    racks, devices = view.scene["racks"], view.scene["devices"]
    for i, rack in enumerate(view.rack_names):
        low, high = bounds_of(scene, f"{rack} frame")
        centre = (low + high) / 2
        assert centre[:2] == pytest.approx([racks["x_metres"][i], racks["y_metres"][i]], abs=1e-3)
        assert (high - low)[:2] == pytest.approx([racks["width_metres"][i], racks["depth_metres"][i]], abs=1e-3)
        assert low[2] == pytest.approx(0, abs=1e-3)
    for i, host in enumerate(view.host_names[:200]):
        low, high = bounds_of(scene, host)
        rack_low, rack_high = bounds_of(scene, f"{view.rack_names[devices['rack'][i]]} frame")
        assert (low >= rack_low - 1e-3).all(), f"{host} stands in its rack"
        assert (high <= rack_high + 1e-3).all(), f"{host} stands in its rack"
        unit = devices["unit"][i]
        assert (low[2] + high[2]) / 2 == pytest.approx(
            solids.plinth(PlanTables(view), devices["rack"][i]) + (unit - 1 + devices["height_units"][i] / 2) * 0.04445,
            abs=1e-3,
        )


@pytest.mark.parametrize("name", ["cube", "subways"])
def test_bundles_lie_in_their_trays(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    """Every bundle's tube spans its racks and its trays, and is as thick as the bundle."""
    view, scene, tables = plan(name), scene_of(rendered("gltf", name)), PlanTables(plan(name))
    trays = view.scene["trays"]
    for bundle, node in enumerate(tables.bundle_names):
        low, high = bounds_of(scene, node)
        for tray in tables.bundle_trays(bundle):
            for end in "01":
                at = [trays[f"x{end}_metres"][tray], trays[f"y{end}_metres"][tray], trays["z_metres"][tray]]
                assert (np.array(at) >= low - 0.15).all()
                assert (np.array(at) <= high + 0.15).all()


def test_bodies_are_closed_outwards_and_have_the_papers_colours(rendered: Callable[[str, str], bytes]) -> None:
    data = rendered("gltf", "paper")
    scene, document = scene_of(data), document_of(data)
    box = next(mesh for name, mesh in scene.geometry.items() if name.startswith("box"))
    box.merge_vertices(merge_norm=True)
    assert box.is_watertight
    assert box.volume == pytest.approx(1.0)
    tube = scene.geometry["B0001"]
    assert (np.einsum("ij,ij->i", tube.face_normals, tube.vertex_normals[tube.faces[:, 0]]) > 0.5).all()
    materials = {material["name"]: material for material in document["materials"]}
    assert {"server", "switch L0", "switch L3", "cables L3", "tray", "rack", "walls"} <= set(materials)
    assert materials["walls"]["alphaMode"] == "BLEND"
    assert document["asset"]["version"] == "2.0"


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_is_a_model(engine: Engine, spec: dict[str, Any]) -> None:
    view = plans.compute(engine, spec, "current-2026")
    scene = scene_of(b"".join(render("gltf", view)))
    assert set(view.rack_names) <= set(scene.graph.nodes)
    extents = scene.bounds
    enclosure = view.scene["enclosure"]
    assert extents[0][0] >= -0.5
    assert extents[1][0] <= enclosure["length_metres"] + 0.5
    assert np.isfinite(extents).all()
