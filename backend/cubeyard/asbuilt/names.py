"""Which port of the plan a list means: devices by host name or by the papers' names, ports by the
plan's names or Linux's."""

from __future__ import annotations

from collections import Counter

from cubeyard.asbuilt.cables import Leg, PlannedCable, Port
from cubeyard.exports.interfaces import interface_name
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import SeenEnd
from cubeyard.reading.names import Directory, joined

_TRUNK_AT_A = 1
"""In the column `trunk` of cables."""


class PlanNames:
    """Look-ups over one plan, in time linear in its ports to build and constant for each end."""

    def __init__(self, plan: PlanView) -> None:
        self.plan = plan
        self.tables = PlanTables(plan)
        self._number = {host: device for device, host in enumerate(self.tables.hosts)}
        self._directories: dict[tuple[str, ...], Directory[str]] = {}
        tables = self.tables
        # A host name is exact, whatever else is called so.
        self._hosts = Directory(self._number.items())
        self._joined = Directory((joined(host), device) for host, device in self._number.items())
        every = (tables.device_names, tables.paper_names)
        self._others = Directory((name, device) for names in every for device, name in enumerate(names))

    def _ports(self, device: int) -> Directory[str]:
        """The plan's name of each port of a device, by all that it may be called: its own first,
        then Linux's."""
        names = tuple(plain(name) for name in self.plan.port_names(device))
        result = self._directories.get(names)
        if result is None:
            pairs = [*((name, name) for name in names), *((interface_name(name), name) for name in names)]
            result = self._directories[names] = Directory(pairs, ports=True)
        return result

    def planned(self) -> list[PlannedCable]:
        """The plan's cables, in its order."""
        plan, hosts = self.plan, self.tables.hosts
        columns = (plan.cables[name].tolist() for name in ("a_device", "b_device", "stock_mm"))
        ports = ([plain(name) for name in names] for names in (plan.a_port_names, plan.b_port_names))
        return [
            PlannedCable(number, Port(hosts[a], a_port), Port(hosts[b], b_port), length, leg)
            for number, (a, b, length, a_port, b_port, leg) in enumerate(
                zip(*columns, *ports, self._legs(), strict=True)
            )
        ]

    def _legs(self) -> list[Leg | None]:
        """By cable: the leg that it is."""
        columns = [self.plan.cables[name].tolist() for name in ("lead", "leg", "trunk")]
        legs = Counter(lead for lead, leg, _ in zip(*columns, strict=True) if leg)
        return [
            Leg(lead, legs[lead], trunk_at_a=trunk == _TRUNK_AT_A) if leg else None
            for lead, leg, trunk in zip(*columns, strict=True)
        ]

    def device(self, name: str) -> str | None:
        """The host name of the device that a list calls `name`; with a domain behind it too. None
        if the plan has none."""
        result = self._hosts.find(name)
        if result is None:
            result = self._others.find(name)
        if result is None:
            result = self._joined.find(joined(name))
        return None if result is None else self.tables.hosts[result]

    def port(self, end: SeenEnd) -> Port:
        """The plan's port, or the names in the list where the plan has no such device or port;
        empty where the list has no name."""
        host = self.device(end.device) if end.device else None
        written = end.ports[0] if end.ports else ""
        if host is None:
            return Port(end.device or end.address, written)
        ports = self._ports(self._number[host])
        return Port(host, next((port for name in end.ports if (port := ports.find(name)) is not None), written))

    def knows_device(self, device: str) -> bool:
        return device in self._number

    def knows(self, port: Port) -> bool:
        """Whether it is a port of the plan."""
        device = self._number.get(port.device)
        return device is not None and bool(port.name) and self._ports(device).find(port.name) == port.name

    def rack(self, port: Port) -> str | None:
        """The rack of its device; None if the plan has no such device."""
        device = self._number.get(port.device)
        return None if device is None else self.tables.rack_names[self.tables.device_rack[device]]

    def unit(self, port: Port) -> str:
        """`12` or `12B` in its rack; empty if the plan has no such device."""
        device = self._number.get(port.device)
        return "" if device is None else self.tables.unit_slots[device]
