"""A `.topo` file for UFM's topology comparison and ibutils (manual page ibdm-topo-file).

One section per device: its type and name, one indented line per cable, and an empty line. A cable
is in the sections of both its ends. Ports have the numbers of the front panel, `P1` the first;
types are the part numbers in the price book, which must equal the fabric's system types for a
discovered fabric to match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cubeyard.exports.formats import Progress
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

_DEVICES_PER_PIECE = 500
_NOT_WORD = re.compile(r"[^A-Za-z0-9_.-]+")


def system_type(tables: PlanTables, device: int) -> str:
    """The manufacturer's part number of a device, or the price book's part number, as one word."""
    part = tables.device_part[device]
    known = tables.parts[part] if part is not None and 0 <= part < len(tables.parts) else {}
    name = plain(known.get("part_number")) or plain(known.get("sku"))
    return _NOT_WORD.sub("-", name).strip("-") or ("SWITCH" if tables.device_kind[device] else "HOST")


def topology_sections(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Every device with its cables."""
    tables = PlanTables(plan)
    types = [system_type(tables, device) for device in range(len(tables.hosts))]
    lines: list[list[tuple[int, str]]] = [[] for _ in tables.hosts]
    names = ("a_device", "a_port", "b_device", "b_port")
    for a, a_port, b, b_port in zip(*(plan.cables[name].tolist() for name in names), strict=True):
        for own, own_port, far, far_port in ((a, a_port, b, b_port), (b, b_port, a, a_port)):
            lines[own].append((own_port, f"    P{own_port + 1} -> {types[far]} {tables.hosts[far]} P{far_port + 1}\n"))
    message = provenance(plan).replace(" \u00b7", ",")
    yield f"# {message}\n\n".encode("ascii", "replace")
    total = len(tables.hosts)
    for start in range(0, total, _DEVICES_PER_PIECE):
        members = range(start, min(start + _DEVICES_PER_PIECE, total))
        yield "".join(
            f"{types[i]} {tables.hosts[i]}\n{''.join(line for _, line in sorted(lines[i]))}\n" for i in members
        ).encode()
        progress(members.stop / total, "devices")
