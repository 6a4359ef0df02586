"""Lists of cables, named as their files name them.

In: tables (`tables.py`: our own list, edge lists, NetBox's import and saved list), NetBox's API
(`netbox_json.py`), what devices see of their neighbours as JSON (`lldp.py`) and as text
(`neighbours.py`), and what all of them give (`listing.py`).

Not in: which of the names is which device of a plan (`cubeyard.asbuilt`) or of a network
(`cubeyard.topologies`).
"""

from __future__ import annotations

from cubeyard.reading import foreign
from cubeyard.reading.cables import lldp, neighbours, netbox_json, tables
from cubeyard.reading.cables.listing import Listing, SeenCable, SeenEnd
from cubeyard.reading.numbers import Mark
from cubeyard.reading.problems import BadFileError, Mistake, problem, refused
from cubeyard.reading.text import encoding_of

__all__ = ["Listing", "SeenCable", "SeenEnd", "is_json", "listed", "read"]

READ_WITH = ("cubeyard.reading.workbooks",)


def read(data: bytes, host: str | None = None, decimal: Mark | None = None, *, ports: bool = True) -> Listing:
    """The cables that a file lists. What it is follows from its content.

    `host` names the device that a single `lldpctl` output is from. `ports`: whether a cable needs a
    port at each end. Raises `BadFileError` with every mistake by its place, and for a list of which
    nothing is left. Linear in the file.
    """
    if is_json(data):
        foreign.refuse(data)
        listing = netbox_json.read(data) if netbox_json.is_netbox(data) else lldp.read(data, host)
    else:
        listing = neighbours.read(data, host) or tables.read(data, decimal, ports=ports)
    if not listing.cables and (listing.skipped or listing.reporters is None):
        raise _nothing_left(listing)
    return listing


def listed(data: bytes, host: str | None, decimal: Mark | None = None) -> Listing:
    """All cables of a floor, with mistakes as a 422."""
    try:
        listing = read(data, host, decimal)
        if listing.cut_off:
            hint = "Save all of them: /api/dcim/cables/?limit=0."
            raise refused("next", "The file has one page of a longer list of cables.", hint)
        return listing
    except BadFileError as error:
        raise problem(error) from None


def is_json(data: bytes) -> bool:
    return data[:256].decode(encoding_of(data), "ignore").lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def _nothing_left(listing: Listing) -> BadFileError:
    if not listing.skipped:
        return refused("file", "The list has no cables.", "Send a list with at least one.")
    hint = "Name both ends, or leave the row out if the cable is not plugged in."
    return BadFileError([Mistake(entry.where, entry.reason, hint, entry.line) for entry in listing.skipped[:20]])
