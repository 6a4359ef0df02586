"""Users' programs that end during a run: each is reported once, with its server, unless a fault
ended it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest

from cubeyard.emulation.deploy.beside import ImageRefusedError, ProgramState, refuse_failed, shortened
from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.measure.events import Events
from cubeyard.emulation.session.beside import Programs
from cubeyard.engine import Engine
from tests.emulation.session.test_session import question

Json = dict[str, Any]
IMAGES = [{"image": "web:1", "servers": ["00", "01"]}, {"image": "db", "command": ["serve"], "servers": ["10"]}]


class Engines:
    """Replaces the part of the deployment that returns the state of programs."""

    def __init__(self) -> None:
        self.states: dict[int, ProgramState] = {}

    def programs(self, known: Iterable[str] = ()) -> dict[int, ProgramState]:
        return {server: state for server, state in self.states.items() if state.container not in set(known)}


def programs(engine: Engine) -> tuple[Programs, Engines, dict[str, int]]:
    request = question(engine, mode="containers", images=IMAGES)
    engines = Engines()
    ids = {request.network.servers[server]: server for server in request.beside}
    for name, server in ids.items():
        engines.states[server] = ProgramState(f"c-{name}", f"sha256:{request.beside[server].image}", None)
    return Programs("run", request, cast(Deployment, engines)), engines, ids


def test_an_end_is_told_once_with_its_last_words(engine: Engine) -> None:
    result, engines, ids = programs(engine)
    assert result.look(set(), 1.0) == []
    engines.states[ids["01"]] = ProgramState("c-01", "sha256:web:1", 3, "no room")
    (event,) = result.look(set(), 2.0)
    assert (event["server"], event["status"], event["message"], event["image"]) == (ids["01"], 3, "no room", "web:1")
    events = Events(0)
    events.hear([event], 2.0)
    (reported,) = events.tick()["events"]
    assert (reported["kind"], reported["at_secs"]) == ("program-ended", 2.0)
    assert result.look(set(), 3.0) == []
    web, db = result.document()
    assert web == {
        "image": "web:1", "command": [], "servers": ["00", "01"], "identities": ["sha256:web:1"],
        "ended": [{"server": "01", "status": 3, "message": "no room", "at_secs": 2.0}],
    }  # fmt: skip
    assert (db["command"], db["servers"], db["ended"]) == (["serve"], ["10"], [])


def test_programs_ended_by_a_fault_are_no_events_but_their_successors_may_be(engine: Engine) -> None:
    result, engines, ids = programs(engine)
    engines.states[ids["10"]] = ProgramState("c-10", "sha256:db", 137)
    assert result.look({ids["10"]}, 1.0) == []
    assert result.look(set(), 2.0) == [], "the same one, after the fault"
    engines.states[ids["10"]] = ProgramState("c-10-again", "sha256:db", 1)
    assert [item["status"] for item in result.look(set(), 3.0)] == [1]


def test_the_longest_last_words_fit_an_event(engine: Engine) -> None:
    result, engines, ids = programs(engine)
    engines.states[ids["00"]] = ProgramState("c-00", "", 1, shortened("ü€" * 4000))
    events = Events(0)
    events.hear(result.look(set(), 1.0), 1.0)
    (reported,) = events.tick()["events"]
    assert reported["kind"] == "program-ended"
    assert reported["message"].endswith("ü€")


def test_a_failure_within_the_grace_names_the_first_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cubeyard.emulation.deploy.beside.GRACE_SECS", 0.0)
    names, images = {0: "00", 1: "01"}, {0: "web", 1: "web"}
    refuse_failed(names, images, lambda: {0: ProgramState("a", "", 0), 1: ProgramState("b", "", None)})
    with pytest.raises(
        ImageRefusedError,
        match=r"^Server 00: image web ended with status 127 \(its command was not found\): x\. ",
    ):
        refuse_failed(names, images, lambda: {1: ProgramState("b", "", 1), 0: ProgramState("a", "", 127, "x")})
