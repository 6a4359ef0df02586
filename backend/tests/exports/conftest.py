"""Plans computed once for the whole session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.plans.view import PlanView
from cubeyard.settings import Settings
from tests.exports import plans


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
def rendered(plan: Callable[[str], PlanView]) -> Callable[[str, str], bytes]:
    """`rendered("xlsx", "paper")`: the whole file, made once."""
    made: dict[tuple[str, str], bytes] = {}

    def get(format: str, name: str) -> bytes:
        key = (format, name)
        if key not in made:
            made[key] = b"".join(render(format, plan(name)))
        return made[key]

    return get


@pytest.fixture(scope="session")
def hostile(engine: Engine) -> PlanView:
    """A plan whose every user-supplied string is an attack."""
    spec = {"family": "bcube", "n": 4, "k": 1}
    return PlanView.of(engine.plan(spec, plans.hostile_book(engine)), plans.HOSTILE_NAME)
