"""Networks whose switches are routers, with real packets: fat-tree, tree and Subways through the
whole stack, and their failures.

The paths of packets, and that tables after recovery equal the original ones, are tested with the
fabric (`emulator/crates/fabric/tests/routers.rs`).
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from cubeyard.emulation.measure.events import FIRST_PORT
from cubeyard.engine import Engine

from .conftest import Command
from .test_example import fabric

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]

FAT_TREE = '{"family":"fat_tree","ports":4,"layers":3}'
TREE = '{"family":"tree","edge_ports":4,"servers":8}'
SUBWAYS = '{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}'
TWO_RATES = (
    '{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2,'
    '"cluster_gbps":[10,25],"uplink_gbps":50}'
)
SHUFFLE_BYTES = 1_000_000
FIRST_SOURCE_PORT = 20_000
RUN = "abcdef0123456781"
SHORT = ("--settle", "1", "--calibrate", "0.5")


@pytest.mark.parametrize("mode", ["containers", pytest.param("namespaces", marks=pytest.mark.long)])
def test_a_fat_tree_goes_around_a_switch_that_is_off(emulate: Command, nothing_left: Left, mode: str) -> None:
    result = emulate.run(
        "--spec", FAT_TREE, "--workload", "permutation", "--link-rate", "20M", "--seconds", "10", "--mode", mode,
        "--fault", "switch-off=<1,00>@3-6", *SHORT,
    )  # fmt: skip
    windows = result["windows"]
    assert set(windows) == {"before", "during", "after"}
    for name, window in windows.items():
        assert window["stalled_flows"] == 0, (name, window)
    (fault,) = result["faults"]
    assert fault["moves"] > 0, "the path of some flow used that switch"
    assert fault["last_move_secs"] < 0.2, "tables change with the carrier"
    assert fault["detected_secs"] < 1.0, "the routers next to it lose carriers"
    slowest = min(flow["goodput_bits_per_sec"] for flow in result["per_flow"])
    assert slowest > 0, "all 16 connections make progress"
    assert len(result["per_link"]) == 48
    # Links are ordered by level: 16 of servers, 16 between edge and aggregation, 16 to the core.
    used = [link for link in result["per_link"][32:] if link["ab_bits_per_sec"] > 1e5]  # more than hellos
    assert len(used) > 4, "flows take several links to the core"


@pytest.mark.long
@pytest.mark.parametrize(("spec", "switch"), [(FAT_TREE, "<1,00>"), (SUBWAYS, "<0,0.1>")])
def test_a_silent_switch_is_found_by_hellos(emulate: Command, nothing_left: Left, spec: str, switch: str) -> None:
    result = emulate.run(
        "--spec", spec, "--workload", "permutation", "--link-rate", "20M", "--seconds", "12", "--mode", "namespaces",
        "--fault", f"switch-silent={switch}@3-8", *SHORT,
    )  # fmt: skip
    (fault,) = result["faults"]
    assert 0.09 < fault["detected_secs"] < 1.0, "three hellos, 50 ms apart"
    assert fault["moves"] > 0
    assert fault["first_move_secs"] >= fault["detected_secs"] - 0.01
    for name in ("before", "during", "after"):
        assert result["windows"][name]["stalled_flows"] == 0, name


@pytest.mark.long
def test_how_soon_a_silent_switch_is_found_is_a_setting(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(
        "--spec", FAT_TREE, "--workload", "permutation", "--link-rate", "20M", "--seconds", "8", "--mode", "namespaces",
        "--fault", "switch-silent=<1,00>@2-6", "--set", 'timers={"hello_secs":0.2,"dead_after":5}', *SHORT,
    )  # fmt: skip
    (fault,) = result["faults"]
    assert 0.75 < fault["detected_secs"] < 2.0


@pytest.mark.long
@pytest.mark.parametrize("spec", [TREE, SUBWAYS])
def test_servers_reach_what_their_links_allow(emulate: Command, nothing_left: Left, spec: str) -> None:
    result = emulate.run(
        "--spec",
        spec,
        "--workload",
        "permutation",
        "--link-rate",
        "20M",
        "--seconds",
        "6",
        "--mode",
        "namespaces",
        *SHORT,
    )
    before = result["windows"]["before"]
    assert before["stalled_flows"] == 0
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0
    assert result["aggregate_goodput_bits_per_sec"] > 0.5 * result["ideal_bits_per_sec"], result["fidelity"]


@pytest.mark.long
def test_a_rack_without_its_tor_is_reached_by_the_next_one(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(
        "--spec", SUBWAYS, "--workload", "permutation", "--link-rate", "20M", "--seconds", "9", "--mode", "namespaces",
        "--fault", "switch-off=<0,0.1>@3-6", *SHORT,
    )  # fmt: skip
    assert result["windows"]["during"]["stalled_flows"] == 0, "every server of the rack has another ToR"
    assert result["windows"]["after"]["stalled_flows"] == 0


@pytest.mark.long
def test_a_killed_server_takes_its_own_flows_along_and_is_routed_to_again(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(
        "--spec", FAT_TREE, "--workload", "permutation", "--link-rate", "20M", "--seconds", "12",
        "--fault", "server-killed=011@3-6", *SHORT,
    )  # fmt: skip
    (fault,) = result["faults"]
    assert fault["targets"] == ["011"]
    others = [flow for flow in result["per_flow"] if "011" not in (flow["source"], flow["destination"])]
    assert len(others) == 14
    assert min(other["goodput_bits_per_sec"] for other in others) > 0
    assert result["windows"]["during"]["stalled_flows"] <= 2, "the flow that it sends and the one that it receives"


def description(engine: Engine, spec: Json, balance: str = "ecmp") -> Json:
    network = engine.emulation_network(spec)
    rate = 2e7
    return {
        "run": RUN,
        "spec": spec,
        "protocol": "ip",
        "rate_bits_per_sec": rate,
        "mtu": 1500,
        "seed": 1,
        "balance": balance,
        "servers": [{"id": server["id"], "name": server["name"]} for server in network["servers"]],
        "switches": [{"id": switch["id"], "name": switch["name"]} for switch in network["switches"]],
        "links": [
            {name: link[name] for name in ("id", "a", "b", "level")} | {"rate_bits_per_sec": rate * link["rate_ratio"]}
            for link in network["links"]
        ],
    }


class Shuffle:
    """The data in the frames of a run: bytes by link and direction, the path of each flow, and the
    finished flows."""

    def __init__(self, links: int) -> None:
        self.carried = [[0, 0] for _ in range(links)]
        self.paths: dict[int, list[int]] = {}
        self.source_ports: dict[int, int] = {}
        self.done: set[int] = set()

    def hear(self, frame: Json) -> None:
        for way, column in enumerate(("tx", "rx")):
            for link, now in enumerate(frame["links"][column]):
                self.carried[link][way] += now
        for event in frame["events"]:
            if event["kind"] == "path-selected":
                flow = event["flow"]["dport"] - FIRST_PORT
                self.paths[flow] = event["path"]["servers"]
                self.source_ports[flow] = event["flow"]["sport"]
            if event["kind"] == "flow-done":
                self.done.add(event["flow"])


BIND = """
import socket, sys
one = socket.socket()
one.bind((sys.argv[1], int(sys.argv[2])))
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def port_taken(server: int, address: str, port: int) -> Iterator[None]:
    """A foreign program occupies a port of a server while the context lasts."""
    namespace = ("ip", "netns", "exec", f"cy-{RUN[:8]}-{server}")
    words = [*namespace, sys.executable, "-c", BIND, address, str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        yield
        process.communicate()


def run_to_the_end(network: Json, flows: list[Json], taken: tuple[int, str, int] | None = None) -> Shuffle:
    heard = Shuffle(len(network["links"]))
    with fabric() as client:
        client.call("prepare", run=RUN, network=network)
        client.call("wire", run=RUN, plain=True)
        with port_taken(*taken) if taken is not None else nullcontext():
            client.call("workload", run=RUN, flows=flows)
            client.subscribe(RUN)
            client.call("start", run=RUN)
            left = 5
            for frame in client.frames(5.0):
                assert frame is not None, "the fabric is silent"
                heard.hear(frame)
                left -= len(heard.done) == len(flows)  # acknowledgements and counters come a little later
                if not left:
                    break
                assert frame["at_secs"] < 60, f"{len(flows) - len(heard.done)} flows are left"
        client.call("destroy", run=RUN)
    return heard


def predicted_paths(engine: Engine, network: Json, flows: list[Json]) -> dict[int, list[int]]:
    run = {
        "seed": network["seed"],
        "balance": network["balance"],
        "link_gbps": network["rate_bits_per_sec"] / 1e9,
        "protocol": 6,
    }
    rows = [(flow["id"], flow["source"], flow["destination"]) for flow in flows]
    paths, _ = engine.routed_flows(network["spec"], {**run, "flows": rows})
    return dict(enumerate(paths))


def assert_links_carried(network: Json, heard: Shuffle) -> None:
    """Checks that the links' loads equal the sums over the reported paths of all flows."""
    number = {frozenset((link["a"][0], link["b"][0])): i for i, link in enumerate(network["links"])}
    expected: dict[tuple[int, int], int] = defaultdict(int)
    for near, far in itertools.chain.from_iterable(itertools.pairwise(path) for path in heard.paths.values()):
        link = number[frozenset((near, far))]
        expected[link, int(network["links"][link]["b"][0] == near)] += SHUFFLE_BYTES
    for link, way in itertools.product(range(len(network["links"])), (0, 1)):
        # Headers add 4.6 % and retransmissions some more; the acknowledgements of all flows
        # together are less than one flow.
        least, most = expected[link, way], 1.2 * expected[link, way] + 0.8 * SHUFFLE_BYTES
        result = heard.carried[link][way]
        assert least <= result <= most, (network["links"][link], way, result, least)


def shuffled(network: Json) -> list[Json]:
    count = len(network["servers"])
    pairs = [(source, (source + shift) % count) for shift in (3, 7) for source in range(count)]
    return [
        {"id": i, "source": source, "destination": to, "proto": "tcp", "bytes": SHUFFLE_BYTES}
        for i, (source, to) in enumerate(pairs)
    ]


@pytest.mark.parametrize("spec", [FAT_TREE, SUBWAYS])
def test_every_flow_takes_the_predicted_path_and_links_carry_what_paths_add_up_to(
    engine: Engine, nothing_left: Left, spec: str
) -> None:
    network = description(engine, json.loads(spec))
    flows = shuffled(network)
    heard = run_to_the_end(network, flows)
    assert heard.paths == predicted_paths(engine, network, flows)
    assert_links_carried(network, heard)


@pytest.mark.long
def test_a_flow_whose_port_is_taken_reports_the_path_that_it_takes_instead(engine: Engine, nothing_left: Left) -> None:
    network = description(engine, json.loads(FAT_TREE))
    flows = shuffled(network)
    heard = run_to_the_end(network, flows, taken=(0, "10.0.0.1", FIRST_SOURCE_PORT))
    assert heard.source_ports.pop(0) != FIRST_SOURCE_PORT
    assert heard.source_ports == {flow: FIRST_SOURCE_PORT + flow for flow in range(1, len(flows))}
    expected = predicted_paths(engine, network, flows)
    assert {flow: path for flow, path in heard.paths.items() if flow} == {
        flow: path for flow, path in expected.items() if flow
    }
    assert_links_carried(network, heard)


@pytest.mark.long
@pytest.mark.parametrize("spec", [FAT_TREE, SUBWAYS])
def test_a_run_predicts_every_connection_on_the_path_that_it_takes(
    emulate: Command, nothing_left: Left, spec: str
) -> None:
    result = emulate.run(
        "--spec", spec, "--workload", "permutation", "--link-rate", "20M", "--seconds", "6", "--mode", "namespaces",
        "--connections", "2", *SHORT,
    )  # fmt: skip
    assert result["predicted"]["routing"] == "ecmp"
    assert [flow["as_predicted"] for flow in result["per_flow"]] == [True] * len(result["per_flow"])
    # Two flows between the same servers may use different links, so their ideals differ.
    assert len({round(flow["ideal_bits_per_sec"]) for flow in result["per_flow"]}) > 1


@pytest.mark.long
@pytest.mark.parametrize(("balance", "fast_share"), [("ecmp", 1 / 2), ("wcmp", 5 / 7)])
def test_servers_use_their_links_as_they_are_weighted(
    engine: Engine, nothing_left: Left, balance: str, fast_share: float
) -> None:
    """Ports of 10 and 25 Gb/s, scaled down: they get 2/7 and 5/7 of the flows. `[subways §4.3]`"""
    network = description(engine, json.loads(TWO_RATES), balance)
    servers = {server["id"] for server in network["servers"]}
    up = {i: link for i, link in enumerate(network["links"]) if link["a"][0] in servers}
    tors = {server: {link["b"][0] for link in up.values() if link["a"][0] == server} for server in servers}
    apart = [(server, other) for server in servers for other in servers if not tors[server] & tors[other]]
    flows = [
        {"id": i, "source": source, "destination": to, "proto": "tcp", "bytes": 40_000}
        for i, (source, to) in enumerate(itertools.islice(itertools.cycle(apart), 500))
    ]
    heard = run_to_the_end(network, flows)
    assert heard.paths == predicted_paths(engine, network, flows)
    fast = sum(heard.carried[i][0] for i, link in up.items() if link["rate_bits_per_sec"] == 5e7)
    slow = sum(heard.carried[i][0] for i, link in up.items() if link["rate_bits_per_sec"] == 2e7)
    assert fast / (fast + slow) == pytest.approx(fast_share, abs=0.06)


@pytest.mark.long
def test_a_run_by_link_rates_is_predicted_so(emulate: Command, nothing_left: Left) -> None:
    result = emulate.run(
        "--spec", TWO_RATES, "--workload", "permutation", "--link-rate", "10M", "--seconds", "6", "--mode", "namespaces",
        "--balance", "wcmp", *SHORT,
    )  # fmt: skip
    assert result["predicted"]["routing"] == "wcmp"
    assert all(flow["as_predicted"] for flow in result["per_flow"])
