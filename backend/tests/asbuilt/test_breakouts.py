"""Legs of a breakout cable share a plug: an operation on the plug is one step."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cubeyard.asbuilt.cables import FoundCable, Leg, PlannedCable, Port
from cubeyard.asbuilt.order import work_order

LEGS = 4


def trunk(number: int) -> Port:
    return Port("leaf", f"P{number}")


def server(number: int) -> Port:
    return Port(f"s{number}", "eth0")


def planned(cables: int = 2) -> list[PlannedCable]:
    """Breakouts of four legs: server i in port i of the leaf."""
    return [
        PlannedCable(i, server(i), trunk(i), 3000, Leg(i - i % LEGS, LEGS, trunk_at_a=False))
        for i in range(cables * LEGS)
    ]


def found(at: Sequence[int | None], length_mm: int | None = None) -> list[FoundCable]:
    """By server, the leaf's port that its link is seen in; None for no link."""
    return [
        FoundCable(server(i), trunk(port), length_mm, f"line {i + 2}") for i, port in enumerate(at) if port is not None
    ]


def test_a_missing_breakout_is_one_cable() -> None:
    order = work_order(planned(), found([0, 1, 2, 3]))
    assert [step.action for step in order.steps] == ["pull"]
    assert (order.operations, order.new_cables) == (5, 1)
    assert order.steps[0].text() == (
        "Plug a new breakout cable of 3 m into leaf P4 to P7 with its trunk and into s4 eth0, s5 eth0, s6 eth0, s7 eth0 "
        "with its legs. It is C00004."
    )


def test_a_missing_leg_hangs() -> None:
    order = work_order(planned(), found([0, 1, None, 3, 4, 5, 6, 7]))
    assert [(step.action, step.into, step.stays) for step in order.steps] == [("plug", (server(2),), trunk(2))]
    assert (order.operations, order.new_cables) == (1, 0)


def test_a_trunk_moves_as_one_plug() -> None:
    order = work_order(planned(1), found([8, 9, 10, 11]))
    assert [step.action for step in order.steps] == ["move"]
    assert order.operations == 2
    assert (
        order.steps[0].text()
        == "Move the trunk in leaf P8 to P11 to leaf P0 to P3; its 4 legs stay. It becomes C00000 (3 m)."
    )


def test_exchanged_trunks_take_three_steps() -> None:
    order = work_order(planned(), found([4, 5, 6, 7, 0, 1, 2, 3]))
    assert [(step.action, step.after) for step in order.steps] == [("unplug", None), ("move", 1), ("plug", 2)]
    assert order.operations == 4
    assert [step.text().split(";")[0] for step in order.steps] == [
        "Unplug the trunk in leaf P0 to P3 and leave it hanging",
        "Move the trunk in leaf P4 to P7 to leaf P0 to P3",
        "Plug the hanging trunk into leaf P4 to P7",
    ]


def test_each_exchanged_leg_is_listed() -> None:
    order = work_order(planned(), found([1, 0, 2, 3, 4, 5, 6, 7]))
    assert [step.action for step in order.steps] == ["unplug", "move", "plug"]
    assert all(step.legs == 1 for step in order.steps)


def test_a_cable_of_another_length_is_replaced_whole() -> None:
    order = work_order(planned(1), found([0, 1, 2, 3], 2000))
    assert [(step.action, step.reuses) for step in order.steps] == [("replace", None)]
    assert (order.operations, order.new_cables) == (10, 1)


@given(st.permutations(range(12)), st.integers(0, 8))
def test_no_step_needs_a_port_that_is_taken(ports: list[int], links: int) -> None:
    cables = found(ports[:links])
    order = work_order(planned(), cables)
    taken = {port for cable in cables for port in cable.ends}
    hanging = set[Port]()
    for step in order.steps:
        assert taken >= set(step.out)
        taken -= set(step.out)
        assert not taken & set(step.into)
        taken |= set(step.into)
        if step.action == "plug" and step.stays is not None and step.stays.device == "leaf":
            hanging.add(step.stays)
    assert taken | hanging == {port for cable in planned() for port in cable.ends}
