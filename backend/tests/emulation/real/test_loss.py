"""A cable that loses packets: the share that arrives, and the drops in the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Command

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]
ONE_SWITCH = '{"family":"bcube","n":2,"k":0}'
FAT_TREE = '{"family":"fat_tree","ports":4,"layers":3}'
QUIET = ("--mode", "namespaces", "--settle", "0.5", "--calibrate", "0")
DATAGRAM_BYTES, DATAGRAMS_PER_SEC, LOSS = 500, 2500, 0.2


@pytest.mark.parametrize(
    ("spec", "ends", "cable", "more"),
    [
        (ONE_SWITCH, ("0", "1"), "0/<0,>", ()),
        pytest.param(ONE_SWITCH, ("0", "1"), "0/<0,>", ("--queues", "fair"), marks=pytest.mark.long),
        pytest.param(FAT_TREE, ("000", "001"), "000/<0,00>", ("--dataplane", "serverswitch"), marks=pytest.mark.long),
    ],
    ids=["shared", "fair", "chip"],
)
def test_a_lossy_cable_loses_its_share_and_counts_it(
    emulate: Command, nothing_left: Left, spec: str, ends: tuple[str, str], cable: str, more: tuple[str, ...]
) -> None:
    flow = json.dumps({"kind": "one-to-one", "source": ends[0], "destination": ends[1]})
    udp = ("--protocol", "udp", "--set", f"datagram_bytes={DATAGRAM_BYTES}")
    rate = ("--set", f"flow_bits_per_sec={8 * DATAGRAM_BYTES * DATAGRAMS_PER_SEC}")
    fault = ("--fault", f"link-loss:{LOSS:.0%}={cable}@0")
    report = emulate.run("--spec", spec, "--workload", flow, "--seconds", "4", *udp, *rate, *fault, *QUIET, *more)
    (struck,) = report["faults"]
    assert (struck["kind"], report["not_injected"]) == ("link-loss", [])
    during = report["windows"]["during"]
    sent = DATAGRAMS_PER_SEC * during["secs"]
    sampling = 5 * (LOSS * (1 - LOSS) / sent) ** 0.5
    assert during["queue_drops"] / sent == pytest.approx(LOSS, abs=sampling + 0.02), during
    arrived = during["goodput_bits_per_sec"] / (8 * DATAGRAM_BYTES * DATAGRAMS_PER_SEC)
    assert arrived == pytest.approx(1 - LOSS, abs=sampling + 0.03), during
