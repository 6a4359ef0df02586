"""Faults that overlap, fail half-way and end in any order leave every server and link in the right
state."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.fabric.client import FabricError, FabricGoneError
from cubeyard.emulation.faults.faults import Fault, Strike
from cubeyard.emulation.session.injector import Injector
from cubeyard.experiments.fault_kinds import KINDS
from tests.conftest import examples

Json = dict[str, Any]
SERVERS = range(3)


class Machine:
    """The parts of a Docker engine and a fabric that faults use. `calls_left` counts down to one
    call that is refused."""

    def __init__(self, *, in_containers: bool) -> None:
        self.in_containers = in_containers
        self.fabrics = self
        self.servers = dict.fromkeys(SERVERS, "runs")
        self.faults: set[str] = set()
        self.calls_left = -1
        self.gone = False

    def _called(self, refused: bool = False) -> None:
        self.calls_left -= 1
        if self.gone:
            raise FabricGoneError("gone")
        if refused or self.calls_left == 0:
            raise FabricError({"code": "refused", "message": "not now"})

    def kill(self, server: int) -> None:
        self._called()
        self.servers[server] = "dead"

    def freeze(self, server: int) -> None:
        self._called()
        if self.servers[server] == "runs":
            self.servers[server] = "frozen"

    def thaw(self, server: int) -> None:
        self._called()
        if self.servers[server] == "frozen":
            self.servers[server] = "runs"

    def revive(self, server: int) -> None:
        self._called()
        self.servers[server] = "runs"

    def inject(self, _run: str, fault: Json) -> None:
        self._called(fault["id"] in self.faults)
        self.faults.add(fault["id"])

    def call(self, method: str, *, run: str, fault: str) -> None:
        assert (method, run) == ("recover", "run")
        self._called(fault not in self.faults)
        self.faults.remove(fault)


def a_fault(number: int, struck: list[tuple[str, int]]) -> Fault:
    strikes = [
        Strike(f"f{number}.{i}", kind, {KINDS[kind].target: item}, f"{item}", {})
        for i, (kind, item) in enumerate(struck)
    ]
    return Fault(f"f{number}", "down", strikes)


def wanted(machine: Machine, active: list[Fault]) -> tuple[dict[int, str], set[str], set[int]]:
    """The expected state with only these faults: servers, the fabric's faults, and servers that are
    down."""
    strikes = [strike for fault in active for strike in fault.strikes]
    struck = {(strike.kind, server) for strike in strikes if (server := strike.target.get("server")) is not None}
    dead = {server for kind, server in struck if kind in ("server-killed", "server-off")}
    frozen = {server for kind, server in struck if kind == "server-frozen"}
    of_engine = ("server-killed", "server-frozen") if machine.in_containers else ()
    servers = {item: "dead" if item in dead else "frozen" if item in frozen else "runs" for item in SERVERS}
    return (
        servers if machine.in_containers else dict.fromkeys(SERVERS, "runs"),
        {strike.id for strike in strikes if strike.kind not in of_engine},
        dead | frozen,
    )


KINDS_OF_FAULTS = ["server-killed", "server-frozen", "server-off", "cable-pulled", "link-rate", "switch-off"]


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.booleans())
def test_after_any_overlaps_and_failures_the_state_is_that_of_the_active_faults(seed: int, in_containers: bool) -> None:
    """Injects or recovers one of five faults sixty times; every third time, some call fails."""
    draws = Random(seed)
    every = [(kind, server) for kind in KINDS_OF_FAULTS for server in SERVERS]
    faults = [a_fault(number, draws.sample(every, draws.randint(1, 3))) for number in range(5)]
    machine = Machine(in_containers=in_containers)
    injector = Injector("run", cast(Deployment, machine))
    for _ in range(60):
        fault, action = draws.choice(faults), draws.choice(["inject", "recover"])
        was_active = fault.id in injector.active
        machine.calls_left = draws.choice([-1, -1, -1, 1, 2, 3])
        try:
            assert (injector.inject if action == "inject" else injector.recover)(fault) > 0
        except FabricError:
            assert was_active is (action == "recover"), "a failed injection is not active, a failed recovery is"
            machine.calls_left = -1
            if action == "recover":
                injector.recover(fault)
            assert fault.id not in injector.active
        else:
            assert (fault.id in injector.active) is (action == "inject")
        assert (machine.servers, machine.faults, injector.dead) == wanted(machine, list(injector.active.values()))


def test_one_thing_that_cannot_be_mended_keeps_nothing_else_broken() -> None:
    machine = Machine(in_containers=False)
    injector, fault = (
        Injector("run", cast(Deployment, machine)),
        a_fault(1, [("cable-pulled", server) for server in SERVERS]),
    )
    injector.inject(fault)
    machine.calls_left = 2
    with pytest.raises(FabricError, match="not now"):
        injector.recover(fault)
    assert machine.faults == {"f1.1"}
    assert injector.active == {"f1": fault}, "an operator sees it, and may try again"
    injector.recover(fault)
    assert not machine.faults
    assert not injector.active


def test_a_fabric_that_has_gone_gets_no_further_calls() -> None:
    machine = Machine(in_containers=False)
    injector, fault = (
        Injector("run", cast(Deployment, machine)),
        a_fault(1, [("cable-pulled", server) for server in SERVERS]),
    )
    injector.inject(fault)
    machine.gone, machine.calls_left = True, 100
    with pytest.raises(FabricGoneError):
        injector.recover(fault)
    assert machine.calls_left == 99
