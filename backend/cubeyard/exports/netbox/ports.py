"""The ports of each device as NetBox lists them: names, and the types of the device's ports,
independent of the plugged cables.

The types are those of the ports of the device's part: a port is an access port, or an uplink if no
access port is left or its cable is faster than access ports. Ports that the topology does not use
(a 48-port switch that uses 30) follow with the next numbers.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from cubeyard.exports.links import LinkFacts, interface_type
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

NAME_MAX_CHARACTERS = 64
MAX_UNUSED_PORTS = 512
"""Most unused ports per device; a larger number in the price book is not plausible."""


class Port(NamedTuple):
    name: str
    type: str


class _Group(NamedTuple):
    """Devices with the same ports: same kind, level, part and port names."""

    kind: int
    level: int
    part: int
    names: tuple[str, ...] = ()
    """The names of the ports, if they differ from those of most devices of the kind, as in custom
    networks."""


class _Supply(NamedTuple):
    """Ports of a device's part with the same rate and connector."""

    ports: int
    gbps: float
    connector: str


class DevicePorts:
    """The ports of each device, computed once for all devices with the same ports, in time linear
    in the number of cables."""

    def __init__(self, tables: PlanTables, facts: LinkFacts) -> None:
        self._tables, self._facts = tables, facts
        self._own_names: dict[int, tuple[str, ...]] = {}
        self._known: dict[_Group, list[Port]] = {}
        self._first: dict[_Group, int] = {}
        for device in range(len(tables.hosts)):
            group = self._group(device)
            best = self._first.get(group)
            ports = tables.plan.scene["devices"]["port_count"]
            if best is None or ports[device] > ports[best]:
                self._first[group] = device
        for device in self._named_otherwise():
            self._own_names[device] = tuple(tables.plan.port_names(device))
            self._first.setdefault(self._group(device), device)

    def _named_otherwise(self) -> set[int]:
        """Devices with a cable at a port that the first device of their group does not have."""
        plan = self._tables.plan
        usual = {group: set(plan.port_names(device)) for group, device in self._first.items()}
        return {
            device
            for devices, names in (
                (plan.cables["a_device"].tolist(), plan.a_port_names),
                (plan.cables["b_device"].tolist(), plan.b_port_names),
            )
            for device, name in zip(devices, names, strict=True)
            if name not in usual[self._group(device)]
        }

    def _group(self, device: int) -> _Group:
        tables = self._tables
        part = tables.device_part[device]
        return _Group(
            tables.device_kind[device],
            tables.device_level[device],
            -1 if part is None else part,
            self._own_names.get(device, ()),
        )

    def of(self, device: int) -> list[Port]:
        """Every port of a device in order, including ports without a cable."""
        group = self._group(device)
        if group not in self._known:
            self._known[group] = self._ports(group)
        return self._known[group]

    @cached_property
    def _cabled(self) -> dict[_Group, dict[str, tuple[float, str]]]:
        """The fastest cable's rate and its connector by port name, over all devices of a group."""
        plan, facts = self._tables.plan, self._facts
        out: dict[_Group, dict[str, tuple[float, str]]] = {}
        groups = [self._group(device) for device in range(len(self._tables.hosts))]
        parts = plan.cables["part"].tolist()
        for devices, names in (
            (plan.cables["a_device"].tolist(), plan.a_port_names),
            (plan.cables["b_device"].tolist(), plan.b_port_names),
        ):
            for device, name, gbps, part in zip(devices, names, facts.gbps, parts, strict=True):
                ports = out.setdefault(groups[device], {})
                if gbps > ports.get(name, (0.0, ""))[0]:
                    ports[name] = (gbps, facts.cable_connector(part))
        return out

    def _supplies(self, group: _Group) -> list[_Supply]:
        """The ports of the device's part: a switch's access ports and uplinks, a server's network
        cards."""
        if group.kind:
            own = self._facts.part_attributes(group.part)
            return [
                _Supply(int(own.get(count) or 0), float(own.get(gbps) or 0), plain(own.get(connector)))
                for count, gbps, connector in (
                    ("ports", "port_gbps", "connector"),
                    ("uplink_ports", "uplink_gbps", "uplink_connector"),
                )
                if own.get(count)
            ]
        servers = max(sum(kind == 0 for kind in self._tables.device_kind), 1)
        by_sku = {part["sku"]: part for part in self._tables.parts}
        out = []
        for line in self._tables.plan.bom["lines"]:
            if line["category"] == "nic" and line["sku"] in by_sku:
                card = by_sku[line["sku"]].get("attributes") or {}
                cards = round(line["quantity"] / servers)
                count = cards * int(card.get("ports") or 0)
                out.append(_Supply(count, float(card.get("port_gbps") or 0), plain(card.get("connector"))))
        return sorted(out, key=lambda supply: supply.gbps)

    def _ports(self, group: _Group) -> list[Port]:
        cabled = self._cabled.get(group, {})
        supplies = self._supplies(group)
        left = [supply.ports for supply in supplies]
        ports: list[Port] = []
        names = [plain(name) for name in self._tables.plan.port_names(self._first[group])]
        for name in names:
            gbps, connector = cabled.get(name, (0.0, ""))
            # The slowest kind of free port that supports the rate; a cable faster than all is a
            # finding of the price book.
            fitting = [i for i, supply in enumerate(supplies) if left[i] > 0 and supply.gbps >= gbps]
            if fitting:
                left[fitting[0]] -= 1
                ports.append(_port(name, supplies[fitting[0]]))
            else:
                ports.append(_port(name, _Supply(1, gbps, connector)))
        return ports + self._unused(names, supplies, left)

    @staticmethod
    def _unused(names: list[str], supplies: list[_Supply], left: list[int]) -> list[Port]:
        """The part's ports that the topology does not use, with the next numbers. Ports named by
        directions (`x+`) have no next number."""
        last = re.fullmatch(r"(.*?)(\d+)", names[-1]) if names else None
        if last is None:
            return []
        out: list[Port] = []
        for supply, count in zip(supplies, left, strict=True):
            for _ in range(count):
                if len(out) < MAX_UNUSED_PORTS:
                    out.append(_port(f"{last[1]}{int(last[2]) + 1 + len(out)}", supply))
        return out


def _port(name: str, supply: _Supply) -> Port:
    return Port(name[:NAME_MAX_CHARACTERS], interface_type(supply.gbps, supply.connector))
