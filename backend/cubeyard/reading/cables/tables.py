"""Lists of cables as tables: our own export, edge lists, NetBox's import and the CSV that its list
of cables saves.

Cables of other ports than interfaces (power, console) are left out where the file says the type of
its ends. A length has the unit of its own column, or its own (`3 m`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from cubeyard.reading import names
from cubeyard.reading.cables.listing import Listing, SeenCable, SeenEnd
from cubeyard.reading.header import Header, key
from cubeyard.reading.numbers import Mark
from cubeyard.reading.problems import Skipped
from cubeyard.reading.tables import Row, Table, read_table

_DEVICES = (
    "host_name",
    "hostname",
    "device",
    "host",
    "node",
    "device_name",
    "node_name",
    "system",
    "switch",
    "server",
    "equipment",
    "name",
)
_PORTS = ("port", "interface", "int", "intf", "if", "ifname", "port_name", "interface_name", "port_id", "termination")
_WORDS = {
    "a": ("a", "source", "src", "from", "local", "near", "near_end", "origin", "start", "side_a", "end_a", "a_side", "a_end", "left", "server", "1"),
    "b": ("b", "z", "target", "destination", "dest", "dst", "to", "remote", "far", "far_end", "neighbor", "neighbour", "peer", "end",
          "side_b", "side_z", "end_b", "end_z", "b_side", "z_side", "b_end", "z_end", "right", "switch", "2"),
}  # fmt: skip


def _both(words: tuple[str, ...], nouns: tuple[str, ...]) -> tuple[str, ...]:
    """`a_port`, `port_a`, `source_port` ..., each of the nouns with each of the words."""
    return tuple(name for noun in nouns for word in words for name in (f"{word}_{noun}", f"{noun}_{word}"))


def _side(side: str) -> dict[str, tuple[str, ...]]:
    words = _WORDS[side]
    plain = tuple(word for word in words if word not in ("1", "2", "end", "start", "left", "right", "near", "far"))
    return {
        f"{side}_device": (*_both(words, _DEVICES), *plain),
        f"{side}_paper": (f"{side}_paper_name",),
        f"{side}_port": _both(words, _PORTS),
        f"{side}_role": _both(words, ("role", "type", "kind")),
        f"{side}_tier": _both(words, ("tier", "level")),
        f"{side}_site": _both(words, ("site",)),
    }


_RATE_NOUNS = ("speed", "bandwidth", "rate", "capacity", "link_speed", "data_rate")
_RATE_UNITS = ("gbps", "mbps", "kbps", "bps")
RATES = (
    *_RATE_UNITS, "link_gbps", *(f"{noun}_{unit}" for noun in _RATE_NOUNS for unit in _RATE_UNITS), "rate_bits_per_sec", *_RATE_NOUNS,
)  # fmt: skip
_LENGTHS = {
    "length": ("stock_metres", "length_metres", "length", "cable_length", "len"),
    "length_unit": ("length_unit", "unit"),
}
_NAMES = {**_side("a"), **_side("b"), **_LENGTHS, **{name: (name,) for name in RATES}}
_ENDS = (("a_device", "a_paper"), ("b_device", "b_paper"))
EDGES = Header("Edge list", _NAMES, _ENDS, numbers=("length",), lengths=("length",))
PORTS = replace(EDGES, title="List of cables", needed=(*_ENDS, ("a_port",), ("b_port",)))


def _netbox(title: str, names_of: dict[str, tuple[str, ...]]) -> Header:
    """`{s}` and `{S}` are the side's letter."""
    sides = {
        f"{side}_{column}": tuple(name.format(s=side, S=side.upper()) for name in given)
        for side in "ab"
        for column, given in names_of.items()
    }
    needed = (("a_device",), ("a_port",), ("b_device",), ("b_port",))
    return Header(title, {**sides, **_LENGTHS}, needed, numbers=("length",), lengths=("length",))


IMPORT = _netbox(
    "NetBox's import",
    {
        "device": ("side_{s}_device",),
        "type": ("side_{s}_type",),
        "port": ("side_{s}_name",),
        "site": ("side_{s}_site",),
    },
)
PAGE = _netbox(
    "NetBox's list",
    {"device": ("Device {S}", "Side {S}"), "type": ("Type {S}",), "port": ("Termination {S}",), "site": ("Site {S}", "Location {S}")},
)  # fmt: skip
_INTERFACE = re.compile(r"(?:.*[^a-z])?interface", re.IGNORECASE)
"""`dcim.interface`, NetBox 2's `interface`, and `DCIM > Interface` of its pages."""
_WITH_LABEL = re.compile(r"(.+) \((.+)\)")


def read(data: bytes, decimal: Mark | None, *, ports: bool) -> Listing:
    """Raises `BadFileError` with the cells that cannot be read."""
    generic = PORTS if ports else EDGES
    headers = (IMPORT, PAGE, generic)
    known = "; ".join(f"{header.title}: {header.wanted()}" for header in headers)
    expected = f"No row has the columns of a list of cables. {known}. Or send lldpctl's JSON."
    table = read_table(data, headers, expected, decimal)
    netbox = table.header is not generic
    listing = Listing("netbox" if netbox else "csv", [], skipped=table.skipped, own=_is_own(table))
    for row in table.rows():
        _read_row(row, listing, netbox=netbox, ports=ports)
    table.done()
    return listing


def _is_own(table: Table) -> bool:
    return {"cable", "apapername", "bpapername"} <= {key(title) for title in table.columns.titles}


def _read_row(row: Row, listing: Listing, *, netbox: bool, ports: bool) -> None:
    if netbox:
        for side in "ab":
            kind = row.cell(f"{side}_type")
            if kind and not _INTERFACE.fullmatch(kind):
                listing.skipped.append(
                    Skipped(row.where, f"It is no cable between two interfaces ({kind[:40]}).", row.number)
                )
                return
    ends = [_end(row, side, netbox=netbox) for side in "ab"]
    length = row.length_mm("length", "length_unit") if ports else None
    rates = {} if netbox else {name: words for name in RATES if row.table.has(name) and (words := row.text(name))}
    cable = SeenCable(ends[0], ends[1], length, row.where, rates)
    lacking = [
        column
        for side, end in zip("ab", ends, strict=True)
        for column, missing in ((f"{side}_device", not end.device and not end.address), (f"{side}_port", ports and not end.ports))
        if missing
    ]  # fmt: skip
    if not lacking:
        listing.cables.append(cable)
        return
    table = row.table
    column = lacking[0] if table.has(lacking[0]) else lacking[0].replace("device", "paper")
    where = f"{row.where}, column {table.columns.title(column)}"
    words = row.cell(column)
    listing.skipped.append(
        Skipped(where, f"It names nothing: {words[:40]!r}." if words else "The cell is empty.", row.number)
    )
    if any(end.known for end in ends):
        listing.loose.append(cable)


def _end(row: Row, side: str, *, netbox: bool) -> SeenEnd:
    device = next(
        (words for name in ("device", "paper") if not names.is_nobody(words := row.text(f"{side}_{name}"))), ""
    )
    port = row.text(f"{side}_port")
    written: tuple[str, ...] = () if names.is_nobody(port) or names.is_address(port) else (port,)
    # NetBox's list shows an interface that has a label as `name (label)`.
    if netbox and written and (result := _WITH_LABEL.fullmatch(port)):
        written = (port, *result.groups())
    given = {name: words for name in ("role", "tier") if not netbox and (words := row.text(f"{side}_{name}"))}
    address = device if names.is_address(device) else ""
    return SeenEnd("" if address else device, written, address, row.text(f"{side}_site"), given)
