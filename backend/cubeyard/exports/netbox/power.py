"""The power supply of devices as NetBox models it: one panel per container, one feed per PDU, the
PDUs with their outlets, and a cord to each device.

PDUs are devices of 0 U in their racks. Voltage, phases and current of a feed match the PDU's limit,
at 230/400 V; without a stated limit they match the load of its devices. `[ours]`
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from cubeyard.exports.power import Cord, Pdu, Power
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

Row = dict[str, object]

ROLE = "PDU"
INLET = "Input"
OUTLET_TYPE, DEVICE_INLET_TYPE = "iec-60320-c13", "iec-60320-c14"
SINGLE_PHASE_WATTS = 7360
"""The power of 32 A at 230 V, the largest single-phase plug in use; larger feeds have three
phases."""
_SINGLE_VOLTS, _THREE_VOLTS = 230, 400
_MAX_DRAW_WATTS = 32_767
"""NetBox stores power draws in 16 bits."""


def inlet(number: int) -> str:
    """The name of a device's power supply: `PSU1`, `PSU2`."""
    return f"PSU{number}"


def whole_watts(watts: float | None) -> int | None:
    return None if not watts else min(max(math.ceil(watts), 1), _MAX_DRAW_WATTS)


def prefixed(tables: PlanTables, name: str) -> str:
    """The name of a device that is named after its rack. NetBox identifies devices by name alone,
    and racks of two plans can have the same name, so the host names' prefix makes it unique."""
    prefix = plain((tables.plan.spec.get("site") or {}).get("host_prefix"))
    return (f"{prefix}-" if prefix else "")[:32] + name[:32]


