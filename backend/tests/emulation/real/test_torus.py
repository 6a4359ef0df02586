"""CamCube with real packets on a torus of 27 servers: every pair, TCP over disjoint paths, cables
pulled and servers killed."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.engine import Engine

from .test_example import Left, fabric

Json = dict[str, Any]

SIDE = 3
TORUS = {"family": "torus3d", "x": SIDE, "y": SIDE, "z": SIDE}
SERVERS = SIDE**3
RUN = "abcdef0123456789"
RATE_BITS_PER_SEC = 2e7
FORWARDINGS = ("kernel", "software")
TIME_TO_LIVE = 64
# Numbers of a server's ports, in the order of the topology.
X_UP, X_DOWN, Y_UP = 0, 1, 2


def description(
    engine: Engine, forwarding: str, settings: Json | None = None, rate: float = RATE_BITS_PER_SEC, spec: Json = TORUS
) -> Json:
    network = engine.emulation_network(spec)
    return {
        "run": RUN,
        "spec": spec,
        "protocol": "camcube",
        "forwarding": forwarding,
        "settings": settings or {},
        "rate_bits_per_sec": rate,
        "mtu": 9000,
        "servers": [{"id": server["id"], "name": server["name"]} for server in network["servers"]],
        "switches": [],
        "links": [{name: link[name] for name in ("id", "a", "b", "level")} for link in network["links"]],
    }


@contextmanager
def wired(network: Json) -> Iterator[FabricClient]:
    with fabric() as client:
        client.call("prepare", run=RUN, network=network)
        client.call("wire", run=RUN, plain=True)
        yield client
        client.call("destroy", run=RUN)


def namespace(server: int) -> str:
    return f"cy-{RUN[:8]}-{server}"


def place(server: int) -> tuple[int, int, int]:
    return server // 9, server // 3 % 3, server % 3


def distance(a: int, b: int) -> int:
    rings = ((p - q) % SIDE for p, q in zip(place(a), place(b), strict=True))
    return sum(min(ring, SIDE - ring) for ring in rings)


def hops(source: int, destinations: list[int]) -> dict[int, int]:
    """Number of hops to those of the servers that answer a ping."""
    pings = "".join(f"ping -n -c 1 -W 1 10.0.0.{to + 1} & " for to in destinations)
    message = subprocess.run(
        ["ip", "netns", "exec", namespace(source), "sh", "-c", f"{pings} wait"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    result = re.findall(r"from 10\.0\.0\.(\d+): icmp_seq=1 ttl=(\d+)", message)
    return {int(address) - 1: TIME_TO_LIVE - int(left) + 1 for address, left in result}


def rows(client: FabricClient, server: int, section: str) -> list[list[Any]]:
    sections = client.call("inspect", run=RUN, server=server)["sections"]
    return next(item["rows"] for item in sections if item["name"] == section)


def carried(client: FabricClient, flows: list[Json], secs: float) -> list[float]:
    """Goodput of each flow in bits per second, starting one second after the start."""
    client.call("workload", run=RUN, flows=flows)
    client.subscribe(RUN)
    client.call("start", run=RUN)
    total, began_at, at_secs = [0] * len(flows), None, 0.0
    for frame in client.frames(2.0):
        assert frame is not None, "the fabric is silent"
        at_secs = frame["at_secs"]
        if began_at is None:
            began_at = at_secs if at_secs >= 1.0 else None
            continue
        total = [sum_ + now for sum_, now in zip(total, frame["flows"]["bytes"], strict=True)]
        if at_secs - began_at >= secs:
            break
    assert began_at is not None
    return [bytes_ * 8 / (at_secs - began_at) for bytes_ in total]


@pytest.mark.long
@pytest.mark.parametrize("forwarding", FORWARDINGS)
def test_every_pair_is_reached_in_as_many_hops_as_the_torus_has(
    engine: Engine, nothing_left: Left, forwarding: str
) -> None:
    with wired(description(engine, forwarding, {"disjoint_paths": 0})) as client:
        everybody = list(range(SERVERS))
        for source in everybody:
            others = [index for index in everybody if index != source]
            assert hops(source, others) == {to: distance(source, to) for to in others}
        counts = client.call("inspect", run=RUN, server=13)["counts"]
        assert set(counts) == {"own-bytes", "relayed-bytes"}, "nothing was dropped"


@pytest.mark.long
def test_a_torus_of_two_axes_carries_too(engine: Engine, nothing_left: Left) -> None:
    plane = {"family": "torus2d", "x": SIDE, "y": SIDE}
    with wired(description(engine, "software", {"disjoint_paths": 0}, spec=plane)):
        everybody = list(range(SIDE**2))
        for source in everybody:
            others = [index for index in everybody if index != source]
            assert hops(source, others) == {to: distance(source, to) for to in others}


@pytest.mark.long
def test_the_kernel_sends_what_it_has_for_a_neighbour_by_the_cable_to_it(engine: Engine, nothing_left: Left) -> None:
    """Otherwise the kernel's ICMP errors would wait for a neighbour that does not exist, and delay
    all pings of this host by seconds."""

    def said(server: int, *words: str) -> str:
        return subprocess.run(
            ["ip", "-n", namespace(server), *words], capture_output=True, text=True, check=True
        ).stdout

    with wired(description(engine, "kernel")):
        for server in (0, 13, 26):
            neighbours = re.findall(r"^(\S+) dev (p\d) .*PERMANENT", said(server, "neigh"), re.MULTILINE)
            assert len(neighbours) == 6
            for address, port in neighbours:
                assert f" dev {port} " in said(server, "route", "get", address)


@pytest.mark.long
@pytest.mark.parametrize("forwarding", FORWARDINGS)
def test_tcp_over_disjoint_paths_is_at_least_twice_one_path(
    engine: Engine, nothing_left: Left, forwarding: str
) -> None:
    # From (0,0,0) to (1,0,0) there is one shortest path, and four more over the other axes; to
    # (1,1,1) there are three.
    for to, settings, least in ((9, {"disjoint_paths": 0}, 0.85), (9, {}, 2.0), (13, {}, 2.0)):
        with wired(description(engine, forwarding, settings)) as client:
            flow = {"id": 0, "source": 0, "destination": to, "proto": "tcp"}
            (rate,) = carried(client, [flow], 4.0)
            print(f"{forwarding}: 0 to {to}, {settings}: {rate / RATE_BITS_PER_SEC:.2f} links")
            assert rate > least * RATE_BITS_PER_SEC
            if settings:
                # A link's rate is accurate to one per cent, and counters are read at ticks.
                assert rate < 1.05 * RATE_BITS_PER_SEC


@pytest.mark.parametrize("forwarding", FORWARDINGS)
def test_a_pulled_cable_and_a_killed_server_stop_nobody_else(
    engine: Engine, nothing_left: Left, forwarding: str
) -> None:
    settings = {"hello_secs": 0.2, "dead_after": 5, "refresh_secs": 1}
    network = description(engine, forwarding, settings)
    cable = next(link["id"] for link in network["links"] if [0, X_UP] in (link["a"], link["b"]))
    dead = 13
    alive = [index for index in range(SERVERS) if index != dead]
    with wired(network) as client:
        client.call("inject", run=RUN, fault={"id": "cable", "kind": "cable-pulled", "target": {"link": cable}})
        time.sleep(0.5)
        assert set(hops(0, list(range(1, SERVERS)))) == set(range(1, SERVERS)), "all are reached, by other links"
        assert hops(0, [9]) == {9: 3}, "by one of the four other disjoint paths"
        (up,) = [row[3] for row in rows(client, 0, "neighbours") if row[1] == X_UP]
        assert up is False
        client.call("recover", run=RUN, fault="cable")
        time.sleep(1.0)
        assert hops(0, [9]).keys() == {9}
        assert all(row[3] for row in rows(client, 0, "neighbours"))
        client.call("inject", run=RUN, fault={"id": "server", "kind": "server-killed", "target": {"server": dead}})
        time.sleep(1.0)
        for source in (0, 4, 12, 26):
            others = [index for index in alive if index != source]
            assert hops(source, [*others, dead]).keys() == set(others), "all but the dead one"
        heirs = [index for index in alive if [row[1] for row in rows(client, index, "keys")].count(dead)]
        assert len(heirs) == 1
        assert distance(heirs[0], dead) == 1
        keys = [row[1] for index in alive for row in rows(client, index, "keys")]
        assert sorted(keys) == list(range(SERVERS)), "one server answers for each key"
        client.call("recover", run=RUN, fault="server")
        time.sleep(2.5)
        for source, to in itertools.product((0, 4, 12), (13, 14)):
            assert hops(source, [to]).keys() == {to}
        assert [row[1] for row in rows(client, dead, "keys")] == [dead]


def told(client: FabricClient, secs: float, wanted: int) -> list[Json]:
    """Responses of services within some time, until there are `wanted` of them."""
    answers: list[Json] = []
    until = time.monotonic() + secs
    for frame in client.frames(2.0):
        assert frame is not None, "the fabric is silent"
        for event in frame["events"]:
            if event.get("what") == "service-answer":
                cells = {cell["name"]: cell["value"] for cell in event["cells"]}
                answers.append(cells | {"server": event["server"]})
        if len(answers) >= wanted or time.monotonic() > until:
            break
    return answers


@pytest.mark.parametrize("forwarding", ["kernel", pytest.param("software", marks=pytest.mark.long)])
def test_services_answer_over_real_packets(engine: Engine, nothing_left: Left, forwarding: str) -> None:
    def tell(server: int, service: str, message: str) -> None:
        client.call("tell", run=RUN, server=server, service=service, message=message)

    def links(service: str) -> list[int]:
        """Number of packets that each server has sent for a service."""
        sent = []
        for server in range(SERVERS):
            counts = {row[2]: row[3] for row in rows(client, server, "services") if row[0] == service}
            sent.append(counts.get("packets-sent", 0))
        return sent

    with wired(description(engine, forwarding)) as client:
        client.subscribe(RUN)
        for server in range(SERVERS):
            tell(server, "aggregation", "count 1 1,1,1 full\nall words " + "even" * (server % 2 == 0))
        assert told(client, 5.0, 1) == [
            {"server": 13, "service": "aggregation", "answer": f"1 {SERVERS}\nall 27\neven 14\nwords 27\n"}
        ]
        assert sorted(links("aggregation")) == [0, *[1] * 26], "Table 1: one packet from each server but the root"
        for server in range(SERVERS):
            tell(server, "aggregation", "count 2 0,0,0 none\nword")
        assert [answer["answer"] for answer in told(client, 5.0, 1)] == [f"2 {SERVERS}\nword 27\n"]
        assert sum(links("aggregation")) == 26 + 54
        members = [26, 22, 5, 12]
        for member in members:
            tell(member, "distribution", "join 3 0,0,0")
        time.sleep(0.3)
        tell(0, "distribution", "send 3 0,0,0\n" + "a file of some length " * 1200)
        received = told(client, 10.0, len(members))
        assert {item["server"] for item in received} == set(members)
        assert all(
            item["answer"].startswith("received 3 26400 ") and item["answer"].endswith(" ok") for item in received
        )
        tell(7, "cache", "set colour deep blue")
        assert [item["answer"] for item in told(client, 5.0, 1)] == ["STORED colour"]
        for server in (0, 13, 26):
            tell(server, "cache", "get colour")
        result = told(client, 5.0, 3)
        assert {item["server"]: item["answer"] for item in result} == dict.fromkeys(
            (0, 13, 26), "VALUE colour deep blue"
        )


TALK = """
import socket, sys
address, words = sys.argv[1], sys.argv[2].encode()
with socket.create_connection((address, 11211), 5) as connection:
    connection.sendall(words + b"quit\\r\\n")
    while more := connection.recv(65536):
        sys.stdout.buffer.write(more)
