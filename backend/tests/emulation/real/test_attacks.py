"""Sends packets that no honest server sends, from inside a server: each is dropped, its reason is
counted, and no server is affected."""

from __future__ import annotations

import socket
import sys
from collections import Counter
from collections.abc import Callable

import pytest

from .conftest import Command
from .inside import enter, frames, namespaces, send, wait_for_server

Left = Callable[[], dict[str, set[str]]]
TINY = '{"family":"bcube","n":2,"k":1}'
QUIET = ("--settle", "0", "--calibrate", "0", "--workload", "permutation", "--link-rate", "10M", "--mode", "namespaces")
ATTACKER, VICTIM, FAR = 0, 1, 3
"""Ids of the servers 00, its neighbour 01 at level 0, and 11."""
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1).close()
    print("reached")
except OSError as error:
    print(type(error).__name__, error.errno)
"""


def attack() -> dict[str, list[bytes]]:
    """Frames from the attacker's port 0 to the victim, by the reason for which the victim must drop
    them."""
    me, victim, far = (frames.ip(server) for server in (ATTACKER, VICTIM, FAR))
    ethernet = frames.ethernet(frames.mac(VICTIM, 0), frames.mac(ATTACKER, 0))
    inner = frames.tcp(me, far)
    onward, to_victim = frames.nha(1, 1), frames.nha(0, 1)
    to_attacker, home = frames.nha(0, 0), frames.nha(1, 0)

    def bcube(
        inner: bytes = inner,
        source: str = me,
        end: str = far,
        index: int = 1,
        hops: list[int] | None = None,
        **odd: int,
    ) -> bytes:
        return ethernet + frames.bcube(inner, source, end, hops or [to_victim, onward], index, 7, **odd)

    return {
        "malformed": [
            bcube()[:40],
            bcube(total=2000),
            bcube(type=0x44),
            bcube(length=12),
            bcube(version=0x46),
            bcube(inner=b"\0" * 40, end=victim, index=1, hops=[to_victim]),
        ],
        "bad-checksum": [bcube(checksum=0x1234), bcube(checksum=0)],
        "bad-index": [bcube(index=0), bcube(index=3), bcube(count=9), bcube(count=0)],
        "unknown-next-hop": [bcube(hops=[to_victim, frames.nha(3, 9)]), bcube(hops=[to_victim, frames.nha(1, 63)])],
        "ttl-expired": [bcube(ttl=1), bcube(ttl=0), bcube(ttl=1)],
        "not-mine": [
            bcube(hops=[to_victim]),
            # A path around a ring without the source. After at most eight hops it ends at a server
            # that is not the destination.
            bcube(hops=[to_victim, onward, frames.nha(1, 0), onward, frames.nha(1, 0)]),
        ],
        "own-source": [
            bcube(source=victim),
            bcube(hops=[to_victim, onward, to_attacker, home, to_victim, onward]),  # returns to the attacker
        ],
        "forged": [
            bcube(end=victim, hops=[to_victim], inner=frames.tcp(far, victim)),
            bcube(end=victim, hops=[to_victim], inner=frames.tcp(me, far)),
            bcube(end=victim, hops=[to_victim], inner=frames.tcp(me, "192.0.2.9")),
        ],
        "foreign": [
            ethernet + frames.tcp(me, victim),
            ethernet + frames.tcp("198.51.100.7", "8.8.8.8"),
            ethernet + frames.tcp(me, "172.17.0.1"),
            ethernet + frames.tcp(me, "127.0.0.1"),
            ethernet + frames.tcp(me, "224.0.0.1"),
        ],
        "not-ip": [
            frames.ethernet(frames.mac(VICTIM, 0), frames.mac(ATTACKER, 0), frames.IPV6) + b"\x60" + b"\0" * 50,
            frames.ethernet(frames.mac(VICTIM, 0), frames.mac(ATTACKER, 0), frames.VLAN)
            + b"\0\x05\x08\0"
            + bcube()[14:],
        ],
        "other-host": [frames.ethernet(frames.mac(9, 0), frames.mac(ATTACKER, 0)) + bcube()[14:]],
    }


@pytest.mark.parametrize("dataplane", ["kernel", pytest.param("software", marks=pytest.mark.long)])
def test_every_bad_packet_is_dropped_and_counted_by_its_reason(
    emulate: Command, nothing_left: Left, dataplane: str
) -> None:
    before = namespaces()
    process = emulate.start("--spec", TINY, "--seconds", "4", "--dataplane", dataplane, *QUIET)
    attacker = wait_for_server(before, ATTACKER)
    sent = attack()
    send(attacker, "p0", (item for some in sent.values() for item in some))
    # The same through the virtual card: another server's source address, and a destination that
    # does not exist.
    cy0 = frames.ethernet(frames.mac(ATTACKER, 255), frames.mac(ATTACKER, 255))
    me, victim = frames.ip(ATTACKER), frames.ip(VICTIM)
    send(attacker, "cy0", [cy0 + frames.tcp("10.9.9.9", victim), cy0 + frames.tcp(me, "10.200.0.1")])
    result = emulate.finish(process)

    expected = Counter({reason: len(some) for reason, some in sent.items()})
    expected.update({"forged": 1, "no-path": 1})
    assert result["drops"] == dict(sorted(expected.items()))
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 2e6, "no other server is affected"


@pytest.mark.long
def test_no_way_leads_from_a_server_to_the_host_or_to_another_run(emulate: Command, nothing_left: Left) -> None:
    before = namespaces()
    arguments = ("--spec", TINY, "--seconds", "3", *QUIET)
    first, second = emulate.start(*arguments), emulate.start(*arguments)
    attacker = wait_for_server(before, ATTACKER)
    with socket.create_server(("0.0.0.0", 0)) as ours:
        ours.settimeout(0.1)
        port = str(ours.getsockname()[1])
        hosts = socket.gethostbyname_ex(socket.gethostname())[2] + ["127.0.0.1", "172.17.0.1"]
        for host in hosts:
            message = enter(attacker, sys.executable, "-c", CONNECT, host, port).stdout
            assert "reached" not in message, host
        for path in ("p0", "p1"):
            forged = [
                frames.ethernet("ff:ff:ff:ff:ff:ff", frames.mac(ATTACKER, 0)) + frames.tcp("10.0.0.1", host)
                for host in hosts
            ]
            send(attacker, path, forged)
        with pytest.raises(TimeoutError):
            ours.accept()
    reports = [emulate.finish(process) for process in (first, second)]
    (struck, other) = sorted((report["drops"] for report in reports), key=len, reverse=True)
    assert set(struck) <= {"foreign", "other-host"}
    assert struck
    assert other == {}, "the other run is not affected"
