"""Lists of cables as tables: our own export, edge lists, NetBox's import and the CSV that its list
of cables saves.

Cables of other ports than interfaces (power, console) are left out where the file says the type of
its ends. A length has the unit of its own column, or its own (`3 m`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cubeyard.reading import names
from cubeyard.reading.cables.listing import Listing, SeenCable, SeenEnd
from cubeyard.reading.cells import Special, is_error
from cubeyard.reading.header import Columns, Header, key
from cubeyard.reading.numbers import Mark
from cubeyard.reading.problems import BadFileError, Skipped
from cubeyard.reading.tables import Row, Table, read_table
from cubeyard.reading.units import rate_title

_DEVICES = (
    "host_name", "device", "host", "node", "device_name", "node_name", "system", "system_name", "switch", "server", "equipment", "machine",
    "router", "element", "endpoint", "device_id", "switch_name", "server_name", "name", "dev",
    "geraet", "gerät", "gerätename", "knoten", "rechner", "maschine", "équipement", "appareil", "hôte", "noeud", "equipo", "dispositivo", "nodo",
    "apparato", "apparaat", "equipamento", "urządzenie", "zařízení", "enhet", "设备", "設備", "節点", "机器", "機器", "装置", "ホスト", "устройство",
)  # fmt: skip
_PORTS = (
    "port", "interface", "int", "intf", "intrfce", "if", "ifname", "port_name", "interface_name", "port_id", "termination", "nic", "switch_port",
    "device_port", "device_interface", "host_port", "node_port", "adapter", "anschluss", "schnittstelle", "buchse", "puerto", "interfaz",
    "nic_port", "nic_name", "interface_port", "network_port",
    "porta", "interfaccia", "poort", "端口", "接口", "ポート", "порт",
)  # fmt: skip
_WORDS = {
    "a": ("a", "source", "src", "from", "local", "near", "near_end", "origin", "start", "side_a", "end_a", "a_side", "a_end", "left", "upstream", "server", "1",
          "von", "quelle", "quell", "anfang", "lokal", "lokales", "de", "départ", "origine", "desde", "origen", "da", "origem", "sorgente", "van",
          "od", "från", "源", "本端", "本地", "起点", "接続元", "u"),
    "b": ("b", "z", "target", "destination", "dest", "dst", "to", "remote", "far", "far_end", "neighbor", "neighbour", "peer", "end", "connected", "connected_to",
          "side_b", "side_z", "end_b", "end_z", "b_side", "z_side", "b_end", "z_end", "right", "downstream", "switch", "2",
          "nach", "ziel", "ende", "gegenstelle", "nachbar", "vers", "cible", "arrivée", "voisin", "hasta", "destino", "vecino", "para", "destinazione",
          "naar", "do", "till", "目的", "目标", "目標", "对端", "對端", "终点", "接続先", "v"),
}  # fmt: skip
_NEVER_ALONE = frozenset(("1", "2", "left", "right", "near", "far", "u", "v", "end", "start", "ende", "anfang"))
"""Words for a side that need a noun, unless the header has both."""


def _both(words: tuple[str, ...], nouns: tuple[str, ...]) -> tuple[str, ...]:
    """`a_port`, `port_a`, `source_port` ..., each of the nouns with each of the words."""
    return tuple(name for noun in nouns for word in words for name in (f"{word}_{noun}", f"{noun}_{word}"))


def _side(side: str) -> dict[str, tuple[str, ...]]:
    words = _WORDS[side]
    plain = tuple(word for word in words if word not in _NEVER_ALONE)
    between = tuple(
        f"{noun}_{word}_{port}"
        for noun in ("device", "host", "node", "switch", "server", "endpoint", "equipment", "system")
        for word in words
        for port in ("port", "interface")
    )
    return {
        f"{side}_device": (*_both(words, _DEVICES), *plain),
        f"{side}_paper": (f"{side}_paper_name",),
        f"{side}_port": (*_both(words, _PORTS), *between),
        f"{side}_role": _both(words, ("role", "type", "kind")),
        f"{side}_tier": _both(words, ("tier", "level")),
        f"{side}_site": _both(
            words,
            ("site", "standort", "datacenter", "data_center", "dc", "building", "campus", "rechenzentrum"),
        ),
    }


_LENGTHS = {
    "length": (
        "stock_metres", "length_metres", "length", "cable_length", "len", "länge", "laenge", "kabellänge", "kabellaenge", "longueur", "longitud",
        "lunghezza", "lengte", "comprimento", "długość", "délka", "längd", "长度", "長度", "長さ", "длина",
    ),
    "length_unit": ("length_unit", "unit", "einheit", "unité"),
    "status": ("status", "cable_status", "state", "zustand", "statut", "estado"),
}  # fmt: skip
_NAMES = {**_side("a"), **_side("b"), **_LENGTHS}
_DEVICE_NOUNS = (*_DEVICES[:-1], "start", "end", "anfang", "ende", "left", "right", "u", "v", "nodes")
_ENDS = (("a_device", "a_paper"), ("b_device", "b_paper"))
_SIDES = (("a_device", "b_device", _DEVICE_NOUNS), ("a_port", "b_port", _PORTS))
EDGES = Header("Edge list", _NAMES, _ENDS, numbers=("length",), lengths=("length",), sides=_SIDES)
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
_COMMENT = re.compile(r"#(?![0-9]).*|//.*", re.DOTALL)
_TOTALS = frozenset(
    ("total", "totals", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "zwischensumme", "anzahl", "somme", "suma")
)
_UNPLUGGED = frozenset(
    ("removed", "decommissioned", "retired", "disconnected", "unplugged", "deleted", "abandoned", "cancelled", "canceled", "entfernt", "abgebaut",
     "getrennt", "retir\u00e9", "retirado")
)  # fmt: skip
PLANNED = frozenset(("planned", "geplant", "pr\u00e9vu", "planificado"))
"""In a file for NetBox's import the status is that which the cables will have."""
_JOINED = re.compile(r"([^\s:]{1,200}?)\s*:\s*(\S.*)")
_LOOSELY_JOINED = re.compile(
    r"([^\s:/()\[\]]{1,200}?)(?:\s*[:/]\s*|\s+-\s+|\s+)([^\s()\[\]]+(?: [0-9]\S*)?)|([^\s()\[\]]{1,200}?)\s*[(\[]\s*([^()\[\]]+?)\s*[)\]]"
)
"""For lists that are useless without ports: `leaf1 Ethernet1`, `leaf1/swp1`, `leaf1 [eth0]`."""
_MONTH = "jan|feb|f\u00e9v|mar|m\u00e4r|mrz|apr|avr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
_DATE = re.compile(
    rf"[0-9]{{1,2}}[-. ]+(?:{_MONTH})[a-z]*\.?|(?:{_MONTH})[a-z]*[-. ]+[0-9]{{2}}|[0-9]{{1,2}}([./])[0-9]{{1,2}}\1(?:19|20)[0-9]{{2}}",
    re.IGNORECASE,
)
"""A spreadsheet program's date of a port `1/1` or `1/1/1`: the port is unknown."""
_WITH_LABEL = re.compile(r"(.+) \((.+)\)")


