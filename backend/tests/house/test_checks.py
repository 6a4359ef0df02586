"""The checks of the house can fail: each is given something wrong and must say so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BIN = Path(__file__).resolve().parents[3] / "bin"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), BIN / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


crates = _load("check-crates")
files = _load("check-files")


def _metadata(**uses: list[str]) -> dict[str, Any]:
    return {
        "packages": [
            {"name": f"cubeyard-{room}", "dependencies": [{"name": name} for name in names]}
            for room, names in uses.items()
        ]
    }


def test_the_intended_arrows_pass() -> None:
    metadata = _metadata(
        topology=["serde"],
        plan=["cubeyard-topology", "serde_json"],
        python=["cubeyard-plan", "cubeyard-topology", "pyo3", "numpy"],
        node=["cubeyard-dataplane", "cubeyard-topology"],
    )
    assert crates.wrong_arrows(metadata) == []


@pytest.mark.parametrize(
    ("room", "used"),
    [
        ("topology", "cubeyard-plan"),
        ("topology", "cubeyard-routing"),
        ("plan", "cubeyard-sim"),
        ("plan", "cubeyard-python"),
        ("dataplane", "cubeyard-plan"),
        ("node", "cubeyard-fabric"),
        ("sim", "cubeyard-dataplane"),
        ("plan", "pyo3"),
        ("topology", "reqwest"),
        ("attic", "serde"),
    ],
)
def test_an_arrow_in_the_wrong_direction_is_named(room: str, used: str) -> None:
    (sentence,) = crates.wrong_arrows(_metadata(**{room: [used]}))
    assert f"cubeyard-{room}" in sentence


@pytest.mark.parametrize(
    ("path", "content", "part"),
    [
        ("a.py", f"x = '/{'root'}/x'\n", "a.py:1: names a folder"),
        ("a.toml", f"x = '/{'home'}/ann/x'\n", "names a folder"),
        ("a.rs", f"\n// {'TO' + 'DO'}\n", "a.rs:2: unfinished"),
        ("a.rs", f"{'todo' + '!'}()\n", "unfinished"),
        ("frontend/package-lock.json", '"resolved": "https://x"\n', "registry"),
        ("a.ts", "x\n" * 601, "601 lines"),
        ("picture.png", "\0" * (1024 * 1024 + 1), "bytes"),
    ],
)
def test_a_file_that_should_not_be_so_is_named(path: str, content: str, part: str) -> None:
    assert any(part in sentence for sentence in files.complaints(path, content.encode()))


def test_an_ordinary_file_passes() -> None:
    assert files.complaints("a.py", b"# /tmp/x, /usr/bin and roots\nx = 1\n") == []
