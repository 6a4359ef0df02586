"""A cabling map in the form of Apstra's REST API
(`/api/blueprints/{id}/experience/web/cabling-map`).

Systems and links are identified by name: a blueprint assigns its own identifiers to interfaces,
which an import must read there. Links have the labels that Apstra generates (`spine1<->leaf1[1]`),
so that a script can match them by label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.exports.formats import Progress
from cubeyard.exports.interfaces import interfaces
from cubeyard.exports.tables import CHUNK_CABLES, PlanTables, provenance
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView


def cabling_map(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`{"links": [...]}`: each with its label, speed, role, the plan's data as tags, and two
    endpoints."""
    tables = PlanTables(plan)
    a_ends, b_ends = interfaces(tables)
    gbps = plan.gbps.tolist()
    seen: dict[tuple[int, int], int] = {}
    head = {"version": 1, "description": f"{plain(plan.name)}: {provenance(plan)}"}
    yield orjson.dumps(head)[:-1] + b',"links":['
    rows: list[Any] = []
    started = False
    for cable in tables.rows():
        # Apstra names the upper end of a link first.
        ends = [(cable.a_device, a_ends[cable.index]), (cable.b_device, b_ends[cable.index])]
        ends.sort(key=lambda end: (-tables.device_level[end[0]], end[0]))
        pair = (ends[0][0], ends[1][0])
        seen[pair] = seen.get(pair, 0) + 1
        upper, lower = (tables.hosts[device] for device in pair)
        rows.append(
            {
                "label": f"{upper}<->{lower}[{seen[pair]}]",
                "type": "ethernet",
                "speed": _speed(gbps[cable.index]),
                "role": "_".join(_role(tables, device) for device in pair),
                "endpoints": [_endpoint(tables, device, interface) for device, interface in ends],
                "tags": [cable.name, plain(cable.near_label), f"{cable.stock_metres:g} m"],
            }
        )
        if len(rows) == CHUNK_CABLES:
            yield (b"," if started else b"") + orjson.dumps(rows)[1:-1]
            started = True
            rows.clear()
            progress(0.9 * cable.index / plan.cable_count, "links")
    if rows:
        yield (b"," if started else b"") + orjson.dumps(rows)[1:-1]
    yield b"]}\n"
    progress(1.0, "links")


def _role(tables: PlanTables, device: int) -> str:
    """`generic` for servers, `leaf` for the lowest switches, then `spine` and `superspine`, and
    `l3` and so on above."""
    if not tables.device_kind[device]:
        return "generic"
    level = tables.device_level[device]
    return ("leaf", "spine", "superspine")[level] if level < 3 else f"l{level}"


def _endpoint(tables: PlanTables, device: int, interface: str) -> dict[str, Any]:
    return {
        "interface": {"if_name": interface, "if_type": "ethernet"},
        "system": {"label": tables.hosts[device], "role": _role(tables, device)},
    }


def _speed(gbps: float) -> str:
    return f"{gbps:g}G" if gbps >= 1 else f"{gbps * 1000:g}M"