def read(data: bytes, decimal: Mark | None, *, ports: bool) -> Listing:
    """Raises `BadFileError` with the cells that cannot be read."""
    generic = PORTS if ports else EDGES
    headers = (IMPORT, PAGE, generic)
    known = "; ".join(f"{header.title}: {header.wanted()}" for header in headers)
    expected = f"No row has the columns of a list of cables. {known}. Or send lldpctl's JSON."
    try:
        table = read_table(data, headers, expected, decimal)
    except BadFileError:
        table = _joined(data, decimal) if ports else None
        if table is None:
            raise
    netbox = table.header in (IMPORT, PAGE)
    joint = None if table.header is not EDGES or table.has("a_port") else _joint(table, ports=ports)
    rates = {} if netbox else _rate_columns(table.columns)
    table.columns = replace(table.columns, at={**table.columns.at, **rates})
    listing = Listing("netbox" if netbox else "csv", [], skipped=table.skipped, own=_is_own(table))
    for row in table.rows():
        parts = _parts(row) if table.header is PAGE else [row]
        if not parts:
            listing.skipped.append(Skipped(row.where, "It has several ends that are not in pairs.", row.number))
        for part in parts:
            _read_row(part, listing, rates, netbox=netbox, joint=joint, ports=ports)
    table.done()
    return listing


def _rate_columns(columns: Columns) -> dict[str, int]:
    """Columns of rates, by their titles."""
    taken = set(columns.at.values())
    return {
        title: index
        for index, title in reversed(list(enumerate(columns.titles)))
        if index not in taken and rate_title(title) is not None
    }


def _is_own(table: Table) -> bool:
    return {"cable", "apapername", "bpapername"} <= {key(title) for title in table.columns.titles}


def _joined(data: bytes, decimal: Mark | None) -> Table | None:
    """A list without columns of ports, if they are in those of the devices."""
    try:
        table = read_table(data, (EDGES,), "", decimal)
    except BadFileError:
        return None
    return None if table.has("a_port") or _joint(table, ports=True) is None else table


def _joint(table: Table, *, ports: bool) -> re.Pattern[str] | None:
    """How every end has its port behind its device, as `leaf1:Ethernet1`."""
    ends = [row.cell(side) for row in table.rows() if not _no_cable(row) for side in ("a_device", "b_device")]
    given = [end for end in ends if end]
    if not given or any(map(names.is_address, given)):
        return None
    patterns = (_JOINED, _LOOSELY_JOINED) if ports else (_JOINED,)
    return next((pattern for pattern in patterns if all(map(pattern.fullmatch, given))), None)


