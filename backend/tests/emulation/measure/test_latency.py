"""Latencies by bucket: exact counts, percentiles accurate to a thirty-second, and the same buckets
as in clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.fabric.merging import merged
from cubeyard.emulation.measure.latency import Latencies, LatencyWindow, least_secs
from cubeyard.emulation.measure.seconds import Seconds

BUCKETS = {0: 0, 15: 15, 16: 16, 31: 31, 32: 32, 111: 992, 270: 983_040, 975: 31 << 59}
"""The smallest latency of some buckets in nanoseconds; the tests of `cubeyard-messages` have the
same rows."""


def bucket(nanos: int) -> int:
    octave = max(nanos, 16).bit_length() - 5
    return octave * 16 + (nanos >> octave)


def frame(nanos: list[int], **more: int) -> dict[str, object]:
    counts: dict[int, int] = {}
    for nano in nanos:
        counts[bucket(nano)] = counts.get(bucket(nano), 0) + 1
    reported = {"asked": len(nanos), "answered": len(nanos), "within_bound": 0, "timed_out": 0}
    return {**reported, "sum_nanos": sum(nanos), "longest_nanos": max(nanos), "buckets": list(counts.items()), **more}


@pytest.mark.parametrize(("number", "nanos"), BUCKETS.items())
def test_buckets_begin_where_clients_begin_them(number: int, nanos: int) -> None:
    assert least_secs(number) == pytest.approx(nanos / 1e9)
    assert bucket(nanos) == number


def test_the_last_second_s_percentile_counts_what_timed_out() -> None:
    window = LatencyWindow(5.0)
    assert window.add(0.5, None) is None, "no request has ended"
    assert window.add(0.5, Latencies.of(frame([1_000_000] * 99, timed_out=1))) == pytest.approx(0.001, rel=0.04)
    assert window.add(0.5, Latencies.of(frame([1_000_000], timed_out=1))) == 5.0, "two of 102"
    assert window.add(0.5, Latencies.of(frame([2_000_000] * 300))) == pytest.approx(0.002, rel=0.04)
    assert window.add(1.0, None) is None, "a second later"


NANOS = st.lists(st.integers(0, 10**12), min_size=1, max_size=200)


@given(NANOS, st.sampled_from([0.01, 0.5, 0.99, 0.999, 1.0]))
def test_a_percentile_is_the_exact_one_to_a_thirty_second(nanos: list[int], share: float) -> None:
    result = Latencies.of(frame(nanos))
    exact = sorted(nanos)[max(-(-int(share * 1000) * len(nanos) // 1000), 1) - 1]
    ours = (result.at(share) or 0.0) * 1e9
    assert abs(ours - exact) <= exact / 32 + 1
    assert result.distribution()["share"][-1] == 1.0


@given(st.lists(NANOS, min_size=1, max_size=12))
def test_ticks_add_up_to_a_second_and_to_the_whole(ticks: list[list[int]]) -> None:
    whole, seconds = Latencies(), Seconds()
    reported = []
    for nanos in ticks:
        item = Latencies.of(frame(nanos))
        whole.add(item)
        reported.append(seconds.add({"latencies": item.tick()}, 0.1))
    reported.append(seconds.rest())
    parts = [second["latencies"] for second in reported if second]
    assert sum(part["answered"] for part in parts) == whole.answered == sum(map(len, ticks))
    assert max(part["max_secs"] for part in parts) == pytest.approx(whole.max_secs, abs=1e-6)
    counted: dict[int, int] = {}
    for part in parts:
        for number, count in part["buckets"]:
            counted[number] = counted.get(number, 0) + count
    assert counted == dict(whole.buckets)


def test_without_an_answer_there_is_no_percentile() -> None:
    assert Latencies().at(0.5) is None
    assert Latencies().distribution() == {"share": [], "secs": []}


@given(NANOS, NANOS)
def test_the_latencies_of_several_hosts_are_one(first: list[int], second: list[int]) -> None:
    empty = {
        "drops": {},
        "links": {},
        "servers": {},
        "flows": {},
        "events": [],
        "host": {"cpu": 0},
        "tick": 1,
        "at_secs": 1.0,
    }
    columns = {
        "links": {key: [0] for key in ("tx", "rx", "packets", "drops", "queue")},
        "servers": {key: [0] for key in ("relayed", "own", "cpu")},
        "flows": {key: [0] for key in ("bytes", "retransmits")},
    }
    hosts = [[{**empty, **columns, "latencies": frame(nanos)}] for nanos in (first, second)]
    both = Latencies.of(merged(hosts, [0, 0])["latencies"])
    assert both == Latencies.of(frame([*first, *second]))
