"""Addresses by host name: a hosts file, and static leases for dnsmasq and Kea.

The addresses are those of the lab file and of emulations: 10.0.0.1 for the first server, 172.16.0.1
for the first switch. A plan contains no MAC addresses. dnsmasq identifies a machine by the host
name that it sends. Kea identifies it by the switch and port that the relay agent reports (option
82, circuit id), which the plan contains, or by the host name as its client id.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.exports.clab import address
from cubeyard.exports.formats import Progress
from cubeyard.exports.interfaces import interfaces
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

_DEVICES_PER_PIECE = 4_000
LEASE_SECS = 86_400


def _line(text: str) -> str:
    """Text for a comment, on one line."""
    return " ".join(plain(text).split())


def _by_pieces(lines: Iterator[str]) -> Iterator[bytes]:
    piece: list[str] = []
    for line in lines:
        piece.append(line)
        if len(piece) == _DEVICES_PER_PIECE:
            yield "".join(piece).encode()
            piece.clear()
    yield "".join(piece).encode()


def network(tables: PlanTables, kind: int) -> ipaddress.IPv4Network | None:
    """The smallest network that holds the addresses of the servers (kind 0) or switches (1), at
    least a /24; None if there are none."""
    members = [device for device, item in enumerate(tables.device_kind) if bool(item) == bool(kind)]
    if not members:
        return None
    # One address after the last is reserved for broadcasts.
    bits = max(8, (len(members) + 1).bit_length())
    return ipaddress.IPv4Network((int(address(tables, members[0])) & ~((1 << bits) - 1), 32 - bits))


def hosts_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`/etc/hosts`: address and host name of every device, followed by the paper's name as a
    comment."""
    tables = PlanTables(plan)
    yield f"# {_line(plan.name)}\n# {_line(provenance(plan))}\n".encode()
    names = tables.paper_names
    yield from _by_pieces(f"{address(tables, i)}\t{host}\t# {_line(names[i])}\n" for i, host in enumerate(tables.hosts))
    progress(1.0, "hosts")


def dnsmasq_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """dnsmasq's configuration: DNS records of every device, and a lease for each host name."""
    tables = PlanTables(plan)
    head = [f"# {_line(plan.name)}", f"# {_line(provenance(plan))}"]
    example = f"dhcp-host=02:00:00:00:00:01,{tables.hosts[0]},{address(tables, 0)}"
    head.append(f"# To recognise a machine by its MAC address, write the address in front: {example}")
    for kind in (0, 1):
        net = network(tables, kind)
        if net is not None:
            head.append(f"dhcp-range={net.network_address},static,{net.netmask},{LEASE_SECS}")
    yield ("\n".join(head) + "\n").encode()
    yield from _by_pieces(
        f"dhcp-host={host},{address(tables, i)}\nhost-record={host},{address(tables, i)}\n"
        for i, host in enumerate(tables.hosts)
    )
    progress(1.0, "leases")


def circuit_ids(tables: PlanTables) -> dict[int, str]:
    """For each server on a switch, the switch and port of its first connection, such as
    `s0-000:P0`."""
    a_ends, b_ends = interfaces(tables)
    columns = tables.plan.cables
    result: dict[int, tuple[int, str]] = {}
    sides = (("a_device", "a_port", "b_device", b_ends), ("b_device", "b_port", "a_device", a_ends))
    for own, own_port, other, other_ends in sides:
        rows = zip(columns[own].tolist(), columns[own_port].tolist(), columns[other].tolist(), other_ends, strict=True)
        for device, port, far, end in rows:
            if not tables.device_kind[device] and tables.device_kind[far]:
                result[device] = min(
                    result.get(device, (port, f"{tables.hosts[far]}:{end}")), (port, f"{tables.hosts[far]}:{end}")
                )
    return {device: circuit for device, (_, circuit) in result.items()}


def kea_document(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Kea's DHCPv4 configuration with a host reservation for every device. Each reservation has the
    device's data from the plan as its user context."""
    tables = PlanTables(plan)
    circuits = circuit_ids(tables)
    head = {
        "interfaces-config": {"interfaces": ["*"]},
        "lease-database": {"type": "memfile"},
        "valid-lifetime": LEASE_SECS,
        "host-reservation-identifiers": ["circuit-id", "client-id", "hw-address"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "user-context": {"plan": plain(plan.name), "provenance": provenance(plan)},
    }
    yield b'{"Dhcp4":' + orjson.dumps(head)[:-1] + b',"subnet4":['
    first = True
    for kind in (0, 1):
        net = network(tables, kind)
        if net is None:
            continue
        subnet = {"id": kind + 1, "subnet": str(net), "user-context": {"devices": "switches" if kind else "servers"}}
        yield (b"" if first else b",") + orjson.dumps(subnet)[:-1] + b',"reservations":['
        first = False
        members = [i for i, item in enumerate(tables.device_kind) if bool(item) == bool(kind)]
        for start in range(0, len(members), _DEVICES_PER_PIECE):
            rows = [_reservation(tables, circuits, i) for i in members[start : start + _DEVICES_PER_PIECE]]
            yield (b"," if start else b"") + orjson.dumps(rows)[1:-1]
        yield b"]}"
    yield b"]}}\n"
    progress(1.0, "leases")


def _reservation(tables: PlanTables, circuits: dict[int, str], device: int) -> dict[str, Any]:
    host, circuit = tables.hosts[device], circuits.get(device)
    # Kea uses text in single quotes as raw bytes.
    identifier = {"client-id": f"'{host}'"} if circuit is None else {"circuit-id": f"'{circuit}'"}
    context = {"location": tables.locations[device], "paper-name": tables.paper_names[device]}
    return identifier | {"ip-address": str(address(tables, device)), "hostname": host, "user-context": context}
