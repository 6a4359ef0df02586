"""One server's report with the plan's names, and invalid reports."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.inspection import inspect
from cubeyard.emulation.live.schemas import ServerState
from cubeyard.engine import Engine
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.emulation.scripted import Scripted, scripted
from tests.emulation.session.test_session import RUN
from tests.emulation.setup.test_question import network

Json = dict[str, Any]
PATH = {"path_id": 7, "servers": [0, 1, 5], "available_bits_per_sec": 1e8}
OTHER = {"path_id": 8, "servers": [0, 4, 900], "available_bits_per_sec": None}
FLOW: Json = {"src": "10.0.0.1", "dst": "10.0.0.6", "proto": 6, "sport": 40_000, "dport": 5201 + 3}
OTHERS = [
    {**FLOW, "dst": "198.18.0.1", "dport": 5200},
    {**FLOW, "dport": 5201 + 2048},
    {**FLOW, "dport": 5201 + 2047},
    {**FLOW, "dport": 5201},
]
KNOWN: Json = {
    "server": 0,
    "counts": {"drops-no-route": 3, "own-bytes": 10},
    "sections": [
        {
            "name": "neighbours",
            "title": "Neighbours",
            "columns": [
                {"name": "server", "title": "Neighbour", "kind": "server"},
                {"name": "up", "title": "Alive", "kind": "flag"},
                {"name": "silent_secs", "title": "Last hello", "kind": "secs"},
            ],
            "rows": [[1, True, None], [900, False, 1.5]],
            "omitted": 2,
        },
        {
            "name": "of-some-protocol",
            "title": "Flows",
            "columns": [
                {"name": "flow", "title": "Flow", "kind": "flow"},
                {"name": "paths", "title": "Paths", "kind": "paths"},
                {"name": "link", "title": "Link", "kind": "servers"},
            ],
            "rows": [[FLOW, [PATH, OTHER], [1, 5]], *[[other, [], None] for other in OTHERS]],
            "omitted": 0,
        },
    ],
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


def test_ids_and_addresses_become_names_and_nothing_else_changes(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    fabric.inspected = KNOWN
    result = asked(engine, place, "00").model_dump()
    assert fabric.calls == [("inspect", {"run": RUN, "server": 0})]
    assert {name: result[name] for name in ("run_id", "server", "id", "counts")} == {
        "run_id": RUN, "server": "00", "id": 0, "counts": KNOWN["counts"],
    }  # fmt: skip
    neighbours, flows = result["sections"]
    assert neighbours["rows"] == [["01", True, None], ["900", False, 1.5]]
    first, *others = flows["rows"]
    ends = {**FLOW, "src": "00", "dst": "11"}
    assert first == [
        {**ends, "flow": 3},
        [{**PATH, "servers": ["00", "01", "11"]}, {**OTHER, "servers": ["00", "10", "900"]}],
        ["01", "11"],
    ]
    assert [(row[0]["dst"], row[0]["flow"]) for row in others] == [
        ("198.18.0.1", None), ("11", None), ("11", 2047), ("11", 0),
    ]  # fmt: skip
    without_rows = [{**section, "rows": []} for section in result["sections"]]
    assert without_rows == [{**section, "rows": []} for section in KNOWN["sections"]]


def test_the_path_in_use_is_marked(engine: Engine, place: Place, fabric: Scripted) -> None:
    columns = [{"name": kind, "title": kind, "kind": kind} for kind in ("path-id", "paths")]
    section = {
        "name": "flows",
        "title": "Flows",
        "columns": columns,
        "rows": [[8, [PATH, OTHER]], [0, None]],
        "omitted": 0,
    }
    fabric.inspected = {"server": 0, "counts": {}, "sections": [section]}
    first, second = asked(engine, place, "00").sections[0].rows
    assert [path["used"] for path in first[1]] == [False, True]
    assert second == [0, None]


@pytest.mark.parametrize("name", ["<0,0>", "99", "é", ""])
def test_only_servers_are_asked(engine: Engine, place: Place, name: str) -> None:
    with pytest.raises(ProblemError) as refused:
        asked(engine, place, name)
    assert refused.value.status == 404


NONSENSE = st.sampled_from([None, True, -1, 2**63 - 1, 1e30, "", "10.0.0.999", "é", [], {}, [{}], [[1]], {"server": 1}])


def places_in(value: Any) -> list[list[Any]]:
    """The path to every item in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [[], *([key, *rest] for key, item in inner for rest in places_in(item))]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(places_in(KNOWN)[1:]), NONSENSE)
def test_a_report_that_is_not_valid_is_a_server_that_does_not_answer(
    engine: Engine, place: Place, fabric: Scripted, where: list[Any], nonsense: Any
) -> None:
    known = copy.deepcopy(KNOWN)
    inner = known
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = nonsense
    fabric.inspected = known
    try:
        result = asked(engine, place, "00")
    except ProblemError as error:
        message = error
    else:
        message = None
        assert result.model_dump_json()
    if message is not None:
        assert (message.status, message.code) == (409, "server-silent")
        assert "its report is not valid" in message.detail
        assert len(message.detail) < 300
