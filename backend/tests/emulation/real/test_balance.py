"""Subways' load-aware balancing with real packets: the example of §5, with and without its
controller.

Two adjacent racks are hot. With equal-cost paths, their common ToR gets twice the load of its
neighbours. `[subways §5]` Rates are low enough that no link is full, so that the links' loads
follow from the flows' choices. The controller's rules, and the messages that it rejects, are tested
with the fabric (`emulator/crates/fabric/tests/balance.rs`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.engine import Engine

from .conftest import Command
from .test_example import fabric
from .test_routers import RUN, SHORT, SUBWAYS, TWO_RATES, Left, description

Json = dict[str, Any]

LOOP = 4
"""Number of racks, and of ToRs, in a loop. Rack `i` has the ToRs `i - 1` and `i`."""
HOT = (1, 2)
SERVERS_OF_RACK = 2
FLOWS_OF_SERVER = 24
RACK_BITS_PER_SEC = 2.6e7
"""Rate of a hot rack, less than the capacity of a server's links and of a ToR's uplinks."""
UPLINKS_BITS_PER_SEC = 1.6e8
SETTLED_SECS = 16.0
MEASURED_SECS = 6.0


class Network:
    """Positions of links in the frames of a run."""

    def __init__(self, engine: Engine, balance: str) -> None:
        self.described = description(engine, json.loads(SUBWAYS), balance)
        self.described["settings"] = {"rebind_secs": 1.0}
        links = self.described["links"]
        servers = len(self.described["servers"])
        tors = self.tors = sorted({link["b"][0] for link in links if link["a"][0] < servers})
        self.tor_uplinks = {tor: [i for i, link in enumerate(links) if link["a"][0] == tor] for tor in tors}

    def hot_flows(self) -> list[Json]:
        """Flows from every server of two adjacent racks to servers of the other loop."""
        sources = [rack * SERVERS_OF_RACK + index for rack in HOT for index in range(SERVERS_OF_RACK)]
        far = list(range(LOOP * SERVERS_OF_RACK, 2 * LOOP * SERVERS_OF_RACK))
        pairs = [(source, far[i % len(far)]) for source in sources for i in range(FLOWS_OF_SERVER)]
        rate = RACK_BITS_PER_SEC / SERVERS_OF_RACK / FLOWS_OF_SERVER
        return [
            {"id": i, "source": source, "destination": to, "proto": "udp", "rate_bits_per_sec": rate}
            for i, (source, to) in enumerate(pairs)
        ]


class Run:
    """A live run with the frames read so far."""

    def __init__(self, client: FabricClient, network: Network) -> None:
        self.client, self.network = client, network
        self.events: list[Json] = []
        """The events in the frames read so far."""

    def carried(self, from_secs: float, to_secs: float) -> tuple[list[list[int]], list[int]]:
        """Bytes per link, upwards and downwards, and per flow, between two times of the run."""
        links = [[0, 0] for _ in self.network.described["links"]]
        flows: list[int] = []
        for frame in self.client.frames(5.0):
            assert frame is not None, "the fabric is silent"
            self.events += frame.get("events", [])
            if frame["at_secs"] > to_secs:
                return links, flows
            if frame["at_secs"] < from_secs:
                continue
            for way, column in enumerate(("tx", "rx")):
                for link, now in enumerate(frame["links"][column]):
                    links[link][way] += now
            now = frame["flows"]["bytes"]
            flows = [flow + more for flow, more in zip(flows or [0] * len(now), now, strict=True)]
        raise AssertionError("the stream has ended")

    def tor_loads(self, from_secs: float, to_secs: float) -> tuple[list[int], list[int]]:
        """Bytes that each ToR of the first loop sent up, and bytes that flows received."""
        links, flows = self.carried(from_secs, to_secs)
        tors = self.network.tors[:LOOP]
        return [sum(links[i][0] for i in self.network.tor_uplinks[tor]) for tor in tors], flows

    def section(self, node: int, name: str) -> list[Json]:
        """Rows of a section of a node's report."""
        result = self.client.call("inspect", run=RUN, server=node)
        (section,) = [item for item in result["sections"] if item["name"] == name]
        names = [column["name"] for column in section["columns"]]
        return [dict(zip(names, row, strict=True)) for row in section["rows"]]


