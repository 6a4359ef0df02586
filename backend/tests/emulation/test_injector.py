"""Faults that overlap, fail half-way and end in any order leave every server and link as it should be."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.deploy import Deployment
from cubeyard.emulation.fabric_client import FabricError
from cubeyard.emulation.faults import BY_ENGINE, KINDS, Fault, Strike
from cubeyard.emulation.injector import DEAD, Injector

Json = dict[str, Any]
SERVERS = range(3)


class Machine:
    """A Docker engine and a fabric, as far as faults see them. `calls_left` counts down to one call that is refused."""

    def __init__(self, *, in_containers: bool) -> None:
        self.in_containers = in_containers
        self.fabrics = self
        self.servers = dict.fromkeys(SERVERS, "runs")
        self.faults: set[str] = set()
        self.calls_left = -1

    def _called(self, refused: bool = False) -> None:
        self.calls_left -= 1
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
    strikes = [Strike(f"f{number}.{i}", kind, {KINDS[kind]: one}, f"{one}", {}) for i, (kind, one) in enumerate(struck)]
    return Fault(f"f{number}", "down", strikes)


def wanted(machine: Machine, active: list[Fault]) -> tuple[dict[int, str], set[str], set[int]]:
    """The servers, the fabric's faults and the servers that are down, with these faults alone."""
    strikes = [strike for fault in active for strike in fault.strikes]
    struck = {(strike.kind, server) for strike in strikes if (server := strike.target.get("server")) is not None}
    dead = {server for kind, server in struck if kind in DEAD}
    frozen = {server for kind, server in struck if kind == "server-frozen"}
    of_engine = BY_ENGINE if machine.in_containers else frozenset()
    servers = {one: "dead" if one in dead else "frozen" if one in frozen else "runs" for one in SERVERS}
    return (
        servers if machine.in_containers else dict.fromkeys(SERVERS, "runs"),
        {strike.id for strike in strikes if strike.kind not in of_engine},
        dead | frozen,
    )


STRUCK = st.lists(
    st.tuples(
        st.sampled_from(["server-killed", "server-frozen", "server-off", "cable-pulled", "link-rate", "switch-off"]),
        st.sampled_from(SERVERS),
    ),
    min_size=1,
    max_size=3,
    unique=True,
)
STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["inject", "recover"]), st.integers(-1, 4)), max_size=14)


@given(st.lists(STRUCK, min_size=4, max_size=4), STEPS, st.booleans())
def test_whatever_overlaps_or_fails_everything_is_as_the_faults_that_are_active_say(
    struck: list[list[tuple[str, int]]], steps: list[tuple[int, str, int]], in_containers: bool
) -> None:
    faults = [a_fault(number, one) for number, one in enumerate(struck)]
    machine = Machine(in_containers=in_containers)
    injector = Injector("run", cast(Deployment, machine))
    for number, action, fails_at in steps:
        was_active = faults[number].id in injector.active
        machine.calls_left = fails_at
        do = injector.inject if action == "inject" else injector.recover
        try:
            assert do(faults[number]) > 0
        except FabricError:
            assert was_active is (action == "recover"), "what cannot be broken is not active, what cannot be mended is"
            machine.calls_left = -1
            if action == "recover":
                injector.recover(faults[number])
            assert faults[number].id not in injector.active
        else:
            assert (faults[number].id in injector.active) is (action == "inject")
        active = list(injector.active.values())
        assert (machine.servers, machine.faults, injector.dead) == wanted(machine, active)


def test_one_thing_that_cannot_be_mended_keeps_nothing_else_broken() -> None:
    machine = Machine(in_containers=False)
    injector, fault = Injector("run", cast(Deployment, machine)), a_fault(1, [("cable-pulled", one) for one in SERVERS])
    injector.inject(fault)
    machine.calls_left = 2
    with pytest.raises(FabricError, match="not now"):
        injector.recover(fault)
    assert machine.faults == {"f1.1"}
    assert injector.active == {"f1": fault}, "an operator sees it, and may try again"
    injector.recover(fault)
    assert not machine.faults
    assert not injector.active
