"""Requests and responses with real packets through the whole stack: over UDP through routers, over TCP between servers that relay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conftest import Command

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]

SUBWAYS = '{"family":"subways","type":1,"p":2,"q":4,"l":3,"aggs_per_cluster":2}'
BCUBE = '{"family":"bcube","n":2,"k":1}'
SHORT = ("--link-rate", "20M", "--mode", "namespaces", "--settle", "1", "--calibrate", "0")


def checked(found: Json) -> Json:
    """The latencies, which must agree with each other."""
    told, distribution = found["latency_secs"], found["latency_distribution"]
    times = [told[name] for name in ("min", "median", "p99", "p999", "max")]
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] == distribution["secs"][-1]
    assert distribution["share"][-1] == 1.0
    assert distribution["share"] == sorted(distribution["share"])
    return told


def test_requests_over_udp_are_answered_on_the_predicted_paths(emulate: Command, nothing_left: Left) -> None:
    workload = '{"kind":"requests","servers":["0.0.0","0.0.1"],"rate_per_sec":40,"request_bytes":50,"response_bytes":3000,"latency_bound_secs":1}'
    found = emulate.run("--spec", SUBWAYS, "--workload", workload, "--set", 'protocol="udp"', "--seconds", "4", *SHORT)
    told = checked(found)
    # Four clients with 40 a second each; at so low a load nothing is lost, and a second is long.
    assert 400 < told["requests"] < 900, told
    assert told["answered"] > 0.9 * told["requests"], told
    assert told["within_bound"] > 0.9, told
    responses = found["per_flow"][1::2]
    assert all(one["goodput_bits_per_sec"] > 0 for one in responses)
    assert all(one["as_predicted"] for one in found["per_flow"]), found["per_flow"]
    sent = sum(one["goodput_bits_per_sec"] for one in found["per_flow"])
    assert abs(sent / (told["answered"] * 3050 * 8 / found["total"]["secs"]) - 1) < 0.15


def test_requests_over_tcp_end_with_the_last_answer(emulate: Command, nothing_left: Left) -> None:
    workload = '{"kind":"requests","count":150,"think_secs":0.02,"latency_bound_secs":5}'
    found = emulate.run(
        "--spec", BCUBE, "--workload", workload, "--seconds", "30", *SHORT[:-4], "--settle", "0", "--calibrate", "0"
    )
    told = checked(found)
    assert (told["requests"], told["answered"], told["timed_out"]) == (450, 450, 0)
    assert told["within_bound"] == 1.0
    assert found["total"]["secs"] < 30, "the session ends with the last answer"
    assert "wait for each response" in found["fidelity"]["reason"]