def measured(
    network: Network, flows: list[Json], work: Callable[[Run], Any], wired: Callable[[], None] = lambda: None
) -> Any:
    with fabric() as client:
        client.call("prepare", run=RUN, network=network.described)
        client.call("wire", run=RUN, plain=True)
        wired()
        client.call("workload", run=RUN, flows=flows)
        client.subscribe(RUN)
        client.call("start", run=RUN)
        result = work(Run(client, network))
        client.call("destroy", run=RUN)
    return result


@pytest.mark.long
def test_the_shared_tor_has_twice_the_load_by_equal_paths(engine: Engine, nothing_left: Left) -> None:
    network = Network(engine, "ecmp")
    loads, _ = measured(network, network.hot_flows(), lambda run: run.tor_loads(2.0, 2.0 + MEASURED_SECS))
    left, shared, right, other = loads
    assert shared / left == pytest.approx(2.0, rel=0.3), loads
    assert shared / right == pytest.approx(2.0, rel=0.3), loads
    assert other < 0.05 * shared, "no hot rack has this ToR"


def test_three_tors_carry_the_same_by_load(engine: Engine, nothing_left: Left) -> None:
    network = Network(engine, "lb")

    def work(run: Run) -> tuple[list[int], list[int], Json, list[Json], list[Json]]:
        loads, flows = run.tor_loads(SETTLED_SECS, SETTLED_SECS + MEASURED_SECS)
        tor = network.tors[0]
        (controller,) = [item for item in run.section(tor, "controllers") if item["loop"] == 0]
        return loads, flows, controller, run.section(tor, "tor-uplinks"), run.section(tor, "tor-weights")

    loads, flows, controller, uplinks, weights = measured(network, network.hot_flows(), work)
    hot, other = loads[:3], loads[3]
    assert max(hot) / min(hot) <= 1.2, loads
    assert other < 0.05 * max(hot)
    rate = RACK_BITS_PER_SEC / SERVERS_OF_RACK / FLOWS_OF_SERVER / 8
    assert min(flows) > 0.9 * rate * MEASURED_SECS, "flows that move continue"
    assert controller["controller"] == network.tors[0], "the controller is on the lowest ToR"
    assert controller["rebindings"] >= 10
    assert controller["rebound"] < 1.5
    assert controller["refused"] == 0
    assert [uplink["tor"] for uplink in uplinks] == network.tors[:LOOP], "the ToRs of its own loop"
    expected = 2 * RACK_BITS_PER_SEC / 3 / UPLINKS_BITS_PER_SEC
    for uplink in uplinks[:3]:
        assert float(uplink["up"].split()[0]) / 100 == pytest.approx(expected, rel=0.3), uplinks
    moved = {weight["source"] for weight in weights if weight["server"] // SERVERS_OF_RACK in HOT}
    assert moved - {"50.0 %"}, "weights are no longer equal"


@pytest.mark.long
def test_another_tor_takes_over_from_a_killed_controller(engine: Engine, nothing_left: Left) -> None:
    network = Network(engine, "lb")
    lowest, second = network.tors[:2]

    def work(run: Run) -> tuple[list[int], list[int], Json]:
        run.carried(0.0, 6.0)
        off = {"id": "off", "kind": "switch-off", "target": {"switch": lowest}}
        run.client.call("inject", run=RUN, fault=off)
        loads, flows = run.tor_loads(6.0 + SETTLED_SECS, 6.0 + SETTLED_SECS + MEASURED_SECS)
        (controller,) = [item for item in run.section(second, "controllers") if item["loop"] == 0]
        return loads, flows, controller

    loads, flows, controller = measured(network, network.hot_flows(), work)
    off, first, other, _ = loads
    assert off == 0
    assert controller["controller"] == second
    assert controller["rebindings"] > 0
    # Rack 1 can only use the second ToR now, so rack 2 uses that ToR less.
    assert max(first, other) / min(first, other) <= 1.2, loads
    rate = RACK_BITS_PER_SEC / SERVERS_OF_RACK / FLOWS_OF_SERVER / 8
    assert min(flows) > 0.9 * rate * MEASURED_SECS, "every flow has recovered"


@pytest.mark.long
def test_flows_between_servers_of_one_tor_stay_below_it(engine: Engine, nothing_left: Left) -> None:
    network = Network(engine, "lb")
    first, second = (range(rack * SERVERS_OF_RACK, (rack + 1) * SERVERS_OF_RACK) for rack in HOT)
    pairs = [(a, b) for a in first for b in second]
    flows = [
        {"id": i, "source": source, "destination": to, "proto": "udp", "rate_bits_per_sec": 5e5}
        for i, (source, to) in enumerate(pairs * 6)
    ]
    loads, received = measured(network, flows, lambda run: run.tor_loads(1.0, 5.0))
    assert sum(received) > 0.8 * len(flows) * 5e5 / 8 * 4
    assert sum(loads) < 0.02 * sum(received), "only hellos with their messages go up"


def far_spread(network: Network, links: list[list[int]], tors: list[int]) -> float:
    """How unevenly switches above two ToRs divide downward traffic between them: the worst ratio of
    the larger to the smaller share."""
    ends = [link["b"][0] for link in network.described["links"]]
    down: dict[int, dict[int, int]] = defaultdict(dict)
    for tor in tors:
        for i in network.tor_uplinks[tor]:
            down[ends[i]][tor] = links[i][1]
    return max(max(by_tor.values()) / min(by_tor.values()) for by_tor in down.values())


@pytest.mark.long
def test_hashes_that_are_alike_fail_the_test_of_balance(engine: Engine, nothing_left: Left) -> None:
    """If all routers used the same seed, flows that a ToR sends to one switch would stay together
    on their way down."""
    network = Network(engine, "ecmp")
    rack = LOOP + 1
    flows = [
        hot_flow | {"destination": rack * SERVERS_OF_RACK + i % SERVERS_OF_RACK, "rate_bits_per_sec": 2e5}
        for i, hot_flow in enumerate(network.hot_flows())
    ]

    def one_seed() -> None:
        for node in [switch["id"] for switch in network.described["switches"]]:
            setting = ["sysctl", "-qw", "net.ipv4.fib_multipath_hash_seed=7"]
            subprocess.run(["ip", "netns", "exec", f"cy-{RUN[:8]}-sw{node}", *setting], check=True)

    def work(run: Run) -> float:
        return far_spread(network, run.carried(2.0, 6.0)[0], network.tors[rack - 1 : rack + 1])

    assert measured(network, flows, work) < 3.0
    assert measured(network, flows, work, one_seed) > 10.0


FORGE = """
import socket, struct, sys, time
tor, rack, pairs = map(int, sys.argv[1:])
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(("p0", 0x88B5))
# Weights that are in order, and would send all that a rack has over one link; no later than now.
weights = struct.pack(">BIIIH", 2, rack, 1, tor, pairs) + struct.pack(">4f", 1.0, 1.0, 0.0, 0.0) * (pairs // 2)
for _ in range(20):
    raw.send(bytes([255] * 6 + [2] * 6 + [0x88, 0xB5]) + b"hello" + weights)
    time.sleep(0.05)
"""


@pytest.mark.long
def test_weights_from_a_servers_port_are_refused(engine: Engine, nothing_left: Left) -> None:
    """Even from root in a server's namespace. An application has no capability for such a
    socket."""
    network = Network(engine, "lb")
    tor = network.tors[0]
    namespace = ["ip", "netns", "exec", f"cy-{RUN[:8]}-0"]
    program = [sys.executable, "-c", FORGE, str(tor), "0", str(2 * SERVERS_OF_RACK)]

    def work(run: Run) -> list[tuple[int, list[Json]]]:
        run.carried(0.0, 1.0)
        subprocess.run([*namespace, *program], check=True)
        return [
            (max(row["refused"] for row in run.section(tor, "controllers")), run.section(tor, "tor-weights"))
            for tor in network.tors
        ]

    reported = measured(network, [], work)
    assert sum(refused for refused, _ in reported) >= 10, "frames of 20, some beside a real hello"
    for _, weights in reported:
        assert {"100.0 %", "0.0 %"}.isdisjoint(row["source"] for row in weights), weights
    without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534", "--clear-groups"]
    refused = subprocess.run([*without, *program], capture_output=True, text=True, check=False)
    assert "PermissionError" in refused.stderr


@pytest.mark.long
@pytest.mark.parametrize("spec", [SUBWAYS, TWO_RATES])
def test_a_run_by_load_is_predicted_so(emulate: Command, nothing_left: Left, spec: str) -> None:
    result = emulate.run(
        "--spec", spec, "--workload", "permutation", "--link-rate", "20M", "--seconds", "8", "--mode", "namespaces",
        "--balance", "lb", "--set", 'timers={"rebind_secs":1}', *SHORT,
    )  # fmt: skip
    assert result["predicted"]["routing"] == "lb"
    assert result["windows"]["before"]["stalled_flows"] == 0
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0
