"""A containerlab topology (`*.clab.yml`), the script of its link rates, and the recipe of its
image.

In the started lab any two servers can reach each other, without a routing protocol. Every device
has one address, on its loopback: by default 10.0.0.1 for the first server, 172.16.0.1 for the first
switch; links have none (they are unnumbered), and a next hop is the neighbour's loopback. Where
servers relay (BCube, DCell, torus), switches are bridges and servers forward. Elsewhere switches
are routers: as bridges they would forward every broadcast in loops for ever.

A device has no management network (`network-mode: none`), because the plan's first server port is
called `eth0` and containerlab would otherwise take that name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from cubeyard.exports.csv_files import encode
from cubeyard.exports.formats import Progress
from cubeyard.exports.interfaces import interfaces
from cubeyard.exports.links import LinkFacts
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import cell, plain, slug, yaml
from cubeyard.plans.view import PlanView

RATE_COLUMNS = ("cable", "a_node", "a_interface", "a_paper_name", "a_port", "b_node", "b_interface", "b_paper_name", "b_port",
                "level", "rate_bits_per_sec", "length_metres")  # fmt: skip
MAX_ROUTED_SERVERS = 512
"""Larger labs have no routes: their containers do not fit on a single machine, and the file would
be too long. [ours]"""
_ITEMS_PER_PIECE = 1_000
_ROUTES_PER_COMMAND = 200
"""A word of a command can have at most 128 KiB, and a route with eight next hops has 500 bytes."""
IMAGE = "cubeyard-lab"
_SYSCTLS = {
    "net.ipv4.ip_forward": 1,
    # Packets of one flow can arrive by another port than the replies use.
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    # Equal-cost next hops are chosen by addresses and ports, so that a connection stays on its
    # path.
    "net.ipv4.fib_multipath_hash_policy": 1,
}


def lab_name(plan: PlanView) -> str:
    """The lab's name, which containerlab puts into the name of every container."""
    return slug(plan.name, "cubeyard")[:40].rstrip("-")


def _comment(text: str) -> str:
    """One line without `$`: containerlab expands `$name` in comments too."""
    return " ".join(plain(text).replace("$", "").split())


class _Lab:
    """The commands that each device runs when the lab starts."""

    def __init__(self, plan: PlanView) -> None:
        self.plan = plan
        self.tables = PlanTables(plan)
        self.a_ends, self.b_ends = interfaces(self.tables)
        servers = int(plan.summary["counts"]["servers"])
        self.routed = servers <= MAX_ROUTED_SERVERS
        document = plan.host_routes() if self.routed else {"bridges": True, "routes": []}
        self.bridges: bool = document["bridges"]
        self._routes: list[list[Any]] = document["routes"]
        self._a_devices: list[int] = plan.cables["a_device"].tolist()
        self._ports: dict[int, list[str]] = {}
        for devices, ends in ((self._a_devices, self.a_ends), (plan.cables["b_device"].tolist(), self.b_ends)):
            for device, end in zip(devices, ends, strict=True):
                self._ports.setdefault(device, []).append(end)

    def commands(self, device: int) -> list[str]:
        """Shell commands without quotes and without `$`, which containerlab expands."""
        ports = self._ports.get(device, [])
        if self.tables.device_kind[device] and (self.bridges or not self.routed):
            bridge = "ip link add name fabric type bridge"
            # If switches form loops, a bridge needs the spanning tree protocol, or a broadcast
            # never ends.
            bridge += "" if self.bridges and self.routed else " stp_state 1"
            up = [f"ip link set dev {port} master fabric up" for port in ports]
            return [" && ".join([bridge, "ip link set dev fabric up", *up])]
        own = self.tables.addresses[device]
        up = [f"ip address add {own}/32 dev lo", *(f"ip link set dev {port} up" for port in ports)]
        lines = self._routes_of(device, own) if self.routed else []
        batches = [lines[start : start + _ROUTES_PER_COMMAND] for start in range(0, len(lines), _ROUTES_PER_COMMAND)]
        return [" && ".join(up), *(f'printf "{"".join(batch)}" | ip -batch -' for batch in batches)]

    def _routes_of(self, device: int, own: ipaddress.IPv4Address) -> list[str]:
        """The routes of a device, one line for `ip -batch` each, with the newline escaped for
        `printf`."""
        lines: list[str] = []
        addresses = self.tables.addresses
        for first, last, hops in self._routes[device]:
            ways = [f"via {addresses[via]} dev {self._end(device, link)} onlink" for link, via in hops]
            way = ways[0] if len(ways) == 1 else " ".join(f"nexthop {item}" for item in ways)
            networks = ipaddress.summarize_address_range(addresses[first], addresses[last])
            lines += [f"route add {network} src {own} {way}\\n" for network in networks]
        return lines

    def _end(self, device: int, link: int) -> str:
        """The interface with which a device is on a cable; a cable has the number of its link."""
        return (self.a_ends if self._a_devices[link] == device else self.b_ends)[link]


