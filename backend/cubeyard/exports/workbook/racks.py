"""One sheet per rack: its elevation at the left, every cable that ends in it at the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from xlsxwriter import Workbook
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from cubeyard.exports.tables import PlanTables
from cubeyard.exports.text import cell, plain
from cubeyard.exports.workbook.names import SheetNames, quoted
from cubeyard.exports.workbook.pages import set_page
from cubeyard.exports.workbook.rows import LongTable, StyledValue, leave_room
from cubeyard.exports.workbook.styles import Styles

HEADER_ROW = 4
FIRST_ROW = HEADER_ROW + 1
MAX_SLOT_COLUMNS = 8
_CABLE_COLUMNS = (
    ("Cable", 10), ("Here", 11), ("Host name", 12), ("There", 15), ("Host name there", 16), ("Level", 7), ("Route", 13),
    ("Bundle", 9), ("Stock (m)", 9), ("Colour", 10),
)  # fmt: skip
_TEXT, _UNIT, _STOCK, _LEVELS = 0, 1, 2, 3
_LEVEL_STYLES = 17  # a server, then levels 0 to 15


def rack_list(book: Workbook, styles: Styles, tables: PlanTables, names: SheetNames) -> None:
    """The racks as one table, each linked to its sheet."""
    racks = tables.plan.scene["racks"]
    sheet = book.add_worksheet(names.racks)
    sheet.write_string(0, 0, "Racks", styles.title)
    columns = (
        ("Rack", 10, "name", styles.text), ("Group", 20, "group_label", styles.text), ("Row", 7, "row", styles.integer),
        ("Facing", 10, "facing", styles.text), ("Units", 8, "units", styles.integer), ("Used", 8, "units_used", styles.integer),
        ("Servers", 9, "servers", styles.integer), ("Switches", 9, "switches", styles.integer),
        ("Power (W)", 11, "power_watts", styles.watts), ("Weight (kg)", 12, "weight_kg", styles.kilograms),
        ("Cables leaving", 13, "cables_leaving", styles.integer),
    )  # fmt: skip
    count = len(tables.rack_names)
    last = 4 + max(count, 1)
    for column, (_, width, key, style) in enumerate(columns):
        sheet.set_column(column, column, width)
        if style is not styles.text and key not in ("row", "units"):
            letter = xl_col_to_name(column)
            total = sum(value or 0 for value in racks[key])
            sheet.write_formula(2, column, f"=SUBTOTAL(109,{letter}5:{letter}{last})", styles.total_integer, total)
    sheet.write_string(2, 0, "Shown", styles.label)
    for column, (title, *_) in enumerate(columns):
        sheet.write_string(3, column, title, styles.header)
    for i in range(count):
        for column, (_, _, key, style) in enumerate(columns):
            values = racks.get(key)
            value = values[i] if values is not None else None
            if column == 0 and i < len(names.rack):
                sheet.write_url(4 + i, 0, f"internal:{quoted(names.rack[i])}!A1", string=cell(value))
            elif isinstance(value, int | float):
                sheet.write_number(4 + i, column, value, style)
            else:
                sheet.write_string(4 + i, column, cell(value), styles.text)
    sheet.autofilter(3, 0, last - 1, len(columns) - 1)
    sheet.freeze_panes(4, 1)
    set_page(sheet, tables.plan, last_row=last - 1, last_column=len(columns) - 1, header_row=3)


def rack_sheets(book: Workbook, styles: Styles, tables: PlanTables, names: SheetNames) -> list[LongTable]:
    """Adds the rack sheets and returns the tables to fill in."""
    cables = CablesByRack(tables)
    members = tables.devices_by_rack()
    slots = min(MAX_SLOT_COLUMNS, max(tables.device_slots, default=1))
    out: list[LongTable] = []
    for rack, name in enumerate(names.rack):
        sheet = book.add_worksheet(name)
        ends = cables.of(rack)
        lines = max(len(ends), tables.plan.scene["racks"]["units"][rack], 1)
        last = FIRST_ROW + lines
        _header(sheet, styles, tables, rack, slots, len(ends), last)
        levels = [styles.device(level) for level in range(-1, 16)]
        leave_room(sheet, FIRST_ROW, [styles.text, styles.unit, styles.stock, *levels])
        file = f"sheet{(sheet.index or 0) + 1}.xml"
        columns = slots + 2 + len(_CABLE_COLUMNS)
        out.append(LongTable(file, FIRST_ROW, columns, _maker(tables, rack, members[rack], ends, slots)))
    return out


def _header(sheet: Worksheet, styles: Styles, tables: PlanTables, rack: int, slots: int, ends: int, last: int) -> None:
    racks = tables.plan.scene["racks"]
    group = plain(racks["group_label"][rack]) if racks.get("group_label") else ""
    sheet.write_string(0, 0, tables.rack_names[rack] + (f" \u00b7 {group}" if group else ""), styles.title)
    sheet.write_string(
        1,
        0,
        f"{racks['servers'][rack]} servers, {racks['switches'][rack]} switches in {racks['units_used'][rack]} of "
        f"{racks['units'][rack]} units; {racks['power_watts'][rack] / 1000:,.1f} kW; "
        f"{racks['cables_leaving'][rack]:,} cables leave the rack",
        styles.note,
    )
    first = slots + 2
    sheet.write_string(2, first, "Cables shown", styles.label)
    letter = xl_col_to_name(first)
    sheet.write_formula(2, first + 1, f"=SUBTOTAL(103,{letter}{FIRST_ROW + 1}:{letter}{last})", styles.integer, ends)
    sheet.write_string(HEADER_ROW, 0, "U", styles.header)
    sheet.set_column(0, 0, 5)
    for slot in range(slots):
        sheet.write_string(HEADER_ROW, 1 + slot, f"Slot {chr(65 + slot)}" if slots > 1 else "Host name", styles.header)
    sheet.set_column(1, slots, 10)
    sheet.set_column(slots + 1, slots + 1, 3)
    for column, (title, width) in enumerate(_CABLE_COLUMNS, first):
        sheet.set_column(column, column, width)
        sheet.write_string(HEADER_ROW, column, title, styles.header)
    sheet.autofilter(HEADER_ROW, first, last - 1, first + len(_CABLE_COLUMNS) - 1)
    sheet.freeze_panes(FIRST_ROW, 0)
    set_page(sheet, tables.plan, last_row=last - 1, last_column=first + len(_CABLE_COLUMNS) - 1, header_row=HEADER_ROW)


class CablesByRack:
    """The cables that end in each rack, in a crew's working order: cables within the rack first,
    then bundle by bundle."""

    def __init__(self, tables: PlanTables) -> None:
        columns = tables.plan.cables
        place = np.asarray(tables.device_rack, dtype=np.int64)
        count = tables.plan.cable_count
        a_rack, b_rack = place[columns["a_device"]], place[columns["b_device"]]
        leaving = np.flatnonzero(a_rack != b_rack)
        cable = np.concatenate([np.arange(count), leaving])
        rack = np.concatenate([a_rack, b_rack[leaving]])
        far_end = np.concatenate([np.zeros(count, dtype=bool), np.ones(len(leaving), dtype=bool)])
        order_of = np.asarray([*tables.plan.scene["bundles"]["pull_order"], -1], dtype=np.int64)
        pull = order_of[columns["bundle"].astype(np.int64)[cable]]
        order = np.lexsort((cable, pull, rack))
        self._cable, self._far_end = cable[order], far_end[order]
        self._staying: list[int] = np.bincount(a_rack[a_rack == b_rack], minlength=len(tables.rack_names)).tolist()
        self._bounds = np.searchsorted(rack[order], np.arange(len(tables.rack_names) + 1))

    def count(self, rack: int) -> int:
        """Cables with an end in the rack."""
        return int(self._bounds[rack + 1] - self._bounds[rack])

    def staying(self, rack: int) -> int:
        """Cables with both ends in the rack."""
        return self._staying[rack]

    def of(self, rack: int) -> list[tuple[int, bool]]:
        """(cable, whether this rack has its far end) for each cable of the rack."""
        cut = slice(self._bounds[rack], self._bounds[rack + 1])
        return list(zip(self._cable[cut].tolist(), self._far_end[cut].tolist(), strict=True))


def elevation_rows(tables: PlanTables, rack: int, members: Sequence[int], slots: int) -> list[list[StyledValue | None]]:
    """One row per unit from the top: its number, then the device in each slot. A tall device is
    named in its bottom unit."""
    units = tables.plan.scene["racks"]["units"][rack]
    rows: list[list[StyledValue | None]] = [[(units - i, _UNIT)] + [None] * slots for i in range(units)]
    for device in members:
        height = tables.device_height[device]
        style = _LEVELS + 1 + min(tables.device_level[device], 15)
        for up in range(height):
            at = units - tables.device_unit[device] - up
            if 0 <= at < units:
                column = 1 + min(tables.device_slot[device], slots - 1)
                rows[at][column] = (tables.hosts[device] if up == 0 else "\u2191", style)
    return rows


def _maker(
    tables: PlanTables, rack: int, members: Sequence[int], ends: list[tuple[int, bool]], slots: int
) -> Callable[[], Iterator[Sequence[StyledValue | None]]]:
    def rows() -> Iterator[Sequence[StyledValue | None]]:
        elevation = elevation_rows(tables, rack, members, slots)
        bundles = [*tables.bundle_names, ""]
        units, places, names = tables.unit_slots, tables.locations, tables.hosts
        cables = tables.rows_at(np.asarray([index for index, _ in ends], dtype=np.int64))
        no_elevation: list[StyledValue | None] = [None] * (slots + 1)
        no_cable: list[StyledValue | None] = [None] * len(_CABLE_COLUMNS)
        for line in range(max(len(ends), len(elevation))):
            left = elevation[line] if line < len(elevation) else no_elevation
            if line >= len(ends):
                yield [*left, None, *no_cable]
                continue
            cable, far = next(cables), ends[line][1]
            here, there = (cable.b_device, cable.a_device) if far else (cable.a_device, cable.b_device)
            port, port_there = (cable.b_port, cable.a_port) if far else (cable.a_port, cable.b_port)
            yield [
                *left, None,
                (cable.name, _TEXT), (f"{units[here]}:{port}", _TEXT), (names[here], _TEXT),
                (f"{places[there]}:{port_there}", _TEXT), (names[there], _TEXT),
                (cable.level, _LEVELS + 1 + min(cable.level, 15)), (cable.route, _TEXT), (bundles[cable.bundle], _TEXT),
                (cable.stock_metres, _STOCK), (cable.colour, _TEXT),
            ]  # fmt: skip

    return rows
