"""Requests and responses with real packets through the whole stack: over UDP through routers, over
TCP between servers that relay. Also memcached's own clients at the answering servers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cubeyard.engine import Engine

from .conftest import Command
from .test_example import fabric
from .test_routers import RUN, description

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]

SUBWAYS = '{"family":"subways","type":1,"p":2,"q":4,"l":3,"aggs_per_cluster":2}'
BCUBE = '{"family":"bcube","n":2,"k":1}'
SHORT = ("--link-rate", "20M", "--mode", "namespaces", "--settle", "1", "--calibrate", "0")


def checked(latencies: Json) -> Json:
    """Returns the latencies after checking that they are consistent."""
    reported, distribution = latencies["latency_secs"], latencies["latency_distribution"]
    times = [reported[name] for name in ("min", "median", "p99", "p999", "max")]
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] == distribution["secs"][-1]
    assert distribution["share"][-1] == 1.0
    assert distribution["share"] == sorted(distribution["share"])
    return reported


def test_requests_over_udp_are_answered_on_the_predicted_paths(emulate: Command, nothing_left: Left) -> None:
    workload = '{"kind":"requests","servers":["0.0.0","0.0.1"],"rate_per_sec":40,"request_bytes":50,"response_bytes":3000,"latency_bound_secs":1}'
    result = emulate.run("--spec", SUBWAYS, "--workload", workload, "--set", 'protocol="udp"', "--seconds", "4", *SHORT)
    reported = checked(result)
    # Four clients send 40 requests per second each. At such a low load nothing is lost, and a
    # second is long.
    assert 400 < reported["requests"] < 900, reported
    assert reported["answered"] > 0.9 * reported["requests"], reported
    assert reported["within_bound"] > 0.9, reported
    responses = result["per_flow"][1::2]
    assert all(response["goodput_bits_per_sec"] > 0 for response in responses)
    assert all(flow["as_predicted"] for flow in result["per_flow"]), result["per_flow"]
    sent = sum(flow["goodput_bits_per_sec"] for flow in result["per_flow"])
    assert abs(sent / (reported["answered"] * 3050 * 8 / result["total"]["secs"]) - 1) < 0.15


@pytest.mark.long
def test_requests_over_tcp_end_with_the_last_answer(emulate: Command, nothing_left: Left) -> None:
    workload = '{"kind":"requests","count":150,"think_secs":0.02,"latency_bound_secs":5}'
    result = emulate.run(
        "--spec", BCUBE, "--workload", workload, "--seconds", "30", *SHORT[:-4], "--settle", "0", "--calibrate", "0"
    )
    reported = checked(result)
    assert (reported["requests"], reported["answered"], reported["timed_out"]) == (450, 450, 0)
    assert reported["within_bound"] == 1.0
    assert result["total"]["secs"] < 30, "the session ends with the last answer"
    assert "wait for each response" in result["fidelity"]["reason"]


ANSWERING, ASKING, OTHER = 0, 5, 3


def client_of(server: int, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of libmemcached on a server, with the values of the answering server."""
    command = ["ip", "netns", "exec", f"cy-{RUN[:8]}-{server}", program, f"--servers=10.0.0.{ANSWERING + 1}:11211"]
    return subprocess.run([*command, *words], capture_output=True, text=True, timeout=20, check=False)


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_memcached_s_own_clients_set_and_get_beside_the_requests(
    engine: Engine, nothing_left: Left, tmp_path: Path, protocol: str
) -> None:
    asking = {
        "client_seed": 7, "place": 0, "places": 1, "count": None, "rate_per_sec": 200.0, "think_secs": 0.0,
        "bound_secs": 1.0, "timeout_secs": 2.0,
    }  # fmt: skip
    requests = {"response": 1, "request_bytes": 22, "response_bytes": 1472, "asking": asking}
    ends = {"source": ASKING, "destination": ANSWERING, "proto": protocol}
    back = {"source": ANSWERING, "destination": ASKING, "proto": protocol}
    flows = [{"id": 0, **ends, "requests": requests}, {"id": 1, **back, "answers": 0}]
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 1024)
    colour = tmp_path / "colour"
    colour.write_text("deep blue")
    with fabric() as client:
        client.call("prepare", run=RUN, network=description(engine, json.loads(SUBWAYS)))
        client.call("wire", run=RUN, plain=True)
        assert client_of(ASKING, "memcping").returncode != 0, "no request was sent yet"
        client.call("workload", run=RUN, flows=flows)
        client.subscribe(RUN)
        client.call("start", run=RUN)
        assert client_of(ASKING, "memcping").returncode == 0
        stored = client_of(ASKING, "memccp", str(colour), str(large))
        assert (stored.returncode, stored.stderr) == (0, "")
        for server in (ASKING, OTHER, ANSWERING):
            assert client_of(server, "memccat", "colour").stdout == "deep blue\n", server
        got = tmp_path / "got"
        assert client_of(OTHER, "memccat", f"--file={got}", "large").returncode == 0
        assert got.read_bytes() == large.read_bytes()
        assert "curr_items: 2" in client_of(OTHER, "memcstat").stdout
        assert client_of(OTHER, "memcrm", "colour").returncode == 0
        assert client_of(ASKING, "memccat", "colour").returncode != 0
        frames = client.frames(5.0)
        heard = [frame for frame in (next(frames) for _ in range(10)) if frame is not None]
        assert sum((frame.get("latencies") or {"answered": 0})["answered"] for frame in heard) > 0, "requests continue"
        client.call("destroy", run=RUN)
