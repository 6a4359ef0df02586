"""Writes forwarding.json: frames that come in, and what must become of each, for every forwarding
of CamCube.

Everything here is written from the header's description, not from the programs that it tests.

    make.py            writes the file
    make.py --check    fails where it is not what this would write
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

from frames import (
    AROUND,
    ARP,
    BENT,
    BROKEN,
    DEAD_PORT,
    FAR,
    GONE,
    ICMP,
    IPV4,
    IPV6,
    LONELY,
    MTU,
    NEAR,
    OUTSIDE,
    OWN,
    SERVER,
    SERVERS,
    SIZES,
    TCP,
    TTL,
    UDP,
    VLAN,
    X_DOWN,
    X_UP,
    Y_DOWN,
    Y_UP,
    Z_DOWN,
    Z_UP,
    Json,
    ethernet,
    ip,
    key,
    mac,
    neighbour,
    option,
    packet,
    segment,
    tcp,
)

FILE = Path(__file__).with_name("forwarding.json")

cases: list[Json] = []


def case(name: str, enters: str, frame: bytes, leaves: Json, server: str = "plain") -> None:
    cases.append(
        {
            "name": name,
            "server": server,
            "enters": enters,
            "frame": frame.hex(),
            "leaves": leaves,
        }
    )


def drop(reason: str) -> Json:
    return {"drop": reason}


def sent(port: int, bytes_: bytes) -> Json:
    to, far = neighbour(port)
    return {
        "send": port,
        "frame": (ethernet(mac(to, far), mac(SERVER, port)) + bytes_).hex(),
    }


def delivered(bytes_: bytes, source_mac: str) -> Json:
    return {"deliver": (ethernet(mac(SERVER, 255), source_mac) + bytes_).hex()}


def from_vnic(bytes_: bytes, kind: int = IPV4) -> bytes:
    return ethernet(mac(SERVER, 254), mac(SERVER, 255), kind) + bytes_


def from_port(bytes_: bytes, port: int = X_UP, kind: int = IPV4, to: str | None = None) -> bytes:
    return ethernet(to or mac(SERVER, port), mac(*neighbour(port)), kind) + bytes_


def vnic_cases() -> None:
    def goes(name: str, to: int, port: int, flags: int, server: str = "plain") -> None:
        out = packet(OWN, ip(to), TCP, segment(), option(to, flags))
        case(name, "vnic", from_vnic(tcp(OWN, ip(to))), sent(port, out), server)

    goes("the first of the disjoint paths", NEAR, X_UP, 1)
    goes("the routing service instead", NEAR, X_UP, 0, "base")
    goes("two links on shortest paths", FAR, X_UP, 0, "base")
    goes("no disjoint path is alive", AROUND, X_DOWN, 0)
    goes("the disjoint path's first neighbour is dead", LONELY, Z_UP, 0)
    goes("a disjoint path that is not the first port's", BENT, X_DOWN, 1)
    for name, proto, payload in (
        ("UDP", UDP, struct.pack("!HHHH", 7, 8, 12, 0) + b"udp!"),
        ("ICMP", ICMP, bytes([8, 0, 0xF7, 0xFF, 0, 0, 0, 0])),
        ("too short for ports", TCP, b"abc"),
        ("nothing but a header", UDP, b""),
    ):
        out = packet(OWN, ip(NEAR), proto, payload, option(NEAR, 1))
        case(
            name,
            "vnic",
            from_vnic(packet(OWN, ip(NEAR), proto, payload)),
            sent(X_UP, out),
        )
    for name, bits in {"first": 0x2000, "later": 0x0010}.items():
        out = packet(OWN, ip(NEAR), TCP, segment(), option(NEAR, 1), fragment=bits)
        case(
            f"the {name} fragment",
            "vnic",
            from_vnic(tcp(OWN, ip(NEAR), fragment=bits)),
            sent(X_UP, out),
        )
    out = packet(OWN, ip(NEAR), TCP, segment(), option(NEAR, 1), ttl=1, tos=0xB8)
    case(
        "time to live and service are the application's",
        "vnic",
        from_vnic(tcp(OWN, ip(NEAR), ttl=1, tos=0xB8)),
        sent(X_UP, out),
    )
    room = bytes(MTU - 16 - 40)
    out = packet(OWN, ip(NEAR), TCP, segment(data=room), option(NEAR, 1))
    case(
        "the longest that fits",
        "vnic",
        from_vnic(tcp(OWN, ip(NEAR), room)),
        sent(X_UP, out),
    )

    case(
        "one byte too long",
        "vnic",
        from_vnic(tcp(OWN, ip(NEAR), room + b"x")),
        drop("too-big"),
    )
    case(
        "a server that is not reached",
        "vnic",
        from_vnic(tcp(OWN, ip(GONE))),
        drop("no-path"),
    )
    case(
        "a server without an entry",
        "vnic",
        from_vnic(tcp(OWN, ip(35))),
        drop("no-path"),
    )
    case("no server of any torus", "vnic", from_vnic(tcp(OWN, ip(1024))), drop("no-path"))
    case("outside", "vnic", from_vnic(tcp(OWN, OUTSIDE)), drop("no-path"))
    case(
        "the network's own address",
        "vnic",
        from_vnic(tcp(OWN, "10.0.0.0")),
        drop("no-path"),
    )
    case("broadcast", "vnic", from_vnic(tcp(OWN, "10.255.255.255")), drop("no-path"))
    case(
        "every neighbour on the way is dead",
        "vnic",
        from_vnic(tcp(OWN, ip(BROKEN))),
        drop("next-hop-dead"),
    )
    case("another's address", "vnic", from_vnic(tcp(ip(1), ip(NEAR))), drop("forged"))
    own = packet(OWN, ip(NEAR), TCP, segment(), bytes(4))
    case("options of its own", "vnic", from_vnic(own), drop("ip-options"))
    case(
        "an option like ours",
        "vnic",
        from_vnic(packet(OWN, ip(NEAR), TCP, segment(), option(NEAR, 1))),
        drop("ip-options"),
    )
    case("ARP", "vnic", from_vnic(bytes(28), ARP), drop("not-ip"))
    case("IPv6", "vnic", from_vnic(bytes([0x60]) + bytes(39), IPV6), drop("not-ip"))
    case(
        "version 6 in an IPv4 frame",
        "vnic",
        from_vnic(bytes([0x65]) + bytes(39)),
        drop("malformed"),
    )
    case(
        "a header of 16 bytes",
        "vnic",
        from_vnic(bytes([0x44]) + bytes(39)),
        drop("malformed"),
    )
    case(
        "too short for IPv4",
        "vnic",
        from_vnic(tcp(OWN, ip(NEAR))[:19]),
        drop("malformed"),
    )
    case(
        "no address yet",
        "vnic",
        from_vnic(tcp(OWN, ip(NEAR))),
        drop("unconfigured"),
        "unconfigured",
    )


def delivery_cases() -> None:
    source = ip(neighbour(X_UP)[0])

    def arrives(
        port: int = X_UP,
        flags: int = 1,
        payload: bytes = segment(),
        ttl: int = TTL,
        **odd: Any,
    ) -> bytes:
        return from_port(packet(source, OWN, TCP, payload, option(SERVER, flags, **odd), ttl), port)

    inner = tcp(source, OWN)
    came = mac(*neighbour(X_UP))
    case("one hop", "port", arrives(), delivered(inner, came))
    case("by the routing service", "port", arrives(flags=0), delivered(inner, came))
    case(
        "many hops, a queue and a colour",
        "port",
        arrives(hops=254, queue=9, colour=77, sequence=1 << 31),
        delivered(inner, came),
    )
    case(
        "the last moment of its life",
        "port",
        arrives(ttl=0),
        delivered(tcp(source, OWN, ttl=0), came),
    )
    case(
        "Ethernet's padding is left out",
        "port",
        arrives() + bytes(9),
        delivered(inner, came),
    )
    case(
        "by another port",
        "port",
        arrives(Y_DOWN),
        delivered(inner, mac(*neighbour(Y_DOWN))),
    )
    case(
        "by a port whose neighbour is dead to us",
        "port",
        arrives(DEAD_PORT),
        delivered(inner, mac(*neighbour(DEAD_PORT))),
    )
    case(
        "nothing but a header arrives",
        "port",
        arrives(payload=b""),
        delivered(packet(source, OWN, TCP, b""), came),
    )
    fragment = packet(source, OWN, TCP, segment(), option(SERVER, 1), fragment=0x2003)
    case(
        "a fragment arrives",
        "port",
        from_port(fragment),
        delivered(tcp(source, OWN, fragment=0x2003), came),
    )
    other = packet(source, ip(NEAR), TCP, segment(), option(SERVER, 0))
    case(
        "for a dead server whose key is ours",
        "port",
        from_port(other),
        drop("not-mine"),
    )
    case(
        "no address yet, arriving",
        "port",
        arrives(),
        drop("unconfigured"),
        "unconfigured",
    )


def relay_cases() -> None:
    source = ip(neighbour(X_DOWN)[0])

    def passes(
        name: str,
        to: int,
        port: int,
        flags: tuple[int, int],
        leaves: int | str,
        ttl: int = TTL,
        hops: int = 1,
        sequence: int = 0,
        **odd: Any,
    ) -> None:
        destination = odd.pop("destination", ip(to))
        came = packet(
            source,
            destination,
            TCP,
            segment(),
            option(to, flags[0], sequence, hops, **odd),
            ttl,
        )
        if isinstance(leaves, str):
            case(name, "port", from_port(came, port), drop(leaves))
            return
        out = packet(
            source,
            destination,
            TCP,
            segment(),
            option(to, flags[1], sequence, hops + 1, **odd),
            ttl - 1,
        )
        case(name, "port", from_port(came, port), sent(leaves, out))

    passes("the only link on a shortest path", NEAR, X_DOWN, (0, 0), X_UP)
    for sequence, port in (
        (0, X_UP),
        (1, Y_UP),
        (2, Y_UP),
        (3, X_UP),
        (7, Y_UP),
        (0xFFFFFFFF, X_UP),
    ):
        passes(
            f"packet {sequence} of a flow over two links",
            FAR,
            X_DOWN,
            (0, 0),
            port,
            sequence=sequence,
        )
    passes("never back to where it came from", FAR, X_UP, (0, 0), Y_UP)
    passes("only back to where it came from", NEAR, X_UP, (0, 0), "no-path")
    passes("on its disjoint path, back along the axis", FAR, X_DOWN, (1, 1), X_DOWN)
    passes("on its disjoint path, another axis", FAR, Z_DOWN, (1, 1), X_UP)
    passes(
        "a disjoint path that ends here leaves for the routing service",
        FAR,
        X_UP,
        (1, 0),
        X_UP,
    )
    passes("a disjoint path over a dead neighbour", LONELY, X_DOWN, (1, 0), Z_UP)
    passes("a disjoint path over a dead neighbour, back", LONELY, Z_UP, (1, 0), Z_UP)
    for port, bad in ((X_UP, 7), (X_DOWN, 6), (Y_UP, 200)):
        passes(f"port {bad} is none", BENT, port, (1, 0), X_DOWN)
    passes("two lives", NEAR, X_DOWN, (0, 0), X_UP, ttl=2)
    passes("all hops but one", NEAR, X_DOWN, (0, 0), X_UP, hops=254)
    passes(
        "fields of services travel on",
        NEAR,
        X_DOWN,
        (0, 0),
        X_UP,
        queue=200,
        colour=0xABCD,
    )
    passes("our own packet, sent back to us", NEAR, X_DOWN, (0, 0), X_UP)
    own = packet(OWN, ip(NEAR), TCP, segment(), option(NEAR, 0, 0, 3), 60)
    out = packet(OWN, ip(NEAR), TCP, segment(), option(NEAR, 0, 0, 4), 59)
    case(
        "it has our address and comes from a port",
        "port",
        from_port(own, X_DOWN),
        sent(X_UP, out),
    )
    out = packet(source, ip(NEAR), TCP, segment(), option(NEAR, 0, 0, 2), TTL - 1)
    padded = from_port(packet(source, ip(NEAR), TCP, segment(), option(NEAR, 0)), X_DOWN) + bytes(7)
    case("padding travels on", "port", padded, sent(X_UP, out + bytes(7)))
    passes(
        "the key decides, not the address",
        NEAR,
        X_DOWN,
        (0, 0),
        X_UP,
        destination=ip(3),
    )
    passes("one life", NEAR, X_DOWN, (0, 0), "ttl-expired", ttl=1)
    passes("no life", NEAR, X_DOWN, (1, 1), "ttl-expired", ttl=0)
    passes("nobody reaches it", GONE, X_DOWN, (0, 0), "no-path")
    passes("nobody reaches it, on a disjoint path", GONE, X_DOWN, (1, 0), "no-path")
    passes("the neighbour on the way is dead", BROKEN, X_DOWN, (0, 0), "next-hop-dead")
    passes("the neighbour on both ways is dead", BROKEN, X_DOWN, (1, 0), "next-hop-dead")


def bad_header_cases() -> None:
    source = ip(neighbour(X_DOWN)[0])

    def bad(
        name: str,
        reason: str,
        field: Json | None = None,
        to: str = ip(NEAR),
        by: str = source,
        flags: int = 0,
        hops: int = 1,
        **odd: int,
    ) -> None:
        whole = packet(by, to, TCP, segment(), option(NEAR, flags, 0, hops, **(field or {})), **odd)
        case(name, "port", from_port(whole, X_DOWN), drop(reason))

    bad("version 6", "foreign", version=0x69)
    bad("a header of 32 bytes", "foreign", version=0x48)
    bad("a header of 60 bytes", "foreign", version=0x4F)
    bad("another option", "foreign", {"type": 0x5F})
    bad("the option copied into fragments", "foreign", {"type": 0xDE})
    bad("a longer option", "foreign", {"length": 17})
    bad("no option length", "foreign", {"length": 0})
    bad("longer than it is", "malformed", total=36 + 24 + 1)
    bad("shorter than its header", "malformed", total=35)
    bad("wrong checksum", "bad-checksum", checksum=0x1234)
    bad("no checksum", "bad-checksum", checksum=0)
    for axis, name in enumerate("xyz"):
        place = list(key(NEAR))
        place[axis] = SIZES[axis]
        bad(f"a key past the end of {name}", "bad-index", {"key": place})
    bad("a key far outside", "bad-index", {"key": [255, 255, 255]})
    bad("no hops", "bad-index", hops=0)
    bad("255 hops", "bad-index", hops=255)
    bad("an unknown flag", "bad-index", flags=2)
    bad("all flags", "bad-index", flags=255)
    bad("service 0", "bad-index", {"service": 0})
    bad("a service of user space", "bad-index", {"service": 300})
    bad("a source outside", "forged", by=OUTSIDE)
    bad("a destination outside", "forged", to=OUTSIDE)
    whole = from_port(packet(source, ip(NEAR), TCP, segment(), option(NEAR, 0)), X_DOWN)
    for length in (15, 33, 34, 49, 50, 69):
        case(f"cut to {length} bytes", "port", whole[:length], drop("malformed"))
    case("cut by one byte", "port", whole[:-1], drop("malformed"))


def other_traffic_cases() -> None:
    source = ip(neighbour(X_UP)[0])
    hello = packet("100.64.0.5", "100.64.0.6", UDP, struct.pack("!HHHH", 1, 2, 12, 0) + b"helo")
    whole = packet(source, OWN, TCP, segment(), option(SERVER, 1))
    everybody = "ff:ff:ff:ff:ff:ff"
    case(
        "ARP is control traffic",
        "port",
        from_port(bytes(28), kind=ARP, to=everybody),
        {"pass": True},
    )
    case("a hello is control traffic", "port", from_port(hello), {"pass": True})
    past = packet("100.64.0.5", "100.128.0.0", UDP, bytes(8))
    case("past the last control address", "port", from_port(past), drop("foreign"))
    case(
        "a bare packet for the virtual address",
        "port",
        from_port(tcp(source, OWN)),
        drop("foreign"),
    )
    case("for another server", "port", from_port(whole, to=mac(6, 0)), drop("other-host"))
    case(
        "for a seventh port",
        "port",
        from_port(whole, to=mac(SERVER, 6)),
        drop("other-host"),
    )
    case(
        "for the virtual NIC",
        "port",
        from_port(whole, to=mac(SERVER, 255)),
        drop("other-host"),
    )
    case(
        "a hello for another server",
        "port",
        from_port(hello, to=mac(6, 0)),
        drop("other-host"),
    )
    case(
        "broadcast on a port",
        "port",
        from_port(whole, to=everybody),
        drop("other-host"),
    )
    case(
        "IPv6 on a port",
        "port",
        from_port(bytes([0x60]) + bytes(39), kind=IPV6),
        drop("not-ip"),
    )
    case(
        "in a VLAN",
        "port",
        from_port(struct.pack("!HH", 1, IPV4) + whole, kind=VLAN),
        drop("not-ip"),
    )
    case("an unknown protocol", "port", from_port(whole, kind=0x88B5), drop("not-ip"))


def main() -> int:
    for make in (
        vnic_cases,
        delivery_cases,
        relay_cases,
        bad_header_cases,
        other_traffic_cases,
    ):
        make()
    text = json.dumps({"servers": SERVERS, "cases": cases}, indent=1) + "\n"
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        print(
            f"{FILE.name} is not what {Path(__file__).name} writes: run it",
            file=sys.stderr,
        )
        return 1
    print(f"vectors: {len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
