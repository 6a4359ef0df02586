"""What is measured, as it is summed up and told: frames, columns, seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from cubeyard.emulation.recorder import Recorder
from cubeyard.emulation.seconds import Seconds
from cubeyard.engine import Engine
from tests.conftest import SMALL

from .test_events import chosen
from .test_question import question

Json = dict[str, Any]
FRAME_BYTES = 9 * 1024


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
