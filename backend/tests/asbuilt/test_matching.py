"""Each cable of the plan and each found one is in exactly one class, and in the right one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port
from cubeyard.asbuilt.document import as_built
from cubeyard.asbuilt.matching import KINDS, Comparison, compare
from cubeyard.asbuilt.names import PlanNames
from cubeyard.asbuilt.schemas import AsBuilt
from cubeyard.engine import Engine
from cubeyard.plans.building import build
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import Listing, SeenCable, SeenEnd, read
from tests.asbuilt.cabling import found, planned
from tests.asbuilt.lists import csv_of, encoded, json0, neighbour, reports, rows_of
from tests.conftest import SMALL


@pytest.fixture(scope="module")
def plan(engine: Engine) -> PlanView:
    return PlanView.of(build(engine, SMALL), "Small")


@pytest.fixture
def rows(plan: PlanView) -> list[list[str]]:
    return rows_of(PlanNames(plan).planned())


def kinds(result: Comparison) -> Counter[str]:
    return Counter([difference.kind for difference in result.differences] + ["in_order"] * len(result.in_order))


def checked(plan: PlanView, rows: list[list[str]]) -> AsBuilt:
    return as_built(plan, read(csv_of(rows)))


def test_a_cable_that_is_not_there_is_missing(plan: PlanView, rows: list[list[str]]) -> None:
    del rows[5]
    document = checked(plan, rows)
    (item,) = document.differences
    assert (item.kind, item.name, item.found) == ("missing", "C00005", None)
    assert item.expected is not None
    assert (item.expected.a.device, item.expected.a.rack, item.expected.a.unit) == ("h11", "R00", "03B")
    assert [step.text for step in document.work.steps] == [
        "Plug a new cable of 3 m into h11 eth0 and s0-1 P1. It is C00005."
    ]
    assert not document.in_order


def test_a_cable_in_another_port_of_its_devices_is_in_a_wrong_port(plan: PlanView, rows: list[list[str]]) -> None:
    rows[5][3] = "P17"
    document = checked(plan, rows)
    (item,) = document.differences
    assert (item.kind, item.name, item.note) == ("wrong_port", "C00005", "s0-1: P17 instead of P1")
    assert item.found is not None
    assert (item.found.b.known, item.found.b.rack, item.found.where) == (False, "R00", "line 7")
    assert [step.action for step in document.work.steps] == ["move"]


def test_a_cable_with_both_ends_in_wrong_ports_is_one_too() -> None:
    result = compare(planned((0, 2, 1)), found((1, 3, 1)))
    assert [(difference.kind, difference.note) for difference in result.differences] == [
        ("wrong_port", "d0: p1 instead of p0, d1: p1 instead of p0")
    ]


def test_exchanged_ends_are_swapped(plan: PlanView, rows: list[list[str]]) -> None:
    rows[0][3], rows[1][3], rows[2][3] = rows[1][3], rows[2][3], rows[0][3]
    document = checked(plan, rows)
    assert {(difference.kind, difference.name) for difference in document.differences} == {
        ("swapped", f"C0000{i}") for i in range(3)
    }
    assert {difference.note for difference in document.differences} == {"3 cables exchanged: C00000, C00001, C00002"}
    assert (document.work.operations, document.work.new_cables) == (6, 0)
    assert [step.action for step in document.work.steps] == ["unplug", "move", "move", "plug"]


def test_another_length_than_ordered_is_a_wrong_length(plan: PlanView, rows: list[list[str]]) -> None:
    rows[5][4] = "7"
    document = checked(plan, rows)
    assert [(difference.kind, difference.note) for difference in document.differences] == [
        ("wrong_length", "7 m instead of 3 m")
    ]
    assert [step.action for step in document.work.steps] == ["replace"]
    rows[5][4] = "3.005"
    assert checked(plan, rows).in_order
    rows[5][4] = ""
    document = checked(plan, rows)
    assert document.in_order
    assert document.list.with_length == 31


def test_a_cable_to_an_unknown_device_is_extra_and_its_end_is_moved_back(plan: PlanView, rows: list[list[str]]) -> None:
    rows[5][0] = "h99"
    document = checked(plan, rows)
    assert [(difference.kind, difference.note) for difference in document.differences] == [
        ("missing", ""), ("extra", "no device h99 in the plan"),
    ]  # fmt: skip
    assert [step.text for step in document.work.steps] == [
        "Move the end in h99 eth0 to h11 eth0; the other end stays in s0-1 P1. It becomes C00005 (3 m)."
    ]


def test_a_cable_that_is_not_planned_is_moved_from_its_port(plan: PlanView, rows: list[list[str]]) -> None:
    del rows[next(i for i, row in enumerate(rows) if row[2:4] == ["s0-0", "P0"])]
    document = checked(plan, [*rows, ["h99", "eth9", "s0-0", "P0", ""]])
    assert [(difference.kind, difference.note) for difference in document.differences] == [
        ("missing", ""), ("extra", "no device h99 in the plan")
    ]  # fmt: skip
    assert [step.action for step in document.work.steps] == ["move"]


def test_a_cable_between_ports_that_the_plan_does_not_have_is_left_alone(plan: PlanView, rows: list[list[str]]) -> None:
    """A management network between the plan's devices is outside the plan."""
    document = checked(plan, [*rows, ["h00", "ipmi", "s0-0", "mgmt0", "2"]])
    assert [(difference.kind, difference.note) for difference in document.differences] == [
        ("outside", "h00 has no port ipmi, s0-0 has no port mgmt0")
    ]
    assert document.in_order
    assert document.work.steps == []


