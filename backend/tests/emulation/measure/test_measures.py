"""Sums and frames of measurements: the columns of ticks, and seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.contract.columns import Column, Merge, Unit
from cubeyard.contract.tick import COLUMNS
from cubeyard.emulation.fabric import merging
from cubeyard.emulation.measure import recorder as recording
from cubeyard.emulation.measure import tick as measured
from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.measure.seconds import Seconds
from cubeyard.emulation.measure.tick import Tick
from cubeyard.emulation.measure.window import Reading, Window
from cubeyard.engine import Engine
from tests.conftest import SMALL
from tests.emulation.measure.test_events import chosen
from tests.emulation.setup.test_question import question

Json = dict[str, Any]
FRAME_BYTES = 9 * 1024
TINY = {"family": "bcube", "n": 2, "k": 1}
"""A topology with 4 servers, 4 switches and 8 links."""


def busy_frame(number: int, servers: int, links: int, flows: int) -> Json:
    """A frame with large numbers in every column."""
    return {
        "tick": number,
        "at_secs": number / 10,
        "links": {
            "tx": [1_250_000] * links,
            "rx": [1_250_000] * links,
            "packets": [1_250] * 2 * links,
            "drops": [3] * 2 * links,
            "queue": [131_072] * 2 * links,
        },
        "servers": {"relayed": [1_250_000] * servers, "own": [1_250_000] * servers, "cpu": [0.123] * servers},
        "flows": {"bytes": [125_000] * flows, "retransmits": [12] * flows},
        "drops": {"next_hop_dead": 12},
        "host": {"cpu": 0.7},
        "events": [],
    }


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
    request = question(engine, spec, workload)
    recorder = Recorder(request)
    sizes = []
    for number in range(1, 5):
        recorder.events.hear([chosen(row, "path-switched") for row in range(len(request.flows))], 0.0)
        tick, secs = recorder.take(
            busy_frame(number, len(request.network.servers), len(request.network.links), len(request.flows))
        )
        recorder.count(tick, secs, number / 10, "before")
        sizes.append(len(orjson.dumps(recorder.payload(tick, number / 10, "before"))))
    assert max(sizes) <= FRAME_BYTES


def test_values_in_units_add_up_to_the_measured_bytes(engine: Engine) -> None:
    request = question(engine, {"family": "bcube", "n": 16, "k": 1}, "permutation")
    recorder = Recorder(request)
    unit, links = recorder.format.unit_bytes, len(request.network.links)
    assert unit > 1
    reported, drops = np.zeros(links, np.int64), np.zeros((2, links), np.int64)
    for number in range(1, 41):
        frame = busy_frame(number, 256, links, 256)
        frame["links"]["tx"] = [number * 31_337 + link for link in range(links)]
        frame["links"]["drops"] = [int(number == 1)] * 2 * links
        tick, _ = recorder.take(frame)
        payload = recorder.payload(tick, number / 10, "before")
        reported += np.array(payload["links"]["ab"]) * unit
        for link, *counts in payload.get("link_drops", []):
            drops[:, link] += counts
    sent = [31_337 * 40 * 41 // 2 + 40 * link for link in range(links)]
    assert np.all((sent - reported >= 0) & (sent - reported < unit))
    assert np.all(drops == 1), "every drop is reported once, if later"


def test_a_second_contains_the_values_of_its_ticks(engine: Engine) -> None:
    recorder, seconds = Recorder(question(engine)), Seconds()
    ticks, reported = [], []
    for number in range(1, 26):
        recorder.events.hear([chosen(number, "path-switched")], number / 10)
        tick, secs = recorder.take({**busy_frame(number, 16, 32, 240), "drops": {"no_route": number}})
        recorder.count(tick, secs, number / 10, "before")
        ticks.append(recorder.payload(tick, number / 10, "before"))
        reported += [second] if (second := seconds.add(ticks[-1], secs)) else []
    reported += [rest] if (rest := seconds.rest()) else []
    assert seconds.rest() is None
    assert [second["tick"] for second in reported] == [10, 20, 25]
    assert [second["secs"] for second in reported] == [1.0, 1.0, 0.5]
    assert {*reported[0]} == {*ticks[0], "secs"}, "in the same format"
    for read in (
        lambda frame: np.array(frame["links"]["ab"] + frame["links"]["ba"]),
        lambda frame: np.array(frame["links"]["ab_packets"] + frame["links"]["ba_packets"]),
        lambda frame: np.array(frame["servers"]["received"] + frame["servers"]["relayed"]),
        lambda frame: np.array(frame["flows"]["bytes"]),
        lambda frame: sum(sum(counts) for _, *counts in frame["link_drops"] + frame["retransmits"]),
        lambda frame: frame["drops"]["no-route"],
    ):
        assert np.all(sum(read(item) for item in reported) == sum(read(item) for item in ticks))
    for name in ("events", "routes"):
        assert [item for second in reported for item in second[name]] == [item for tick in ticks for item in tick[name]]
    assert reported[0]["queues"] == ticks[0]["queues"]


def four(most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), min_size=4, max_size=4)


FEW = st.dictionaries(st.integers(0, 3), st.integers(1, 99), max_size=3).map(lambda found: [*map(list, found.items())])


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.4, 1.0005]), four(100), FEW, FEW), min_size=1, max_size=10))
def test_a_second_s_shares_are_means_over_time_and_its_queues_the_longest(ticks: list[Any]) -> None:
    seconds = Seconds()
    none: Json = {"phase": "before", "goodput_bits_per_sec": 1, "abt_bits_per_sec": 2, "links": {"ab": [1], "ba": [2]}}
    for i, (secs, shares, queues, drops) in enumerate(ticks):
        cpu = [share / 100 for share in shares]
        tick = {
            **none,
            "tick": i,
            "at_secs": i,
            "cpu": cpu[3],
            "servers": {"received": [3], "relayed": [4], "cpu": cpu},
        }
        result = seconds.add({**tick, "queues": queues, "link_drops": drops, "counts": {"probed": i, "x": 1}}, secs)
    result = result if len(ticks) == 10 else seconds.rest()
    assert result is not None
    weights = [item[0] for item in ticks] if any(item[0] for item in ticks) else [1.0] * len(ticks)
    mean = [
        sum(w * item[1][row] for w, item in zip(weights, ticks, strict=True)) / 100 / sum(weights) for row in range(4)
    ]
    assert result.pop("servers")["cpu"] == pytest.approx(mean, abs=0.0005001)
    assert result.pop("cpu") == pytest.approx(mean[3], abs=0.0005001)
    every: Json = {}
    for name, column, add in (("queues", 2, max), ("link_drops", 3, sum)):
        rows = sorted({row for item in ticks for row, _ in item[column]})
        every |= {name: [[row, add(dict(item[column]).get(row, 0) for item in ticks)] for row in rows]} if rows else {}
    assert result == {
        **none, **every, "tick": len(ticks) - 1, "at_secs": len(ticks) - 1, "secs": round(sum(item[0] for item in ticks), 3),
        "links": {"ab": [len(ticks)], "ba": [2 * len(ticks)]}, "counts": {"probed": sum(range(len(ticks))), "x": len(ticks)},
    }  # fmt: skip


def test_a_tick_too_short_for_the_kernel_s_clock_repeats_the_cpu(engine: Engine) -> None:
    recorder = Recorder(question(engine))
    ticks = [(0.1, 0.7), (0.101, 0.0), (0.2, 0.4)]
    frames = [{**busy_frame(1, 16, 32, 240), "at_secs": at, "host": {"cpu": cpu}} for at, cpu in ticks]
    assert [recorder.take(frame)[0].cpu for frame in frames] == [0.7, 0.7, 0.4]


def test_rates_come_from_the_ticks_own_times(engine: Engine) -> None:
    request = question(engine)
    recorder = Recorder(request)
    for number in range(1, 31):
        tick, secs = recorder.take(busy_frame(number, 16, 32, 240))
        recorder.count(tick, secs, number / 10, "before")
    (flow, *_), (link, *_), (server, *_) = recorder.per_flow(), recorder.per_link(), recorder.per_server()
    assert flow["goodput_bits_per_sec"] == pytest.approx(125_000 * 8 * 10, rel=1e-6)
    assert link["ab_bits_per_sec"] == pytest.approx(1e8, rel=1e-6)
    assert server["sent_bits_per_sec"] == pytest.approx(15 * 1e7, rel=1e-6)
    assert recorder.total.goodput_bits_per_sec == pytest.approx(240 * 1e7, rel=1e-6)


def test_ticks_that_were_lost_lower_no_rate(engine: Engine) -> None:
    recorder = Recorder(question(engine))
    for number in (*range(1, 11), *range(18, 31)):
        missed = {"missed": 7} if number == 18 else {}
        tick, secs = recorder.take({**busy_frame(number, 16, 32, 240), **missed})
        recorder.count(tick, secs, number / 10, "before")
    assert recorder.total.secs == pytest.approx(2.3)
    assert recorder.total.goodput_bits_per_sec == pytest.approx(240 * 1e7, rel=1e-6)


def test_a_link_s_report_keeps_its_directions_apart(engine: Engine) -> None:
    recorder = Recorder(question(engine))
    links = 32
    for number in range(1, 4):
        frame = busy_frame(number, 16, links, 240)
        frame["links"] |= {
            "packets": [*range(links), *[7] * links],
            "drops": [0] * links + [number] * links,
            "queue": [1000 * number] * links + [9000 // number] * links,
        }
        tick, secs = recorder.take(frame)
        recorder.count(tick, secs, number / 10, "before")
        payload = recorder.payload(tick, number / 10, "before")
        assert payload["links"]["ab_packets"] == [*range(links)]
        assert payload["links"]["ba_packets"] == [7] * links
        assert payload["link_drops"][5] == [5, 0, number]
        assert payload["queues"][5] == [5, 1000 * number, 9000 // number]
    link = recorder.per_link()[5]
    assert (link["ab_packets"], link["ba_packets"]) == (15, 21)
    assert (link["ab_drops"], link["ba_drops"]) == (0, 6)
    assert (link["ab_longest_queue_bytes"], link["ba_longest_queue_bytes"]) == (3000, 9000)


def test_abt_is_of_the_flows_whose_ends_are_up(engine: Engine) -> None:
    request = question(engine)
    recorder, dead = Recorder(request), {5}
    carried = [0 if dead & {flow.source, flow.destination} else 125_000 for flow in request.flows]
    for number in range(1, 11):
        frame = busy_frame(number, 16, 32, 240)
        tick, secs = recorder.take({**frame, "flows": {"bytes": carried}})
        recorder.count(tick, secs, number / 10, "during", dead)
    during = recorder.parts["during"].document()
    assert during["abt_bits_per_sec"] == during["goodput_bits_per_sec"] == pytest.approx(210 * 1e7)
    assert during["stalled_flows"] == 30


TICKS = st.lists(
    st.tuples(
        st.sampled_from([0.05, 0.1, 0.25, 1.0, 3.1]),
        st.sampled_from(["before", "during", "after"]),
        four(10**6),
        four(9),
        st.sampled_from([set[int](), {0}, {1, 2}]),
    ),
    min_size=1,
    max_size=30,
)


def sums_of(ticks: list[Any], part: int) -> list[int]:
    return [sum(column) for column in zip(*(item[part] for item in ticks), strict=True)]


@given(TICKS)
def test_every_part_is_the_sum_of_its_ticks(engine: Engine, ticks: list[Any]) -> None:
    request = question(engine, TINY, "permutation")
    recorder, window = Recorder(request), Window(4)
    message: dict[str, list[Any]] = {}
    seconds: dict[str, list[Reading]] = {"total": []}
    at_secs = since_secs = 0.0
    was = None
    for secs, part, carried, few, dead in ticks:
        since_secs, was = at_secs if part != was else since_secs, part
        at_secs += secs
        links = {"tx": carried * 2, "rx": few * 2, "drops": few}
        flows = {"bytes": carried, "retransmits": few}
        host = {"cpu": few[0] / 10}
        frame = {"at_secs": at_secs, "links": links, "flows": flows, "servers": {"relayed": few}, "host": host}
        tick, result = recorder.take({**frame, "drops": {"no_route": few[1], "ttl": few[2]}})
        assert result == pytest.approx(secs)
        ended = {flow.id for flow in request.flows if dead & {flow.source, flow.destination}}
        window.add(result, carried)
        reading = window.read(ended)
        assert recorder.count(tick, result, at_secs, part, dead) == recorder.reading == reading
        for name, began_secs in ((part, since_secs), ("total", 0.0)):
            message.setdefault(name, []).append((result, carried, few, ended, reading))
            own = [reading] if at_secs - began_secs >= 1 - 1e-6 else []
            seconds.setdefault(name, []).extend(own)
    for name, mine in message.items():
        secs = sum(item[0] for item in mine)
        flows = sums_of(mine, 1)
        alive = [flow for row, flow in enumerate(flows) if not any(row in ended for *_, ended, _ in mine)]
        sums = recorder.total if name == "total" else recorder.parts[name]

        def least(mean_bytes: int, rates: list[float], secs: float = secs) -> int | None:
            """The expected minimum, which is never above the mean; None in less than a second."""
            return round(min([mean_bytes * 8 / secs, *rates])) if rates else None

        assert sums.document() == {
            "secs": round(secs, 2),
            "goodput_bits_per_sec": round(sum(flows) * 8 / secs),
            "least_goodput_bits_per_sec": least(sum(flows), [second.goodput_bits_per_sec for second in seconds[name]]),
            "abt_bits_per_sec": round(min(alive, default=0) * 8 / secs * len(alive)),
            "least_abt_bits_per_sec": least(
                min(alive, default=0) * len(alive), [second.abt_bits_per_sec for second in seconds[name]]
            ),
            "stalled_flows": flows.count(0),
            "most_stalled_flows": max((second.stalled_flows for second in seconds[name]), default=None),
            "cut_off_flows": len(flows) - len(alive),
            "retransmits": sum(sum(item[2]) for item in mine),
            "drops": sum(item[2][1] + item[2][2] for item in mine),
            "queue_drops": sum(sums_of(mine, 2)),
            "cpu": pytest.approx(sum(item[2][0] / 10 * item[0] for item in mine) / secs, abs=1e-4),
        }
        assert (sums.ticks, sums.relayed.tolist()) == (len(mine), sums_of(mine, 2))
    rates = [[item * 8 / recorder.total.secs for item in sums_of(message["total"], i)] for i in (1, 2)]
    assert [flow["goodput_bits_per_sec"] for flow in recorder.per_flow()] == [round(rate) for rate in rates[0]]
    assert [link["ab_bits_per_sec"] for link in recorder.per_link()] == [round(rate) for rate in rates[0]] * 2
    assert [link["ba_bits_per_sec"] for link in recorder.per_link()] == [round(rate) for rate in rates[1]] * 2
    for row, server in enumerate(recorder.per_server()):
        ends = [{flow.source: "sent", flow.destination: "received"}.get(server["id"]) for flow in request.flows]
        assert server["sent_bits_per_sec"] == round(rates[0][ends.index("sent")])
        assert server["received_bits_per_sec"] == round(rates[0][ends.index("received")])
        assert server["relayed_bits_per_sec"] == round(rates[1][row])


@given(st.lists(st.sampled_from([0.0, 0.04, 0.1, 0.9, 1.0, 2.7]), min_size=1, max_size=60))
def test_the_series_has_the_first_tick_of_each_second_that_has_any(engine: Engine, steps: list[float]) -> None:
    recorder, at_secs, first = Recorder(question(engine, TINY, "permutation")), 0.0, dict[int, float]()
    for secs in steps:
        at_secs += secs
        tick, result = recorder.take({"at_secs": at_secs})
        recorder.count(tick, result, at_secs, "before")
        first.setdefault(int(at_secs), at_secs)
    assert [item[0] for item in recorder.series] == [round(at, 1) for at in first.values()]


def test_bytes_from_before_the_measured_time_only_count_in_the_rates_of_the_last_second(engine: Engine) -> None:
    recorder = Recorder(question(engine, TINY, "permutation"))
    for number in range(1, 21):
        recorder.take({"at_secs": number / 10, "flows": {"bytes": [1000, 2000, 3000, 0]}})
    assert recorder.reading.goodput_bits_per_sec == pytest.approx(6000 * 8 * 10)
    tick, secs = recorder.take({"at_secs": 2.1, "flows": {"bytes": [0, 0, 0, 4000]}})
    reading = recorder.count(tick, secs, 0.1, "before")
    assert reading.goodput_bits_per_sec == pytest.approx((9 * 6000 + 4000) * 8)
    assert reading.stalled_flows == 0, "a flow without bytes in a tenth of a second is not stalled"
    assert recorder.total.goodput_bits_per_sec == pytest.approx(4000 * 8 * 10)
    assert not recorder.all_received


def test_a_flow_that_has_sent_all_it_had_is_neither_stalled_nor_slow(engine: Engine) -> None:
    recorder = Recorder(question(engine, TINY, "permutation", emulation={"flow_bytes": 3000}))
    for number in range(1, 31):
        carried = [100 if number <= 30 else 0] + [500 if number <= 6 else 0] * 3
        tick, secs = recorder.take({"at_secs": number / 10, "flows": {"bytes": carried}})
        reading = recorder.count(tick, secs, number / 10, "before")
        assert recorder.all_received == (number == 30)
        assert reading.stalled_flows == 0
        if 6 <= number < 30:
            assert reading.abt_bits_per_sec == pytest.approx(100 * 8 * 10), "of the flow that continues"


def test_a_frame_that_leaves_things_out_is_read_as_nothing(engine: Engine) -> None:
    tick = Tick.of({"links": {"tx": [7], "drops": [1, 2, 3]}, "servers": {"cpu": [0.5]}}, 2, 2, 2)
    assert (tick.links.tolist(), tick.rows["link_drops"].tolist(), tick.rows["queues"].tolist()) == (
        [[7, 0], [0, 0]],
        [[1, 2], [3, 0]],
        [[0, 0], [0, 0]],
    )
    assert (tick.server_cpu, tick.own, tick.relayed.tolist()) == ([0.5, 0.0], [0, 0], [0, 0])
    assert (tick.flows.tolist(), tick.rows["retransmits"].tolist()) == ([0, 0], [[0, 0]])
    assert (tick.drops, tick.cpu, tick.events) == ({}, 0.0, [])
    recorder = Recorder(question(engine, TINY, "permutation"))
    tick, _ = recorder.take({"at_secs": 0.1, "tick": 3})
    assert recorder.payload(tick, 0.12345, "settling") == {
        "tick": 3, "at_secs": 0.123, "phase": "settling", "links": {name: [0] * 8 for name in ("ab", "ba", "ab_packets", "ba_packets")},
        "servers": {"received": [0] * 4, "relayed": [0] * 4, "cpu": [0.0] * 4}, "goodput_bits_per_sec": 0,
        "abt_bits_per_sec": 0, "cpu": 0.0, "flows": {"bytes": [0] * 4},
    }  # fmt: skip


def test_a_tick_is_late_by_half_a_tick_or_more(engine: Engine) -> None:
    recorder = Recorder(question(engine, TINY, "permutation"))
    times = [(1, 0.7), (2, 0.8), (3, 0.96), (4, 1.0), (6, 1.2), (7, 1.5)]
    late = [recorder.take({"tick": number, "at_secs": at})[0].late for number, at in times]
    assert late == [False, False, True, False, False, True], "the first tick has none before it"
    host = {"cpu": 0.5, "wait_secs": 0.3, "waits": 20, "backlog_drops": 7}
    tick, secs = recorder.take({"tick": 8, "at_secs": 1.6, "host": host})
    recorder.count(tick, secs, 1.6, "before")
    assert recorder.total.delays == {"late_ticks": 0.0, "wait_secs": 0.015, "backlog_drops": 7}


def test_a_column_that_the_contract_declares_reaches_the_frames(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = Column("servers", "novel", Unit.COUNT, Merge.SUM, "novel_rows", "")
    monkeypatch.setattr(merging, "COLUMNS", (*COLUMNS, declared))
    monkeypatch.setitem(merging.KNOWN, "servers", {*merging.KNOWN["servers"], "novel"})
    for module in (measured, recording):
        monkeypatch.setattr(module, "SHOWN", (*measured.SHOWN, declared))
    recorder = Recorder(question(engine, TINY, "permutation"))
    ends = {"links": len(recorder.question.network.links), "flows": len(recorder.question.flows)}
    ends["servers"] = len(recorder.question.network.servers)
    host = {
        "tick": 1, "at_secs": 0.1, "drops": {}, "host": {"cpu": 0.5}, "events": [],
        **{part: {column.name: [0] * 2 * size for column in COLUMNS if column.part == part} for part, size in ends.items()},
    }  # fmt: skip
    other = {**host, "servers": {**host["servers"], "novel": [0, 5, 2]}}
    frame = merging.merged([[{**host, "servers": {**host["servers"], "novel": [0, 7, 0]}}, other], [other]], [0, 0])
    payload: Json = {**recorder.payload(recorder.take(frame)[0], 0.1, "settling")}
    assert payload["novel_rows"] == [[1, 17], [2, 4]]
    assert "retransmits" not in payload