def _parts(row: Row) -> list[Row]:
    """The legs of a cable with several ends, which NetBox's list joins by commas; none where they
    make no pairs."""
    columns = [side + name for side in "ab" for name in ("_device", "_port")]
    given = [re.split(r"\s*,\s*", row.cell(column)) for column in columns]
    legs = max(map(len, given))
    if not {1, legs}.issuperset(map(len, given)) or legs not in (len(given[1]), len(given[3])):
        return []
    each = [
        {column: words[leg % len(words)] for column, words in zip(columns, given, strict=True)} for leg in range(legs)
    ]
    return [row.instead(cells) for cells in each] if legs > 1 else [row]


def _read_row(
    row: Row, listing: Listing, rates: Iterable[str], *, netbox: bool, joint: re.Pattern[str] | None, ports: bool
) -> None:
    if reason := _no_cable(row):
        listing.skipped.append(Skipped(row.where, reason, row.number))
        return
    if netbox:
        for side in "ab":
            kind = row.cell(f"{side}_type")
            if kind and not _INTERFACE.fullmatch(kind):
                listing.skipped.append(
                    Skipped(row.where, f"It is no cable between two interfaces ({kind[:40]}).", row.number)
                )
                return
    ends = [_end(row, side, netbox=netbox, joint=joint) for side in "ab"]
    length = row.length_mm("length", "length_unit") if ports else None
    written = {title: words for title in rates if (words := _rate(row, title))}
    rounding = row.rounding_mm("length", "length_unit")
    cable = SeenCable(ends[0], ends[1], length, row.where, written, rounding)
    lacking = [
        column
        for side, end in zip("ab", ends, strict=True)
        for column, missing in ((f"{side}_device", not end.device and not end.address), (f"{side}_port", ports and not end.ports))
        if missing
    ]  # fmt: skip
    if not lacking:
        listing.cables.append(cable)
        if row.table.header is not IMPORT and names.folded(row.cell("status")) in PLANNED:
            listing.planned.append(row.where)
        return
    table = row.table
    column = lacking[0] if table.has(lacking[0]) else lacking[0].replace("device", "paper")
    where = f"{row.where}, column {table.columns.title(column)}"
    words = row.cell(column)
    why = (
        "It is a date, made of a name by a spreadsheet program"
        if _is_date(words) or _DATE.fullmatch(words)
        else "It names nothing"
    )
    listing.skipped.append(Skipped(where, f"{why}: {words[:40]!r}." if words else "The cell is empty.", row.number))
    if any(end.known for end in ends):
        listing.loose.append(cable)


def _no_cable(row: Row) -> str:
    """Why a line is no cable, by its first cell; empty for cables."""
    cells = row.cells
    if [*map(key, cells)] == [key(title) for title in row.table.columns.titles if title]:
        return "It is the header again."
    if _COMMENT.fullmatch(cells[0]) and not is_error(cells[0]):
        return "It is a comment."
    if names.folded(status := row.cell("status")) in _UNPLUGGED:
        return f"Its status is {status[:40]}."
    return "It has totals." if names.folded(cells[0]).rstrip(":") in _TOTALS else ""


def _end(row: Row, side: str, *, netbox: bool, joint: re.Pattern[str] | None) -> SeenEnd:
    device = next(
        (words for name in ("device", "paper") if not names.is_nobody(words := _name(row, f"{side}_{name}"))), ""
    )
    port = _name(row, f"{side}_port")
    if joint and (both := joint.fullmatch(device)):
        device, port = filter(None, both.groups())
    unknown = names.is_nobody(port) or names.is_address(port) or _DATE.fullmatch(port)
    written: tuple[str, ...] = () if unknown else (port,)
    # NetBox's list shows an interface that has a label as `name (label)`.
    if netbox and written and (result := _WITH_LABEL.fullmatch(port)):
        written = (port, *result.groups())
    given = {name: words for name in ("role", "tier") if not netbox and (words := _name(row, f"{side}_{name}"))}
    address = device if names.is_address(device) else ""
    return SeenEnd("" if address else device, written, address, _name(row, f"{side}_site"), given)


def _name(row: Row, column: str) -> str:
    """Empty for a workbook's date: the text that it was made of is lost. Without the apostrophe
    that keeps a spreadsheet program from making one."""
    return "" if _is_date(row.cell(column)) else row.text(column).removeprefix("'")


def _rate(row: Row, title: str) -> str:
    """A rate that cannot be read is left out of the import by its cell, as a length is."""
    words = row.cell(title)
    if isinstance(words, Special) and words.kind != "number":
        row.skip_cell(title, words.reason)
        return ""
    return str(words)


def _is_date(words: str) -> bool:
    return isinstance(words, Special) and words.kind == "date"
