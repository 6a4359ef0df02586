"""Addresses by host name: a hosts file, and static leases for dnsmasq and Kea.

The addresses, networks, gateway, DNS servers and domain are those of the plan's `site.addresses`;
by default 10.0.0.1 is the first server, 172.16.0.1 the first switch. A plan contains no MAC
addresses. dnsmasq identifies a machine by the host name that it sends. Kea identifies it by the
switch and port that the relay agent reports (option 82, circuit id), which the plan contains, or by
the host name as its client id.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

import orjson

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


def _networks(plan: PlanView) -> Iterator[tuple[bool, IPv4Network, str | None]]:
    """Whether it is the switches' network, the network and its gateway; for those with devices."""
    networks = plan.networks
    for is_switches, text in ((False, networks["servers"]), (True, networks["switches"])):
        if text is not None:
            yield is_switches, IPv4Network(text), networks["gateways"].get(text)


def hosts_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`/etc/hosts`: address and host name of every device, with its domain first if there is one,
    and the paper's name as a comment."""
    tables = PlanTables(plan)
    domain = plan.networks["domain"]
    yield f"# {_line(plan.name)}\n# {_line(provenance(plan))}\n".encode()
    rows = zip(tables.addresses, tables.hosts, tables.paper_names, strict=True)
    yield from _by_pieces(
        f"{address}\t{f'{host}.{domain} ' if domain else ''}{host}\t# {_line(name)}\n" for address, host, name in rows
    )
    progress(1.0, "hosts")


def dnsmasq_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """dnsmasq's configuration: DNS records of every device, and a lease for each host name."""
    tables, networks = PlanTables(plan), plan.networks
    head = [f"# {_line(plan.name)}", f"# {_line(provenance(plan))}"]
    example = f"dhcp-host=02:00:00:00:00:01,{tables.hosts[0]},{tables.addresses[0]}"
    head.append(f"# To recognise a machine by its MAC address, write the address in front: {example}")
    domain = networks["domain"]
    if domain:
        head.append(f"domain={domain}")
    if networks["dns"]:
        head.append(f"dhcp-option=option:dns-server,{','.join(networks['dns'])}")
    for _, net, gateway in _networks(plan):
        tag = "set:routed," if gateway else ""
        head.append(f"dhcp-range={tag}{net.network_address},static,{net.netmask},{LEASE_SECS}")
        if gateway:
            head.append(f"dhcp-option=tag:routed,option:router,{gateway}")
    yield ("\n".join(head) + "\n").encode()
    yield from _by_pieces(
        f"dhcp-host={host},{address}\nhost-record={host},{f'{host}.{domain},' if domain else ''}{address}\n"
        for host, address in zip(tables.hosts, tables.addresses, strict=True)
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
    head: dict[str, Any] = {
        "interfaces-config": {"interfaces": ["*"]},
        "lease-database": {"type": "memfile"},
        "valid-lifetime": LEASE_SECS,
        "host-reservation-identifiers": ["circuit-id", "client-id", "hw-address"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "user-context": {"plan": plain(plan.name), "provenance": provenance(plan)},
    }
    options = (("domain-name-servers", ", ".join(plan.networks["dns"])), ("domain-name", plan.networks["domain"]))
    if any(data for _, data in options):
        head["option-data"] = [{"name": name, "data": data} for name, data in options if data]
    yield b'{"Dhcp4":' + orjson.dumps(head)[:-1] + b',"subnet4":['
    first = True
    for is_switches, net, gateway in _networks(plan):
        subnet: dict[str, Any] = {"id": is_switches + 1, "subnet": str(net)}
        subnet["user-context"] = {"devices": "switches" if is_switches else "servers"}
        if gateway:
            subnet["option-data"] = [{"name": "routers", "data": gateway}]
        yield (b"" if first else b",") + orjson.dumps(subnet)[:-1] + b',"reservations":['
        first = False
        members = [i for i, kind in enumerate(tables.device_kind) if bool(kind) == is_switches]
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
    return identifier | {"ip-address": str(tables.addresses[device]), "hostname": host, "user-context": context}
