"""Plans computed once for the whole session."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.plans.view import PlanView
from cubeyard.settings import Settings
from tests.exports import plans
from tests.exports.packs import Pack

Told = list[tuple[float, str]]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Exports need no database and no application: only the engine."""
    return Engine(Settings())


@pytest.fixture(scope="session")
def plan(engine: Engine) -> Callable[[str], PlanView]:
    """`plan("paper")`: the plan of that name in `plans.SPECS`."""
    made: dict[str, PlanView] = {}

    def get(name: str) -> PlanView:
        if name not in made:
            spec, book = plans.SPECS[name]
            made[name] = plans.compute(engine, spec, book)
        return made[name]

    return get


@pytest.fixture(scope="session")
def told(
    plan: Callable[[str], PlanView], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], tuple[bytes, Told]]:
    """`told("xlsx", "paper")`: the whole file and the progress while it was made, once.

    A pack takes seconds: the processes of a run that share the work (pytest-xdist) share the packs,
    in a folder of the run.
    """
    made: dict[tuple[str, str], tuple[bytes, Told]] = {}
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(format: str, name: str) -> tuple[bytes, Told]:
        progress: Told = []
        data = b"".join(render(format, plan(name), lambda done, doing: progress.append((done, doing))))
        return data, progress

    def shared(format: str, name: str) -> tuple[bytes, Told]:
        kept, own = folder / f"{name}.{format}", base / f"{name}.{format}.new"
        if not kept.exists():
            data, progress = make(format, name)
            own.write_bytes(json.dumps(progress).encode() + b"\n" + data)
            own.rename(kept)
        progress, _, data = kept.read_bytes().partition(b"\n")
        return data, [(done, doing) for done, doing in json.loads(progress)]

    def get(format: str, name: str) -> tuple[bytes, Told]:
        key = (format, name)
        if key not in made:
            made[key] = (shared if format == "pdf" else make)(format, name)
        return made[key]

    return get


@pytest.fixture(scope="session")
def rendered(told: Callable[[str, str], tuple[bytes, Told]]) -> Callable[[str, str], bytes]:
    """`rendered("xlsx", "paper")`: the whole file, made once."""

    def get(format: str, name: str) -> bytes:
        return told(format, name)[0]

    return get


@pytest.fixture(scope="session")
def pack(engine: Engine, rendered: Callable[[str, str], bytes]) -> Callable[..., Pack]:
    """`pack("subways", "letter")`: the install pack, read once."""
    made: dict[tuple[str, str], Pack] = {}

    def get(name: str, paper: str = "a4") -> Pack:
        if (name, paper) not in made:
            data = rendered("pdf", name) if paper == "a4" else plans.printed(engine, name, paper)[1]
            made[name, paper] = Pack(data)
        return made[name, paper]

    return get


@pytest.fixture(scope="session")
def large(engine: Engine) -> PlanView:
    """8,192 servers and 24,576 cables."""
    return plans.compute(engine, {"family": "fat_tree", "ports": 32, "layers": 3}, "current-2026")


@pytest.fixture(scope="session")
def hostile(engine: Engine) -> PlanView:
    """A plan whose every user-supplied string is an attack."""
    spec = {"family": "bcube", "n": 4, "k": 1}
    return PlanView.of(engine.plan(spec, plans.hostile_book(engine)), plans.HOSTILE_NAME)