def test_what_has_no_end_in_the_plan_is_left_alone(plan: PlanView, rows: list[list[str]]) -> None:
    document = checked(plan, [*rows, ["h00", "mgmt", "mgmt-switch", "12", ""], ["a", "1", "b", "2", ""]])
    assert document.counts.outside == 2
    assert document.in_order
    assert document.work.steps == []


def test_a_list_that_contradicts_itself_is_told_and_its_ports_are_left_alone(
    plan: PlanView, rows: list[list[str]]
) -> None:
    rows[5] = [*rows[4][:2], *rows[5][2:]]
    document = checked(plan, rows)
    assert document.contradictions == ["h10 eth0 is connected with s0-1 P0 (line 6) and s0-1 P1 (line 7)."]
    assert (document.counts.unclear, document.counts.in_order) == (4, 30)
    assert document.work.steps == []
    assert not document.in_order


def test_two_lengths_of_one_cable_and_a_cable_to_itself_are_contradictions() -> None:
    result = compare(planned((0, 2, 1), (4, 6, 1)), found((0, 2, 1), (2, 0, 2), (4, 4, None)))
    assert kinds(result) == Counter(unclear=4)
    assert result.contradictions == [
        "d0 p0 to d1 p0 has two lengths: 1 m (line 2) and 2 m (line 3).",
        "d2 p0 is connected with itself (line 4).",
    ]


def test_ends_that_see_different_neighbours_are_told(plan: PlanView) -> None:
    cables = PlanNames(plan).planned()
    seen = reports(cables)
    port = cables[0].a
    seen[port.device] = json0([neighbour(port.name, cables[1].b), neighbour("eth1", cables[16].b)])
    document = as_built(plan, read(encoded(seen)))
    assert document.counts.unclear > 0
    assert any(
        sentence.startswith(f"{cables[1].b.device} {cables[1].b.name} is ") for sentence in document.contradictions
    )


def test_an_end_that_is_not_seen_from_the_other_side_is_a_remark(plan: PlanView) -> None:
    cables = PlanNames(plan).planned()
    seen = reports(cables)
    seen["h00"] = json0([neighbour("eth1", next(cable.b for cable in cables if cable.a == Port("h00", "eth1")))])
    document = as_built(plan, read(encoded({**seen, "guest": json0([])})))
    assert document.in_order
    assert document.remarks == [
        "Reports of devices that the plan does not have: guest.",
        "s0-0 P0 sees h00 eth0, but h00 has reported and does not see it.",
    ]


@given(st.data())
def test_each_cable_is_in_exactly_one_class(data: st.DataObject) -> None:
    ports = st.integers(0, 15)
    ends = data.draw(st.permutations(range(12)))
    plan = planned(*((a, b, data.draw(st.integers(1, 2))) for a, b in zip(ends[::2], ends[1::2], strict=True)))
    listed = data.draw(st.lists(st.tuples(ports, ports, st.none() | st.integers(1, 2)), max_size=12))
    keep = data.draw(st.lists(st.sampled_from(plan), max_size=6, unique=True))
    cables = [*found(*listed), *(FoundCable(item.b, item.a, None, "kept") for item in keep)]
    hidden = data.draw(st.sets(st.sampled_from(range(6))))
    result = compare(
        plan,
        cables,
        covered=lambda item: item.number not in hidden,
        outside=lambda item: all(port.device in ("d6", "d7") for port in item.ends),
    )
    reported: list[PlannedCable] = [item for item, _ in result.in_order]
    reported += [difference.planned for difference in result.differences if difference.planned]
    assert sorted(planned_cable.number for planned_cable in reported) == list(range(6))
    seen = [frozenset(two.ends) for _, two in result.in_order]
    seen += [frozenset(difference.found.ends) for difference in result.differences if difference.found]
    assert Counter(seen) == Counter({frozenset(cable.ends) for cable in cables})
    both = {"in_order": (True, True), "missing": (True, False), "extra": (False, True), "not_covered": (True, False)}
    both |= {
        "outside": (False, True),
        "wrong_port": (True, True),
        "swapped": (True, True),
        "wrong_length": (True, True),
    }
    for difference in result.differences:
        if difference.kind != "unclear":
            assert (difference.planned is not None, difference.found is not None) == both[difference.kind]
    assert set(kinds(result)) <= set(KINDS)
    reached = [port for cable in result.to_reach for port in cable.ends]
    changed = [port for cable in result.to_change for port in cable.ends]
    assert len(reached) == len(set(reached))
    assert len(changed) == len(set(changed))


def test_an_empty_list_has_everything_missing(plan: PlanView) -> None:
    document = as_built(plan, Listing("csv", []))
    assert (document.counts.missing, len(document.work.steps), document.work.new_cables) == (32, 32, 32)
    odd = SeenCable(SeenEnd("<0,0>", ("P0",)), SeenEnd("00", ("eth0",)), None, "said")
    assert as_built(plan, Listing("csv", [odd])).counts.in_order == 1
