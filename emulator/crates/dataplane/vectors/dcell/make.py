"""Writes forwarding.json: frames for one server and what must become of each, for both forwardings.

Standard library only, and nothing of the forwardings' own code: this is the third opinion they are
held to. `make.py --check` fails where the file is not what this program writes.
"""

from __future__ import annotations

import json
import struct
import sys
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("forwarding.json")
Json = dict[str, Any]

# Server [1,1] of DCell(4,1) is number 5. Its ports are interfaces 11 (level 0) and 12 (level 1);
# its virtual NIC is 10.
SERVER, CELL, RETRIES, MTU = 5, 3, 5, 1500
HOPS = [(4, 0, True), (6, 0, True), (7, 0, False), (9, 1, True)]  # neighbour, port, alive
TCP, UDP = 6, 17
IPV4, ARP, IPV6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100
PROXY = 8  # the flag PF


def ip(server: int) -> str:
    return str(IPv4Address("10.0.0.1") + server)


def mac(server: int, port: int) -> str:
    return "02:cb:" + bytes([port, *server.to_bytes(3, "big")]).hex(":")


def route(to: int, hop: int | None, *alternatives: tuple[int, int, int]) -> Json:
    """Alternatives are hop, proxy and the DCell_b they lead into."""
    return {
        "to": to,
        "hop": hop,
        "alternatives": [dict(zip(("hop", "proxy", "cell"), alternative, strict=True)) for alternative in alternatives],
    }


AWAY, FURTHER = (0, 30, 4), (1, 40, 6)
ROUTES = [
    route(6, 1),
    route(7, 2, (0, 8, 0)),  # dead, with a way around inside the DCell_b
    route(9, 3, AWAY, FURTHER),
    route(11, None, AWAY, FURTHER),  # known to be broken further on
    route(12, 2),
    route(13, None),
    route(14, 2, (2, 30, 4)),
    route(15, 2, AWAY, FURTHER),
    route(16, 2, AWAY),
    route(30, 3),
]


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(
    source: str,
    to: str,
    body: bytes,
    *,
    option: bytes = b"",
    ttl: int = 64,
    ident: int = 0x1234,
    proto: int = TCP,
    frag: int = 0,
    wrong: int = 0,
    total: int | None = None,
) -> bytes:
    length = 20 + len(option) + len(body) if total is None else total
    head = struct.pack(
        "!BBHHHBBH4s4s",
        0x45 + len(option) // 4,
        0,
        length,
        ident,
        frag,
        ttl,
        proto,
        0,
        IPv4Address(source).packed,
        IPv4Address(to).packed,
    )
    head += option
    return head[:10] + struct.pack("!H", checksum(head) ^ wrong) + head[12:] + body


def option(
    hops: int,
    *,
    retries: int = RETRIES,
    proxy: int | None = None,
    rerouted_in: int = 0,
    ident: int = 0x1234,
    kind: int = 0xDE,
    length: int = 16,
) -> bytes:
    flags = 0 if proxy is None else PROXY
    return struct.pack("!BBBBIIHH", kind, length, retries << 4 | flags, hops, ident, proxy or 0, rerouted_in, 0)


def ethernet(to: str, source: str, body: bytes, kind: int = IPV4) -> str:
    return (
        bytes.fromhex(to.replace(":", "")) + bytes.fromhex(source.replace(":", "")) + struct.pack("!H", kind) + body
    ).hex()


def from_vnic(body: bytes, kind: int = IPV4) -> str:
    return ethernet("02:cb:fe:00:00:00", mac(SERVER, 255), body, kind)


def from_port(body: bytes, to: str | None = None, kind: int = IPV4) -> str:
    return ethernet(to or mac(SERVER, 0), mac(4, 0), body, kind)


def sent(hop: int, body: bytes) -> Json:
    server, port, _ = HOPS[hop]
    return {"send": port, "frame": ethernet(mac(server, port), mac(SERVER, port), body)}


def drop(reason: str) -> Json:
    return {"drop": reason}


def new_flow(to: str, proto: int = TCP, ports: tuple[int, int] = (5000, 80)) -> Json:
    return {
        "kind": "new-flow",
        "proxy": 0,
        "src": ip(SERVER),
        "dst": to,
        "proto": proto,
        "sport": ports[0],
        "dport": ports[1],
    }


