"""Neighbours as text, as switches print them: `show cdp neighbors` and `show lldp neighbors` of
IOS, NX-OS, EOS, Junos, Onyx, SONiC, Cumulus and VRP. [ours]

A table has titles of these alone, and no column for the device that printed it: its name is in the
prompt above, or the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cubeyard.reading.aligned import TITLE
from cubeyard.reading.cables.listing import Listing, SeenCable, SeenEnd
from cubeyard.reading.header import key
from cubeyard.reading.names import is_address, is_nobody
from cubeyard.reading.problems import Skipped, refused
from cubeyard.reading.text import lenient

_OWN_PORT = ("localintrfce", "localintf", "localinterface", "localint", "localport", "localportid", "port")
_DEVICE = ("systemname", "sysname", "neighbordeviceid", "neighbordev", "neighborname", "remotedevice", "remotehost", "remotesystemname",
           "deviceid", "chassisid", "remotechassisid")  # fmt: skip
"""The likeliest name first: a chassis and Onyx's device have addresses."""
_PORT = ("neighborportid", "neighborport", "neighborintf", "neighborinterface", "remoteportid", "remoteport", "portid", "portinfo", "portdescr",
         "remoteportdescr")  # fmt: skip
_OTHERS = frozenset(
    ("capability", "capabilities", "capab", "cap", "platform", "holdtme", "holdtime", "hldtme", "hldtmecapability", "ttl", "exptimes", "exptime", "mode",
     "speed", "parentinterface", "vlan", "age", "protocol", "chassisidtype", "mgmtaddress", "remotemgmtaddress")
)  # fmt: skip
_KNOWN = _OTHERS.union(_OWN_PORT, _DEVICE, _PORT)
_PROMPT = re.compile(
    r"(?:\S+@)?([A-Za-z][\w.-]{0,62})(?:\([\w-]+\))?\s?[#>$]\s*(?:sh(?:ow)?|display|net|nv)\s", re.IGNORECASE
)
_RULE = re.compile(r"[\s|+=-]*")
_END = re.compile(r"\s*(?:total\b|.{0,80}[#>]\s*(?:sh|exit|display)|.{0,80}[#>$]\s*$)", re.IGNORECASE)
_SERIAL = re.compile(r"\([A-Z0-9]{8,}\)$")
"""NX-OS puts the serial number behind a name."""
_MOST_CHARACTERS = 300
"""The longest header or prompt."""


def read(data: bytes, host: str | None) -> Listing | None:
    """None for a file without such a table, and for a workbook. Raises `BadFileError` where nothing
    names the device of one."""
    if data.startswith(b"PK"):
        return None
    lines = lenient(data).splitlines()
    listing = Listing("lldp", [], frozenset())
    reporters: set[str] = set()
    here, at = "", 0
    while at < len(lines):
        line = lines[at][:_MOST_CHARACTERS]
        at += 1
        if ("#" in line or ">" in line) and (prompt := _PROMPT.match(line)):
            here = prompt[1]
        if "  " not in line or "\t" in line:
            continue
        titles = [(match.start(), key(match[0])) for match in TITLE.finditer(line)]
        if not _is_header([name for _, name in titles]):
            continue
        name = here or (host or "")
        if not name:
            hint = "Keep the prompt in the file, or name the file after the device."
            raise refused(f"line {at}", "The device that printed this table is unknown.", hint, line=at)
        reporters.add(name)
        for number, cells in _rows(lines, at, titles):
            at = number
            _add(listing, name, number, cells)
    return Listing("lldp", listing.cables, frozenset(reporters), listing.skipped) if reporters else None


def _is_header(titles: Sequence[str]) -> bool:
    known = (any(name in titles for name in names) for names in (_OWN_PORT, _DEVICE, _PORT))
    return _KNOWN.issuperset(titles) and all(known)


def _rows(lines: Sequence[str], first: int, titles: Sequence[tuple[int, str]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row up to the end of the table; a name that fills its column is alone on its line."""
    alone = ""
    started = False
    for number, line in enumerate(lines[first:], start=first + 1):
        if _END.match(line) or (started and not line.strip()):
            return
        if _RULE.fullmatch(line):
            continue
        started = True
        words = [(match.start(), match[0]) for match in re.finditer(r"\S+", line)]
        if len(words) == 1 and words[0][0] == 0:
            alone = words[0][1]
            continue
        cells: dict[str, list[str]] = {name: [] for _, name in titles}
        for start, word in words:
            cells[next((name for at, name in reversed(titles) if at <= start), titles[0][1])].append(word)
        row = {name: " ".join(inner) for name, inner in cells.items()}
        yield number, {**row, titles[0][1]: alone or row[titles[0][1]]}
        alone = ""


def _add(listing: Listing, name: str, number: int, cells: dict[str, str]) -> None:
    port, device, far = (
        next((words for title in titles if not is_nobody(words := cells.get(title, ""))), "")
        for titles in (_OWN_PORT, _DEVICE, _PORT)
    )
    if not port or not device:
        listing.skipped.append(Skipped(f"line {number}", "The neighbour has neither a name nor an id.", number))
        return
    address = device if is_address(device) else ""
    ends = () if is_address(far) or not far else (far,)
    seen = SeenEnd("" if address else _SERIAL.sub("", device), ends, address)
    listing.cables.append(SeenCable(SeenEnd(name, (port,)), seen, None, f"{name}, line {number}"))
