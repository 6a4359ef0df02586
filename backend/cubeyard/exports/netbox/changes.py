"""The zip of import files for a NetBox that already has some of the plan: missing objects, and
changed objects with their ids.

NetBox's import form creates a row without `id` and changes the object of a row with one. It sets
every column in a file, so files of changes have only the columns that the plan owns and those that
NetBox needs to resolve references.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cubeyard.exports import zips
from cubeyard.exports.netbox.archive import COLUMNS, pieces, sources
from cubeyard.exports.netbox.records import NetboxRecords, Row
from cubeyard.exports.netbox.sync.writer import ModelChange
from cubeyard.exports.tables import provenance

CHANGED_COLUMNS: dict[str, tuple[str, ...]] = {
    "07-racks": ("id", "name", "description"),
    "08-devices": (
        "id", "name", "role", "manufacturer", "device_type", "site", "location", "rack", "position", "face", "description",
    ),
    "09-device-bays": ("id", "device", "name", "installed_device"),
    "10-interfaces": ("id", "device", "name", "type"),
    "11-power-ports": ("id", "device", "name", "maximum_draw"),
    "14-power-feeds": ("id", "site", "power_panel", "location", "rack", "name", "phase", "voltage", "amperage"),
    "15-cable-bundles": ("id", "name", "description"),
    "16-cables": ("id", "type", "bundle", "label", "color", "length", "length_unit", "description"),
    "17-power-cables": ("id", "type", "label", "description"),
}  # fmt: skip
"""The files of the models whose objects a sync changes."""
_COMPONENTS = ("09-device-bays", "10-interfaces", "11-power-ports", "12-power-outlets")
_MAX_LISTED = 1000


def changes_archive(records: NetboxRecords, changes: Iterable[ModelChange]) -> Iterator[bytes]:
    """The files for the differences that a dry run of the sync found, numbered as in the whole
    import; `README.txt` lists the first steps."""
    by_model = {change.model: change for change in changes}
    cables = by_model["cables"]
    left_out = _with_known_types(records, by_model)
    files = list(_files(records, by_model, left_out))

    def out() -> Iterator[tuple[str, Iterable[bytes]]]:
        yield "README.txt", [_readme(records, [name for name, *_ in files], cables.doomed, bool(left_out))]
        for name, columns, rows in files:
            yield from pieces(name, columns, rows)

    yield from zips.stream(out())


def _files(
    records: NetboxRecords, by_model: Mapping[str, ModelChange], left_out: set[str]
) -> Iterator[tuple[str, tuple[str, ...], list[Row]]]:
    """Name, columns and rows of each non-empty file."""
    cable_count = records.plan.cable_count
    for name, source in sources(records).items():
        title = "cables" if name == "17-power-cables" else name[3:].replace("-", " ")
        change = by_model.get(title)
        if change is None:  # for example cable bundles, in a NetBox without them
            continue
        first = cable_count if name == "17-power-cables" else 0
        rows = list(source())
        places = range(first, first + len(rows))
        missing = [rows[place - first] for place in change.missing if place in places]
        if name in _COMPONENTS:
            missing = [row for row in missing if row["device"] not in left_out]
        differing = [
            {**rows[place - first], "id": number} for place, number in change.differing.items() if place in places
        ]
        if missing:
            yield name, COLUMNS[name], missing
        if differing:
            yield f"{name}-changed", CHANGED_COLUMNS[name], differing


def _with_known_types(records: NetboxRecords, by_model: Mapping[str, ModelChange]) -> set[str]:
    """Missing devices whose type exists in NetBox: NetBox creates their ports and bays from that
    type."""
    new = set(by_model["device types"].missing)
    known = {
        (row["manufacturer"], row["model"]) for place, row in enumerate(records.device_types()) if place not in new
    }
    rows = list(records.devices())
    missing = (rows[place] for place in by_model["devices"].missing)
    return {str(row["name"]) for row in missing if (row["manufacturer"], row["device_type"]) in known}


def _readme(records: NetboxRecords, names: list[str], doomed: list[int], again: bool) -> bytes:
    lines = [
        "Changes to a NetBox for a Cubeyard plan",
        provenance(records.plan),
        "",
        "These files hold what the NetBox lacks of the plan and, in those called -changed, what differs, by the ids that the",
        "objects have in that NetBox. Import them there, each with the Import button of its model, in the order of the numbers.",
        "Do it soon: later changes in NetBox are not considered.",
    ]
    if not names and not doomed:
        lines += ["", "Nothing: the NetBox holds the whole plan."]
    if doomed:
        lines += ["", "First delete these cables, which join other ports than the plan's (ids):"]
        lines += [f"  {number}" for number in doomed[:_MAX_LISTED]]
        if len(doomed) > _MAX_LISTED:
            lines += [f"  and {len(doomed) - _MAX_LISTED} more: `cubeyard netbox sync` deletes them all."]
    if again:
        lines += [
            "",
            "NetBox has the types of some of these devices already, with ports and bays or without: import up to 08, then write",
            "these files again. They will hold the ports that are still missing, and the contents of bays.",
        ]
    return ("\r\n".join(lines) + "\r\n").encode()
