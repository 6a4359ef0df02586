"""The rates and media of links, in the terms of other programs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import plain

# Gigabits per second to NetBox's interface type, by the port's connector. NetBox has a closed list
# of types. [FORMATS]
_COPPER_TYPES: dict[float, str] = {
    0.1: "100base-tx",
    1: "1000base-t",
    2.5: "2.5gbase-t",
    5: "5gbase-t",
    10: "10gbase-t",
}
_CAGE_TYPES: dict[float, str] = {
    1: "1000base-x-sfp", 10: "10gbase-x-sfpp", 25: "25gbase-x-sfp28", 40: "40gbase-x-qsfpp", 50: "50gbase-x-sfp56",
    100: "100gbase-x-qsfp28", 200: "200gbase-x-qsfp56", 400: "400gbase-x-qsfpdd", 800: "800gbase-x-qsfpdd",
}  # fmt: skip


def interface_type(gbps: float, connector: str) -> str:
    """NetBox's type of a port with this rate and connector."""
    return (_COPPER_TYPES if connector == "rj45" else _CAGE_TYPES).get(gbps, "other")


class LinkFacts:
    """Rates and media of a plan's cables, read from the engine's output."""

    def __init__(self, tables: PlanTables) -> None:
        self.tables = tables

    def part_attributes(self, part: int | None) -> dict[str, Any]:
        """The price book's attributes of a part; empty for a device without a matching part."""
        if part is None or not 0 <= part < len(self.tables.parts):
            return {}
        return self.tables.parts[part].get("attributes") or {}

    def manufacturer(self, part: int | None) -> str:
        if part is None or not 0 <= part < len(self.tables.parts):
            return "Unspecified"
        return plain(self.tables.parts[part].get("manufacturer")) or "Unspecified"

    @cached_property
    def gbps(self) -> list[float]:
        """Each cable's rate in Gb/s, in the plan's order."""
        return self.tables.plan.gbps.tolist()

    def cable_connector(self, cable_part: int) -> str:
        """The connector at a cable's ends: `rj45`, `sfp` or `qsfp`; empty if the book does not
        state it."""
        return plain(self.part_attributes(cable_part).get("connector"))

    def cable_type(self, part: int) -> str:
        """NetBox's cable type; empty (meaning unspecified) if the book does not state it."""
        return plain(self.part_attributes(part).get("netbox_type"))
