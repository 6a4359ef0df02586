"""The container as a glTF 2.0 model in one binary file (.glb), in metres, y upwards as glTF
requires.

Scene: `container` with `floor`, `racks`, `trays` and `bundles`; a rack has its frame and its
devices as children. Every node has the name that all other files use. Boxes share one mesh per
material and differ by translation and scale.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from cubeyard.exports import solids
from cubeyard.exports.formats import Progress
from cubeyard.exports.palette import LIGHT, level_colour, rgb
from cubeyard.exports.tables import PlanTables, enclosure_title, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

Json = dict[str, Any]

_MAGIC, _VERSION, _JSON, _BIN = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
_ARRAY, _ELEMENTS = 34962, 34963
_FLOAT, _UINT = 5126, 5125
_SIDES = 8
"""Sides of the tube that represents a bundle."""
_THINNEST = 0.004
_CHUNK_BYTES = 1 << 20
_FLOOR_THICKNESS = 0.02


def _turned(point: solids.Point) -> list[float]:
    """Converts from z upwards to y upwards, rounded to a tenth of a millimetre."""
    x, y, z = point
    return [round(x, 4), round(z, 4), round(-y, 4) or 0.0]


def _linear(colour: str) -> list[float]:
    """A colour of the palette as glTF's linear factors."""
    channels = (value / 255 for value in rgb(colour))
    return [round(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4, 5) for c in channels]


