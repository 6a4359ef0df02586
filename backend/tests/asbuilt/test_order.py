"""The work order is correct, never needs an occupied port, and no shorter order exists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.asbuilt.cables import FoundCable, PlannedCable
from cubeyard.asbuilt.order import work_order
from tests.asbuilt.cabling import carry_out, cost, found, least_costs, planned, port, state_of
from tests.conftest import some

Cables = list[tuple[int, int, int | None]]


def all_cablings(ports: Sequence[int], lengths: Sequence[int | None]) -> Iterator[Cables]:
    """Every way to connect some of the ports, with cables of these lengths."""
    if not ports:
        yield []
        return
    first, rest = ports[0], ports[1:]
    yield from all_cablings(rest, lengths)
    for i, second in enumerate(rest):
        for others in all_cablings([*rest[:i], *rest[i + 1 :]], lengths):
            for length in lengths:
                yield [(first, second, length), *others]


PLANS = (
    ("two and a free port", 5, [(0, 2, 1), (3, 4, 2)], (1, 2), 166),
    ("nothing", 5, [], (1, 2), 166),
    ("three of two lengths", 6, [(0, 2, 1), (1, 4, 2), (3, 5, 1)], (1, 2), 856),
    ("three and a free port, lengths not told", 7, [(0, 1, 1), (3, 6, 1), (2, 5, 1)], (), 232),
    ("four, lengths not told", 8, [(0, 2, 1), (1, 4, 1), (3, 6, 1), (5, 7, 1)], (), 764),
)


@pytest.mark.parametrize(
    ("ports", "plan", "lengths", "cases"), some([row[1:] for row in PLANS], 2), ids=some([row[0] for row in PLANS], 2)
)
def test_no_order_is_shorter(
    ports: int, plan: list[tuple[int, int, int]], lengths: tuple[int, ...], cases: int
) -> None:
    """Compares every cabling of `ports` ports with an exhaustive search."""
    least = least_costs(plan, ports, lengths)
    tried = 0
    for cables in all_cablings(range(ports), (None, *lengths)):
        order = work_order(planned(*plan), found(*cables))
        carry_out(order, found(*cables))
        assert cost(order) == least[state_of(cables, ports)], (cables, order.steps)
        tried += 1
    assert tried == cases


@st.composite
def cablings(draw: st.DrawFn) -> tuple[list[PlannedCable], list[FoundCable]]:
    """Some of up to 24 ports connected by plan, and found connected in part the same way."""
    ports = draw(st.integers(2, 24))
    lengths = st.integers(1, 3)
    plan = [
        (*sorted(pair), draw(lengths))
        for pair in draw(_pairs(st.permutations(range(ports)), st.integers(0, ports // 2)))
    ]
    kept = [item for item in plan if draw(st.booleans())]
    taken = {at for a, b, _ in kept for at in (a, b)}
    rest = [at for at in range(ports + 4) if at not in taken]
    others = draw(_pairs(st.permutations(rest), st.integers(0, len(rest) // 2)))
    reported = st.none() | lengths
    cables = [(a, b, draw(st.sampled_from([length, None, 2]))) for a, b, length in kept]
    cables += [(a, b, draw(reported)) for a, b in others]
    return planned(*plan), found(*draw(st.permutations(cables)))


def _pairs(
    order: st.SearchStrategy[list[int]], count: st.SearchStrategy[int]
) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.builds(lambda ports, number: list(zip(ports[::2], ports[1::2], strict=False))[:number], order, count)


@given(cablings())
def test_the_steps_lead_to_the_plan(case: tuple[list[PlannedCable], list[FoundCable]]) -> None:
    plan, cables = case
    order = work_order(plan, cables, lambda at: f"R{at.device}")
    after = carry_out(order, cables)
    assert set(after) == {at for cable in plan for at in cable.ends}
    for cable in plan:
        for here, there in (cable.ends, cable.ends[::-1]):
            assert after[here][0] == there
            assert after[here][1] in (None, cable.length_mm)
    assert not order.steps or cost(order) > (0, 0)
    if {frozenset(cable.ends) for cable in cables} == {frozenset(cable.ends) for cable in plan}:
        assert {step.action for step in order.steps} <= {"replace"}


def test_a_swap_lets_one_end_hang() -> None:
    order = work_order(planned((0, 2, 1), (4, 6, 1)), found((0, 6, None), (4, 2, None)))
    assert [step.action for step in order.steps] == ["unplug", "move", "plug"]
    assert cost(order) == (4, 3)
    assert order.new_cables == 0
    assert order.steps[2].after == 2


def test_ends_move_within_a_device_where_either_end_may() -> None:
    """The ends at d0 are exchanged: nobody walks from d1 to d3."""
    order = work_order(planned((0, 2, 1), (1, 6, 1)), found((0, 6, None), (1, 2, None)))
    assert {at.device for step in order.steps for at in (*step.out, *step.into)} == {"d0"}


def test_a_cable_of_another_length_does_not_serve() -> None:
    order = work_order(planned((0, 2, 3)), found((0, 4, 2)))
    assert [(step.action, step.reuses) for step in order.steps] == [("remove", None), ("pull", None)]
    assert order.new_cables == 1


def test_what_was_taken_out_is_used_again_where_it_fits() -> None:
    order = work_order(planned((0, 2, 3), (4, 6, 2)), found((4, 6, 3), (8, 10, 2)))
    replaced = next(step for step in order.steps if step.action == "replace")
    pulled = next(step for step in order.steps if step.action == "pull")
    assert replaced.reuses == next(step.number for step in order.steps if step.action == "remove")
    assert pulled.reuses in (None, replaced.number)
    carry_out(order, found((4, 6, 3), (8, 10, 2)))


def test_cables_are_taken_out_first_and_steps_go_rack_by_rack() -> None:
    plan = planned((0, 2, 1), (4, 6, 1), (8, 10, 1))
    order = work_order(plan, found((12, 14, 1)), lambda at: "R2" if at == port(0) else "R1")
    assert [(step.action, step.rack) for step in order.steps] == [
        ("remove", "R1"), ("pull", "R1"), ("pull", "R1"), ("pull", "R2"),
    ]  # fmt: skip


def test_every_step_says_what_to_do_in_words() -> None:
    swapped = work_order(planned((0, 2, 1), (4, 6, 1)), found((0, 6, None), (4, 2, None)))
    others = work_order(planned((0, 2, 3), (4, 6, 2)), found((0, 2, 2), (8, 10, 2)))
    texts = [step.text() for order in (swapped, others) for step in order.steps]
    assert texts[0] == "Unplug d2 p0 and leave the end hanging; the other end stays in d1 p0. It becomes C00000."
    assert "Take out the cable between d4 p0 and d5 p0." in texts
    assert "Replace the cable between d0 p0 and d1 p0 with a new cable of 3 m. It is C00000." in texts
    assert "Plug the cable of step 1 (2 m) into d2 p0 and d3 p0. It is C00001." in texts


def test_nothing_to_do_is_no_step() -> None:
    assert work_order(planned((0, 2, 1)), found((2, 0, 1))).steps == []
    assert work_order([], []).steps == []
