"""A cable that loses packets: the share that arrives, and the drops that the report counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Command

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]
ONE_SWITCH = '{"family":"bcube","n":2,"k":0}'
FLOW = json.dumps({"kind": "one-to-one", "source": "0", "destination": "1"})
QUIET = ("--mode", "namespaces", "--settle", "0.5", "--calibrate", "0")
DATAGRAM_BYTES, DATAGRAMS_PER_SEC, LOSS = 500, 2500, 0.2


def test_a_lossy_cable_loses_its_share_and_counts_it(emulate: Command, nothing_left: Left) -> None:
    udp = ("--protocol", "udp", "--set", f"datagram_bytes={DATAGRAM_BYTES}")
    rate = ("--set", f"flow_bits_per_sec={8 * DATAGRAM_BYTES * DATAGRAMS_PER_SEC}")
    fault = ("--fault", f"link-loss:{LOSS:.0%}=0/<0,>@0")
    report = emulate.run("--spec", ONE_SWITCH, "--workload", FLOW, "--seconds", "4", *udp, *rate, *fault, *QUIET)
    (struck,) = report["faults"]
    assert (struck["kind"], report["not_injected"]) == ("link-loss", [])
    during = report["windows"]["during"]
    sent = DATAGRAMS_PER_SEC * during["secs"]
    sampling = 5 * (LOSS * (1 - LOSS) / sent) ** 0.5
    assert during["queue_drops"] / sent == pytest.approx(LOSS, abs=sampling + 0.02), during
    arrived = during["goodput_bits_per_sec"] / (8 * DATAGRAM_BYTES * DATAGRAMS_PER_SEC)
    assert arrived == pytest.approx(1 - LOSS, abs=sampling + 0.03), during
