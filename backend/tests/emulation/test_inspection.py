"""What one server says of itself, in the plan's names; and a server that says something else."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.emulation.hosts import Hosts
from cubeyard.emulation.inspection import inspect
from cubeyard.emulation.place import Place
from cubeyard.emulation.schemas import ServerState
from cubeyard.engine import Engine
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

from .scripted import Scripted, scripted
from .test_question import network
from .test_session import RUN

Json = dict[str, Any]
PATH = {"path_id": 7, "servers": [0, 1, 5], "available_bits_per_sec": 1e8}
OTHER = {"path_id": 8, "servers": [0, 4, 900], "available_bits_per_sec": None}
FLOW: Json = {"src": "10.0.0.1", "dst": "10.0.0.6", "proto": 6, "sport": 40_000, "dport": 5201 + 3}
KNOWN: Json = {
    "neighbours": [{"server": 1, "nha": 1, "port": 0, "up": True, "silent_secs": None}],
    "flows": [
        {"flow": FLOW, "path_id": 7, "paths": [PATH, OTHER], "probings": 4, "switches": 1},
        {"flow": {**FLOW, "dst": "198.18.0.1", "dport": 5200}, "path_id": 0, "paths": [], "probings": 0, "switches": 0},
        {"flow": {**FLOW, "dport": 5201 + 2048}, "path_id": 0, "paths": [], "probings": 0, "switches": 0},
        {"flow": {**FLOW, "dport": 5201 + 2047}, "path_id": 0, "paths": [], "probings": 0, "switches": 0},
        {"flow": {**FLOW, "dport": 5201}, "path_id": 0, "paths": [], "probings": 0, "switches": 0},
    ],
    "failed_links": [{"servers": [1, 5], "expires_in_secs": 1.23456}],
    "drops": {"no_route": 3},
    "own_bytes": 10,
    "relayed_bytes": 20,
    "refused": {"too-short": 2},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def asked(engine: Engine, place: Place, name: str) -> ServerState:
    return inspect(Hosts.of(Settings(), place), network(engine), RUN, name)


@pytest.fixture
def fabric(place: Place) -> Iterator[Scripted]:
    with scripted(place.socket) as script:
        yield script


def test_a_server_tells_in_the_plan_s_names(engine: Engine, place: Place, fabric: Scripted) -> None:
    fabric.inspected = KNOWN
    found = asked(engine, place, "00").model_dump()
    assert fabric.calls == [("inspect", {"run": RUN, "server": 0})]
    first, *others = found.pop("flows")
    assert found == {
        "run_id": RUN,
        "server": "00",
        "id": 0,
        "neighbours": [{"server": "01", "port": 0, "up": True, "silent_secs": None}],
        "failed_links": [{"servers": ["01", "11"], "expires_in_secs": 1.235}],
        "drops": {"no_route": 3},
        "own_bytes": 10,
        "relayed_bytes": 20,
        "refused": {"too-short": 2},
    }
    assert first == {
        "flow": 3, "destination": "11", "protocol": 6, "source_port": 40_000, "destination_port": 5204, "probings": 4,
        "switches": 1, "paths": [
            {"servers": ["00", "01", "11"], "available_bits_per_sec": 1e8, "used": True},
            {"servers": ["00", "10", "900"], "available_bits_per_sec": None, "used": False},
        ],
    }  # fmt: skip
    assert [(one["flow"], one["destination"]) for one in others] == [
        (None, "198.18.0.1"), (None, "11"), (2047, "11"), (0, "11"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["<0,0>", "99", "é", ""])
def test_only_servers_are_asked(engine: Engine, place: Place, name: str) -> None:
    with pytest.raises(ProblemError) as refused:
        asked(engine, place, name)
    assert refused.value.status == 404


NONSENSE = st.sampled_from([None, True, -1, 2**63 - 1, 1e30, "", "10.0.0.999", "é", [], {}, [{}], [[1]], {"server": 1}])


def places_in(value: Any) -> list[list[Any]]:
    """The way to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [[], *([key, *rest] for key, one in inner for rest in places_in(one))]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(places_in(KNOWN)[1:]), NONSENSE)
def test_what_makes_no_sense_is_a_server_that_does_not_answer(
    engine: Engine, place: Place, fabric: Scripted, where: list[Any], nonsense: Any
) -> None:
    known = copy.deepcopy(KNOWN)
    inner = known
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = nonsense
    fabric.inspected = known
    try:
        found = asked(engine, place, "00")
    except ProblemError as error:
        said = error
    else:
        said = None
        assert found.model_dump_json()
    if said is not None:
        assert (said.status, said.code) == (409, "server-silent")
        assert "what its node says is not understood" in said.detail
        assert len(said.detail) < 300
