"""One computed plan, as plain data, for exports and reports.

Exports depend only on `PlanView`, and not on the engine, the database or HTTP. Every document in it
is written by the engine (see `cubeyard.plans.documents` for the models); nothing is recomputed
here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from cubeyard.built_plan import BuiltPlan

if TYPE_CHECKING:
    import numpy as np

Document = dict[str, Any]


def _no_ports(device: int) -> list[str]:
    _ = device
    return []


@dataclass(frozen=True, slots=True)
class PlanView:
    """A whole plan in columns; row `i` of every cable column, label and port name is cable `i` of
    the plan.

    Indices are those of the engine: a device index is a row of `scene["devices"]`, a rack index a
    row of `scene["racks"]`, a part index a row of `parts`. `cables` holds the columns
    `a_device, a_port, b_device, b_port, level, route, length_mm, stock_mm, part, colour, bundle, lead, leg, trunk`;
    `route` indexes `routes`, `colour` indexes `colours`, and `bundle` indexes the rows of
    `scene["bundles"]` (-1: the cable stays in its rack). A `part` of 65535 means that no part of
    the book fits.
    """

    name: str
    """The architect's name of the plan; the engine's title for an unsaved plan."""
    plan_hash: str
    engine_version: str
    spec: Document
    """The resolved spec, with every default filled in."""
    summary: Document
    scene: Document
    bom: Document
    cables: dict[str, np.ndarray]
    near_labels: list[str]
    """The label for the `a` end, such as `R07-12:P3/R15-36:P7`."""
    far_labels: list[str]
    """The same label mirrored, for the `b` end."""
    a_port_names: list[str]
    b_port_names: list[str]
    gbps: np.ndarray
    """The rate of each cable in Gb/s."""
    parts: list[Document]
    """The price book's parts, by part index: sku, name, manufacturer, attributes, prices,
    sources."""
    routes: list[str] = field(default_factory=list)
    colours: list[str] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    """The IPv4 address of each device."""
    networks: Document = field(default_factory=dict)
    """The networks of the addresses, as `BuiltPlan.networks` has them."""
    pdu: Document | None = None
    """The price book's PDU, a part like those of `parts`; None if the book has none."""
    host_routes: Callable[[], Document] = dict
    """Computes static routes between all servers, as `Engine.host_routes` returns them. For labs
    only, because it is slow."""
    port_names: Callable[[int], list[str]] = _no_ports
    """The name of each port of a device, including ports without a cable."""

    @classmethod
    def of(cls, plan: BuiltPlan, name: str | None = None) -> Self:
        """Builds the view of a computed plan."""
        count = plan.cable_count
        near_labels, far_labels = plan.labels(0, count)
        a_port_names, b_port_names = plan.cable_port_names(0, count)
        return cls(
            name=name or plan.summary["title"],
            plan_hash=plan.plan_hash,
            engine_version=plan.summary["engine_version"],
            spec=plan.summary["spec"],
            summary=plan.summary,
            scene=plan.scene,
            bom=plan.bom,
            cables=plan.all_cables,
            near_labels=near_labels,
            far_labels=far_labels,
            a_port_names=a_port_names,
            b_port_names=b_port_names,
            gbps=plan.cable_gbps(0, count),
            parts=plan.parts,
            routes=list(plan.cable_tables["routes"]),
            colours=list(plan.cable_tables["colours"]),
            addresses=plan.addresses.tolist(),
            networks=plan.networks,
            pdu=plan.pdu,
            host_routes=plan.host_routes,
            port_names=plan.raw.port_names,
        )

    @property
    def cable_count(self) -> int:
        return len(self.near_labels)

    @property
    def device_names(self) -> list[str]:
        return self.scene["devices"]["name"]

    @property
    def host_names(self) -> list[str]:
        """The name of each device in every file: a DNS label such as `h0132`."""
        return self.scene["devices"]["host"]

    @property
    def rack_names(self) -> list[str]:
        return self.scene["racks"]["name"]

    def cable_name(self, index: int) -> str:
        """The stable name of a cable: `C` and at least five digits, the same in every table, label
        and export."""
        return f"C{index:05d}"

    @property
    def has_breakouts(self) -> bool:
        return bool(self.cables["leg"].any())

    def breakout(self, index: int) -> str:
        """`C00012 leg 2` for a leg of a breakout cable, which is named by its first leg; empty for
        other cables."""
        return breakout_name(self, int(self.cables["lead"][index]), int(self.cables["leg"][index]))


def breakout_name(plan: PlanView, lead: int, leg: int) -> str:
    """`C00012 leg 2`; empty without a leg."""
    return f"{plan.cable_name(lead)} leg {leg}" if leg else ""