class PowerRecords:
    """Rows of the power models for one plan."""

    def __init__(self, tables: PlanTables, site: str, location: str) -> None:
        self._tables, self._site, self._location = tables, site, location
        self.power = Power(tables)
        part = tables.plan.pdu or {}
        self.manufacturer = plain(part.get("manufacturer"))[:100] or "Unspecified"
        self.model = plain(part.get("sku"))[:90] or "Unspecified PDU"
        self._part = part
        self._outlets = self.power.outlets or max((len(pdu.cords) for pdu in self.power.pdus), default=0)

    def draw(self, device: int) -> int | None:
        """The maximum draw of one power supply of a device; None if the book does not state it."""
        watts = self.power.watts_of(device)
        return None if watts is None else whole_watts(watts / self.power.cords_of(device))

    def supplies(self, device: int) -> list[Row]:
        """The power supplies of a device, as its type lists them."""
        draw = self.draw(device)
        known: Row = {} if draw is None else {"maximum_draw": draw}
        return [
            {"name": inlet(i), "type": DEVICE_INLET_TYPE, **known} for i in range(1, self.power.cords_of(device) + 1)
        ]

    def _name(self, pdu: Pdu) -> str:
        return self.power.pdu_name(pdu.rack, pdu.number)[:64]

    def _device_name(self, pdu: Pdu) -> str:
        return prefixed(self._tables, self._name(pdu))

    @property
    def _three_phase(self) -> bool:
        return any(self._supply(pdu)[0] == "three-phase" for pdu in self.power.pdus)

    def _inlet_type(self) -> str:
        return "iec-60309-3p-n-e-6h" if self._three_phase else "iec-60309-p-n-e-6h"

    def _supply(self, pdu: Pdu) -> tuple[str, int, int]:
        """Phases, volts and amperes of the feed of a PDU."""
        watts = self.power.limit_watts or pdu.watts
        if watts > SINGLE_PHASE_WATTS:
            return "three-phase", _THREE_VOLTS, math.ceil(watts / (_THREE_VOLTS * math.sqrt(3)))
        return "single-phase", _SINGLE_VOLTS, max(1, math.ceil(watts / _SINGLE_VOLTS))

    # -- rows by model

    def device_type(self) -> Iterator[Row]:
        """The PDU's type; empty for a plan without PDUs."""
        if self.power.pdus:
            kilograms = self._part.get("weight_kg")
            yield {
                "manufacturer": self.manufacturer, "model": self.model, "u_height": 0, "part_number": plain(self._part.get("sku"))[:50],
                "is_full_depth": "false", "subdevice_role": "", "airflow": "",
                **({"weight": f"{kilograms:.2f}", "weight_unit": "kg"} if kilograms else {}),
                "description": plain(self._part.get("name"))[:200],
            }  # fmt: skip

    @cached_property
    def components(self) -> dict[str, list[Row]]:
        """The components of each PDU, as its type lists them."""
        limit = whole_watts(self.power.limit_watts)
        first: Row = {"name": INLET, "type": self._inlet_type(), **({"maximum_draw": limit} if limit else {})}
        outlets: list[Row] = [
            {"name": str(i), "type": OUTLET_TYPE, "power_port": INLET} for i in range(1, self._outlets + 1)
        ]
        return {"power-ports": [first], "power-outlets": outlets}

    def devices(self) -> Iterator[Row]:
        for pdu in self.power.pdus:
            yield {
                "name": self._device_name(pdu), "role": ROLE, "manufacturer": self.manufacturer, "device_type": self.model,
                "status": "planned", "site": self._site, "location": self._location,
                "rack": self._tables.rack_names[pdu.rack], "position": "", "face": "",
                "description": f"{len(pdu.cords)} cords, {pdu.watts:.0f} W",
            }  # fmt: skip

    def power_ports(self) -> Iterator[Row]:
        """The power supplies of every device, then the input of every PDU."""
        for device, host in enumerate(self._tables.hosts):
            for supply in self.supplies(device):
                yield {"device": host, **supply}
        for pdu in self.power.pdus:
            for port in self.components["power-ports"]:
                yield {"device": self._device_name(pdu), **port}

    def power_outlets(self) -> Iterator[Row]:
        outlets = self.components["power-outlets"]
        for pdu in self.power.pdus:
            name = self._device_name(pdu)
            for outlet in outlets:
                yield {"device": name, **outlet}

    def _panel(self, rack: int) -> str:
        return f"Power {self._tables.plan.scene['racks']['container'][rack] + 1}"

    def panels(self) -> Iterator[Row]:
        for name in dict.fromkeys(self._panel(pdu.rack) for pdu in self.power.pdus):
            yield {"site": self._site, "location": self._location, "name": name}

    def feeds(self) -> Iterator[Row]:
        for pdu in self.power.pdus:
            phase, volts, amperes = self._supply(pdu)
            yield {
                "site": self._site, "power_panel": self._panel(pdu.rack), "location": self._location,
                "rack": self._tables.rack_names[pdu.rack], "name": self._name(pdu), "status": "planned", "type": "primary",
                "supply": "ac", "phase": phase, "voltage": volts, "amperage": amperes, "max_utilization": 100,
                "description": "Phases, voltage and current are assumed",
            }  # fmt: skip

    def cables(self) -> Iterator[Row]:
        """Cables from each feed to its PDU, and from each used outlet to its device."""
        for pdu in self.power.pdus:
            name = self._device_name(pdu)
            yield {
                **_side("a", self._site, "powerport", INLET, device=name),
                **_side("b", self._site, "powerfeed", self._name(pdu), panel=self._panel(pdu.rack)),
                "type": "power", "status": "planned", "label": f"{name}:{INLET}", "description": f"feed of {name}",
            }  # fmt: skip
            for cord in pdu.cords:
                yield self._cord(cord, name)

    def _cord(self, cord: Cord, pdu: str) -> Row:
        host, supply = self._tables.hosts[cord.device], inlet(cord.inlet)
        return {
            **_side("a", self._site, "powerport", supply, device=host),
            **_side("b", self._site, "poweroutlet", str(cord.outlet), device=pdu),
            "type": "power", "status": "planned", "label": f"{host}:{supply}/{pdu}:{cord.outlet}"[:100],
            "description": "" if cord.watts is None else f"{cord.watts:.1f} W",
        }  # fmt: skip


def _side(side: str, site: str, kind: str, name: str, device: str = "", panel: str = "") -> Row:
    return {
        f"side_{side}_site": site, f"side_{side}_device": device, f"side_{side}_power_panel": panel,
        f"side_{side}_type": f"dcim.{kind}", f"side_{side}_name": name,
    }  # fmt: skip