def rerouted(proxy: int, source: str, to: str, ports: tuple[int, int] = (0, 0)) -> Json:
    return {
        "kind": "rerouted",
        "proxy": proxy,
        "src": source,
        "dst": to,
        "proto": TCP,
        "sport": ports[0],
        "dport": ports[1],
    }


BODY = struct.pack("!HH", 5000, 80) + bytes(range(40))
CASES: list[Json] = []


def case(name: str, enters: str, frame: str, leaves: Json, *notices: Json, server: str = "plain") -> None:
    CASES.append(
        {"name": name, "server": server, "enters": enters, "frame": frame, "leaves": leaves, "notices": list(notices)}
    )


def sending() -> None:
    own = ip(SERVER)

    def send(name: str, to: str, leaves: Json, *notices: Json, **changes: Any) -> None:
        case(name, "vnic", from_vnic(packet(own, to, BODY, **changes)), leaves, new_flow(to), *notices)

    def whole(to: str, **fields: Any) -> bytes:
        return packet(own, to, BODY, option=option(1, **fields))

    send("to a neighbour", ip(6), sent(1, whole(ip(6))))
    send("over a cable", ip(9), sent(3, whole(ip(9))))
    around = {"retries": 4, "rerouted_in": CELL}
    send(
        "around a dead neighbour", ip(7), sent(0, whole(ip(7), proxy=8, **around)), rerouted(8, own, ip(7), (5000, 80))
    )
    send(
        "by a proxy from the start",
        ip(11),
        sent(0, whole(ip(11), proxy=30, **around)),
        rerouted(30, own, ip(11), (5000, 80)),
    )
    send("dead and no way around", ip(12), drop("next-hop-dead"))
    send("the way around is dead too", ip(14), drop("next-hop-dead"))
    send("neither a hop nor a way around", ip(13), drop("no-path"))
    send("to a server that no table has", ip(200), drop("no-path"))
    send("to a network that is not ours", "192.0.2.1", drop("no-path"))
    fragment = packet(own, ip(6), BODY, proto=UDP, frag=0x2000)
    out = packet(own, ip(6), BODY, proto=UDP, frag=0x2000, option=option(1))
    case("a fragment", "vnic", from_vnic(fragment), sent(1, out), new_flow(ip(6), UDP, (0, 0)))
    case("another's address", "vnic", from_vnic(packet(ip(6), ip(9), BODY)), drop("forged"))
    case("options of its own", "vnic", from_vnic(packet(own, ip(6), BODY, option=b"\x01" * 4)), drop("ip-options"))
    case("too big", "vnic", from_vnic(packet(own, ip(6), bytes(MTU - 20 - 15))), drop("too-big"))
    fits = bytes([0x13, 0x88, 0, 80]) + bytes(MTU - 40)
    case(
        "just fits",
        "vnic",
        from_vnic(packet(own, ip(6), fits)),
        sent(1, packet(own, ip(6), fits, option=option(1))),
        new_flow(ip(6)),
    )
    case("IPv6", "vnic", from_vnic(bytes([0x60]) + bytes(60), IPV6), drop("not-ip"))
    case("a length that is not the frame's", "vnic", from_vnic(packet(own, ip(6), BODY, total=40)), drop("malformed"))
    case("not configured", "vnic", from_vnic(packet(own, ip(6), BODY)), drop("unconfigured"), server="new")


