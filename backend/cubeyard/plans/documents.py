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
    containers: float
    trays: float
    labels: float
    labour: float
    network: float = Field(
        description="Switches, NICs, cables and transceivers: what Table 2 of the BCube paper compares."
    )
    total: float
    at_least: bool


class Power(Document):
    switches: float
    nics: float
    servers: float
    total: float
    at_least: bool = Field(description="Whether some part says nothing of its power.")


class Weight(Document):
    total: float
    at_least: bool


class TrayTotals(Document):
    peak_fill: float
    peak_cables: int
    peak_area_cm2: float


class ColumnCutPeak(Document):
    level: int
    cables: int
    tray: int


class ColumnCut(Document):
    """Cuts across a column of racks: the sum of each level's own peak, and the worst place there really is."""

    peak_by_level: list[ColumnCutPeak]
    sum_of_peaks_cables: int
    sum_of_peaks_area_cm2: float
    worst_cables: int
    worst_area_cm2: float
    worst_by_level: list[int]
    worst_tray: int | None


class Metric(Document):
    value: float | None
    exact: bool
    unit: str
    source: str = Field(description="A paper's section, or `[ours]`.")
    note: str


class StructureMetrics(Document):
    """What the structure alone promises, from closed forms."""

    diameter: Metric
    diameter_links: Metric
    average_path: Metric | None
    average_path_links: Metric | None
    bisection: Metric
    bisection_bits_per_sec: Metric
    disjoint_paths: Metric
    all_to_all_throughput: Metric | None
    server_ports: Metric
    wires: Metric
    switch_ports_used: Metric | None


class BookName(Document):
    book: str
    version: int
    title: str


class Summary(Document):
    """A plan in numbers."""

    plan_hash: str
    engine_version: str
    spec: JsonObject
    title: str
    book: BookName
    counts: Counts
    certificate: Certificate
    cost_usd: Cost
    power_watts: Power
    weight_kg: Weight
    cable_metres: float = Field(description="To buy: the stock lengths together.")
    longest_cable_metres: float
    mean_cable_metres: float
    route_metres: float = Field(description="As the cables run, slack included.")
    longest_route_metres: float
    tray: TrayTotals
    column_cut: ColumnCut
    labour_minutes: float
    bisection_gbps: float | None
    metrics: StructureMetrics
    findings: list[Finding]


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


class DeviceColumns(Document):
    """Row `i` is device `i`: servers first, then switches."""

    name: list[str]
    kind: list[int] = Field(description="0 is a server, 1 a switch.")
    level: list[int] = Field(description="-1 for a server.")
    rack: list[int]
    unit: list[int] = Field(
        description="The lowest rack unit it fills, counted from 1 at the bottom; 0 for one that found no room."
    )
    height_units: list[float]
    slot: list[int] = Field(description="Which of the devices side by side in that unit.")
    slots: list[int]
    part: list[int] = Field(description="A row of `parts`; 65535 where no part of the book fits.")
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
    part: list[int] = Field(description="A row of `parts`; 65535 where no part of the book fits.")
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
    sku: str = Field(description="Empty where no part of the book fits.")
    name: str
    length_metres: float | None
    colour: str | None
    quantity: float
    spares: float
    unit: str = Field(description="`each`, `m` or `min`.")
    unit_price_usd: float | None
    total_usd: float | None = Field(description="Quantity and spares together; null without a price.")
    weight_kg: float | None
    source: str
    basis: str


class CutPiece(Document):
    sku: str
    colour: str
    length_metres: float
    pieces: int


class Bom(Document):
    book: BookName
    currency: str
    lines: list[BomLine]
    cut_list: list[CutPiece] = Field(description="For bulk cable: what to cut.")
    waste_metres: float
    boxes: int
    labour_minutes: float
    weight_kg: Weight
    cost_usd: Cost


class PortRows(Document):
    """One row a port. `cable` is -1 and the far columns are empty where nothing is plugged in."""

    device: list[str]
    unit: list[int]
    slot: list[int]
    port: list[str]
    cable: list[int]
    level: list[int]
    label: list[str] = Field(description="As printed at this end: this end first.")
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
    """Where a device stands and what every one of its ports is joined to."""

    rows: PortRows


class RackSheet(Document):
    """One rack from the top unit down, and every cable end in it."""

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


class PlanName(Document):
    plan_hash: str
    title: str


class DiffCounts(Document):
    keep: int
    move: int
    add: int
    remove: int


class DiffColumns(Document):
    """One row a cable: removals first, then moves, additions, keeps."""

    action: list[int] = Field(description="A row of `actions`.")
    reason: list[int] = Field(description="A row of `reasons`.")
    before: list[int] = Field(description="The cable's number in the plan before; -1 for none.")
    after: list[int] = Field(description="The cable's number in the plan after; -1 for none.")
    end_a: list[str]
    end_b: list[str]
    from_: list[str] = Field(alias="from", description="The label before; empty for none.")
    to: list[str] = Field(description="The label after; empty for none.")
    length_mm: list[int]


class Claim(Document):
    """Something a paper says about rewiring, checked on these two plans."""

    name: str
    statement: str
    source: str
    holds: bool
    detail: str


class WorkOrder(Document):
    """How to turn one plan's cabling into another's."""

    before: PlanName
    after: PlanName
    counts: DiffCounts
    actions: list[str]
    reasons: list[str]
    columns: DiffColumns
    claims: list[Claim]
