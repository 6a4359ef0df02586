"""NetBox's `/api/dcim/cables/`: one page, or the list of its results, of version 2 to 4."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from cubeyard.kit.json_text import loads
from cubeyard.reading import numbers
from cubeyard.reading.cables.listing import Listing, SeenCable, SeenEnd
from cubeyard.reading.problems import Skipped, refused
from cubeyard.reading.text import strict

INTERFACE = "dcim.interface"
_SAVE = "Save the answer of /api/dcim/cables/?limit=0."
_MEMBER = re.compile(rb'"(?:[ab]_terminations|termination_[ab](?:_type|_id)?)"')


def is_netbox(data: bytes) -> bool:
    """By its beginning, also in UTF-16."""
    return _MEMBER.search(data[:65_536].replace(b"\0", b"")) is not None


def read(data: bytes) -> Listing:
    """Raises `BadFileError` by field."""
    try:
        document = loads(strict(data))
    except JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise refused(where, f"The file is not JSON: {error.msg}.", line=error.lineno) from None
    except RecursionError:
        raise refused("document", "The JSON is nested too deeply.", "Save it again from its program.") from None
    results = document.get("results") if isinstance(document, dict) else document
    where = "results" if isinstance(document, dict) else "document"
    if not isinstance(results, list):
        raise refused(where, "There is no list of cables.", _SAVE)
    more = document.get("count") if isinstance(document, dict) and document.get("next") else 0
    skipped: list[Skipped] = []
    listing = Listing(
        "netbox", [], skipped=skipped, cut_off=more if isinstance(more, int) and more > 0 else int(bool(more))
    )
    for index, cable in enumerate(results):
        _read_cable(listing, f"{where}[{index}]", cable)
    return listing


def _read_cable(listing: Listing, where: str, cable: Any) -> None:
    if not isinstance(cable, dict):
        raise refused(where, "A cable must be an object.", _SAVE)
    sides: list[list[SeenEnd]] = []
    for side in "ab":
        at, given = f"{side}_terminations", cable.get(f"{side}_terminations")
        if given is None and isinstance(cable.get(f"termination_{side}"), dict):
            # Before version 3.3 a cable had one termination a side.
            at, kind = f"termination_{side}", cable.get(f"termination_{side}_type") or INTERFACE
            given = [{"object_type": kind, "object": cable[at]}]
        sides.append(_ends(listing, f"{where}.{at}", given))
    a, b = sides
    if not a or not b or (len(a) != len(b) and 1 not in (len(a), len(b))):
        listing.skipped.append(Skipped(where, "It is no cable between two interfaces."))
        return
    status = cable.get("status")
    if (status.get("value") if isinstance(status, dict) else status) == "planned":
        listing.planned.append(where)
    # A breakout cable has one end on one side and several on the other.
    count = max(len(a), len(b))
    unit = _unit(cable)
    length, rounding = _length_mm(listing, where, cable, unit), numbers.rounding_mm(str(cable.get("length")), unit)
    for entry, other in zip(a * count if len(a) == 1 else a, b * count if len(b) == 1 else b, strict=False):
        seen = SeenCable(entry, other, length, where, rounding_mm=rounding)
        if entry.device and other.device:
            listing.cables.append(seen)
        elif entry.known or other.known:
            listing.loose.append(seen)


def _ends(listing: Listing, where: str, ends: Any) -> list[SeenEnd]:
    """Device and interface of each end; none if one of them is no interface."""
    if not isinstance(ends, list):
        return []
    result: list[SeenEnd] = []
    for index, end in enumerate(ends):
        at = f"{where}[{index}]"
        if not isinstance(end, dict):
            raise refused(at, "A termination must be an object.")
        port = end.get("object")
        if str(end.get("object_type")).rpartition(".")[2] != "interface" or not isinstance(port, dict):
            return []
        device = port.get("device")
        device = device if isinstance(device, dict) else {}
        name = device.get("name")
        name = name.strip() if isinstance(name, str) else ""
        if not name:
            listing.skipped.append(Skipped(f"{at}.object.device.name", "The interface's device has no name."))
        site = device.get("site")
        place = site.get("name") if isinstance(site, dict) else None
        words = str(port.get("name") or "").strip()
        number = device.get("id")
        result.append(SeenEnd(name, (words,) if words else (), "", str(place or (f"id {number}" if number else ""))))
    return result


def _unit(cable: dict[str, Any]) -> str:
    unit = cable.get("length_unit")
    return str((unit.get("value") if isinstance(unit, dict) else unit) or "")


def _length_mm(listing: Listing, where: str, cable: dict[str, Any], unit: str) -> int | None:
    length = cable.get("length")
    if length in (None, "") or isinstance(length, bool):
        return None
    try:
        value = numbers.length_mm(str(length), unit, "point")
    except ValueError as error:
        listing.skipped.append(Skipped(f"{where}.length", f"{error}."))
        return None
    if 0 < value <= numbers.MAX_LENGTH_MM:
        return round(value)
    limit = f"more than 0 and at most {numbers.MAX_LENGTH_MM // 1000:,} m"
    listing.skipped.append(Skipped(f"{where}.length", f"The length is {length}; it must be {limit}."))
    return None