def receiving() -> None:
    def arrive(name: str, before: bytes, leaves: Json, *notices: Json) -> None:
        case(name, "port", from_port(before), leaves, *notices)

    def carried(to: int, hops: int = 1, ttl: int = 60, source: str = ip(1), **fields: Any) -> bytes:
        return packet(source, ip(to), BODY, option=option(hops, **fields), ttl=ttl)

    delivered = ethernet(mac(SERVER, 255), mac(4, 0), packet(ip(1), ip(SERVER), BODY, ttl=60))
    arrive("for this server", carried(SERVER), {"deliver": delivered})
    arrive("padded", carried(SERVER) + bytes(6), {"deliver": delivered})
    arrive("rerouted, for this server", carried(SERVER, proxy=9, retries=0, rerouted_in=7), {"deliver": delivered})
    arrive("relayed", carried(9), sent(3, carried(9, 2, 59)))
    arrive("relayed, its hops past 255", carried(9, hops=255), sent(3, carried(9, 0, 59)))
    arrive(
        "relayed to a proxy", carried(6, proxy=30, rerouted_in=7), sent(3, carried(6, 2, 59, proxy=30, rerouted_in=7))
    )
    arrive(
        "its proxy is here",
        carried(6, proxy=SERVER, retries=3, rerouted_in=7),
        sent(1, carried(6, 2, 59, retries=3, rerouted_in=7)),
    )
    arrive("back at its source", carried(6, source=ip(SERVER)), sent(1, carried(6, 2, 59, source=ip(SERVER))))
    for name, to, hop, proxy in (
        ("dead", 15, 0, 30),
        ("broken further on", 11, 0, 30),
        ("dead inside the group", 7, 0, 8),
    ):
        out = carried(to, 2, 59, proxy=proxy, retries=4, rerouted_in=CELL)
        arrive(f"rerouted here: {name}", carried(to), sent(hop, out), rerouted(proxy, ip(1), ip(to)))
    out = carried(15, 2, 59, proxy=40, retries=1, rerouted_in=CELL)
    arrive(
        "not back into the group that rerouted it",
        carried(15, retries=2, rerouted_in=4),
        sent(1, out),
        rerouted(40, ip(1), ip(15)),
    )
    out = carried(16, 2, 59, proxy=30, retries=1, rerouted_in=CELL)
    arrive(
        "back where nothing else is left",
        carried(16, retries=2, rerouted_in=4),
        sent(0, out),
        rerouted(30, ip(1), ip(16)),
    )
    arrive("no reroutes left", carried(15, retries=0), drop("retries-used"))
    arrive("no reroutes needed", carried(9, retries=0), sent(3, carried(9, 2, 59, retries=0)))
    arrive("time to live used up", carried(9, ttl=1), drop("ttl-expired"))
    arrive("to a server that no table has", carried(200), drop("no-path"))
    arrive("a proxy that no table has", carried(6, proxy=70000), drop("no-path"))
    arrive("dead and no way around", carried(12), drop("next-hop-dead"))
    arrive("from outside", carried(6, source="192.0.2.1"), drop("forged"))
    arrive("to outside", packet(ip(1), "192.0.2.1", BODY, option=option(1)), drop("forged"))
    arrive("a wrong checksum", packet(ip(1), ip(6), BODY, option=option(1), wrong=1), drop("bad-checksum"))
    arrive("an option of another length", packet(ip(1), ip(6), BODY, option=option(1, length=12)), drop("malformed"))
    arrive("longer than its frame", packet(ip(1), ip(6), BODY, option=option(1), total=200), drop("malformed"))
    arrive("shorter than its header", packet(ip(1), ip(6), BODY, option=option(1), total=35), drop("malformed"))
    arrive("another option", packet(ip(1), ip(6), BODY, option=option(1, kind=0x9E)), drop("foreign"))
    arrive("plain IPv4", packet(ip(1), ip(SERVER), BODY), drop("foreign"))
    control = packet("100.64.0.5", "100.64.0.6", BODY, proto=UDP)
    arrive("control", control, {"pass": True})
    case("control for another server", "port", from_port(control, mac(6, 0)), drop("other-host"))
    case("for another server", "port", from_port(carried(6), mac(6, 0)), drop("other-host"))
    case("broadcast", "port", from_port(carried(6), "ff:ff:ff:ff:ff:ff"), drop("other-host"))
    case("ARP", "port", from_port(bytes(46), kind=ARP), {"pass": True})
    case("a VLAN's", "port", from_port(bytes(4) + carried(6), kind=VLAN), drop("not-ip"))
    case("not configured", "port", from_port(carried(6)), drop("unconfigured"), server="new")


def document() -> str:
    sending()
    receiving()
    hops = [
        {"port": port, "ifindex": 11 + port, "up": up, "next_mac": mac(server, port), "own_mac": mac(SERVER, port)}
        for server, port, up in HOPS
    ]
    plain = {
        "ip": ip(SERVER),
        "vnic_ifindex": 10,
        "vnic_mac": mac(SERVER, 255),
        "cell": CELL,
        "mtu": MTU,
        "server": SERVER,
        "retries": RETRIES,
        "hops": hops,
        "routes": ROUTES,
    }
    servers = {"plain": plain, "new": plain | {"ip": "0.0.0.0", "hops": [], "routes": []}}
    return json.dumps({"servers": servers, "cases": CASES}, indent=1) + "\n"


def main() -> int:
    text = document()
    if sys.argv[1:] == ["--check"]:
        return 0 if FILE.read_text() == text else 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
