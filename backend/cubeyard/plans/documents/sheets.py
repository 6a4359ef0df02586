"""One device or one rack, with every cable end in it."""

from __future__ import annotations

from pydantic import Field

from cubeyard.plans.documents.base import Document


class PortRows(Document):
    """One row per port. For a free port `cable` is -1 and the far columns are empty."""

    device: list[str]
    unit: list[int]
    slot: list[int]
    port: list[str]
    cable: list[int]
    level: list[int]
    label: list[str] = Field(description="The label as printed at this end: this end first.")
    far_label: list[str]
    far_device: list[str]
    far_port: list[str]
    far_rack: list[str]
    far_unit: list[int]
    length_mm: list[int]
    stock_mm: list[int]
    sku: list[str]
    colour: list[str]
    route: list[str]


class Device(Document):
    device: str
    index: int
    kind: str = Field(description="`server` or `switch`.")
    role: str
    level: int = Field(description="-1 for a server.")
    rack: str
    unit: int
    height_units: int
    slot: int
    slots: int
    sku: str
    part: str
    power_watts: float | None
    ports: int
    ports_used: int


class DeviceTrace(Device):
    """The location of a device and the far end of each of its ports."""

    rows: PortRows


class RackSheet(Document):
    """One rack from the top unit down, and every cable that ends in it."""

    rack: str
    index: int
    row: int
    position: int
    container: int
    group_label: str
    units: int
    units_used: int
    servers: int
    switches: int
    power_watts: float
    power_limit_watts: float | None
    weight_kg: float
    weight_limit_kg: float | None
    devices: list[Device]
    rows: PortRows
