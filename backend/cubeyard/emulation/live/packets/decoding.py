"""Describes a packet in words: source, destination and content, with the names of the run's servers
instead of addresses.

The headers for relaying are valid IPv4: a header around the packet (protocol 4), or option 30 (for
experiments, RFC 4727) in the packet's header; or they have their own Ethernet type. Their fields
are decoded by the protocol's description in the engine's catalogue (`header_fields.py`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from cubeyard.emulation.live.packets.header_fields import HeaderValue, header_values, stands_at
from cubeyard.emulation.network.network import Network

ETHERNET_BYTES = 14
ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
ICMP, IP_IN_IP, TCP, UDP = 1, 4, 6, 17
CONTROL_PORT, SERVICE_PORT = 4790, 4791
EXPERIMENT_OPTION = 30
PORT_NETWORKS = int(IPv4Address("100.64.0.0"))
PORT_NUMBERS = 64
FLAGS = ((2, "SYN"), (1, "FIN"), (4, "RST"), (8, "PSH"), (16, "ACK"))
ICMP_TYPES = {0: "ping reply", 3: "destination unreachable", 5: "redirect", 8: "ping request", 11: "time exceeded"}
CUT = "cut short"


@dataclass
class Decoded:
    """The description of a packet. A field is empty if the packet's bytes do not determine it."""

    protocol: str = ""
    """`arp`, `icmp`, `tcp`, `udp`, `control`, `service`, or `other`."""
    source: str = ""
    destination: str = ""
    text: str = ""
    addresses: set[str] = field(default_factory=set)
    """The addresses of all its headers."""
    ports: set[int] = field(default_factory=set)
    header: list[HeaderValue] = field(default_factory=list)
    """Fields of the header that servers use for relaying."""


def decoded(frame: bytes, network: Network) -> Decoded:
    """Decodes a packet, which begins with its Ethernet header and may be truncated."""
    if len(frame) < ETHERNET_BYTES:
        return Decoded("other", text=f"Ethernet, {CUT}")
    result = Decoded("other")
    kind = int.from_bytes(frame[12:14])
    payload = frame[ETHERNET_BYTES:]
    try:
        if kind == IPV4:
            _ipv4(payload, network, result)
        elif kind == ARP:
            _arp(payload, network, result)
        elif kind == IPV6:
            result.source, result.destination = str(IPv6Address(payload[8:24])), str(IPv6Address(payload[24:40]))
            result.addresses |= {result.source, result.destination}
            result.text = f"IPv6, next header {payload[6]}"
        elif stands_at(network.protocol, "ether_type", kind):
            result.header = header_values(network.protocol, payload, network.servers)
            result.text = network.protocol["title"]
        else:
            result.text = f"Ethernet type 0x{kind:04x}"
    except (struct.error, IndexError, ValueError):
        result.text = f"{result.text}, {CUT}" if result.text else CUT
    return result


def name_of(address: str, network: Network) -> str:
    """The name for an address: a server, a server with a port, or for any other address the address
    itself."""
    if (server := network.server_at(address)) is not None:
        return server
    port, low = divmod(int(IPv4Address(address)) - PORT_NETWORKS, 65_536)
    if 0 <= port < PORT_NUMBERS and (name := network.servers.get(low - 1)) is not None:
        return f"{name} p{port}"
    return address


def _arp(payload: bytes, network: Network, packet: Decoded) -> None:
    operation = int.from_bytes(payload[6:8])
    sender, target = str(IPv4Address(payload[14:18])), str(IPv4Address(payload[24:28]))
    packet.protocol, packet.addresses = "arp", {sender, target}
    packet.source, packet.destination = name_of(sender, network), name_of(target, network)
    hardware = payload[8:14].hex(":")
    asks = f"who has {target}? Tell {sender}"
    packet.text = f"ARP, {asks if operation == 1 else f'{sender} is at {hardware}'}"


def _ipv4(payload: bytes, network: Network, packet: Decoded, words: tuple[str, ...] = ()) -> None:
    first, size, fragment, ttl, protocol = struct.unpack_from("!BxH2xHBB", payload)
    header = (first & 15) * 4
    if first >> 4 != 4 or header < 20:
        raise ValueError("no IPv4 header")
    source, destination = str(IPv4Address(payload[12:16])), str(IPv4Address(payload[16:20]))
    packet.addresses |= {source, destination}
    packet.source, packet.destination = name_of(source, network), name_of(destination, network)
    if header > 20 and payload[20] & 31 == EXPERIMENT_OPTION:
        words = (*words, f"{network.protocol['title']}, TTL {ttl}")
        if stands_at(network.protocol, "option", payload[20]):
            packet.header = header_values(network.protocol, payload[20:header], network.servers)
    inner = payload[header:size]
    if protocol == IP_IN_IP:
        _ipv4(inner, network, packet, words)
        return
    behind = f" ({'; '.join(words)})" if words else ""
    packet.text = f"IP protocol {protocol}{behind}"
    if fragment & 0x1FFF:
        packet.text = f"Fragment of IP protocol {protocol}{behind}"
        return
    length = max(size - header, 0)
    if protocol == TCP:
        _tcp(inner, length, packet, behind)
    elif protocol == UDP:
        _udp(inner, length, packet, behind)
    elif protocol == ICMP:
        packet.protocol = "icmp"
        packet.text = f"ICMP{behind}"
        name = ICMP_TYPES.get(inner[0], f"type {inner[0]}")
        number = f" {int.from_bytes(inner[6:8])}" if inner[0] in (0, 8) else ""
        packet.text = f"ICMP {name}{number}{behind}"


def _tcp(payload: bytes, length: int, packet: Decoded, behind: str) -> None:
    packet.protocol = "tcp"
    packet.text = f"TCP{behind}"
    source, destination, offset, flags = struct.unpack_from("!HH8xBB", payload)
    packet.ports |= {source, destination}
    named = " ".join(name for bit, name in FLAGS if flags & bit) or "no flags"
    packet.text = f"TCP {source} → {destination}, {named}, {max(length - (offset >> 4) * 4, 0)} bytes{behind}"


def _udp(payload: bytes, length: int, packet: Decoded, behind: str) -> None:
    packet.protocol = "udp"
    packet.text = f"UDP{behind}"
    source, destination = struct.unpack_from("!HH", payload)
    packet.ports |= {source, destination}
    size = max(length - 8, 0)
    if source == destination == CONTROL_PORT:
        packet.protocol = "control"
        packet.text = f"Control message between neighbours, {size} bytes"
    elif source == destination == SERVICE_PORT:
        packet.protocol = "service"
        packet.text = f"Packet of a service, {size} bytes"
    else:
        packet.text = f"UDP {source} → {destination}, {size} bytes{behind}"
