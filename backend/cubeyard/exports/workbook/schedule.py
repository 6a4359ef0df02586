"""The cable schedule: one row per cable, filterable, with totals above the header that follow the
filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xlsxwriter import Workbook

from cubeyard.exports.tables import PlanTables
from cubeyard.exports.workbook.names import SCHEDULE_ROWS_PER_SHEET, SheetNames
from cubeyard.exports.workbook.pages import set_page
from cubeyard.exports.workbook.rows import LongTable, StyledValue, leave_room
from cubeyard.exports.workbook.styles import Styles

HEADER_ROW = 3
FIRST_ROW = HEADER_ROW + 1
LEVEL_COLUMN, LENGTH_COLUMN, STOCK_COLUMN = "D", "Q", "R"
_COLUMNS = (
    ("Cable", 10), ("Label, near end", 27), ("Label, far end", 27), ("Level", 7),
    ("Rack A", 8), ("Unit A", 7), ("Slot A", 6), ("Host name A", 13), ("Port A", 8),
    ("Rack B", 8), ("Unit B", 7), ("Slot B", 6), ("Host name B", 13), ("Port B", 8),
    ("Route", 14), ("Bundle", 9), ("Length (m)", 10), ("Stock (m)", 9), ("Part", 12), ("Part name", 30), ("Colour", 10),
    ("Paper's name A", 16), ("Paper's name B", 16),
)  # fmt: skip
_BREAKOUT = ("Breakout", 14)
_TEXT, _INTEGER, _METRES, _STOCK, _LEVELS = 0, 1, 2, 3, 4


def schedule_sheets(book: Workbook, styles: Styles, tables: PlanTables, names: SheetNames) -> list[LongTable]:
    """Adds the schedule's sheets (one per million cables) and returns the tables to fill in."""
    long_tables: list[LongTable] = []
    count = tables.plan.cable_count
    titles = (*_COLUMNS, _BREAKOUT) if tables.plan.has_breakouts else _COLUMNS
    for page, name in enumerate(names.schedule):
        start = page * SCHEDULE_ROWS_PER_SHEET
        stop = min(count, start + SCHEDULE_ROWS_PER_SHEET)
        sheet = book.add_worksheet(name)
        last = FIRST_ROW + max(stop - start, 1)
        sheet.write_string(0, 0, "Cable schedule", styles.title)
        sheet.write_string(1, 0, "Cables shown", styles.label)
        cables = f"A{FIRST_ROW + 1}:A{last}"
        sheet.write_formula(1, 3, f"=SUBTOTAL(103,{cables})", styles.integer, stop - start)
        sheet.write_string(1, 15, "Metres shown", styles.label)
        for at, (column, key) in enumerate(((LENGTH_COLUMN, "length_mm"), (STOCK_COLUMN, "stock_mm"))):
            cells = f"{column}{FIRST_ROW + 1}:{column}{last}"
            value = float(tables.plan.cables[key][start:stop].sum(dtype="u8")) / 1000
            sheet.write_formula(1, 16 + at, f"=SUBTOTAL(109,{cells})", styles.total_metres, value)  # pyright: ignore[reportArgumentType]
        for column, (title, width) in enumerate(titles):
            sheet.set_column(column, column, width)
            sheet.write_string(HEADER_ROW, column, title, styles.header)
        level_styles = [styles.device(level) for level in range(16)]
        leave_room(sheet, FIRST_ROW, [styles.text, styles.integer, styles.metres, styles.stock, *level_styles])
        sheet.autofilter(HEADER_ROW, 0, last - 1, len(titles) - 1)
        sheet.freeze_panes(FIRST_ROW, 1)
        set_page(sheet, tables.plan, last_row=last - 1, last_column=len(titles) - 1, header_row=HEADER_ROW, large=True)
        file = f"sheet{(sheet.index or 0) + 1}.xml"
        long_tables.append(LongTable(file, FIRST_ROW, len(titles), _maker(tables, start, stop)))
    return long_tables


def _maker(tables: PlanTables, start: int, stop: int):
    def rows() -> Iterator[Sequence[StyledValue]]:
        racks, units, letters, names = tables.rack_names, tables.device_unit, tables.letters, tables.hosts
        places, papers = tables.device_rack, tables.device_names
        parts = [(tables.part_sku(i), tables.part_name(i)) for i in range(len(tables.parts))]
        bundles = [*tables.bundle_names, ""]
        breakouts = tables.plan.has_breakouts
        for cable in tables.rows(start, stop):
            a, b = cable.a_device, cable.b_device
            sku, part = parts[cable.part] if cable.part < len(parts) else ("", "")
            yield (
                (cable.name, _TEXT), (cable.near_label, _TEXT), (cable.far_label, _TEXT),
                (cable.level, _LEVELS + min(cable.level, 15)),
                (racks[places[a]], _TEXT), (units[a], _INTEGER), (letters[a], _TEXT), (names[a], _TEXT), (cable.a_port, _TEXT),
                (racks[places[b]], _TEXT), (units[b], _INTEGER), (letters[b], _TEXT), (names[b], _TEXT), (cable.b_port, _TEXT),
                (cable.route, _TEXT), (bundles[cable.bundle], _TEXT),
                (cable.length_metres, _METRES), (cable.stock_metres, _STOCK),
                (sku, _TEXT), (part, _TEXT), (cable.colour, _TEXT), (papers[a], _TEXT), (papers[b], _TEXT),
                *([(cable.breakout, _TEXT)] if breakouts else []),
            )  # fmt: skip

    return rows
