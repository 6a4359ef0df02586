"""Filters of a packet stream, by simple fields. They are compared with decoded packets, so no part
of a request is compiled or executed. An address matches in any header of the packet, including the
servers' own."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address

from cubeyard.emulation.live.packets.decoding import PORT_NETWORKS, PORT_NUMBERS, Decoded
from cubeyard.emulation.live.packets.schemas import StreamRequest
from cubeyard.emulation.network.network import Network
from cubeyard.kit.errors import field_error


@dataclass(frozen=True)
class Wanted:
    """A packet must match all given fields."""

    protocol: str | None = None
    addresses: frozenset[str] | None = None
    port: int | None = None

    @property
    def everything(self) -> bool:
        return self.protocol is None and self.addresses is None and self.port is None

    def __call__(self, packet: Decoded) -> bool:
        return (
            (self.protocol is None or packet.protocol == self.protocol)
            and (self.addresses is None or not self.addresses.isdisjoint(packet.addresses))
            and (self.port is None or self.port in packet.ports)
        )


def wanted(network: Network, asked: StreamRequest) -> Wanted:
    """Raises a 422 for a host that is neither a server of the run nor an IPv4 address."""
    return Wanted(
        asked.match_protocol, _addresses(network, asked.match_host) if asked.match_host else None, asked.match_port
    )


def _addresses(network: Network, host: str) -> frozenset[str]:
    """All addresses of a server, or the given address."""
    server = network.id_of.get(host)
    if server is not None and server in network.servers:
        ports = (str(IPv4Address(PORT_NETWORKS + port * 65_536 + server + 1)) for port in range(PORT_NUMBERS))
        own = network.addresses.get(server)
        return frozenset([*ports, *([own] if own else [])])
    try:
        return frozenset([str(IPv4Address(host))])
    except AddressValueError:
        example = next(iter(network.servers.values()))
        hint = f"Give the name of a server, like {example}, or an IPv4 address."
        message = f"{host} is neither a server of this run nor an IPv4 address."
        raise field_error("query.match_host", host, message, hint=hint) from None
