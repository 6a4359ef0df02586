"""The zip: numbered CSVs in import order, and a note on how to import them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cubeyard.exports import zips
from cubeyard.exports.csv_files import encode
from cubeyard.exports.formats import Progress
from cubeyard.exports.netbox.records import NetboxRecords, Row
from cubeyard.exports.tables import provenance
from cubeyard.exports.text import cell
from cubeyard.plans.view import PlanView

# The exact column names of NetBox 4's bulk import, per file. [FORMATS]
COLUMNS: dict[str, tuple[str, ...]] = {
    "01-sites": ("name", "slug", "status", "description", "comments"),
    "02-manufacturers": ("name", "slug"),
    "03-device-types": (
        "manufacturer", "model", "slug", "u_height", "part_number", "is_full_depth", "subdevice_role", "airflow", "description",
    ),
    "04-device-roles": ("name", "slug", "color", "vm_role"),
    "05-rack-types": (
        "manufacturer", "model", "slug", "form_factor", "width", "u_height", "starting_unit", "desc_units",
        "outer_width", "outer_depth", "outer_unit",
    ),
    "06-racks": ("site", "name", "status", "rack_type", "width", "u_height", "desc_units", "description", "comments"),
    "07-devices": (
        "name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face", "description",
    ),
    "08-device-bays": ("device", "name", "label", "installed_device"),
    "09-interfaces": ("device", "name", "label", "type", "speed", "duplex", "enabled", "description"),
    "10-cables": (
        "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name",
        "type", "status", "label", "color", "length", "length_unit", "description",
    ),
}  # fmt: skip
_NAMED_BY_DEVICE = ("07-devices", "08-device-bays", "09-interfaces", "10-cables")
COMMA_FREE_FOLDER = "comma-free"


def _readme(plan: PlanView, commas: bool) -> bytes:
    lines = [
        "Cubeyard plan for NetBox 4",
        provenance(plan),
        "",
        "Import each CSV with the Import button of its model, in the order of the numbers:",
        "sites, manufacturers, device types, device roles, rack types, racks, devices, device bays, interfaces, cables.",
        "",
        "Devices that share a rack unit are children of a shelf named by its position (R07-12), one bay a slot (A, B, ...).",
        "Skip 08-device-bays.csv if it holds only a header: nothing shares a unit in this plan.",
        "NetBox imports large files faster in pieces; any number of rows a piece will do.",
    ]
    if commas:
        lines += [
            "",
            "Device names of this plan hold commas. The newest NetBox releases split side_a_device at commas; if yours says",
            f"'Object not found', import files 07 to 10 from the folder {COMMA_FREE_FOLDER} instead: the same rows, with points",
            "for commas in device names.",
        ]
    return ("\r\n".join(lines) + "\r\n").encode()


def _sources(records: NetboxRecords) -> dict[str, Callable[[], Iterable[Row]]]:
    return {
        "01-sites": records.sites,
        "02-manufacturers": records.manufacturers,
        "03-device-types": records.device_types,
        "04-device-roles": records.device_roles,
        "05-rack-types": records.rack_types,
        "06-racks": records.racks,
        "07-devices": records.devices,
        "08-device-bays": records.device_bays,
        "09-interfaces": records.interfaces,
        "10-cables": records.cables,
    }


def _csv(name: str, rows: Iterable[Row]) -> Iterator[bytes]:
    columns = COLUMNS[name]

    def text(value: object) -> object:
        return value if isinstance(value, int | float) else cell(value)

    yield from encode(columns, ([text(row.get(column)) for column in columns] for row in rows))


def netbox_archive(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`01-sites.csv` to `10-cables.csv` and `README.txt`, streamed."""
    commas = any("," in name for name in plan.device_names)

    def files() -> Iterator[tuple[str, Iterable[bytes]]]:
        yield "README.txt", [_readme(plan, commas)]
        sources = _sources(NetboxRecords(plan))
        for i, (name, rows) in enumerate(sources.items()):
            progress(i / len(sources) / 2, name)
            yield f"{name}.csv", _csv(name, rows())
        if commas:
            sources = _sources(NetboxRecords(plan, lambda name: name.replace(",", ".")))
            for name in _NAMED_BY_DEVICE:
                progress(0.75, f"{COMMA_FREE_FOLDER}/{name}")
                yield f"{COMMA_FREE_FOLDER}/{name}.csv", _csv(name, sources[name]())

    yield from zips.stream(files())
    progress(1.0, "archive")
