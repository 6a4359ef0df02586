"""Our own list of cables: the export `csv`, or any CSV file with these columns in any order.

Needed are `a_port`, `b_port` and, for each end, `a_host_name` or `a_paper_name`. The length is `stock_metres`, the length
that was ordered, else `length_metres`; where neither is there or the cell is empty, lengths are not compared.
"""

from __future__ import annotations

from cubeyard.asbuilt.readers.listing import Listing, SeenCable, SeenEnd
from cubeyard.asbuilt.readers.rows import CsvTable, Header

HEADER = Header(
    "Our own list",
    {
        "a_host_name": ("a_host_name", "a_device", "a_host"),
        "a_paper_name": ("a_paper_name",),
        "a_port": ("a_port",),
        "b_host_name": ("b_host_name", "b_device", "b_host"),
        "b_paper_name": ("b_paper_name",),
        "b_port": ("b_port",),
        "length": ("stock_metres", "length_metres", "length"),
    },
    (("a_host_name", "a_paper_name"), ("a_port",), ("b_host_name", "b_paper_name"), ("b_port",)),
)


def read(table: CsvTable) -> Listing:
    """Raises `BadListError` with the cells that cannot be read."""
    cables: list[SeenCable] = []
    for row in table.rows():
        a, b = (
            SeenEnd(row.needed(f"{side}_host_name", f"{side}_paper_name"), (row.needed(f"{side}_port"),))
            for side in "ab"
        )
        cables.append(SeenCable(a, b, row.length_mm("length"), f"line {row.line}"))
    table.done()
    return Listing("csv", cables)
