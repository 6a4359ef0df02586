"""Lists of cables from the floor, one file a format: `cable_csv.py` (our own), `netbox.py`, `lldp.py`; what CSV formats share is
`rows.py`, what readers give is `listing.py`.

Not in: what the plan calls its devices and ports. Readers give names as the file writes them.
"""

from __future__ import annotations

from cubeyard.asbuilt.readers import cable_csv, lldp, netbox
from cubeyard.asbuilt.readers.listing import BadListError, Listing, Mistake, SeenCable, SeenEnd
from cubeyard.asbuilt.readers.rows import CsvTable

__all__ = ["BadListError", "Listing", "Mistake", "SeenCable", "SeenEnd", "read"]


def read(data: bytes, host: str | None = None) -> Listing:
    """The cables that a file lists. What it is follows from its content: JSON is `lldpctl`'s, CSV is known by its header.

    `host` names the device that a single `lldpctl` output is from. Raises `BadListError` with every mistake by line and column, or by
    field. Linear in the file.
    """
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return lldp.read(data, host)
    table = CsvTable.of(data, (cable_csv.HEADER, netbox.HEADER, netbox.PAGE_HEADER))
    return cable_csv.read(table) if table.header is cable_csv.HEADER else netbox.read(table)
