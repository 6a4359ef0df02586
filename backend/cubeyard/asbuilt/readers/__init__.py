"""Lists of cables from the floor, read one format a file.

In: our own cable schedule (`cable_csv.py`), NetBox's cables (`netbox.py`), what devices see of their neighbours (`lldp.py`), what the CSV
formats share (`rows.py`), and what all of them give (`listing.py`).

Not in: what the plan calls its devices and ports. Readers give names as the file writes them.
"""

from __future__ import annotations

from cubeyard.asbuilt.readers import cable_csv, lldp, netbox
from cubeyard.asbuilt.readers.listing import BadListError, Listing, Mistake, SeenCable, SeenEnd, problem
from cubeyard.asbuilt.readers.rows import CsvTable

__all__ = ["BadListError", "Listing", "Mistake", "SeenCable", "SeenEnd", "listed", "read"]


def read(data: bytes, host: str | None = None) -> Listing:
    """The cables that a file lists. What it is follows from its content: JSON is `lldpctl`'s, CSV is known by its header.

    `host` names the device that a single `lldpctl` output is from. Raises `BadListError` with every mistake by line and column, or by
    field. Linear in the file.
    """
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return lldp.read(data, host)
    table = CsvTable.of(data, (cable_csv.HEADER, netbox.HEADER, netbox.PAGE_HEADER))
    return cable_csv.read(table) if table.header is cable_csv.HEADER else netbox.read(table)


def listed(data: bytes, host: str | None) -> Listing:
    """The same, with mistakes as a 422."""
    try:
        return read(data, host)
    except BadListError as error:
        raise problem(error) from None
