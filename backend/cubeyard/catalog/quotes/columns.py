"""The columns of a bill of materials as a file. Exports write them, the import finds them by
name."""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.reading.header import Header


@dataclass(frozen=True, slots=True)
class BillColumn:
    name: str
    """In the header of the CSV."""
    title: str
    """In the header of the workbook."""
    width: float
    """Of the workbook's column, in characters."""
    filled: bool = False
    """Whether the purchaser fills it in and the import reads it."""


BILL = (
    BillColumn("line", "Line", 5),
    BillColumn("category", "Category", 11),
    BillColumn("sku", "Part", 19),
    BillColumn("name", "Name", 38),
    BillColumn("manufacturer", "Manufacturer", 13, filled=True),
    BillColumn("part_number", "Manufacturer's part number", 15, filled=True),
    BillColumn("supplier", "Supplier", 13, filled=True),
    BillColumn("lead_time_days", "Lead time (days)", 9, filled=True),
    BillColumn("length_metres", "Length (m)", 8),
    BillColumn("colour", "Colour", 8),
    BillColumn("quantity", "Quantity", 9),
    BillColumn("spares", "Spares", 7),
    BillColumn("to_order", "To order", 9),
    BillColumn("unit", "Unit", 6),
    BillColumn("unit_price", "Book price", 11),
    BillColumn("quoted_price", "Quoted price", 11, filled=True),
    BillColumn("currency", "Currency", 9, filled=True),
    BillColumn("total", "Total", 15),
    BillColumn("pieces_per_unit", "Pieces per unit", 8),
    BillColumn("cable_metres", "Cable (m)", 10),
    BillColumn("weight_kg", "Weight (kg)", 11),
    BillColumn("source", "Source of the price", 26),
    BillColumn("basis", "Basis", 10),
    BillColumn("price_field", "Price is the book's", 22),
    BillColumn("price_factor", "times", 8),
)
"""A unit is what is ordered: a piece, a box of cable, a sheet of labels, a pack of ties, a metre or
an hour. `quoted_price` is the price of one, in `currency`; where it is empty the book's price
counts. `unit_price` and `total` are in the book's currency, which `currency` has until a purchaser
writes another one for the quoted price. The last two columns say where the price belongs in the
book: its field, and what that field is multiplied by."""

HEADER = Header(
    "Bill of materials",
    {column.name: (column.name, column.title) for column in BILL},
    (("line",), ("sku",), ("quoted_price",), ("price_field",)),
    numbers=(
        "lead_time_days", "length_metres", "quantity", "spares", "to_order", "unit_price", "quoted_price", "total", "pieces_per_unit",
        "cable_metres", "weight_kg", "price_factor",
    ),
)  # fmt: skip

PRINTED_TO = "total"
"""The last column that is printed; the others are for the screen and for the import."""
