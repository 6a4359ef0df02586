"""Imports at start: slow packages are imported only on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATE = (
    "alembic",
    "docker",
    "ezdxf",
    "kubernetes",
    "networkx",
    "numpy",
    "pandas",
    "pikepdf",
    "pyarrow",
    "requests",
    "typst",
    "xlsxwriter",
    "zxingcpp",
)
"""Used by some exports and some emulations, and by migrations."""


def imported(code: str) -> set[str]:
    """The modules that a fresh interpreter has after some code."""
    words = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "module", ["cubeyard.serve", *(pytest.param(name, marks=LONG) for name in ("cubeyard.app", "cubeyard.worker"))]
)
def test_the_server_imports_nothing_that_only_some_of_its_work_needs(module: str) -> None:
    assert imported(f"import {module}").intersection(LATE) == set()


def test_no_model_of_a_request_is_completed_and_no_route_made_by_importing_them() -> None:
    code = """
from pydantic import BaseModel
from cubeyard.app import ROUTES
from cubeyard.kit.models import Model
def below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from below(one)
models = list(below(Model))
assert len(models) > 200, len(models)
complete = [one.__qualname__ for one in models if one.__pydantic_complete__]
assert len(complete) < 15, complete
direct = [one.__qualname__ for one in BaseModel.__subclasses__() if one.__module__.startswith("cubeyard.") and one is not Model]
assert sorted(direct) == ["EmulationCluster", "EmulationHost", "Settings"], direct
assert [one.path for one in ROUTES if getattr(one, "made", False)] == []
"""
    imported(code)
