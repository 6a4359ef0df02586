"""Common tests of every format: known names, monotonic progress, equal bytes for equal plans, and
bounded memory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from cubeyard.engine import Engine
from cubeyard.exports import FORMATS, UnknownExportFormatError, file_name, render
from cubeyard.exports.formats import GROUPS
from cubeyard.plans.view import PlanView
from tests.conftest import LONG_RUN, some
from tests.exports import plans

BACKEND = Path(__file__).parents[2]

# Runs in a separate process, with another hash seed, another time zone and at a later time.
_DIGESTS = """
import hashlib, json, sys
from cubeyard.engine import Engine
from cubeyard.exports import FORMATS, render
from cubeyard.settings import Settings
from tests.exports import plans
engine = Engine(Settings())
out = {}
for name in sys.argv[1:]:
    plan = plans.compute(engine, *plans.SPECS[name])
    for format in FORMATS:
        if not plans.compares(format, name):
            continue
        out[f"{name}/{format}"] = hashlib.sha256(b"".join(render(format, plan))).hexdigest()
print(json.dumps(out))
"""


def test_unproven_formats_are_last_in_their_group_and_marked() -> None:
    for group in GROUPS:
        marks = [item.unproven for item in FORMATS.values() if item.group == group]
        assert marks == sorted(marks)
    assert {name for name, item in FORMATS.items() if item.unproven} == {
        "drawio", "labels", "tester", "nvidia-p2p", "apstra", "ns3", "htsim",
    }  # fmt: skip
    assert all(item.proof.startswith("Unproven. ") is item.unproven for item in FORMATS.values())


def test_the_same_plan_gives_the_same_bytes(rendered: Callable[[str, str], bytes]) -> None:
    names = some(("dcell", "subways", "torus", "fat-tree"))
    ours = {
        f"{n}/{f}": hashlib.sha256(rendered(f, n)).hexdigest() for n in names for f in FORMATS if plans.compares(f, n)
    }
    environment = os.environ | {"PYTHONHASHSEED": "12345", "TZ": "Asia/Tokyo", "PYTHONPATH": str(BACKEND)}
    other = subprocess.run(
        [sys.executable, "-c", _DIGESTS, *names],
        env=environment,
        cwd=BACKEND,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(other.stdout.splitlines()[-1]) == ours


def test_every_family_is_printed(engine: Engine) -> None:
    """A new family has a plan in `SPECS` of `plans.py`, and random ones in `RANDOM`."""
    topologies = [spec.get("topology", spec) for spec, _ in plans.SPECS.values()]
    families = {family["family"] for family in engine.families}
    assert families - {topology["family"] for topology in topologies} == set()
    assert families - set(plans.RANDOM) == set()


def test_another_plan_gives_other_bytes(rendered: Callable[[str, str], bytes]) -> None:
    for name in FORMATS:
        if plans.takes(name, "dcell"):
            assert rendered(name, "dcell") != rendered(name, "torus")


def test_every_format_is_in_a_group(plan: Callable[[str], PlanView]) -> None:
    assert {item.group for item in FORMATS.values()} == set(GROUPS)


def test_an_unknown_format_is_named_with_those_that_exist(plan: Callable[[str], PlanView]) -> None:
    with pytest.raises(UnknownExportFormatError, match=r"'docx' does not exist.*csv.*netbox"):
        render("docx", plan("dcell"))
    with pytest.raises(UnknownExportFormatError):
        file_name("docx", plan("dcell"))


@pytest.mark.parametrize("format", FORMATS)
def test_progress_only_grows_and_ends_at_one(
    format: str, told: Callable[[str, str], tuple[bytes, list[tuple[float, str]]]]
) -> None:
    name = "subways" if LONG_RUN else "leaf-spine"
    _, seen = told(format, name if plans.takes(format, name) else "fat-tree")
    fractions = [done for done, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(0 <= done <= 1 and doing for done, doing in seen)


@pytest.mark.parametrize("format", FORMATS)
def test_every_plan_can_be_printed(format: str, rendered: Callable[[str, str], bytes]) -> None:
    for name in plans.SMALL if LONG_RUN else plans.SMALL[::5]:
        if plans.takes(format, name):
            assert rendered(format, name)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_name_is_safe_whatever_the_plan_is_called(format: str, hostile: PlanView) -> None:
    name = file_name(format, hostile)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name)
    assert ".." not in name
    assert name.endswith(FORMATS[format].extension)
    assert hostile.plan_hash[:8] in name


@pytest.mark.long
@pytest.mark.parametrize("format", ["csv", "labels", "graphml"])
def test_a_large_plan_streams_in_pieces(format: str, large: PlanView, rendered: Callable[[str, str], bytes]) -> None:
    """The pieces are small, and so is the additional memory."""
    assert large.cable_count == 24_576
    assert rendered(format, "dcell")  # before measuring: imports take memory too
    tracemalloc.start()
    sizes = [len(piece) for piece in render(format, large)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(sizes) > 1
    assert max(sizes) < 5_000_000
    assert peak < 45_000_000
