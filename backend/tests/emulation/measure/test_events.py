"""Shortened reports of nodes: bursts, floods, invalid events, and fair turns."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.emulation.fabric.merging import merged
from cubeyard.emulation.measure.events import Events
from cubeyard.emulation.measure.fair_queue import FairQueue
from tests.conftest import examples
from tests.emulation.fabric.test_hosts import frame

Json = dict[str, Any]
FRAME_BYTES = 9 * 1024


def chosen(row: int, kind: str = "path-selected") -> Json:
    path = {"path_id": 7, "servers": [10, 11, 15], "available_bits_per_sec": 1e8}
    flow = {"src": "10.0.0.1", "dst": "10.0.0.9", "proto": 6, "sport": 40000, "dport": 5201 + row}
    return {
        "kind": kind,
        "server": 1,
        "at_nanos": 5,
        "flow": flow,
        "path": path,
        "from_path_id": 3,
        "reason": "failure",
    }


def test_a_flow_is_identified_by_its_number_too() -> None:
    events = Events(4)
    events.clock.sampled(10.0, 6_000_000_000)
    events.hear([{"kind": "flow-done", "server": 1, "flow": 3, "at_nanos": 5_000_000_000}], 10.0)
    (reported,) = events.tick()["events"]
    assert reported == {"kind": "flow-done", "server": 1, "flow": 3, "at_nanos": 5_000_000_000, "at_secs": 9.0}


def test_unknown_flow_numbers_are_refused_and_the_calibration_is_no_flow_of_the_workload() -> None:
    events = Events(4)
    done = {"kind": "flow-done", "server": 1, "at_nanos": 5}
    events.hear([{**done, "flow": 4}, {**done, "flow": 5}], 1.0)
    (refused,) = events.tick()["events"]
    assert (refused["kind"], refused["message"]) == (
        "node-refused",
        "event 'flow-done' is not valid: there is no flow 5",
    )


def test_subflows_are_reported_with_their_ports_and_path() -> None:
    events = Events(4)
    up = {"kind": "subflow-up", "server": 1, "flow": 3, "subflow": 2, "ports": [1, None], "at_nanos": 5}
    path = {"path_id": 7, "servers": [10, 11, 15], "available_bits_per_sec": None, "others": 0}
    down = {"kind": "subflow-down", "server": 1, "flow": 3, "subflow": 2, "reason": "closed", "at_nanos": 5}
    events.hear([{**up, "path": path}, up, down, {**up, "subflow": 9}], 1.0)
    reported, without, ended, refused = events.tick()["events"]
    assert (reported["flow"], reported["subflow"], reported["ports"], reported["path"]) == (
        3,
        2,
        [1, None],
        [10, 11, 15],
    )
    assert "path" not in without
    assert ended["reason"] == "closed"
    assert refused["kind"] == "node-refused"


def test_events_name_flows_by_their_ends() -> None:
    names = {"10.0.0.1": "00", "10.0.0.9": "20"}
    events = Events(4, server_at=names.get)
    answer = {"src": "10.0.0.9", "dst": "10.0.0.1", "proto": 6, "sport": 5203, "dport": 40000}
    other = {"src": "198.18.0.1", "dst": "10.0.0.1", "proto": 6, "sport": 50000, "dport": 80}
    events.hear(
        [
            {"kind": "no-path", "server": 1, "flow": answer, "at_nanos": 5},
            {"kind": "no-path", "server": 1, "flow": other, "at_nanos": 5},
            {"kind": "flow-done", "server": 1, "flow": 2, "reason": "10.0.0.9:5203 and 10.0.0.90 reset", "at_nanos": 5},
            {"kind": "told", "server": 1, "cells": [{"name": "flow", "kind": "flow", "value": other}], "at_nanos": 5},
        ],
        1.0,
    )
    first, second, done, reported = events.tick()["events"]
    assert (first["answers"], first["tuple"]) == (2, {**answer, "src": "20", "dst": "00"})
    assert "answers" not in second
    assert second["tuple"] == {**other, "dst": "00"}
    assert done["reason"] == "20:5203 and 10.0.0.90 reset"
    assert reported["cells"][0]["value"]["dst"] == "00"


def test_flows_that_take_several_paths_are_known() -> None:
    events = Events(4)
    events.hear([chosen(0)], 1.0)
    assert not events.several
    item = chosen(1)
    events.hear([{**item, "path": {**item["path"], "others": 2}}], 1.0)
    assert events.several
    assert events.paths == {0: [10, 11, 15], 1: [10, 11, 15]}


def test_an_event_of_a_protocol_alone_is_told_by_its_own_name() -> None:
    events = Events(4)
    cells = [{"name": "proxy", "kind": "server", "value": 3}]
    events.hear([{"kind": "reported", "what": "local_reroute", "server": 1, "at_nanos": 5, "cells": cells}], 1.0)
    (reported,) = events.tick()["events"]
    assert (reported["kind"], reported["name"], reported["cells"]) == ("protocol", "local-reroute", cells)


def test_a_burst_of_events_is_spread_and_none_is_lost() -> None:
    events = Events(240)
    events.hear([chosen(row) for row in range(240)] + [chosen(row, "path-switched") for row in range(100)], 1.0)
    ticks = []
    while tick := events.tick():
        ticks.append(tick)
    assert sum(len(tick.get("routes", [])) for tick in ticks) == 340
    switched = [event for tick in ticks for event in tick.get("events", [])]
    assert [event["flow"] for event in switched] == list(range(100))
    assert switched[0]["path"] == [10, 11, 15]
    assert ticks[0]["counts"] == {"path-selected": 240}
    assert events.switches == 100
    assert max(len(orjson.dumps(tick)) for tick in ticks) < 6000


def told(events: Events) -> list[list[Json]]:
    """The events of the following ticks, until a tick has none."""
    ticks = []
    while tick := events.tick():
        ticks.append(tick.get("events", []))
    return ticks


def test_a_server_that_floods_waits_for_its_turn_and_what_is_left_out_is_counted() -> None:
    events = Events(4)
    flood = [{"kind": "hello", "server": 7, "n": i, "at_nanos": 5} for i in range(4000)]
    events.hear(
        [*flood, {"kind": "neighbour-dead", "server": 3, "neighbour": 1, "port": 0, "cause": "silence", "at_nanos": 5}],
        0.0,
    )
    events.hear(
        [{"kind": "neighbour-dead", "server": 2, "neighbour": 1, "port": 0, "cause": "silence", "at_nanos": 5}], 0.1
    )
    first, *others = told(events)
    assert [event["server"] for event in first if event["kind"] == "neighbour-dead"] == [3, 2]
    (left_out,) = [event for event in first if event["kind"] == "events-left-out"]
    hellos = [event["cells"][0]["value"] for tick in (first, *others) for event in tick if event["kind"] == "protocol"]
    assert hellos == list(range(len(hellos))), "events are reported in order"
    assert (left_out["server"], left_out["count"]) == (7, 4000 - len(hellos))
    assert events.left_out == [(7, 4000 - len(hellos))]


numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=9) | st.just("x" * 2000),
    lambda inner: st.lists(inner, max_size=300) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=20,
)
said = st.fixed_dictionaries(
    {"kind": st.sampled_from(["path-switched", "path-selected", "probed", "carrier"]) | values},
    optional={
        "flow": st.integers(-2, 5) | st.fixed_dictionaries({"dport": st.integers(5199, 5206) | values}) | values,
        "path": st.fixed_dictionaries({"servers": st.lists(st.integers(0, 15) | numbers, max_size=100)}) | values,
        "at_nanos": numbers | values,
        "took_nanos": numbers | values,
        "message": values,
    },
)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(said, max_size=12), st.integers(0, 10**9))
def test_sessions_continue_with_small_frames_for_any_reports_of_nodes(every: list[Json], offset: int) -> None:
    frames = [[frame(1, links=[], flows=[], events=[{**item, "server": i % 3} for i, item in enumerate(every)])]] * 2
    events = Events(4)
    events.hear(merged(frames, [0, offset])["events"], 1.0)
    assert all(len(orjson.dumps(tick)) < FRAME_BYTES for tick in told(events))
    assert all(item["at_nanos"] is None or 0 <= item["at_nanos"] < 2**63 for item in events.all)


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": {"servers": [1, 2**16]}},
        {"path": {"servers": [-1]}},
        {"path": {"servers": [1e30]}},
        {"path": {"servers": [0] * 65}},
        {"path": {}},
        {"at_nanos": -1},
        {"at_nanos": 2**63},
        {"took_nanos": -1},
    ],
)
def test_invalid_events_of_a_node_are_reported_and_not_counted(wrong: Json) -> None:
    events = Events(4)
    events.hear([{**chosen(0, "path-switched"), **wrong}, chosen(1, "path-switched")], 1.0)
    tick = events.tick()
    assert [event["kind"] for event in tick["events"]] == ["node-refused", "path-switched"]
    assert tick["events"][0]["server"] == 1
    assert tick["routes"] == [(1, [10, 11, 15])]
    assert events.switches == 1


def test_of_many_that_flood_each_is_told_of_in_its_turn() -> None:
    events = Events(4)
    flood = [{"kind": "hello", "server": server, "at_nanos": 5} for server in range(30) for _ in range(501 + server)]
    result: dict[int, list[int]] = {}
    for second in range(3):
        events.hear(flood if second == 0 else [], float(second))
        tick = events.tick(2000)["events"]
        assert len(orjson.dumps(tick)) <= 2000, "reports of omitted events take space too"
        for event in tick:
            if event["kind"] == "events-left-out":
                result.setdefault(event["server"], []).append(event["count"])
    assert result == {server: [1 + server] for server in range(30)}, "each once"
    assert events.left_out == [(server, 1 + server) for server in reversed(range(30))]


def test_an_application_s_own_flow_is_told_by_its_tuple() -> None:
    events = Events(4)
    events.hear([{**chosen(0, "path-switched"), "flow": {**chosen(0)["flow"], "dport": 80}}], 1.0)
    (event,) = events.tick()["events"]
    assert event["tuple"]["dport"] == 80


@given(st.integers(0, 2**32))
def test_sources_take_turns_and_none_holds_more_than_its_share(seed: int) -> None:
    """A hundred random additions and removals, compared with a reference that orders a single list
    by turns."""
    draws, queue = Random(seed), FairQueue[int](3)
    waiting: list[tuple[int, int]] = []
    refused: Counter[int] = Counter()
    for number in range(100):
        source = draws.randrange(3)
        if draws.random() < 0.4:
            assert next(queue.turns(), None) == (waiting[0][1] if waiting else None)
            # The source that had its turn goes to the end of the line.
            first, rest = waiting[:1], waiting[1:]
            mine = [item for item in rest if item[0] == first[0][0]]
            waiting = [item for item in rest if item not in mine] + mine
            continue
        mine = [i for i, item in enumerate(waiting) if item[0] == source]
        assert queue.put(source, number) is (len(mine) < 3)
        if len(mine) == 3:
            refused[source] += 1
        else:
            waiting.insert(mine[-1] + 1 if mine else len(waiting), (source, number))
    assert queue.left_out == refused
    assert list(queue.turns()) == _in_turns(waiting)


def _in_turns(waiting: list[tuple[int, int]]) -> list[int]:
    """Takes one item of each source in turn, in the order of the sources."""
    lines: dict[int, list[int]] = {}
    for source, number in waiting:
        lines.setdefault(source, []).append(number)
    return [line[turn] for turn in range(3) for line in lines.values() if turn < len(line)]


def test_responses_are_the_flow_after_their_requests() -> None:
    events = Events(4, responses=True)
    back = {"src": "10.0.0.9", "dst": "10.0.0.1", "proto": 17, "sport": 5203, "dport": 40000}
    responses = {**chosen(2), "flow": back}
    events.hear([chosen(2), responses], 1.0)
    assert sorted(events.first_paths) == [2, 3]
