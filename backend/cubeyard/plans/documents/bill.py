"""The bill of materials."""

from __future__ import annotations

from pydantic import Field

from cubeyard.plans.documents.base import Document
from cubeyard.plans.documents.summary import BookName, Cost, Weight


class BomLine(Document):
    line: int
    category: str
    sku: str = Field(description="Empty if no part of the price book fits.")
    name: str
    manufacturer: str
    part_number: str = Field(description="The manufacturer's; empty if the price book has none.")
    supplier: str
    lead_time_days: int | None
    length_metres: float | None = Field(description="Of a piece: a cable, a box of cable, a tray.")
    colour: str | None
    quantity: float
    spares: float
    unit: str = Field(description="The unit of the order: `each`, `box`, `sheet`, `pack`, `m` or `h`.")
    pieces_per_unit: int | None = Field(description="Labels on a sheet, ties in a pack.")
    unit_price_usd: float | None
    total_usd: float | None = Field(description="Quantity and spares together; null without a price.")
    weight_kg: float | None
    source: str
    basis: str
    price_field: str = Field(description="The field of the part that has the price.")
    price_factor: float = Field(description="The factor for that field, such as the metres in a box.")


class CutPiece(Document):
    sku: str
    colour: str
    length_metres: float
    pieces: int


class Bom(Document):
    book: BookName
    currency: str
    lines: list[BomLine]
    cut_list: list[CutPiece] = Field(description="For bulk cable: the lengths to cut.")
    waste_metres: float
    boxes: int
    cable_order_metres: float = Field(description="Metres of cable in the order, spares and whole boxes included.")
    labour_minutes: float
    weight_kg: Weight
    cost_usd: Cost
