"""NetBox's cables: the CSV that its import takes (as the export `netbox` writes it), and the CSV that its list of cables saves.

Cables of other ports than interfaces (power, console) are left out where the file says the type of its ends. A length has the unit of
its own column, or its own (`3 m`).
"""

from __future__ import annotations

import re

from cubeyard.asbuilt.readers.listing import Listing, SeenCable, SeenEnd
from cubeyard.asbuilt.readers.rows import CsvTable, Header, Row

HEADER = Header(
    "NetBox's import",
    {
        **{f"{side}_device": (f"side_{side}_device",) for side in "ab"},
        **{f"{side}_type": (f"side_{side}_type",) for side in "ab"},
        **{f"{side}_port": (f"side_{side}_name",) for side in "ab"},
        "length": ("length",),
        "length_unit": ("length_unit",),
    },
    (("a_device",), ("a_port",), ("b_device",), ("b_port",)),
)
PAGE_HEADER = Header(
    "NetBox's list",
    {
        **{f"{side}_device": (f"Device {side.upper()}",) for side in "ab"},
        **{f"{side}_port": (f"Termination {side.upper()}",) for side in "ab"},
        "length": ("length",),
        "length_unit": ("length_unit",),
    },
    (("a_device",), ("a_port",), ("b_device",), ("b_port",)),
)
INTERFACE = "dcim.interface"
_WITH_LABEL = re.compile(r"(.+) \((.+)\)")


def read(table: CsvTable) -> Listing:
    """Raises `BadListError` with the cells that cannot be read."""
    cables: list[SeenCable] = []
    skipped = 0
    for row in table.rows():
        if any(row.text(f"{side}_type") not in ("", INTERFACE) for side in "ab"):
            skipped += 1
            continue
        a, b = (_end(row, side) for side in "ab")
        cables.append(SeenCable(a, b, row.length_mm("length", "length_unit"), f"line {row.line}"))
    table.done()
    return Listing("netbox", cables, skipped=skipped)


def _end(row: Row, side: str) -> SeenEnd:
    port = row.needed(f"{side}_port")
    # The list shows an interface that has a label as `name (label)`.
    found = _WITH_LABEL.fullmatch(port)
    return SeenEnd(row.needed(f"{side}_device"), (port, *found.groups()) if found else (port,))