class _Model:
    """Nodes, meshes and materials, and the binary buffer of the meshes."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.meshes: list[Json] = []
        self.materials: list[Json] = []
        self._material_of: dict[str, int] = {}
        self._box_of: dict[str, int] = {}
        self._box: Json | None = None
        self.accessors: list[Json] = []
        self.views: list[Json] = []
        self.data = bytearray()

    def node(self, name: str, parent: int | None = None, **more: Any) -> int:
        self.nodes.append({"name": name, **more})
        index = len(self.nodes) - 1
        if parent is not None:
            self.nodes[parent].setdefault("children", []).append(index)
        return index

    def material(self, name: str, colour: str, *, alpha: float = 1.0, metal: float = 0.0, rough: float = 0.8) -> int:
        if name not in self._material_of:
            self._material_of[name] = len(self.materials)
            base = {"baseColorFactor": [*_linear(colour), alpha], "metallicFactor": metal, "roughnessFactor": rough}
            blend = {"alphaMode": "BLEND", "doubleSided": True} if alpha < 1 else {}
            self.materials.append({"name": name, "pbrMetallicRoughness": base, **blend})
        return self._material_of[name]

    def box(self, material: int) -> int:
        """The mesh of a cube of one metre in a material; all cubes share their corners."""
        key = self.materials[material]["name"]
        if key not in self._box_of:
            if self._box is None:
                self._box = self._primitive(*_cube())
            self._box_of[key] = self._mesh(f"box, {key}", self._box | {"material": material})
        return self._box_of[key]

    def body(self, name: str, points: np.ndarray, normals: np.ndarray, faces: np.ndarray, material: int) -> int:
        return self._mesh(name, self._primitive(points, normals, faces) | {"material": material})

    def _mesh(self, name: str, primitive: Json) -> int:
        self.meshes.append({"name": name, "primitives": [primitive]})
        return len(self.meshes) - 1

    def _primitive(self, points: np.ndarray, normals: np.ndarray, faces: np.ndarray) -> Json:
        ends = {"min": points.min(axis=0).tolist(), "max": points.max(axis=0).tolist()}
        return {
            "attributes": {
                "POSITION": self._accessor(points, _FLOAT, "VEC3", _ARRAY, **ends),
                "NORMAL": self._accessor(normals, _FLOAT, "VEC3", _ARRAY),
            },
            "indices": self._accessor(faces.reshape(-1), _UINT, "SCALAR", _ELEMENTS),
        }

    def _accessor(self, values: np.ndarray, component: int, shape: str, target: int, **more: Any) -> int:
        data = values.astype("<f4" if component == _FLOAT else "<u4").tobytes()
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), "target": target})
        self.data += data
        view = len(self.views) - 1
        self.accessors.append(
            {"bufferView": view, "componentType": component, "count": len(values), "type": shape, **more}
        )
        return len(self.accessors) - 1

    def document(self, asset: Json, root: int) -> Json:
        return {
            "asset": asset, "scene": 0, "scenes": [{"name": self.nodes[root]["name"], "nodes": [root]}], "nodes": self.nodes,
            "meshes": self.meshes, "materials": self.materials, "accessors": self.accessors, "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.data)}],
        }  # fmt: skip


def _cube() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners, normals and triangles of a cube of one metre around the origin; each face has its
    own corners."""
    points, normals, faces = [], [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = side
            u, v = np.roll(np.eye(3), axis, axis=1)[1:]
            # Counter-clockwise seen from outside.
            corners = [normal - u - v, normal + u - v, normal + u + v, normal - u + v]
            if side < 0:
                corners.reverse()
            start = len(points)
            points += [corner / 2 for corner in corners]
            normals += [normal] * 4
            faces += [[start, start + 1, start + 2], [start, start + 2, start + 3]]
    return np.array(points, dtype=np.float32), np.array(normals, dtype=np.float32), np.array(faces, dtype=np.uint32)


def tube(points: list[list[float]], radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners, normals and triangles of a tube around a line; each straight piece has its own
    corners, so that bends stay sharp."""
    angles = np.arange(_SIDES) * 2 * np.pi / _SIDES
    corners, normals, faces = [], [], []
    line = np.array(points)
    for start, end in itertools.pairwise(line):
        along = (end - start) / np.linalg.norm(end - start)
        u = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        u /= np.linalg.norm(u)
        ring = np.outer(np.cos(angles), u) + np.outer(np.sin(angles), np.cross(along, u))
        first = sum(len(piece) for piece in corners)
        corners += [start - along * radius + ring * radius, end + along * radius + ring * radius]
        normals += [ring, ring]
        a = first + np.arange(_SIDES)
        b = first + (np.arange(_SIDES) + 1) % _SIDES
        faces += [np.stack([a, b, b + _SIDES], axis=1), np.stack([a, b + _SIDES, a + _SIDES], axis=1)]
    return np.concatenate(corners), np.concatenate(normals), np.concatenate(faces)


def _add_box(model: _Model, box: solids.Box, parent: int, material: int) -> int:
    size = [round(value, 4) for value in (box.size[0], box.size[2], box.size[1])]
    return model.node(box.name, parent, mesh=model.box(material), translation=_turned(box.centre), scale=size)


def _add_floor(model: _Model, tables: PlanTables, parent: int) -> None:
    enclosure = tables.plan.scene["enclosure"]
    length, width, height = (enclosure[f"{key}_metres"] for key in ("length", "width", "height"))
    floor = solids.Box(
        "tray", "floor", (length / 2, width / 2, -_FLOOR_THICKNESS / 2), (length, width, _FLOOR_THICKNESS)
    )
    _add_box(model, floor, parent, model.material("floor", LIGHT.line))
    if enclosure["kind"] == "container":
        shell = solids.Box("tray", "walls", (length / 2, width / 2, height / 2), (length, width, height))
        _add_box(model, shell, parent, model.material("walls", LIGHT.muted, alpha=0.08))


def _add_racks(model: _Model, tables: PlanTables, parent: int) -> None:
    frame = model.material("rack", LIGHT.muted, alpha=0.18, metal=0.4)
    group = model.node("racks", parent)
    rack_nodes: list[int] = []
    for box in solids.racks(tables):
        rack_nodes.append(model.node(box.name, group))
        _add_box(model, solids.Box("rack", f"{box.name} frame", box.centre, box.size), rack_nodes[-1], frame)
    for box in solids.devices(tables):
        kind = "server" if box.level < 0 else f"switch L{box.level}"
        material = model.material(kind, level_colour(box.level, LIGHT), metal=0.3, rough=0.6)
        _add_box(model, box, rack_nodes[box.rack], material)


def model(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One .glb file: the header, the JSON chunk, then the binary chunk in pieces."""
    tables = PlanTables(plan)
    made = _Model()
    root = made.node(enclosure_title(plan.scene["enclosure"]))
    _add_floor(made, tables, root)
    progress(0.1, "racks")
    _add_racks(made, tables, root)
    progress(0.4, "trays")
    trays = made.node("trays", root)
    for box in solids.trays(tables):
        _add_box(made, box, trays, made.material("tray", LIGHT.ink, metal=0.6, rough=0.5))
    group = made.node("bundles", root)
    paths = list(solids.bundles(tables))
    for i, path in enumerate(paths):
        material = made.material(f"cables L{path.level}", level_colour(path.level, LIGHT))
        radius = max(path.diameter, _THINNEST) / 2
        body = made.body(path.name, *tube([_turned(point) for point in path.points], radius), material)
        made.node(path.name, group, mesh=body)
        progress(0.4 + 0.5 * i / len(paths), "bundles")
    asset = {
        "version": "2.0", "generator": f"Cubeyard {plan.engine_version}",
        "extras": {"plan": plain(plan.name), "provenance": provenance(plan)},
    }  # fmt: skip
    text = orjson.dumps(made.document(asset, root))
    text += b" " * (-len(text) % 4)
    made.data += bytes(-len(made.data) % 4)
    size = 12 + 8 + len(text) + 8 + len(made.data)
    yield struct.pack("<III", _MAGIC, _VERSION, size) + struct.pack("<II", len(text), _JSON) + text
    yield struct.pack("<II", len(made.data), _BIN)
    for start in range(0, len(made.data), _CHUNK_BYTES):
        yield bytes(made.data[start : start + _CHUNK_BYTES])
    progress(1.0, "model")
