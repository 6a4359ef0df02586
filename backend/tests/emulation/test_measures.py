"""Windows, guard, fidelity, frames and what a fault led to."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.events import Events
from cubeyard.emulation.fidelity import Calibration, judge
from cubeyard.emulation.guard import Guard, Reading, Window
from cubeyard.emulation.merging import merged
from cubeyard.emulation.network import address, server_at
from cubeyard.emulation.recorder import Recorder
from cubeyard.emulation.report import consequences
from cubeyard.emulation.seconds import Seconds
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Hypothesis
from tests.conftest import SMALL

from .test_hosts import frame
from .test_question import question

Json = dict[str, Any]
FRAME_BYTES = 9 * 1024


@given(st.lists(st.lists(st.integers(0, 10**7), min_size=3, max_size=3), min_size=1, max_size=40))
def test_a_window_is_the_mean_of_the_last_second(ticks: list[list[int]]) -> None:
    window = Window(3)
    for tick in ticks:
        reading = window.add(0.1, tick)
    last = ticks[-10:]
    secs = 0.1 * len(last)
    sums = [sum(tick[flow] for tick in last) for flow in range(3)]
    assert reading.goodput_bits_per_sec == pytest.approx(sum(sums) * 8 / secs)
    assert reading.abt_bits_per_sec == pytest.approx(3 * min(sums) * 8 / secs)
    assert reading.stalled_flows == sum(one == 0 for one in sums)


def test_a_flow_that_lost_an_end_is_no_bottleneck() -> None:
    window = Window(3)
    reading = window.add(1.0, [100, 0, 300], {1})
    assert (reading.abt_bits_per_sec, reading.stalled_flows) == (2 * 100 * 8, 1)
    assert window.add(1.0, [100, 0, 300]).abt_bits_per_sec == 0
    assert window.add(1.0, [0, 0, 0], {0, 1, 2}).abt_bits_per_sec == 0


def watch(hypothesis: Hypothesis, values: list[float]) -> tuple[Guard, list[bool]]:
    """A guard that saw 100 before the fault, and these values after it, ten a second."""
    guard = Guard(hypothesis)
    guard.before(Reading(100.0, 100.0, 0))
    return guard, [guard.watch(i / 10, 0.1, Reading(one, one, int(one))) for i, one in enumerate(values)]


def test_the_guard_forgives_what_does_not_last() -> None:
    hypothesis = Hypothesis(metric="goodput-share", bound=0.6, for_secs=0.5)
    guard, told = watch(hypothesis, [50, 50, 50, 50, 70, 50, 50, 50, 50])
    assert (any(told), guard.outcome, guard.violations, guard.worst) == (False, "held", 8, 0.5)
    guard, told = watch(hypothesis, [70, 50, 50, 50, 50, 50, 50])
    assert told == [False] * 5 + [True, False]
    assert guard.outcome == "broken"
    assert guard.document()["broken_at_secs"] == 0.5


def test_stalled_flows_are_bounded_from_above() -> None:
    guard, told = watch(Hypothesis(metric="stalled-flows", bound=2, for_secs=0.2, abort=False), [2, 3, 3, 2])
    assert (any(told), guard.outcome, guard.worst) == (False, "broken", 3.0)


@pytest.mark.parametrize(
    ("pair", "achieved", "cpu", "verdict"),
    [
        (0.98, 0.97, 0.99, "faithful"),
        (0.98, 0.80, 0.50, "faithful"),
        (0.98, 0.80, 0.95, "emulator-limited"),
        (0.70, 0.60, 0.95, "emulator-limited"),
        (None, 0.80, 0.50, "unknown"),
        (0.98, None, 0.50, "unknown"),
        (0.98, 0.80, None, "unknown"),
    ],
)
def test_the_fidelity_verdict(pair: float | None, achieved: float | None, cpu: float | None, verdict: str) -> None:
    calibration = None if pair is None else Calibration("00", "01", pair * 1e8, 1e8)
    found = judge(calibration, achieved, cpu, 0.99)
    assert found["verdict"] == verdict
    assert found["reason"]


def test_flows_that_carried_nothing_on_a_busy_machine_are_the_machines() -> None:
    pair = Calibration("00", "01", 0.98e8, 1e8)
    assert judge(pair, 1.1, 0.99, 0.99, stalled_flows=3)["verdict"] == "emulator-limited"
    assert judge(pair, 1.1, 0.50, 0.99, stalled_flows=3)["verdict"] == "faithful"


def busy_frame(number: int, servers: int, links: int, flows: int) -> Json:
    """A frame with large numbers in every column."""
    return {
        "tick": number,
        "at_secs": number / 10,
        "links": {
            "tx": [1_250_000] * links,
            "rx": [1_250_000] * links,
            "drops": [3] * 2 * links,
            "queue": [131_072] * 2 * links,
        },
        "servers": {"relayed": [1_250_000] * servers, "own": [1_250_000] * servers, "cpu": [0.123] * servers},
        "flows": {"bytes": [125_000] * flows, "retransmits": [12] * flows, "path": [4_000_000_000 - number] * flows},
        "drops": {"next_hop_dead": 12},
        "host": {"cpu": 0.7},
        "events": [],
    }


def chosen(row: int, kind: str = "path_selected") -> Json:
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


def test_an_address_is_its_servers_alone() -> None:
    for server in (0, 5, 255, 256, 65_533):
        assert server_at(address(server)) == server
    assert server_at("192.0.2.1") == -1


def test_a_flow_is_told_by_its_number_too() -> None:
    events = Events(4)
    events.hear([{"kind": "flow-done", "server": 1, "flow": 3, "at_nanos": 5_000_000_000}], 6_000_000_000, 10.0)
    (told,) = events.tick()["events"]
    assert told == {"kind": "flow-done", "server": 1, "flow": 3, "at_nanos": 5_000_000_000, "at_secs": 9.0}


def test_a_burst_of_events_is_spread_and_none_is_lost() -> None:
    events = Events(240)
    events.hear([chosen(row) for row in range(240)] + [chosen(row, "path_switched") for row in range(100)], 5, 1.0)
    ticks = []
    while tick := events.tick():
        ticks.append(tick)
    assert sum(len(tick.get("routes", [])) for tick in ticks) == 340
    switched = [event for tick in ticks for event in tick.get("events", [])]
    assert [event["flow"] for event in switched] == list(range(100))
    assert switched[0]["path"] == [10, 11, 15]
    assert ticks[0]["counts"] == {"path_selected": 240}
    assert events.switches == 100
    assert max(len(orjson.dumps(tick)) for tick in ticks) < 6000


def told(events: Events) -> list[list[Json]]:
    """The events of each following tick until there are none."""
    ticks = []
    while tick := events.tick():
        ticks.append(tick.get("events", []))
    return ticks


def test_a_server_that_floods_waits_for_its_turn_and_what_is_left_out_is_counted() -> None:
    events = Events(4)
    flood = [{"kind": "hello", "server": 7, "n": i, "at_nanos": 5} for i in range(4000)]
    events.hear([*flood, {"kind": "neighbour_dead", "server": 3, "neighbour": 1, "at_nanos": 5}], 5, 0.0)
    events.hear([{"kind": "neighbour_dead", "server": 2, "neighbour": 1, "at_nanos": 5}], 5, 0.1)
    first, *others = told(events)
    assert [event["server"] for event in first if event["kind"] == "neighbour_dead"] == [3, 2]
    (left_out,) = [event for event in first if event["kind"] == "events-left-out"]
    hellos = [event["n"] for tick in (first, *others) for event in tick if event["kind"] == "hello"]
    assert hellos == list(range(len(hellos))), "what is told is told in order"
    assert (left_out["server"], left_out["count"]) == (7, 4000 - len(hellos))
    assert events.left_out == [(7, 4000 - len(hellos))]


numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=9) | st.just("x" * 2000),
    lambda inner: st.lists(inner, max_size=300) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=20,
)
said = st.fixed_dictionaries(
    {"kind": st.sampled_from(["path_switched", "path_selected", "probe", "carrier"]) | values},
    optional={
        "flow": st.integers(-2, 5) | st.fixed_dictionaries({"dport": st.integers(5199, 5206) | values}) | values,
        "path": st.fixed_dictionaries({"servers": st.lists(st.integers(0, 15) | numbers, max_size=100)}) | values,
        "at_nanos": numbers | values,
        "took_nanos": numbers | values,
        "message": values,
    },
)


@given(st.lists(said, max_size=40), st.integers(0, 10**9))
def test_whatever_a_node_says_the_session_goes_on_and_frames_stay_small(every: list[Json], offset: int) -> None:
    frames = [[frame(1, links=[], flows=[], events=[{**one, "server": i % 3} for i, one in enumerate(every)])]] * 2
    events = Events(4)
    events.hear(merged(frames, [0, offset])["events"], 5, 1.0)
    assert all(len(orjson.dumps(tick)) < FRAME_BYTES for tick in told(events))
    assert all(one["at_nanos"] is None or 0 <= one["at_nanos"] < 2**63 for one in events.all)


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
def test_what_a_node_cannot_mean_is_refused_aloud_and_counts_for_nothing(wrong: Json) -> None:
    events = Events(4)
    events.hear([{**chosen(0, "path_switched"), **wrong}, chosen(1, "path_switched")], 5, 1.0)
    tick = events.tick()
    assert [event["kind"] for event in tick["events"]] == ["node-refused", "path_switched"]
    assert tick["events"][0]["server"] == 1
    assert tick["routes"] == [(1, [10, 11, 15])]
    assert events.switches == 1


def test_of_many_that_flood_each_is_told_of_in_its_turn() -> None:
    events = Events(4)
    flood = [{"kind": "hello", "server": server, "at_nanos": 5} for server in range(30) for _ in range(501 + server)]
    found: dict[int, list[int]] = {}
    for second in range(3):
        events.hear(flood if second == 0 else [], 5, float(second))
        tick = events.tick(2000)["events"]
        assert len(orjson.dumps(tick)) <= 2000, "what is left out takes room as the rest does"
        for event in tick:
            if event["kind"] == "events-left-out":
                found.setdefault(event["server"], []).append(event["count"])
    assert found == {server: [1 + server] for server in range(30)}, "each once"
    assert events.left_out == [(server, 1 + server) for server in reversed(range(30))]


def test_an_application_s_own_flow_is_told_by_its_tuple() -> None:
    events = Events(4)
    events.hear([{**chosen(0, "path_switched"), "flow": {"src": "10.0.0.1", "dport": 80}}], 5, 1.0)
    (event,) = events.tick()["events"]
    assert event["tuple"]["dport"] == 80


@pytest.mark.parametrize(
    ("spec", "workload"),
    [
        (SMALL, "all-to-all"),
        ({"family": "bcube", "n": 8, "k": 1}, "permutation"),
        ({"family": "bcube", "n": 8, "k": 1}, "incast"),
        ({"family": "bcube", "n": 4, "k": 2}, "one-to-all"),
        ({"family": "bcube", "n": 10, "k": 1}, "permutation"),
        ({"family": "bcube", "n": 16, "k": 1}, "permutation"),
        ({"family": "bcube", "n": 16, "k": 1}, "incast"),
    ],
)
def test_a_tick_is_small(engine: Engine, spec: Json, workload: str) -> None:
    asked = question(engine, spec, workload)
    recorder = Recorder(asked)
    sizes = []
    for number in range(1, 5):
        recorder.events.hear([chosen(row, "path_switched") for row in range(len(asked.flows))], 5, 0.0)
        tick, secs = recorder.take(
            busy_frame(number, len(asked.network.servers), len(asked.network.links), len(asked.flows))
        )
        recorder.count(tick, secs, number / 10, "before")
        sizes.append(len(orjson.dumps(recorder.payload(tick, number / 10, "before"))))
    assert max(sizes) <= FRAME_BYTES


def test_what_is_told_in_units_adds_up_to_what_was_measured(engine: Engine) -> None:
    asked = question(engine, {"family": "bcube", "n": 16, "k": 1}, "permutation")
    recorder = Recorder(asked)
    unit, links = recorder.format.unit_bytes, len(asked.network.links)
    assert unit > 1
    told, drops = np.zeros(links, np.int64), np.zeros(links, np.int64)
    for number in range(1, 41):
        frame = busy_frame(number, 256, links, 256)
        frame["links"]["tx"] = [number * 31_337 + link for link in range(links)]
        frame["links"]["drops"] = [int(number == 1)] * 2 * links
        tick, _ = recorder.take(frame)
        payload = recorder.payload(tick, number / 10, "before")
        told += np.array(payload["links"]["ab"]) * unit
        for link, count in payload.get("link_drops", []):
            drops[link] += count
    sent = [31_337 * 40 * 41 // 2 + 40 * link for link in range(links)]
    assert np.all((sent - told >= 0) & (sent - told < unit))
    assert drops.tolist() == [2] * links, "every drop is told once, if later"


def test_a_second_holds_what_its_ticks_told(engine: Engine) -> None:
    recorder, seconds = Recorder(question(engine)), Seconds()
    ticks, told = [], []
    for number in range(1, 26):
        recorder.events.hear([chosen(number, "path_switched")], 5, number / 10)
        tick, secs = recorder.take({**busy_frame(number, 16, 32, 240), "drops": {"no_route": number}})
        recorder.count(tick, secs, number / 10, "before")
        ticks.append(recorder.payload(tick, number / 10, "before"))
        told += [second] if (second := seconds.add(ticks[-1], secs)) else []
    told += [rest] if (rest := seconds.rest()) else []
    assert seconds.rest() is None
    assert [second["tick"] for second in told] == [10, 20, 25]
    assert [second["secs"] for second in told] == [1.0, 1.0, 0.5]
    assert {*told[0]} == {*ticks[0], "secs"}, "of the same form"
    for read in (
        lambda frame: np.array(frame["links"]["ab"] + frame["links"]["ba"]),
        lambda frame: np.array(frame["servers"]["received"] + frame["servers"]["relayed"]),
        lambda frame: np.array(frame["flows"]["bytes"]),
        lambda frame: sum(count for _, count in frame["link_drops"] + frame["retransmits"]),
        lambda frame: frame["drops"]["no_route"],
    ):
        assert np.all(sum(read(one) for one in told) == sum(read(one) for one in ticks))
    for name in ("events", "routes"):
        assert [one for second in told for one in second[name]] == [one for tick in ticks for one in tick[name]]
    assert told[0]["queues"] == ticks[0]["queues"]


def test_a_tick_too_short_for_the_kernel_s_clock_repeats_the_cpu(engine: Engine) -> None:
    recorder = Recorder(question(engine))
    ticks = [(0.1, 0.7), (0.101, 0.0), (0.2, 0.4)]
    frames = [{**busy_frame(1, 16, 32, 240), "at_secs": at, "host": {"cpu": cpu}} for at, cpu in ticks]
    assert [recorder.take(frame)[0].cpu for frame in frames] == [0.7, 0.7, 0.4]


def test_rates_come_from_the_ticks_own_times(engine: Engine) -> None:
    asked = question(engine)
    recorder = Recorder(asked)
    for number in range(1, 31):
        tick, secs = recorder.take(busy_frame(number, 16, 32, 240))
        recorder.count(tick, secs, number / 10, "before")
    (flow, *_), (link, *_), (server, *_) = recorder.per_flow(), recorder.per_link(), recorder.per_server()
    assert flow["goodput_bits_per_sec"] == pytest.approx(125_000 * 8 * 10, rel=1e-6)
    assert link["ab_bits_per_sec"] == pytest.approx(1e8, rel=1e-6)
    assert server["sent_bits_per_sec"] == pytest.approx(15 * 1e7, rel=1e-6)
    assert recorder.total.goodput_bits_per_sec == pytest.approx(240 * 1e7, rel=1e-6)


def test_abt_is_of_the_flows_whose_ends_are_up(engine: Engine) -> None:
    asked = question(engine)
    recorder, dead = Recorder(asked), {5}
    carried = [0 if dead & {flow.source, flow.destination} else 125_000 for flow in asked.flows]
    for number in range(1, 11):
        frame = busy_frame(number, 16, 32, 240)
        tick, secs = recorder.take({**frame, "flows": {"bytes": carried}})
        recorder.count(tick, secs, number / 10, "during", dead)
    during = recorder.parts["during"].document()
    assert during["abt_bits_per_sec"] == during["goodput_bits_per_sec"] == pytest.approx(210 * 1e7)
    assert during["stalled_flows"] == 30


def test_a_fault_s_consequences_are_those_that_follow_it(engine: Engine) -> None:
    recorder = Recorder(question(engine))
    second = 1_000_000_000
    recorder.events.all += [
        {"kind": "neighbour_dead", "at_nanos": 4 * second},
        {"kind": "carrier", "at_nanos": 5 * second + 8_000_000},
        {"kind": "path_switched", "at_nanos": 5 * second + 20_000_000},
        {"kind": "path_switched", "at_nanos": 5 * second + 70_000_000},
        {"kind": "path_switched", "at_nanos": 99 * second},
    ]
    found = consequences({"at_nanos": 5 * second, "injected_at_secs": 5.0}, recorder)
    assert found == {
        "detected_secs": 0.008, "first_move_secs": 0.02, "last_move_secs": 0.07, "moves": 2, "recovered_secs": None,
    }  # fmt: skip
