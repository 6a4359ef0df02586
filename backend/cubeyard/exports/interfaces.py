"""Port names as valid Linux interface names: for labs, cable checkers and inventories."""

from __future__ import annotations

import re

from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

IFNAME_MAX_CHARACTERS = 15
"""Linux's IFNAMSIZ is 16, including the terminating zero."""


def interface_name(port: str) -> str:
    """The plan's port name as a Linux interface name: unchanged if it is valid; `x+` and `x-`
    become `xp` and `xm`."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", plain(port).replace("+", "p").replace("-", "m")) or "p"
    return name[:IFNAME_MAX_CHARACTERS]


def interfaces(tables: PlanTables) -> tuple[list[str], list[str]]:
    """The interface name of each cable's `a` and `b` end, unique within a device even if port names
    shorten to the same name."""
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
