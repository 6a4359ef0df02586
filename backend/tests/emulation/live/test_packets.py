"""Live packets over REST and on the command line. The fabric is scripted; the packets are built
here byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cubeyard.cli import capture as cli
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.packets.decoding import decoded
from cubeyard.emulation.live.packets.pcapng import Blocks, packet_of
from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import Network
from cubeyard.engine import Engine
from cubeyard.settings import Settings
from tests.emulation.live.test_api import API, ASKED, TINY
from tests.emulation.scripted import Scripted, scripted

Json = dict[str, Any]
ETHERNET = bytes(12) + b"\x08\x00"
LINK = {"link": "00/<0,0>"}
ENDED = {"interface": "p0", "packets": 4, "missed": 2, "end": "secs"}


def ipv4(source: str, destination: str, protocol: int, inside: bytes, options: bytes = b"") -> bytes:
    words = 5 + len(options) // 4
    size = words * 4 + len(inside)
    head = struct.pack("!BBHHHBBH", 0x40 | words, 0, size, 0, 0, 64, protocol, 0)
    return head + IPv4Address(source).packed + IPv4Address(destination).packed + options + inside


def tcp(source: int, destination: int, data: bytes = b"", flags: int = 0x18) -> bytes:
    return struct.pack("!HHIIBBHHH", source, destination, 1, 1, 5 << 4, flags, 0, 0, 0) + data


def udp(source: int, destination: int, data: bytes = b"") -> bytes:
    return struct.pack("!HHHH", source, destination, 8 + len(data), 0) + data


PLAIN = ETHERNET + ipv4("10.0.0.1", "10.0.0.4", 6, tcp(40000, 5001, b"x" * 100))
OPTION = bytes([0x9E, 16, 1, 2, 0x01, 0x41]) + bytes(6) + bytes([0, 0, 1, 2])
RELAYED = ETHERNET + ipv4("10.0.0.1", "10.0.0.4", 4, PLAIN[14:], OPTION)
IN_OPTION = ETHERNET + ipv4("10.0.0.2", "10.0.0.3", 17, udp(9, 53, b"abc"), OPTION)
CONTROL = ETHERNET + ipv4("100.64.0.1", "100.64.0.2", 17, udp(4790, 4790, b"hello"))
PING = ETHERNET + ipv4("10.0.0.2", "198.18.0.1", 1, bytes([8, 0, 0, 0, 0, 1, 0, 7]))
ARP = bytes(12) + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + bytes(6) + IPv4Address("100.64.0.1").packed + bytes(6) + IPv4Address("100.64.0.2").packed  # fmt: skip


def block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


HEADER = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 65_535))
STATISTICS = block(5, bytes(12))


def packet(frame: bytes, at_nanos: int, *, outgoing: bool = True, size: int | None = None) -> bytes:
    body = struct.pack("<5I", 0, at_nanos >> 32, at_nanos & 0xFFFFFFFF, len(frame), size or len(frame))
    flags = struct.pack("<HHI", 2, 4, 2 if outgoing else 1) + bytes(4)
    return block(6, body + frame + bytes(-len(frame) % 4) + flags)


@pytest.fixture(scope="module")
def network(engine: Engine) -> Network:
    return networks.build(engine, TINY, 1e8, 1500, None)


@pytest.fixture
def run(client: TestClient) -> str:
    made = client.post(f"{API}/experiments", json=ASKED).json()["id"]
    return client.post(f"{API}/experiments/{made}/runs").json()["id"]


@pytest.fixture
def fabric(settings: Settings) -> Iterator[Scripted]:
    with scripted(Place.of(settings).socket) as script:
        first, second = packet(RELAYED, 10**18), packet(CONTROL, 10**18 + 5 * 10**8, outgoing=False)
        script.parts = [HEADER, first + second, packet(ARP, 10**18 + 10**9) + packet(PLAIN, 10**18 + 2 * 10**9)]
        script.captured = {"pcapng": STATISTICS.hex(), **ENDED}
        yield script


@pytest.mark.parametrize(
    ("frame", "protocol", "ends", "text"),
    [
        (PLAIN, "tcp", ("00", "11"), "TCP 40000 → 5001, PSH ACK, 100 bytes"),
        (RELAYED, "tcp", ("00", "11"), "TCP 40000 → 5001, PSH ACK, 100 bytes (BCube source routing (BSR), TTL 64)"),
        (IN_OPTION, "udp", ("01", "10"), "UDP 9 → 53, 3 bytes (BCube source routing (BSR), TTL 64)"),
        (CONTROL, "control", ("00 p0", "01 p0"), "Control message between neighbours, 5 bytes"),
        (PING, "icmp", ("01", "198.18.0.1"), "ICMP ping request 7"),
        (ARP, "arp", ("00 p0", "01 p0"), "ARP, who has 100.64.0.2? Tell 100.64.0.1"),
        (bytes(12) + b"\x88\xb5" + bytes(20), "other", ("", ""), "Ethernet type 0x88b5"),
        (RELAYED[:60], "other", ("00", "11"), "cut short"),
        (PLAIN[:36], "tcp", ("00", "11"), "TCP, cut short"),
        (b"\x01", "other", ("", ""), "Ethernet, cut short"),
    ],
)
def test_a_packet_is_described_in_words(
    network: Network, frame: bytes, protocol: str, ends: tuple[str, str], text: str
) -> None:
    result = decoded(frame, network)
    assert (result.protocol, (result.source, result.destination), result.text) == (protocol, ends, text)


def test_each_field_of_a_relays_header_is_decoded(network: Network) -> None:
    for frame in (RELAYED, IN_OPTION):
        reported = [(item.name, item.title, item.value) for item in decoded(frame, network).header]
        assert reported == [
            ("next_hop_index", "Next hop", "1"),
            ("hops", "Hops", "2"),
            ("path", "Path", "0:1 1:1"),
            ("path_id", "Path id", "258"),
        ]
    assert decoded(PLAIN, network).header == []
    # A truncated header returns the fields that it contains completely.
    assert [item.name for item in decoded(RELAYED[:38], network).header] == ["next_hop_index", "hops"]


@pytest.mark.parametrize(
    ("spec", "frame", "told"),
    [
        (
            {"family": "dcell", "n": 2, "k": 1},
            ETHERNET + ipv4("10.0.0.1", "10.0.0.4", 17, udp(9, 53), bytes([0xDE, 16, 0x28, 3]) + struct.pack("!IIHH", 7, 1, 2, 0)),
            {"retries": "2", "flags": "proxy", "hops": "3", "identification": "7", "proxy": "[0,1]", "rerouted_in": "2"},
        ),
        (
            {"family": "torus2d", "x": 3, "y": 3},
            ETHERNET
            + ipv4("10.0.0.1", "10.0.0.4", 17, udp(9, 53), bytes([0x5E, 16, 0, 1, 2, 1, 0, 5]) + struct.pack("!IBBH", 9, 4, 0, 6)),
            {"service": "1", "key": "2 1 0", "flags": "disjoint, 0x4", "sequence": "9", "hops": "4", "queue": "0", "colour": "6"},
        ),
    ],
)  # fmt: skip
def test_every_familys_header_is_told(engine: Engine, spec: Json, frame: bytes, told: Json) -> None:
    result = decoded(frame, networks.build(engine, spec, 1e8, 1500, None))
    assert {item.name: item.value for item in result.header} == told
    assert all(item.description for item in result.header)


def test_a_header_behind_ethernet_is_decoded(network: Network, engine: Engine) -> None:
    profile = engine.emulation_profile(TINY)
    behind = next(protocol for protocol in profile["protocols"] if protocol["header"]["place"] == "ether_type")
    frame = bytes(12) + struct.pack("!HBBHI", behind["header"]["ether_type"], 1, 64, 0, 2)
    result = decoded(frame, replace(network, protocol=behind))
    assert [(item.value, item.unit) for item in result.header] == [("1", ""), ("64", "hops"), ("10", "")]


@given(
    frame=st.one_of(st.binary(max_size=120), st.builds(lambda some: ETHERNET + b"\x45" + some, st.binary(max_size=90)))
)
def test_any_bytes_are_told_somehow(network: Network, frame: bytes) -> None:
    assert decoded(frame, network).text


@given(cuts=st.lists(st.integers(0, 400), max_size=12))
def test_blocks_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    data = HEADER + packet(RELAYED, 7) + packet(ARP, 2**40 + 3, outgoing=False, size=900) + STATISTICS
    blocks, result = Blocks(), []
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, stop in pairwise(edges):
        result += blocks.feed(data[start:stop])
    assert b"".join(result) == data
    packets = [item for item in map(packet_of, result) if item is not None]
    assert [(item.kept, item.at_nanos, item.size_bytes, item.outgoing) for item in packets] == [
        (RELAYED, 7, len(RELAYED), True),
        (ARP, 2**40 + 3, 900, False),
    ]


def test_bytes_that_are_no_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="a block of 5 bytes"):
        list(Blocks().feed(struct.pack("<3I", 6, 5, 0)))


def test_the_stream_is_the_fabrics_file(client: TestClient, run: str, fabric: Scripted) -> None:
    answer = client.get(f"{API}/runs/{run}/packets.pcapng", params={**LINK, "max_secs": 5})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-pcapng")
    assert answer.content == b"".join(fabric.parts) + STATISTICS
    (call,) = (params for method, params in fabric.calls if method == "capture")
    assert (call["target"], call["parts"], call["limits"]["max_secs"]) == ({"link": 0}, True, 5)
    changes = client.get(f"{API}/changes", params={"kind": "capture"}).json()["items"]
    assert [(change["action"], change["name"]) for change in changes] == [("opened", "00/<0,0>")]


def test_a_stream_has_the_packets_that_are_wanted(client: TestClient, run: str, fabric: Scripted) -> None:
    for match, kept in [
        ({"match_protocol": "tcp"}, [RELAYED, PLAIN]),
        ({"match_protocol": "arp"}, [ARP]),
        ({"match_host": "01"}, [CONTROL, ARP]),
        ({"match_host": "10.0.0.4", "match_port": 5001}, [RELAYED, PLAIN]),
        ({"match_port": 4790}, [CONTROL]),
        ({"match_protocol": "udp"}, []),
    ]:
        answer = client.get(f"{API}/runs/{run}/packets.pcapng", params={**LINK, **match})
        blocks = list(Blocks().feed(answer.content))
        assert [item.kept for item in map(packet_of, blocks) if item is not None] == kept, match
        assert b"".join(blocks[:2]) == HEADER
        assert blocks[-1] == STATISTICS


def test_words_come_as_events_and_end_with_a_reason(client: TestClient, run: str, fabric: Scripted) -> None:
    answer = client.get(f"{API}/runs/{run}/packets", params=LINK)
    assert answer.headers["content-type"].startswith("text/event-stream")
    reported = [
        (piece.split("\n")[0].removeprefix("event: "), orjson.loads(piece.split("data: ", 1)[1]))
        for piece in answer.text.split("\n\n")
        if piece.startswith("event: ")
    ]
    items = [item for name, news in reported if name == "packets" for item in news["items"]]
    assert [item["protocol"] for item in items] == ["tcp", "control", "arp", "tcp"]
    assert [item["at_secs"] for item in items] == [0, 0.5, 1, 2]
    assert [item["outgoing"] for item in items] == [True, False, True, True]
    assert reported[-1] == (
        "end",
        {"reason": "The stream reached its limit of time.", "packets": 4, "missed": 2},
    )


def test_an_invalid_packet_stream_is_refused_by_its_field(client: TestClient, run: str, fabric: Scripted) -> None:
    for asked, field in [
        ({"link": "00/11"}, "query.link"),
        ({"server": "99", "port": 0}, "query.server"),
        ({"server": "00", "port": 7}, "query.port"),
        ({**LINK, "match_host": "nobody"}, "query.match_host"),
        ({**LINK, "match_port": 65_536}, "query.match_port"),
        ({**LINK, "match_protocol": "tcp; reboot"}, "query.match_protocol"),
        ({**LINK, "max_secs": 3601}, "query.max_secs"),
        ({**LINK, "filter": "tcp"}, "query.filter"),
    ]:
        for path in ["packets", "packets.pcapng"]:
            answer = client.get(f"{API}/runs/{run}/{path}", params=asked)
            assert answer.status_code == 422, asked
            assert [error["field"] for error in answer.json()["errors"]] == [field]
            assert not [method for method, _ in fabric.calls if method == "capture"]


def test_refusals_of_the_fabric_are_responses_and_no_streams(client: TestClient, run: str, fabric: Scripted) -> None:
    fabric.fails = {"capture"}
    for path in ("packets", "packets.pcapng"):
        answer = client.get(f"{API}/runs/{run}/{path}", params=LINK)
        assert answer.status_code == 422
        assert "capture is not possible now" in answer.json()["detail"]


def test_without_a_fabric_there_is_no_stream(client: TestClient, run: str) -> None:
    answer = client.get(f"{API}/runs/{run}/packets.pcapng", params=LINK)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:cubeyard:problem:fabric-gone")


def test_the_command_line_writes_packets_while_they_flow(
    client: TestClient, run: str, fabric: Scripted, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli, "settings_of", lambda: settings)
    app = typer.Typer()
    app.command()(cli.capture)
    file = tmp_path / "live.pcapng"
    words = [run, "--link", "00/<0,0>"]
    written = CliRunner().invoke(app, [*words, "-w", str(file), "--match-protocol", "arp"])
    assert written.exit_code == 0, written.output
    assert [item.kept for item in map(packet_of, Blocks().feed(file.read_bytes())) if item is not None] == [ARP]
    assert (
        "1 packets of 00/<0,0>, 2 more arrived faster than they were read. The stream reached its limit"
        in written.stderr
    )
    assert client.get(f"{API}/runs/{run}/captures").json()["items"] == [], "nothing is kept"
    for wrong, message in (
        ([*words, "-w", str(file), "-o", str(file)], "Give either -o"),
        ([*words, "--match-port", "80"], "--match-port needs -w"),
        ([*words, "-w", str(file), "--seconds", "9999"], "max_secs"),
        ([*words, "-w", "/nowhere/x.pcapng"], "--write cannot be written"),
    ):
        refused = CliRunner().invoke(app, wrong)
        assert refused.exit_code == 2
        assert message in refused.stderr
