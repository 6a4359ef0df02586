"""The server that the vectors are about, and the bytes of packets, as the header's description
says: what make.py uses."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import Any

Json = dict[str, Any]

IPV4, ARP, IPV6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100
ICMP, TCP, UDP = 1, 6, 17
MTU, TTL = 1500, 64
VNIC_IFINDEX = 10
FIRST_IFINDEX = 11

# ---------------------------------------------------------------- a 4 x 3 x 3 torus; server (1,1,1)
# is tried

SIZES = (4, 3, 3)
SERVER = 13
PORTS = ("x+", "x-", "y+", "y-", "z+", "z-")
X_UP, X_DOWN, Y_UP, Y_DOWN, Z_UP, Z_DOWN = range(6)
DEAD_PORT = Z_DOWN
NONE = 255


def ip(server: int) -> str:
    return str(IPv4Address("10.0.0.1") + server)


def mac(server: int, port: int) -> str:
    return "02:cb:" + bytes([port, *server.to_bytes(3, "big")]).hex(":")


def key(server: int) -> tuple[int, int, int]:
    return server // 9, server // 3 % 3, server % 3


def server_at(x: int, y: int, z: int) -> int:
    return (x % 4 * 3 + y % 3) * 3 + z % 3


def neighbour(port: int) -> tuple[int, int]:
    """The server at a port, and its port at the other end."""
    place = list(key(SERVER))
    place[port // 2] += -1 if port % 2 else 1
    return server_at(*place), port ^ 1


def neighbours() -> list[Json]:
    matches = []
    for port in range(6):
        server, far = neighbour(port)
        entry = {"port": port, "ifindex": FIRST_IFINDEX + port, "up": port != DEAD_PORT}
        matches.append(entry | {"next_mac": mac(server, far), "own_mac": mac(SERVER, port)})
    return matches


def mask(*ports: int) -> int:
    return sum(1 << port for port in ports)


def way(to: int, shortest: int, disjoint: int = 0, onward: list[int] | None = None) -> Json:
    return {
        "to": to,
        "shortest": shortest,
        "disjoint": disjoint,
        "onward": onward or [NONE] * 6,
    }


# Servers as destinations, each with a table entry of its own kind.
NEAR, FAR, AROUND, GONE, BROKEN, LONELY, BENT = 22, 26, 4, 30, 12, 14, 17
WAYS = [
    way(NEAR, mask(X_UP), mask(X_UP, Y_UP, Y_DOWN, Z_UP)),
    way(
        FAR,
        mask(X_UP, Y_UP),
        mask(X_UP, Y_UP),
        [NONE, X_DOWN, NONE, Y_DOWN, NONE, X_UP],
    ),
    way(AROUND, mask(X_DOWN)),
    way(GONE, 0, mask(X_UP)),
    way(BROKEN, mask(DEAD_PORT), mask(DEAD_PORT)),
    way(LONELY, mask(Z_UP), mask(DEAD_PORT), [DEAD_PORT] * 6),
    way(BENT, mask(X_DOWN, Z_UP), mask(X_DOWN), [7, 6, 200, NONE, X_UP, Z_UP]),
]

OWN = ip(SERVER)
OUTSIDE = "192.0.2.7"
PLAIN: Json = {
    "ip": OWN,
    "vnic_ifindex": VNIC_IFINDEX,
    "vnic_mac": mac(SERVER, 255),
    "mtu": MTU,
    "disjoint_paths": True,
    "sizes": list(SIZES),
    "neighbours": neighbours(),
    "ways": WAYS,
}
SERVERS = {
    "plain": PLAIN,
    "base": PLAIN | {"disjoint_paths": False},
    "unconfigured": PLAIN | {"ip": str(IPv4Address(0))},
}

# ---------------------------------------------------------------- bytes


def checksum(header: bytes) -> int:
    total = sum(word for (word,) in struct.iter_unpack("!H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ethernet(to: str, source: str, kind: int = IPV4) -> bytes:
    return bytes.fromhex(to.replace(":", "") + source.replace(":", "")) + struct.pack("!H", kind)


def packet(
    source: str,
    destination: str,
    proto: int,
    payload: bytes,
    option: bytes = b"",
    ttl: int = TTL,
    **odd: int,
) -> bytes:
    """An IPv4 packet; a checksum is right unless it is given."""
    ends = IPv4Address(source).packed + IPv4Address(destination).packed
    length = 20 + len(option)
    first = odd.get("version", 0x40 | length // 4)
    total = odd.get("total", length + len(payload))
    head = struct.pack(
        "!BBHHHBBH",
        first,
        odd.get("tos", 0),
        total,
        1,
        odd.get("fragment", 0),
        ttl,
        proto,
        0,
    )
    whole = head + ends + option
    return whole[:10] + struct.pack("!H", odd.get("checksum", checksum(whole))) + whole[12:] + payload


def segment(sport: int = 5000, dport: int = 80, data: bytes = b"data") -> bytes:
    return struct.pack("!HHIIBBHHH", sport, dport, 1, 2, 0x50, 0x18, 512, 0, 0) + data


def tcp(source: str, destination: str, data: bytes = b"data", **odd: int) -> bytes:
    return packet(source, destination, TCP, segment(data=data), **odd)


def option(to: int, flags: int, sequence: int = 0, hops: int = 1, **odd: Any) -> bytes:
    head = struct.pack("!BBH", odd.get("type", 0x5E), odd.get("length", 16), odd.get("service", 1))
    middle = bytes([*odd.get("key", key(to)), flags]) + struct.pack("!I", sequence)
    return head + middle + struct.pack("!BBH", hops, odd.get("queue", 0), odd.get("colour", 0))
