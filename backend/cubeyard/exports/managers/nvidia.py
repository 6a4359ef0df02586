"""NVIDIA's point-to-point (P2P) workbook, which the Cable Validation Tool of UFM reads by its
column names."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from xlsxwriter import Workbook

from cubeyard.exports.formats import Progress
from cubeyard.exports.interfaces import interfaces
from cubeyard.exports.tables import CHUNK_CABLES, PlanTables, provenance
from cubeyard.exports.text import cell, plain
from cubeyard.plans.view import PlanView

# The columns of the tool's Ethernet sheet ("P2P File" in its manual), followed by ours.
COLUMNS = (
    ("A-Rack", 9), ("A-U", 6), ("A-Node Name", 16), ("A-Type", 8), ("A-Port", 10),
    ("Z-Rack", 9), ("Z-RU", 6), ("Z-Node Name", 16), ("Z-Type", 8), ("Z-Port", 10),
    ("Cable", 10), ("Length (m)", 10), ("Part", 16), ("Rate (Gb/s)", 10), ("A-Label", 27), ("Z-Label", 27),
)  # fmt: skip
MAX_ROWS = 1_000_000
"""Cables per sheet; a sheet of a workbook has at most 1,048,576 rows."""
_FIXED_TIME = datetime(1980, 1, 1, tzinfo=UTC)
_PIECE_BYTES = 1 << 18


def port_name(tables: PlanTables, device: int, port: int, interface: str) -> str:
    """`swp1` for a switch's first port, as in its operating system; a server's port keeps its
    interface name."""
    return f"swp{port + 1}" if tables.device_kind[device] else interface


def point_to_point(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One row per cable: rack, unit, host name, type and port of both ends, and the plan's labels,
    length and part."""
    tables = PlanTables(plan)
    a_ends, b_ends = interfaces(tables)
    a_ports, b_ports = plan.cables["a_port"].tolist(), plan.cables["b_port"].tolist()
    gbps = plan.gbps.tolist()
    with tempfile.TemporaryDirectory(prefix="cubeyard-xlsx-") as folder:
        path = Path(folder) / "ptp.xlsx"
        book = Workbook(str(path), {"constant_memory": True, "tmpdir": folder, "strings_to_formulas": False})
        book.set_properties({"title": plain(plan.name), "comments": provenance(plan), "created": _FIXED_TIME})
        bold = book.add_format({"bold": True})
        for page, start in enumerate(range(0, max(plan.cable_count, 1), MAX_ROWS)):
            sheet = book.add_worksheet("P2P" if not page else f"P2P {page + 1}")
            sheet.freeze_panes(1, 0)
            for column, (title, width) in enumerate(COLUMNS):
                sheet.set_column(column, column, width)
                sheet.write_string(0, column, title, bold)
            for row, cable in enumerate(tables.rows(start, min(start + MAX_ROWS, plan.cable_count)), 1):
                if cable.index % CHUNK_CABLES == 0:
                    progress(0.9 * cable.index / plan.cable_count, "cables")
                i = cable.index
                a_end = port_name(tables, cable.a_device, a_ports[i], a_ends[i])
                b_end = port_name(tables, cable.b_device, b_ports[i], b_ends[i])
                ends = (*_end(tables, cable.a_device, a_end), *_end(tables, cable.b_device, b_end))
                ours = (
                    cable.name,
                    cable.stock_metres,
                    tables.part_sku(cable.part),
                    gbps[i],
                    cable.near_label,
                    cable.far_label,
                )
                for column, value in enumerate((*ends, *ours)):
                    if isinstance(value, str):
                        sheet.write_string(row, column, cell(value))
                    else:
                        sheet.write_number(row, column, value)
        book.close()
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece
    progress(1.0, "workbook")


def _end(tables: PlanTables, device: int, port: str) -> tuple[str, int, str, str, str]:
    kind = "Switch" if tables.device_kind[device] else "Host"
    return tables.rack_names[tables.device_rack[device]], tables.device_unit[device], tables.hosts[device], kind, port
