"""Which port of the plan a list means: devices by host name or by the papers' names, ports by the plan's names or Linux's."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from cubeyard.asbuilt.cables import Leg, PlannedCable, Port
from cubeyard.asbuilt.readers.listing import SeenEnd
from cubeyard.exports.interfaces import interface_name
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

_AMBIGUOUS = -1
_TRUNK_AT_A = 1
"""In the column `trunk` of cables."""


class PlanNames:
    """Look-ups over one plan, in time linear in its ports to build and constant for each end."""

    def __init__(self, plan: PlanView) -> None:
        self.plan = plan
        self.tables = PlanTables(plan)
        self._number = {host: device for device, host in enumerate(self.tables.hosts)}
        self._devices: dict[str, int] = {}
        tables = self.tables
        for names in (tables.device_names, tables.paper_names):
            for device, name in enumerate(names):
                known = self._devices.setdefault(name.casefold(), device)
                if known != device:
                    self._devices[name.casefold()] = _AMBIGUOUS
        # A host name is exact, whatever else is called so.
        self._devices |= {host.casefold(): device for host, device in self._number.items()}

    @cached_property
    def _ports(self) -> list[dict[str, str]]:
        """The plan's name of each port of each device, by all that it may be called."""
        every: list[dict[str, str]] = []
        for device in range(len(self.tables.hosts)):
            names = [plain(name) for name in self.plan.port_names(device)]
            # Its own names last: they count where another port's Linux name is the same.
            every.append({interface_name(name): name for name in reversed(names)} | {name: name for name in names})
        return every

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
        """The host name of the device that a list calls `name`; with a domain behind it too. None if the plan has none."""
        text = " ".join(name.split()).casefold()
        found = self._devices.get(text, _AMBIGUOUS)
        if found == _AMBIGUOUS:
            found = self._devices.get(text.partition(".")[0], _AMBIGUOUS)
        return None if found == _AMBIGUOUS else self.tables.hosts[found]

    def port(self, end: SeenEnd) -> Port:
        """The plan's port, or the names in the list where the plan has no such device or port."""
        host = self.device(end.device)
        if host is None:
            return Port(end.device, end.ports[0])
        ports = self._ports[self._number[host]]
        return Port(host, next((ports[name] for name in end.ports if name in ports), end.ports[0]))

    def knows_device(self, device: str) -> bool:
        return device in self._number

    def knows(self, port: Port) -> bool:
        """Whether it is a port of the plan."""
        device = self._number.get(port.device)
        return device is not None and self._ports[device].get(port.name) == port.name

    def rack(self, port: Port) -> str | None:
        """The rack of its device; None if the plan has no such device."""
        device = self._number.get(port.device)
        return None if device is None else self.tables.rack_names[self.tables.device_rack[device]]

    def unit(self, port: Port) -> str:
        """`12` or `12B` in its rack; empty if the plan has no such device."""
        device = self._number.get(port.device)
        return "" if device is None else self.tables.unit_slots[device]
