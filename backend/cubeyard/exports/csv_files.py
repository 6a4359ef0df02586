"""Comma-separated tables: the cable schedule, the bill of materials, the labels for label printers.

RFC 4180: comma, CRLF, quotes where needed, UTF-8, one header row, decimal points. Streamed in
chunks, so that a million cables are never in memory at once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cubeyard.catalog.quotes.columns import BILL
from cubeyard.exports.formats import Progress
from cubeyard.exports.tables import CHUNK_CABLES, PlanTables
from cubeyard.exports.text import cell
from cubeyard.plans.view import PlanView

CABLE_COLUMNS = (
    "cable", "label_near", "label_far", "level",
    "a_rack", "a_unit", "a_slot", "a_host_name", "a_port",
    "b_rack", "b_unit", "b_slot", "b_host_name", "b_port",
    "route", "bundle", "length_metres", "stock_metres", "part_sku", "part_name", "colour",
    "a_paper_name", "b_paper_name",
)  # fmt: skip
BOM_COLUMNS = tuple(column.name for column in BILL)
LABEL_COLUMNS = (
    "label",
    "cable",
    "end",
    "rack",
    "unit",
    "host_name",
    "port",
    "level",
    "colour",
    "length_metres",
    "bundle",
    "paper_name",
)

Row = Sequence[object]


def encode(header: Sequence[str], rows: Iterable[Row], rows_per_chunk: int = CHUNK_CABLES) -> Iterator[bytes]:
    """The table as CSV bytes, about `rows_per_chunk` rows at a time. The caller has passed text
    cells through `cell`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(header)
    for count, row in enumerate(rows, 1):
        writer.writerow(row)
        if count % rows_per_chunk == 0:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def cable_schedule(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One row per cable, in the plan's order. A breakout cable has one row per leg, with the cable
    and the leg in a last column."""
    tables = PlanTables(plan)
    hosts, papers = tables.hosts, [cell(name) for name in tables.paper_names]
    racks = [cell(name) for name in tables.rack_names]
    parts = [(cell(tables.part_sku(i)), cell(tables.part_name(i))) for i in range(len(tables.parts))]
    no_part = ("", "")
    bundles = [*tables.bundle_names, ""]  # index -1 ("stays in its rack") is the last item
    total = max(plan.cable_count, 1)
    breakouts = plan.has_breakouts

    def rows() -> Iterator[Row]:
        for cable in tables.rows():
            if cable.index % CHUNK_CABLES == 0:
                progress(cable.index / total, "cable schedule")
            a, b = cable.a_device, cable.b_device
            sku, part = parts[cable.part] if cable.part < len(parts) else no_part
            yield (
                cable.name, cell(cable.near_label), cell(cable.far_label), cable.level,
                racks[tables.device_rack[a]], tables.device_unit[a], tables.letters[a], hosts[a], cell(cable.a_port),
                racks[tables.device_rack[b]], tables.device_unit[b], tables.letters[b], hosts[b], cell(cable.b_port),
                cell(cable.route), bundles[cable.bundle], f"{cable.length_metres:.3f}", f"{cable.stock_metres:g}",
                sku, part, cell(cable.colour), papers[a], papers[b], *([cable.breakout] if breakouts else []),
            )  # fmt: skip

    # The column is last, and only there if a plan has breakouts, so that programs that read columns
    # by position keep working.
    yield from encode((*CABLE_COLUMNS, "breakout") if breakouts else CABLE_COLUMNS, rows())
    progress(1.0, "cable schedule")


def bill_values(line: Mapping[str, Any], currency: str) -> dict[str, Any]:
    """A line of the engine's bill by column of `BILL`; `None` where it has no value. Texts are safe
    for a cell."""
    order = line["quantity"] + (line.get("spares") or 0)
    length = line.get("length_metres")
    made = {
        "to_order": order, "quoted_price": None, "currency": currency,
        "unit_price": line["unit_price_usd"], "total": line.get("total_usd"),
        "cable_metres": order * length if line["category"] == "cable" and length is not None else None,
    }  # fmt: skip
    values = {column.name: made.get(column.name, line.get(column.name)) for column in BILL}
    return {name: cell(value) if isinstance(value, str) else value for name, value in values.items()}


def bill_of_materials(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One row a line of the bill, as the engine gives it; a part without a price has an empty price
    and an empty total."""
    currency = plan.bom["currency"]
    rows = (bill_values(line, currency) for line in plan.bom["lines"])
    yield from encode(BOM_COLUMNS, ([_shown(values[name]) for name in BOM_COLUMNS] for values in rows))
    progress(1.0, "bill of materials")


def _shown(value: object) -> object:
    """Rounds products of lengths and counts."""
    return "" if value is None else round(value, 6) if isinstance(value, float) else value


def printer_labels(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Two rows per cable, near end then far end, each with the label for that end, which starts
    with its own position. The trunk of a breakout has one row, and each of its legs one."""
    tables = PlanTables(plan)
    hosts, papers = tables.hosts, [cell(name) for name in tables.paper_names]
    racks = [cell(name) for name in tables.rack_names]
    bundles = [*tables.bundle_names, ""]

    def rows() -> Iterator[Row]:
        for cable in tables.rows():
            ends = (
                ("near", cable.near_label, cable.a_device, cable.a_port),
                ("far", cable.far_label, cable.b_device, cable.b_port),
            )
            for (end, label, device, port), labelled in zip(ends, cable.labelled, strict=True):
                if not labelled:
                    continue
                yield (
                    cell(label), cable.name, end, racks[tables.device_rack[device]], tables.unit_slots[device],
                    hosts[device], cell(port), cable.level, cell(cable.colour), f"{cable.stock_metres:g}",
                    bundles[cable.bundle], papers[device],
                )  # fmt: skip

    yield from encode(LABEL_COLUMNS, rows())
    progress(1.0, "labels")