"""


def memcached(at: int, of: int, words: str) -> str:
    """The response of server `of`'s cache to a memcached client on server `at`."""
    command = ["ip", "netns", "exec", namespace(at), sys.executable, "-c", TALK, f"10.0.0.{of + 1}", words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace("\r\n", "\n")


@pytest.mark.long
@pytest.mark.parametrize("forwarding", FORWARDINGS)
def test_clients_of_memcached_set_and_get_through_any_server(
    engine: Engine, nothing_left: Left, forwarding: str
) -> None:
    settings = {"hello_secs": 0.2, "dead_after": 5, "refresh_secs": 1}
    with wired(description(engine, forwarding, settings)) as client:
        assert memcached(0, 0, "set colour 7 0 9\r\ndeep blue\r\n") == "STORED\n"
        for server in range(SERVERS):
            result = memcached(server, server, "get colour other\r\n")
            assert result == "VALUE colour 7 9\ndeep blue\nEND\n", server
        assert memcached(4, 22, "get colour\r\n") == "VALUE colour 7 9\ndeep blue\nEND\n", "of another server too"
        many = "".join(f"set k{n} 0 0 4\r\n{n:04}\r\n" for n in range(300))
        assert memcached(13, 13, many) == "STORED\n" * 300
        gets = "get " + " ".join(f"k{n}" for n in range(300)) + "\r\n"
        values = "".join(f"VALUE k{n} 0 4\n{n:04}\n" for n in range(300)) + "END\n"
        assert memcached(26, 26, gets) == values
        assert memcached(9, 9, "add k1 0 0 1\r\nx\r\nincr k1 5\r\ncas k1 0 0 1 1\r\nx\r\ndelete k2\r\nget k2\r\n") == (
            "NOT_STORED\n6\nEXISTS\nDELETED\nEND\n"
        )
        large = "x" * 20_000
        refused = memcached(5, 5, f"set big 0 0 {len(large)}\r\n{large}\r\nget big\r\nfetch\r\n")
        assert refused == "SERVER_ERROR object too large for cache\nEND\nERROR\n"

        client.call("inject", run=RUN, fault={"id": "server", "kind": "server-killed", "target": {"server": 14}})
        time.sleep(2.0)
        for server in (0, 13, 26):
            written = "".join(f"set k{n} 0 0 1\r\n{server % 10}\r\n" for n in range(30))
            assert memcached(server, server, written) == "STORED\n" * 30, (
                "other servers answer for a dead server's keys"
            )
            assert memcached(2, 2, "get k7\r\n") == f"VALUE k7 0 1\n{server % 10}\nEND\n"
        client.call("recover", run=RUN, fault="server")


@pytest.mark.long
def test_replicas_answer_clients_and_forget_what_is_written(engine: Engine, nothing_left: Left) -> None:
    """Replicas of a key are a quarter of each axis away, so an axis of four servers has some."""
    spec = {"family": "torus3d", "x": 4, "y": 3, "z": 3}
    servers = range(36)
    with wired(description(engine, "kernel", spec=spec)) as client:

        def hits(where: str) -> int:
            every = (row for server in servers for row in rows(client, server, "services"))
            return sum(row[3] for row in every if row[0] == "cache" and row[2] == f"hits-at-{where}")

        for value in ("blue", "green"):
            assert memcached(7, 7, f"set colour 0 0 {len(value)}\r\n{value}\r\n") == "STORED\n"
            for server in servers:
                result = memcached(server, server, "get colour\r\n")
                assert result == f"VALUE colour 0 {len(value)}\n{value}\nEND\n", server
        primary, replicas = hits("primary"), hits("secondaries")
        print(f"hits: {primary} at the primary, {replicas} at replicas")
        assert primary + replicas == 2 * len(servers)
        assert replicas > 0


@pytest.mark.long
@pytest.mark.parametrize("forwarding", FORWARDINGS)
def test_the_path_of_a_flow_is_reported_and_reported_again_when_it_moves(
    engine: Engine, nothing_left: Left, forwarding: str
) -> None:
    network = description(engine, forwarding)
    cable = next(link["id"] for link in network["links"] if [0, X_UP] in (link["a"], link["b"]))
    with wired(network) as client:
        client.call("workload", run=RUN, flows=[{"id": 0, "source": 0, "destination": 9, "proto": "tcp"}])
        client.subscribe(RUN)
        client.call("start", run=RUN)
        frames = client.frames(2.0)

        def told(kind: str) -> Json:
            """The next event of this kind for the flow, ignoring its acknowledgements."""
            until = time.monotonic() + 10
            for frame in frames:
                assert frame is not None, "the fabric is silent"
                for event in frame["events"]:
                    if event["kind"] == kind and event["server"] == 0 and event["flow"]["dst"] == "10.0.0.10":
                        return event
                assert time.monotonic() < until, f"no {kind}"
            raise AssertionError

        selected = told("path-selected")["path"]
        assert (selected["servers"], selected["others"]) == ([0, 9], 4)
        with FabricClient(client.path) as other:
            other.call("inject", run=RUN, fault={"id": "cable", "kind": "cable-pulled", "target": {"link": cable}})
            switched = told("path-switched")
            servers = switched["path"]["servers"]
            assert (servers[0], servers[-1], switched["reason"]) == (0, 9, "failure")
            assert len(servers) in (3, 4), "one of the four other disjoint paths"
            assert all(distance(a, b) == 1 for a, b in itertools.pairwise(servers))
            other.call("recover", run=RUN, fault="cable")
            back = told("path-switched")
            assert (back["path"]["servers"], back["reason"]) == ([0, 9], "recovery")
