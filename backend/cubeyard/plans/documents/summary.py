"""The key numbers of a plan."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cubeyard.kit.errors import Finding
from cubeyard.plans.documents.base import Document, JsonObject


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
    """Amounts are in the price book's currency. A part without a price adds nothing and sets
    `at_least`."""

    switches: float
    nics: float
    servers: float
    cables: float
    transceivers: float
    racks: float
    fittings: float = Field(description="Shelves, rails, PDUs, power cords and ties.")
    containers: float
    trays: float
    labels: float
    labour: float
    network: float = Field(
        description="Switches, NICs, cables and transceivers: the parts that Table 2 of the BCube paper compares."
    )
    total: float
    at_least: bool


class Power(Document):
    switches: float
    nics: float
    servers: float
    total: float
    at_least: bool = Field(description="Whether the power of some part is not listed.")


class Weight(Document):
    total: float
    at_least: bool


class TrayTotals(Document):
    peak_fill: float
    peak_cables: int
    peak_area_cm2: float
    side_by_side: int = Field(default=1, description="The largest number of trays side by side.")


class SiteLimit(Document):
    """A limit of the container or room, with the container that comes nearest to it."""

    quantity: Literal["power", "cooling", "gross_mass", "floor_load"]
    title: str
    unit: str = Field(description="`W`, `kg` or `kg/m2`.")
    value: float
    place: str = Field(description="`Container 1`, `Room`, or the rack with the heaviest floor load.")
    limit: float | None = Field(description="Null where neither the catalog nor the spec states one.")
    usual: float | None = Field(description="The catalog's limit; the spec's site may state another.")
    over: int = Field(description="Number of containers or racks over the limit.")
    at_least: bool = Field(description="Whether parts of unknown weight or power are missing from the value.")
    source: str | None = Field(description="The source of the catalog's limit.")
    basis: Literal["published", "vendor", "assumed"] | None


class ColumnCutPeak(Document):
    level: int
    cables: int
    tray: int


class ColumnCut(Document):
    """Cuts across a column of racks: the sum of the peaks of all levels, and the largest actual
    cut."""

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
    """Metrics from closed forms of the topology alone."""

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
    """The key numbers of a plan."""

    plan_hash: str
    engine_version: str
    spec: JsonObject
    title: str
    book: BookName
    currency: str = Field(default="USD", description="Currency of all amounts: the price book's, as an ISO 4217 code.")
    counts: Counts
    certificate: Certificate
    cost_usd: Cost
    power_watts: Power
    weight_kg: Weight
    cable_metres: float = Field(description="Metres to order: the sum of the stock lengths.")
    longest_cable_metres: float
    mean_cable_metres: float
    route_metres: float = Field(description="The sum of the routes' lengths, slack included.")
    longest_route_metres: float
    longest_route_limit_metres: float | None = Field(
        default=None, description="The length limit of the medium of the longest route."
    )
    tray: TrayTotals
    column_cut: ColumnCut
    site_limits: list[SiteLimit] = Field(
        default_factory=list, description="Empty for plans that an older version saved, without this check."
    )
    labour_minutes: float
    bisection_gbps: float | None
    metrics: StructureMetrics
    findings: list[Finding]
