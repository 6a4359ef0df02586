"""A containerlab topology (`*.clab.yml`) and the sidecar of rates that its links cannot carry.

Every device is a container of its own without a management network (`network-mode: none`), because the plan's first
server port is called `eth0` and containerlab would otherwise take that name. A switch bridges its own ports when the lab
starts, so nothing has to be made on the host beforehand. Images are environment variables with a published default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cubeyard.exports.csv_files import encode
from cubeyard.exports.formats import Progress
from cubeyard.exports.links import LinkFacts
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import cell, plain, slug
from cubeyard.plans.view import PlanView

IFNAME_MAX_CHARACTERS = 15
"""Linux's IFNAMSIZ is 16 with the terminating zero."""
NODE_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
RATE_COLUMNS = ("cable", "a_node", "a_interface", "a_device", "a_port", "b_node", "b_interface", "b_device", "b_port",
                "level", "rate_bits_per_sec", "length_metres")  # fmt: skip
_ITEMS_PER_PIECE = 4_000
_IMAGE = "${CUBEYARD_LAB_IMAGE:=alpine:3.20}"


def interface_name(port: str) -> str:
    """The plan's port name as a Linux interface name: its own where that is legal; `x+` and `x-` become `xp` and `xm`."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", plain(port).replace("+", "p").replace("-", "m")) or "p"
    return name[:IFNAME_MAX_CHARACTERS]


def _unique(names: list[str], longest: int) -> list[str]:
    """`names` made distinct by a counted suffix, each at most `longest` characters."""
    taken: set[str] = set()
    out: list[str] = []
    for name in names:
        candidate, count = name[:longest], 1
        while candidate in taken:
            count += 1
            suffix = f"-{count}"
            candidate = name[: longest - len(suffix)] + suffix
        taken.add(candidate)
        out.append(candidate)
    return out


def node_names(tables: PlanTables) -> list[str]:
    """A container name for each device: `h0132` for server `0132`, `s3-001` for switch `<3,001>`, distinct in the plan."""
    names: list[str] = []
    for name, kind in zip(tables.device_names, tables.device_kind, strict=True):
        digits = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        names.append(("s" if kind else "h") + digits)
    return _unique(names, 60)


def interfaces(tables: PlanTables) -> tuple[list[str], list[str]]:
    """The interface name of each cable's `a` and `b` end, distinct within a device even where port names shorten to the same."""
    taken: dict[tuple[int, str], int] = {}
    sides: tuple[list[str], list[str]] = ([], [])
    plan = tables.plan
    for side, devices, ports in (
        (sides[0], plan.cables["a_device"].tolist(), plan.a_port_names),
        (sides[1], plan.cables["b_device"].tolist(), plan.b_port_names),
    ):
        for device, port in zip(devices, ports, strict=True):
            name = interface_name(port)
            count = taken.get((device, name), 0)
            taken[device, name] = count + 1
            if count:
                suffix = f"_{count + 1}"
                name = name[: IFNAME_MAX_CHARACTERS - len(suffix)] + suffix
            side.append(name)
    return sides


def _quoted(text: str) -> str:
    """A YAML double-quoted scalar: server names are digits, which plain YAML would read as numbers."""
    return '"' + plain(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ") + '"'


def _comment(text: str) -> str:
    """One line, and nothing in it that containerlab would expand: it looks for `$name` in comments too."""
    return " ".join(plain(text).replace("$", "").split())


def _switch_commands(ports: list[str]) -> str:
    """The command that makes one bridge of a switch's ports, as a YAML list.

    No shell variable: containerlab expands `$name` in the whole file before it reads it.
    """
    steps = ["ip link add name fabric type bridge", "ip link set dev fabric up"]
    steps += [f"ip link set dev {port} master fabric up" for port in ports]
    return f"      exec:\n        - sh -c '{' && '.join(steps)}'\n"


def topology_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`name` and `topology` with `kinds`, `nodes` and `links`, as containerlab reads it."""
    tables = PlanTables(plan)
    nodes = node_names(tables)
    a_ends, b_ends = interfaces(tables)
    ports: dict[int, list[str]] = {}
    for devices, ends in ((plan.cables["a_device"].tolist(), a_ends), (plan.cables["b_device"].tolist(), b_ends)):
        for device, end in zip(devices, ends, strict=True):
            if tables.device_kind[device]:
                ports.setdefault(device, []).append(end)
    yield (
        f"# {_comment(plan.name)}\n# {_comment(provenance(plan))}\n"
        f"# {len(nodes):,} nodes, {plan.cable_count:,} links. Link rates are in the sidecar (export format containerlab-rates).\n"
        f"name: {_quoted(slug(plan.name, 'cubeyard')[:40].rstrip('-'))}\n"
        "topology:\n"
        "  defaults:\n    network-mode: none\n"
        f"  kinds:\n    linux:\n      image: {_quoted(_IMAGE)}\n"
        "  nodes:\n"
    ).encode()
    pieces: list[str] = []
    for i, node in enumerate(nodes):
        pieces.append(
            f"    {_quoted(node)}:\n      kind: linux\n      labels:\n"
            f"        device: {_quoted(tables.device_names[i])}\n        location: {_quoted(tables.locations[i])}\n"
        )
        if tables.device_kind[i]:
            pieces.append(f"        level: {_quoted(str(tables.device_level[i]))}\n")
        if i in ports:
            pieces.append(_switch_commands(ports[i]))
        if len(pieces) >= _ITEMS_PER_PIECE:
            yield "".join(pieces).encode()
            pieces.clear()
    progress(0.5, "nodes")
    pieces.append("  links:\n")
    a_devices, b_devices = plan.cables["a_device"].tolist(), plan.cables["b_device"].tolist()
    for i in range(plan.cable_count):
        pieces.append(
            f'    - endpoints: ["{nodes[a_devices[i]]}:{a_ends[i]}", "{nodes[b_devices[i]]}:{b_ends[i]}"]\n'
            f'      labels: {{cable: "{plan.cable_name(i)}"}}\n'
        )
        if len(pieces) >= _ITEMS_PER_PIECE:
            yield "".join(pieces).encode()
            pieces.clear()
    yield "".join(pieces).encode()
    progress(1.0, "links")


def rates_file(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One CSV row a link: its two ends as containerlab and as the plan name them, and its rate in bits per second."""
    tables = PlanTables(plan)
    nodes = node_names(tables)
    a_ends, b_ends = interfaces(tables)
    gbps = LinkFacts(tables).gbps
    yield from encode(
        RATE_COLUMNS,
        (
            (
                cable.name,
                nodes[cable.a_device], a_ends[cable.index], cell(tables.device_names[cable.a_device]), cell(cable.a_port),
                nodes[cable.b_device], b_ends[cable.index], cell(tables.device_names[cable.b_device]), cell(cable.b_port),
                cable.level, round(gbps[cable.index] * 1e9), f"{cable.length_metres:.3f}",
            )
            for cable in tables.rows()
        ),
    )  # fmt: skip
    progress(1.0, "rates")
