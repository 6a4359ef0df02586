"""The scene, with the positions of all objects, and the table of cables."""

from __future__ import annotations

from pydantic import Field

from cubeyard.plans.documents.base import Document


class Enclosure(Document):
    kind: str = Field(description="`container` or `rows`.")
    name: str
    policy: str = Field(description="How racks were packed.")
    length_metres: float
    width_metres: float
    height_metres: float
    containers: int
    columns: int
    positions: int
    aisle_metres: float
    rack_height_metres: float


class RackColumns(Document):
    name: list[str]
    x_metres: list[float]
    y_metres: list[float]
    width_metres: list[float]
    depth_metres: list[float]
    facing: list[str]
    container: list[int]
    row: list[int]
    position: list[int]
    group: list[int]
    group_label: list[str]
    units: list[int]
    units_used: list[int]
    servers: list[int]
    switches: list[int]
    power_watts: list[float]
    weight_kg: list[float]
    cables_leaving: list[int]
    tray_x_metres: list[float] = Field(description="Where the rack's cables join the trays.")
    tray_y_metres: list[float]


class DeviceColumns(Document):
    """Row `i` is device `i`: servers first, then switches."""

    name: list[str] = Field(description="The paper's name: `0132`, `<3,001>`.")
    host: list[str] = Field(description="The host name, a DNS label that every export uses: `h0132`, `s3-001`.")
    kind: list[int] = Field(description="0 is a server, 1 a switch.")
    level: list[int] = Field(description="-1 for a server.")
    rack: list[int]
    unit: list[int] = Field(
        description="The lowest rack unit it fills, counted from 1 at the bottom; 0 for a device without a place."
    )
    height_units: list[float]
    slot: list[int] = Field(description="Position among the devices side by side in that unit.")
    slots: list[int]
    part: list[int] = Field(description="A row of `parts`; 65535 if no part of the price book fits.")
    port_count: list[int]


class ScenePart(Document):
    sku: str
    name: str
    kind: str


class SceneLevel(Document):
    level: int
    label: str


class TrayColumns(Document):
    name: list[str]
    x0_metres: list[float]
    y0_metres: list[float]
    x1_metres: list[float]
    y1_metres: list[float]
    z_metres: list[float]
    kind: list[str]
    cables: list[int]
    area_cm2: list[float]
    fill: list[float]
    cables_by_level: list[list[int]]


class BundleColumns(Document):
    rack_a: list[int]
    rack_b: list[int]
    cables: list[int]
    by_level: list[list[int]]
    diameter_mm: list[float]
    length_metres: list[float]
    pull_order: list[int]
    tray_runs: list[list[list[int]]] = Field(
        description="The trays of each bundle from rack_a to rack_b, as runs of consecutive trays: the first, and the one past "
        "the last (one less than the last where the run goes down)."
    )


class Scene(Document):
    """Positions of all objects, in metres from a corner of the enclosure."""

    enclosure: Enclosure
    racks: RackColumns
    devices: DeviceColumns
    parts: list[ScenePart]
    levels: list[SceneLevel]
    routes: list[str] = Field(description="Meaning of the numbers in a cable's `route`.")
    colours: list[str] = Field(description="Meaning of the numbers in a cable's `colour`.")
    trays: TrayColumns
    bundles: BundleColumns


class CableColumns(Document):
    """Row `i` is cable `offset + i`, or a leg of a breakout cable; its name is `C` and that number
    in at least five digits."""

    a_device: list[int]
    a_port: list[int]
    b_device: list[int]
    b_port: list[int]
    level: list[int]
    route: list[int] = Field(description="A row of `routes`.")
    length_mm: list[int] = Field(description="Length of the route, slack included.")
    stock_mm: list[int] = Field(description="The length to order or to cut.")
    part: list[int] = Field(description="A row of `parts`; 65535 if no part of the price book fits.")
    colour: list[int] = Field(description="A row of `colours`.")
    bundle: list[int] = Field(description="A row of the scene's bundles, or -1 for a cable that stays in its rack.")
    lead: list[int] = Field(
        description="The number of the whole cable: its own number, or for a breakout cable the number of its first leg."
    )
    leg: list[int] = Field(description="Number of the leg of a breakout cable, from 1; 0 for a cable without legs.")
    trunk: list[int] = Field(
        description="The end with the single plug of a breakout cable: 1 for `a`, 2 for `b`; 0 without a breakout."
    )


class Cables(Document):
    count: int = Field(description="Number of rows of the whole plan: a row for each link.")
    offset: int = Field(description="The number of the first cable here.")
    columns: CableColumns
    routes: list[str]
    colours: list[str]
    parts: list[ScenePart]
