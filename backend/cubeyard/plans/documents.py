"""The shapes of the engine's documents, as the API promises them.

The engine writes these documents itself and the API passes its bytes on, so nothing here is on the hot path: the models
give OpenAPI its schemas, and the tests hold real documents against them. Column tables are objects of equally long lists.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from cubeyard.kit.errors import Finding

JsonObject = Annotated[dict[str, Any], Field(json_schema_extra={"additionalProperties": True})]


class Document(BaseModel):
    """A part of a document that the engine wrote."""

    model_config = ConfigDict(extra="forbid")


class LevelCount(Document):
    level: int
    label: str
    role: str
    switches: int
    cables: int


class Counts(Document):
    servers: int
    switches: int
    links: int
    cables: int
    racks: int
    levels: list[LevelCount]


class CertificateCheck(Document):
    name: str
    statement: str
    checked: int
    passed: bool
    detail: str


class Certificate(Document):
    passed: bool
    checks: list[CertificateCheck]


class Cost(Document):
    """US dollars. A part without a price adds nothing and sets `at_least`."""

    switches: float
    nics: float
    servers: float
    cables: float
    transceivers: float
    racks: float
    trays: float
    labour: float
    network: float = Field(description="Switches, NICs, cables and transceivers: what Table 2 of the BCube paper compares.")
    total: float
    at_least: bool


class Power(Document):
    switches: float
    nics: float
    servers: float
    total: float


class Weight(Document):
    total: float
    at_least: bool


class TrayTotals(Document):
    peak_fill: float
    peak_cables: int
    peak_area_cm2: float


class Metric(Document):
    value: float | None
    exact: bool
    source: str


class Summary(Document):
    """A plan in numbers."""

    plan_hash: str
    engine_version: str
    spec: JsonObject
    title: str
    counts: Counts
    certificate: Certificate
    cost_usd: Cost
    power_watts: Power
    weight_kg: Weight
    cable_metres: float
    longest_cable_metres: float
    mean_cable_metres: float
    tray: TrayTotals
    labour_minutes: float
    metrics: dict[str, Metric]
    findings: list[Finding]
    bisection_gbps: float | None


class Enclosure(Document):
    kind: str
    name: str
    length_metres: float
    width_metres: float
    height_metres: float


class RackColumns(Document):
    name: list[str]
    x_metres: list[float]
    y_metres: list[float]
    width_metres: list[float]
    depth_metres: list[float]
    facing: list[str]
    row: list[int]
    group: list[int]
    group_label: list[str]
    units: list[int]
    units_used: list[int]
    servers: list[int]
    switches: list[int]
    power_watts: list[float]
    weight_kg: list[float]
    cables_leaving: list[int]


class DeviceColumns(Document):
    """Row `i` is device `i`: servers first, then switches."""

    name: list[str]
    kind: list[int] = Field(description="0 is a server, 1 a switch.")
    level: list[int] = Field(description="-1 for a server.")
    rack: list[int]
    unit: list[int] = Field(description="The lowest rack unit it fills, counted from 1 at the bottom.")
    height_units: list[float]
    slot: list[int] = Field(description="Which of the devices side by side in that unit.")
    slots: list[int]
    part: list[int] = Field(description="A row of `parts`.")
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


class Scene(Document):
    """Where everything stands, in metres from a corner of the enclosure."""

    enclosure: Enclosure
    racks: RackColumns
    devices: DeviceColumns
    parts: list[ScenePart]
    levels: list[SceneLevel]
    routes: list[str] = Field(description="What a cable's `route` says.")
    colours: list[str] = Field(description="What a cable's `colour` says.")
    trays: TrayColumns
    bundles: BundleColumns


class CableColumns(Document):
    """Row `i` is cable `offset + i`; its name is `C` and that number in at least five digits."""

    a_device: list[int]
    a_port: list[int]
    b_device: list[int]
    b_port: list[int]
    level: list[int]
    route: list[int] = Field(description="A row of `routes`.")
    length_mm: list[int] = Field(description="As the cable runs, slack included.")
    stock_mm: list[int] = Field(description="The length to buy or to cut.")
    part: list[int] = Field(description="A row of `parts`.")
    colour: list[int] = Field(description="A row of `colours`.")
    bundle: list[int] = Field(description="A row of the scene's bundles, or -1 for a cable that stays in its rack.")


class Cables(Document):
    count: int = Field(description="How many cables the whole plan has.")
    offset: int = Field(description="The number of the first cable here.")
    columns: CableColumns
    routes: list[str]
    colours: list[str]
    parts: list[ScenePart]


class BomLine(Document):
    line: int
    category: str
    sku: str
    name: str
    length_metres: float | None
    colour: str | None
    quantity: float
    spares: float
    unit: str
    unit_price_usd: float | None
    total_usd: float | None
    weight_kg: float | None
    source: str
    basis: str


class CutPiece(Document):
    length_metres: float
    pieces: int


class Bom(Document):
    lines: list[BomLine]
    cut_list: list[CutPiece]
    waste_metres: float
    boxes: int


class DiffCounts(Document):
    keep: int
    add: int
    move: int
    remove: int


class Claim(Document):
    name: str
    holds: bool
    detail: str


class WorkOrder(Document):
    """How to turn one plan's cabling into another's; row `i` of every column is one cable."""

    counts: DiffCounts
    columns: dict[str, list[Any]]
    claims: list[Claim]
