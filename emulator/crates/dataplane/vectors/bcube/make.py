"""Writes forwarding.json: frames for one server and what must become of each, for every forwarding
engine we have.

Standard library only, and nothing of the engines' own code: this is the third opinion they are held
to. `make.py --check` fails where the file is not what this program writes.
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

# Server 11 of BCube(4,1) is number 5. Its ports are interfaces 11 (level 0) and 12 (level 1); its
# virtual NIC is 10.
SERVER = 5
PORT_IFINDEX = {0: 11, 1: 12}
VNIC_IFINDEX = 10
MTU = 1500
DEAD = 13  # the neighbour that is down
TTL = 64
TCP, UDP, ICMP, IP_IN_IP = 6, 17, 1, 4
IPV4, ARP, IPV6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100


def ip(server: int) -> str:
    return str(IPv4Address("10.0.0.1") + server)


def mac(server: int, port: int) -> str:
    return "02:cb:" + bytes([port, *server.to_bytes(3, "big")]).hex(":")


def nha(level: int, digit: int) -> int:
    return level << 6 | digit


def neighbours() -> list[Json]:
    matches = []
    for level in (0, 1):
        for digit in (0, 2, 3):
            server = SERVER - 4**level + digit * 4**level  # its digit is 1 at both levels
            entry = {"nha": nha(level, digit), "port": level, "ifindex": PORT_IFINDEX[level], "up": server != DEAD}
            matches.append(entry | {"next_mac": mac(server, level), "own_mac": mac(SERVER, level)})
    return matches


def path(end: str, number: int, *hops: int, count: int | None = None) -> Json:
    return {"end": end, "id": number, "count": len(hops) if count is None else count, "nha": list(hops)}


def five_tuple(source: str, destination: str, proto: int, sport: int = 0, dport: int = 0) -> Json:
    return {"src": source, "dst": destination, "proto": proto, "sport": sport, "dport": dport}


OWN, NEXT, FAR, BEYOND = ip(SERVER), ip(4), ip(6), ip(9)
OUTSIDE = "192.0.2.7"
ANY = str(IPv4Address(0))
TO_FAR = nha(0, 2)
SET_FLOW = five_tuple(OWN, FAR, TCP, 5000, 80)

PLAIN: Json = {
    "ip": OWN,
    "vnic_ifindex": VNIC_IFINDEX,
    "vnic_mac": mac(SERVER, 255),
    "mtu": MTU,
    "gateway": False,
    "neighbours": neighbours(),
    "routes": [
        {"to": FAR, "path": path(FAR, 1, TO_FAR)},
        {"to": BEYOND, "path": path(BEYOND, 2, nha(1, 2), nha(0, 1))},
        {"to": ip(13), "path": path(ip(13), 3, nha(1, 3))},
        {"to": ip(20), "path": path(ip(20), 4, nha(2, 1))},
        {"to": ip(21), "path": path(ip(21), 5, *[TO_FAR] * 8, count=9)},
        {"to": ip(22), "path": path(ip(22), 6, count=0)},
        {"to": ip(23), "path": path(ip(23), 0xDEADBEEF, *[nha(0, 2), nha(1, 0)] * 4)},
        {"to": ANY, "path": path(NEXT, 7, nha(0, 0))},
    ],
    "flows": [{"flow": SET_FLOW, "path": path(FAR, 99, nha(1, 0), nha(0, 2), nha(1, 1))}],
}
SERVERS = {
    "plain": PLAIN,
    "gateway": PLAIN | {"gateway": True},
    "unconfigured": PLAIN | {"ip": ANY},
}

# ---------------------------------------------------------------- bytes


def checksum(header: bytes) -> int:
    total = sum(word for (word,) in struct.iter_unpack("!H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ethernet(to: str, source: str, kind: int = IPV4) -> bytes:
    return bytes.fromhex(to.replace(":", "") + source.replace(":", "")) + struct.pack("!H", kind)


def packet(source: str, destination: str, proto: int, payload: bytes, fragment: int = 0, options: bytes = b"") -> bytes:
    """An application's IPv4 packet."""
    ends = IPv4Address(source).packed + IPv4Address(destination).packed
    length = 20 + len(options)
    head = struct.pack("!BBHHHBBH", 0x40 | length // 4, 0, length + len(payload), 1, fragment, TTL, proto, 0)
    whole = head + ends + options
    return whole[:10] + struct.pack("!H", checksum(whole)) + whole[12:] + payload


def tcp(source: str, destination: str, sport: int = 5000, dport: int = 80, data: bytes = b"data", **more: Any) -> bytes:
    segment = struct.pack("!HHIIBBHHH", sport, dport, 1, 2, 0x50, 0x18, 512, 0, 0) + data
    return packet(source, destination, TCP, segment, **more)


def bcube(inner: bytes, source: str, end: str, hops: list[int], index: int, number: int, **odd: int) -> bytes:
    """A header and the packet behind it. `odd` replaces fields by name; a checksum is right unless
    it is given."""
    field = {"version": 0x49, "total": 36 + len(inner), "fragment": 0x4000, "ttl": TTL, "proto": IP_IN_IP}
    field |= {"type": 0x9E, "length": 16, "count": len(hops)} | odd
    front = struct.pack(
        "!BBHHHBBH", field["version"], 0, field["total"], 0, field["fragment"], field["ttl"], field["proto"], 0
    )
    ends = IPv4Address(source).packed + IPv4Address(end).packed
    option = bytes([field["type"], field["length"], index, field["count"], *hops, *[0] * (8 - len(hops))])
    whole = front + ends + option + struct.pack("!I", number)
    right = checksum(whole)
    return whole[:10] + struct.pack("!H", odd.get("checksum", right)) + whole[12:] + inner


# ---------------------------------------------------------------- cases

cases: list[Json] = []


def case(
    name: str, enters: str, frame: bytes, leaves: Json, server: str = "plain", events: list[Json] | None = None
) -> None:
    cases.append({"name": name, "server": server, "enters": enters, "frame": frame.hex(), "leaves": leaves})
    cases[-1]["events"] = events or []


def drop(reason: str) -> Json:
    return {"drop": reason}


def sent(level: int, to: int, bytes_: bytes) -> Json:
    return {"send": PORT_IFINDEX[level], "frame": (ethernet(mac(to, level), mac(SERVER, level)) + bytes_).hex()}


def delivered(inner: bytes, source_mac: str) -> Json:
    return {"deliver": (ethernet(mac(SERVER, 255), source_mac) + inner).hex()}


def from_vnic(inner: bytes, kind: int = IPV4) -> bytes:
    return ethernet(mac(SERVER, 254), mac(SERVER, 255), kind) + inner


def from_port(bytes_: bytes, to: str = mac(SERVER, 0), kind: int = IPV4) -> bytes:
    return ethernet(to, mac(4, 0), kind) + bytes_


def sends(
    name: str, inner: bytes, leaves: Json, flow: Json, server: str = "plain", more: list[Json] | None = None
) -> None:
    """A packet of an application that gets as far as having a flow, which is announced."""
    announced = {"kind": "new-flow", "src": flow["src"], "dst": flow["dst"], "path_id": 0, "nha": 0, "flow": flow}
    case(name, "vnic", from_vnic(inner), leaves, server, [announced, *(more or [])])


def vnic_cases() -> None:
    inner = tcp(OWN, FAR, 1234, 80)
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("a destination's default path", inner, sent(0, 6, out), five_tuple(OWN, FAR, TCP, 1234, 80))
    inner = tcp(OWN, FAR)
    out = bcube(inner, OWN, FAR, [nha(1, 0), nha(0, 2), nha(1, 1)], 1, 99)
    sends("a flow's own path", inner, sent(1, 1, out), SET_FLOW)
    inner = packet(OWN, FAR, UDP, struct.pack("!HHHH", 7, 8, 12, 0) + b"udp!")
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("UDP has ports", inner, sent(0, 6, out), five_tuple(OWN, FAR, UDP, 7, 8))
    inner = tcp(OWN, FAR, 9, 10, options=bytes(8))
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("ports behind IP options", inner, sent(0, 6, out), five_tuple(OWN, FAR, TCP, 9, 10))
    inner = packet(OWN, FAR, ICMP, bytes([8, 0, 0xF7, 0xFF, 0, 0, 0, 0]))
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("ICMP has no ports", inner, sent(0, 6, out), five_tuple(OWN, FAR, ICMP))
    for name, bits in {"first": 0x2000, "later": 0x0010}.items():
        inner = tcp(OWN, FAR, fragment=bits)
        out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
        sends(f"the {name} fragment has no ports", inner, sent(0, 6, out), five_tuple(OWN, FAR, TCP))
    inner = packet(OWN, FAR, TCP, b"abc")
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("too short for ports", inner, sent(0, 6, out), five_tuple(OWN, FAR, TCP))
    inner = tcp(OWN, ip(23))
    out = bcube(inner, OWN, ip(23), [nha(0, 2), nha(1, 0)] * 4, 1, 0xDEADBEEF)
    sends("eight hops", inner, sent(0, 6, out), five_tuple(OWN, ip(23), TCP, 5000, 80))
    inner = tcp(OWN, OUTSIDE)
    out = bcube(inner, OWN, NEXT, [nha(0, 0)], 1, 7)
    sends("outside, by way of a gateway", inner, sent(0, 4, out), five_tuple(OWN, OUTSIDE, TCP, 5000, 80))
    inner = tcp(OUTSIDE, FAR)
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("a gateway sends for outside", inner, sent(0, 6, out), five_tuple(OUTSIDE, FAR, TCP, 5000, 80), "gateway")
    room = MTU - 36 - 40
    inner = tcp(OWN, FAR, 1, 2, data=bytes(room))
    out = bcube(inner, OWN, FAR, [TO_FAR], 1, 1)
    sends("the longest that fits", inner, sent(0, 6, out), five_tuple(OWN, FAR, TCP, 1, 2))


def vnic_drop_cases() -> None:
    room = MTU - 36 - 40
    flow = five_tuple(OWN, ip(14), TCP, 5000, 80)
    sends("no path", tcp(OWN, ip(14)), drop("no-path"), flow)
    flow = five_tuple(OWN, ip(20), TCP, 5000, 80)
    sends("no such neighbour", tcp(OWN, ip(20)), drop("unknown-next-hop"), flow)
    for server, what in ((21, "nine hops"), (22, "no hops")):
        flow = five_tuple(OWN, ip(server), TCP, 5000, 80)
        sends(f"a path of {what}", tcp(OWN, ip(server)), drop("bad-index"), flow)
    flow = five_tuple(OWN, ip(DEAD), TCP, 5000, 80)
    dead = {"kind": "next-hop-dead", "src": OWN, "dst": ip(DEAD), "path_id": 3, "nha": nha(1, 3), "flow": flow}
    sends("the first hop is dead", tcp(OWN, ip(DEAD)), drop("next-hop-dead"), flow, "plain", [dead])

    case("one byte too long", "vnic", from_vnic(tcp(OWN, FAR, data=bytes(room + 1))), drop("too-big"))
    case("another's address", "vnic", from_vnic(tcp(ip(1), FAR)), drop("forged"))
    case("an outside address, and no gateway", "vnic", from_vnic(tcp(OUTSIDE, FAR)), drop("forged"))
    case("a gateway with another's address", "vnic", from_vnic(tcp(ip(1), FAR)), drop("forged"), "gateway")
    case("ARP", "vnic", from_vnic(bytes(28), ARP), drop("not-ip"))
    case("IPv6", "vnic", from_vnic(bytes([0x60]) + bytes(39), IPV6), drop("not-ip"))
    case("version 6 in an IPv4 frame", "vnic", from_vnic(bytes([0x65]) + bytes(39)), drop("malformed"))
    case("a header of 16 bytes", "vnic", from_vnic(bytes([0x44]) + bytes(39)), drop("malformed"))
    case("too short for IPv4", "vnic", from_vnic(tcp(OWN, FAR)[:19]), drop("malformed"))
    case("no address yet", "vnic", from_vnic(tcp(OWN, FAR)), drop("unconfigured"), "unconfigured")


def delivery_cases() -> None:
    def arrives(inner: bytes, source: str = NEXT, end: str = OWN, **odd: int) -> bytes:
        return from_port(bcube(inner, source, end, [nha(0, 1)], 1, 1, **odd))

    inner = tcp(NEXT, OWN)
    case("one hop", "port", arrives(inner), delivered(inner, mac(4, 0)))
    case("the last moment of its life", "port", arrives(inner, ttl=0), delivered(inner, mac(4, 0)))
    case("Ethernet's padding is left out", "port", arrives(inner) + bytes(9), delivered(inner, mac(4, 0)))
    whole = bcube(inner, NEXT, OWN, [nha(1, 1), nha(0, 1)] * 4, 8, 1)
    case("eight hops, by the other port", "port", from_port(whole, mac(SERVER, 1)), delivered(inner, mac(4, 0)))
    inner = packet(NEXT, OWN, UDP, b"")
    case("nothing but an IPv4 header", "port", arrives(inner), delivered(inner, mac(4, 0)))
    inner = tcp(OUTSIDE, OWN)
    case("from outside", "port", arrives(inner), delivered(inner, mac(4, 0)))
    inner = tcp(NEXT, OUTSIDE)
    case("outside, at a gateway", "port", arrives(inner), delivered(inner, mac(4, 0)), "gateway")

    case("outside, and no gateway", "port", arrives(inner), drop("forged"))
    case("a source inside that is not the header's", "port", arrives(tcp(ip(1), OWN)), drop("forged"))
    case("a destination inside that is not the header's", "port", arrives(tcp(NEXT, FAR)), drop("forged"))
    case("another server inside, at a gateway", "port", arrives(tcp(NEXT, FAR)), drop("forged"), "gateway")
    case("the path ends at the wrong server", "port", arrives(tcp(NEXT, FAR), end=FAR), drop("not-mine"))
    case("not IPv4 inside", "port", arrives(bytes([0x65]) + bytes(39)), drop("malformed"))
    case("a header of 16 bytes inside", "port", arrives(bytes([0x44]) + bytes(39)), drop("malformed"))
    case("no address yet", "port", arrives(tcp(NEXT, OWN)), drop("unconfigured"), "unconfigured")


def relay_cases() -> None:
    inner = tcp(NEXT, FAR)
    hops = [nha(0, 1), nha(0, 2)]

    def passes(hops: list[int], index: int, **odd: int) -> bytes:
        return from_port(bcube(inner, NEXT, FAR, hops, index, 5, **odd))

    out = bcube(inner, NEXT, FAR, hops, 2, 5, ttl=TTL - 1)
    case("out by the port it came in by", "port", passes(hops, 1), sent(0, 6, out))
    other = [nha(0, 1), nha(1, 0), nha(0, 2)]
    out = bcube(inner, NEXT, FAR, other, 2, 5, ttl=TTL - 1)
    case("out by the other port", "port", passes(other, 1), sent(1, 1, out))
    for index in range(1, 8):
        hops8 = [nha(3, 63)] * index + [nha(1, 2)] + [nha(3, 63)] * (7 - index)
        out = bcube(inner, NEXT, FAR, hops8, index + 1, 5, ttl=TTL - 1)
        case(f"hop {index} of eight", "port", passes(hops8, index), sent(1, 9, out))
    out = bcube(inner, NEXT, FAR, hops, 2, 5, ttl=1)
    case("two lives", "port", passes(hops, 1, ttl=2), sent(0, 6, out))
    own = bcube(tcp(NEXT, OWN), NEXT, OWN, hops, 1, 5)
    out = bcube(tcp(NEXT, OWN), NEXT, OWN, hops, 2, 5, ttl=TTL - 1)
    case("a path through its own end goes on", "port", from_port(own), sent(0, 6, out))
    padded = sent(0, 6, bcube(inner, NEXT, FAR, hops, 2, 5, ttl=TTL - 1) + bytes(7))
    case("padding travels on", "port", passes(hops, 1) + bytes(7), padded)

    case("one life", "port", passes(hops, 1, ttl=1), drop("ttl-expired"))
    case("no life", "port", passes(hops, 1, ttl=0), drop("ttl-expired"))
    case("no such neighbour", "port", passes([nha(0, 1), nha(0, 9)], 1), drop("unknown-next-hop"))
    case("itself as a neighbour", "port", passes([nha(0, 1), nha(1, 1)], 1), drop("unknown-next-hop"))
    flow = five_tuple(NEXT, FAR, TCP, 5000, 80)
    dead = {"kind": "next-hop-dead", "src": NEXT, "dst": FAR, "path_id": 5, "nha": nha(1, 3), "flow": flow}
    case("a dead neighbour", "port", passes([nha(0, 1), nha(1, 3)], 1), drop("next-hop-dead"), events=[dead])
    looped = bcube(tcp(OWN, FAR), OWN, FAR, hops, 1, 5)
    case("its own packet comes back", "port", from_port(looped), drop("own-source"))
    looped = bcube(tcp(OWN, OWN), OWN, OWN, hops, 2, 5)
    case("its own packet comes back to it", "port", from_port(looped), drop("own-source"))


def bad_header_cases() -> None:
    inner, hops = tcp(NEXT, FAR), [nha(0, 1), nha(0, 2)]

    def bad(name: str, reason: str, index: int = 1, source: str = NEXT, end: str = FAR, **odd: int) -> None:
        case(name, "port", from_port(bcube(inner, source, end, hops, index, 5, **odd)), drop(reason))

    bad("version 6", "malformed", version=0x69)
    bad("a header of 20 bytes", "malformed", version=0x45)
    bad("a header of 60 bytes", "malformed", version=0x4F)
    bad("a later fragment", "malformed", fragment=0x0001)
    bad("more fragments follow", "malformed", fragment=0x2000)
    bad("longer than it is", "malformed", total=36 + len(inner) + 1)
    bad("too short for what it carries", "malformed", total=36 + 19)
    bad("shorter than its header", "malformed", total=35)
    bad("another option", "malformed", type=0x9F)
    bad("a longer option", "malformed", length=17)
    bad("no option length", "malformed", length=0)
    bad("wrong checksum", "bad-checksum", checksum=0x1234)
    bad("no checksum", "bad-checksum", checksum=0)
    bad("the hop before the first", "bad-index", index=0)
    bad("a hop past the end", "bad-index", index=3)
    bad("index 255", "bad-index", index=255)
    bad("no hops", "bad-index", count=0)
    bad("nine hops", "bad-index", count=9)
    bad("the ninth of nine hops", "bad-index", index=9, count=9)
    bad("255 hops", "bad-index", index=200, count=255)
    bad("a source outside", "forged", source=OUTSIDE)
    bad("a destination outside", "forged", end=OUTSIDE)
    bad("a control address as destination", "forged", end="100.64.0.6")
    whole = from_port(bcube(inner, NEXT, FAR, hops, 1, 5))
    for length in (15, 33, 34, 49, 50, 69):
        case(f"cut to {length} bytes", "port", whole[:length], drop("malformed"))
    case("cut by one byte", "port", whole[:-1], drop("malformed"))


def other_traffic_cases() -> None:
    hello = packet("100.64.0.5", "100.64.0.6", UDP, struct.pack("!HHHH", 1, 2, 12, 0) + b"helo")
    whole = bcube(tcp(NEXT, FAR), NEXT, FAR, [nha(0, 1), nha(0, 2)], 1, 5)
    case("ARP is control traffic", "port", from_port(bytes(28), "ff:ff:ff:ff:ff:ff", ARP), {"pass": True})
    case("a hello is control traffic", "port", from_port(hello), {"pass": True})
    first = packet("100.64.0.5", "100.64.0.0", UDP, bytes(8))
    last = packet("100.64.0.5", "100.127.255.255", UDP, bytes(8))
    case("the first control address", "port", from_port(first), {"pass": True})
    case("the last control address", "port", from_port(last), {"pass": True})
    past = packet("100.64.0.5", "100.128.0.0", UDP, bytes(8))
    case("past the last control address", "port", from_port(past), drop("foreign"))
    case("a bare packet for the virtual address", "port", from_port(tcp(NEXT, OWN)), drop("foreign"))
    case("a bare packet from outside", "port", from_port(tcp(OUTSIDE, OWN)), drop("foreign"))
    case("for another server", "port", from_port(whole, mac(6, 0)), drop("other-host"))
    case("a hello for another server", "port", from_port(hello, mac(6, 0)), drop("other-host"))
    case("broadcast", "port", from_port(whole, "ff:ff:ff:ff:ff:ff"), drop("other-host"))
    case("IPv6 on a port", "port", from_port(bytes([0x60]) + bytes(39), kind=IPV6), drop("not-ip"))
    case("in a VLAN", "port", from_port(struct.pack("!HH", 1, IPV4) + whole, kind=VLAN), drop("not-ip"))
    case("an unknown protocol", "port", from_port(whole, kind=0x88B5), drop("not-ip"))


def main() -> int:
    for make in (vnic_cases, vnic_drop_cases, delivery_cases, relay_cases, bad_header_cases, other_traffic_cases):
        make()
    text = json.dumps({"servers": SERVERS, "cases": cases}, indent=1) + "\n"
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        print(f"{FILE.name} is not what {Path(__file__).name} writes: run it", file=sys.stderr)
        return 1
    print(f"vectors: {len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
