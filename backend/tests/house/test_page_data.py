"""Documents of the engine that the page's own tests use: they may not drift from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cubeyard.engine import Engine, fault_kinds

PAGE = Path(__file__).resolve().parents[3] / "frontend" / "src"
Json = dict[str, Any]

OUTLINES: dict[str, Json] = {
    "BCube(4, 1)": {"family": "bcube", "n": 4, "k": 1},
    "BCube(4, 2)": {"family": "bcube", "n": 4, "k": 2},
    "DCell(4, 1)": {"family": "dcell", "n": 4, "k": 1},
    "DCell(2, 2)": {"family": "dcell", "n": 2, "k": 2},
    "torus 3x3x3": {"family": "torus3d", "x": 3, "y": 3, "z": 3},
    "torus 4x4x4": {"family": "torus3d", "x": 4, "y": 4, "z": 4},
    "tree of 12": {"family": "tree", "edge_ports": 4, "servers": 12},
    "fat-tree of 16": {"family": "fat_tree", "ports": 4, "layers": 3},
}
"""Networks whose live picture the page's tests arrange, by name."""


def outline(engine: Engine, spec: Json) -> Json:
    """A network in columns, as frames have it."""
    network = engine.emulation_network(spec)
    columns = {
        "servers": ("id", "name", "digits"),
        "switches": ("id", "name", "level", "digits"),
        "links": ("id", "level"),
    }
    document: Json = {"family": spec["family"], "picture": network["picture"]}
    for part, fields in columns.items():
        document[part] = {name: [item[name] for item in network[part]] for name in fields}
    for end in ("a", "b"):
        document["links"][end] = [link[end][0] for link in network["links"]]
        document["links"][f"{end}_port"] = [link[end][1] for link in network["links"]]
    return document


@pytest.mark.parametrize(
    "path", ["shared/faults/testing/fault-kinds.json", "features/emulation/picture/testing/outlines.json"]
)
def test_the_page_tests_the_engine_s_own_documents(engine: Engine, path: str) -> None:
    """`CUBEYARD_WRITE_PAGE_DATA=1 pytest tests/house/test_page_data.py` writes the files again."""
    documents: Any = fault_kinds()
    if path.endswith("outlines.json"):
        documents = {name: outline(engine, spec) for name, spec in OUTLINES.items()}
    file = PAGE / path
    if os.environ.get("CUBEYARD_WRITE_PAGE_DATA") == "1":
        file.write_text(_text(documents))
    assert json.loads(file.read_text()) == documents, (
        "run `CUBEYARD_WRITE_PAGE_DATA=1 pytest tests/house/test_page_data.py` in backend, then `npm run fmt` in frontend"
    )


def _text(documents: Any) -> str:
    """A list of objects over many lines; columns of numbers on one."""
    if isinstance(documents, list):
        return json.dumps(documents, indent=2, ensure_ascii=False) + "\n"
    return json.dumps(documents, ensure_ascii=False) + "\n"