def topology_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`name` and `topology` with `kinds`, `nodes` and `links`, as containerlab's own schema has
    them."""
    lab = _Lab(plan)
    tables, hosts = lab.tables, lab.tables.hosts
    reach = (
        "Any two servers reach each other by their addresses (label address)."
        if lab.routed
        else f"No addresses and routes: the plan has more than {MAX_ROUTED_SERVERS} servers."
    )
    yield (
        f"# {_comment(plan.name)}\n# {_comment(provenance(plan))}\n"
        f"# {len(hosts):,} nodes, {plan.cable_count:,} links. {reach}\n"
        f"# Image: docker build -t {IMAGE} - < Dockerfile (export format containerlab-image).\n"
        "# Link rates: export format containerlab-rates-script, to be run once the lab is up.\n"
        f"name: {yaml(lab_name(plan))}\n"
        "topology:\n"
        "  defaults:\n    network-mode: none\n"
        f"  kinds:\n    linux:\n      image: {yaml('${CUBEYARD_LAB_IMAGE:=' + IMAGE + '}')}\n"
        "      sysctls:\n" + "".join(f"        {name}: {value}\n" for name, value in _SYSCTLS.items()) + "  nodes:\n"
    ).encode()
    pieces: list[str] = []
    for i, node in enumerate(hosts):
        pieces.append(
            f"    {yaml(node)}:\n      kind: linux\n      labels:\n"
            f"        device: {yaml(tables.device_names[i])}\n        location: {yaml(tables.locations[i])}\n"
        )
        if tables.device_kind[i]:
            pieces.append(f"        level: {yaml(str(tables.device_level[i]))}\n")
        if lab.routed and not (lab.bridges and tables.device_kind[i]):
            pieces.append(f"        address: {yaml(str(tables.addresses[i]))}\n")
        pieces.append("      exec:\n" + "".join(f"        - sh -c '{command}'\n" for command in lab.commands(i)))
        if i % _ITEMS_PER_PIECE == 0:
            yield "".join(pieces).encode()
            pieces.clear()
            progress(0.8 * i / len(hosts), "nodes")
    pieces.append("  links:\n")
    gbps = LinkFacts(tables).gbps
    a_devices, b_devices = plan.cables["a_device"].tolist(), plan.cables["b_device"].tolist()
    for i in range(plan.cable_count):
        pieces.append(
            "    - type: veth\n      endpoints:\n"
            f'        - {{node: "{hosts[a_devices[i]]}", interface: "{lab.a_ends[i]}"}}\n'
            f'        - {{node: "{hosts[b_devices[i]]}", interface: "{lab.b_ends[i]}"}}\n'
            f'      labels: {{cable: "{plan.cable_name(i)}", gbps: "{gbps[i]:g}"}}\n'
        )
        if i % _ITEMS_PER_PIECE == 0:
            yield "".join(pieces).encode()
            pieces.clear()
    yield "".join(pieces).encode()
    progress(1.0, "links")


def rates_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One CSV row per link: its two ends as containerlab and as the plan name them, and its rate in
    bits per second."""
    tables = PlanTables(plan)
    nodes = tables.hosts
    a_ends, b_ends = interfaces(tables)
    gbps = LinkFacts(tables).gbps
    yield from encode(
        RATE_COLUMNS,
        (
            (
                cable.name,
                nodes[cable.a_device], a_ends[cable.index], cell(tables.paper_names[cable.a_device]), cell(cable.a_port),
                nodes[cable.b_device], b_ends[cable.index], cell(tables.paper_names[cable.b_device]), cell(cable.b_port),
                cable.level, round(gbps[cable.index] * 1e9), f"{cable.length_metres:.3f}",
            )
            for cable in tables.rows()
        ),
    )  # fmt: skip
    progress(1.0, "rates")


def rates_script(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """A shell script that limits each end of each link of a running lab to its rate, with a token
    bucket.

    `RATE_DIVISOR` divides all rates, so that one machine can carry them: 1 Gb/s links run at 1 Mb/s
    with 1000.
    """
    tables = PlanTables(plan)
    a_ends, b_ends = interfaces(tables)
    gbps = LinkFacts(tables).gbps
    ports: list[list[tuple[str, int]]] = [[] for _ in tables.hosts]
    for devices, ends in ((plan.cables["a_device"].tolist(), a_ends), (plan.cables["b_device"].tolist(), b_ends)):
        for i, (device, end) in enumerate(zip(devices, ends, strict=True)):
            ports[device].append((end, round(gbps[i] * 1e9)))
    yield (
        "#!/bin/sh\n"
        f"# {_comment(provenance(plan))}\n"
        "# Sets the rate of every link of the running lab. RATE_DIVISOR=1000 makes 1 Mb/s of 1 Gb/s.\n"
        "set -eu\n"
        "divisor=${RATE_DIVISOR:-1}\n"
        "rate() { # NODE INTERFACE BITS_PER_SECOND\n"
        f'  docker exec "clab-{lab_name(plan)}-$1" tc qdisc replace dev "$2" root tbf '
        'rate "$(($3 / divisor))bit" burst 64kb latency 50ms\n'
        "}\n"
    ).encode()
    for device, host in enumerate(tables.hosts):
        yield "".join(f"rate {host} {end} {bits}\n" for end, bits in ports[device]).encode()
        progress((device + 1) / len(tables.hosts), "rates")


def image_recipe(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The Dockerfile of the lab's image: Linux with iproute2 and network diagnosis tools."""
    yield (
        f"# {_comment(provenance(plan))}\n"
        f"# docker build -t {IMAGE} - < this file\n"
        "FROM debian:12-slim\n"
        "RUN apt-get update \\\n"
        " && apt-get install --yes --no-install-recommends iproute2 iputils-ping iperf3 traceroute tcpdump \\\n"
        " && rm -rf /var/lib/apt/lists/*\n"
        'CMD ["sleep", "infinity"]\n'
    ).encode()
    progress(1.0, "image")
