"""The zip: numbered CSVs in import order, and a README on how to import them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import yaml

from cubeyard.exports import zips
from cubeyard.exports.csv_files import encode
from cubeyard.exports.formats import Progress
from cubeyard.exports.netbox.records import COMPONENTS, NetboxRecords, Row
from cubeyard.exports.tables import provenance
from cubeyard.exports.text import cell, slug
from cubeyard.plans.view import PlanView

PIECE_ROWS = 250
"""NetBox imports about ten rows per second, and proxies limit a request to 60 seconds. [ours]"""

# The column names of the bulk import forms of NetBox 4.4 and later (read from 4.7.3), per file.
# [FORMATS]
COLUMNS: dict[str, tuple[str, ...]] = {
    "01-sites": ("name", "slug", "status", "description", "comments"),
    "02-locations": ("site", "name", "slug", "status", "description"),
    "03-manufacturers": ("name", "slug"),
    "04-device-types": (
        "manufacturer", "model", "slug", "u_height", "part_number", "is_full_depth", "subdevice_role", "airflow", "weight",
        "weight_unit", "description",
    ),
    "05-device-roles": ("name", "slug", "color", "vm_role"),
    "06-rack-types": (
        "manufacturer", "model", "slug", "form_factor", "width", "u_height", "starting_unit", "desc_units",
        "outer_width", "outer_depth", "outer_unit",
    ),
    "07-racks": (
        "site", "location", "name", "status", "rack_type", "width", "u_height", "desc_units", "description", "comments",
    ),
    "08-devices": (
        "name", "role", "manufacturer", "device_type", "status", "site", "location", "rack", "position", "face", "description",
    ),
    "09-device-bays": ("device", "name", "label", "installed_device"),
    "10-interfaces": ("device", "name", "label", "type", "speed", "duplex", "enabled", "description"),
    "11-power-ports": ("device", "name", "type", "maximum_draw"),
    "12-power-outlets": ("device", "name", "label", "type", "power_port", "description"),
    "13-power-panels": ("site", "location", "name"),
    "14-power-feeds": (
        "site", "power_panel", "location", "rack", "name", "status", "type", "supply", "phase", "voltage", "amperage",
        "max_utilization", "description",
    ),
    "15-cable-bundles": ("name", "description"),
    "16-cables": (
        "side_a_site", "side_a_device", "side_a_type", "side_a_name",
        "side_b_site", "side_b_device", "side_b_type", "side_b_name",
        "type", "status", "bundle", "label", "color", "length", "length_unit", "description",
    ),
    "17-power-cables": (
        "side_a_site", "side_a_device", "side_a_type", "side_a_name",
        "side_b_site", "side_b_device", "side_b_power_panel", "side_b_type", "side_b_name",
        "type", "status", "label", "description",
    ),
}  # fmt: skip


SHARED = ("03-manufacturers", "04-device-types", "05-device-roles", "06-rack-types")
"""Objects that several plans share. NetBox rejects a whole file if one row exists already, so these
are also available row by row."""


def _readme(plan: PlanView) -> bytes:
    lines = [
        "Cubeyard plan for NetBox 4.6 and later",
        provenance(plan),
        "",
        "Import each CSV with the Import button of its model, in the order of the numbers:",
        "sites, locations, manufacturers, device types, device roles, rack types, racks, devices, device bays, interfaces, power ports,",
        "power outlets, power panels, power feeds, cable bundles, cables, and the power cables as cables too.",
        "",
        "Power: one panel a container, one feed a PDU (phases, voltage and current are assumed), each device on an outlet of a PDU",
        "of its rack. Without power in NetBox leave out 12, 13, 14 and 17.",
        "NetBox 4.4 and 4.5 have no cable bundles: leave out 15 and delete the column bundle of 16.",
        "",
        "Devices that share a rack unit are children of a shelf named by its position (R07-12), one bay a slot (A, B, ...).",
        f"A file of more than {PIECE_ROWS} rows is in pieces (-001, -002, ...), so that each is imported within NetBox's time limits.",
        "Skip 09-device-bays.csv if it holds only a header: nothing shares a unit in this plan.",
        "",
        "Without files: `cubeyard netbox sync --url ... --token ...` makes the same objects over NetBox's REST API, skips what",
        "exists and can be repeated. These files only create. For a NetBox that holds some of the plan,",
        "`cubeyard netbox export --url ... --token ...` writes files of missing objects, and of changes by id.",
        "",
        "device-types/ holds the device types with their interfaces, power ports and bays, as in the community's device type",
        "library (one YAML file each, for the import of device types). Devices of these types have their components at once:",
        "import them instead of 04-device-types, and leave out 09, 10, 11 and 12.",
        "",
        "A second plan: give it a host name prefix (site.host_prefix) and another name, so that its devices and its site",
        "are new. Manufacturers, device types, roles and rack types (files 03 to 06) may be there already, and NetBox refuses a file",
        "with a name that it knows: import the files of shared/ instead, which have one row each. Those that NetBox refuses because",
        "they exist are there.",
    ]
    return ("\r\n".join(lines) + "\r\n").encode()


def sources(records: NetboxRecords) -> dict[str, Callable[[], Iterable[Row]]]:
    return {
        "01-sites": records.sites,
        "02-locations": records.locations,
        "03-manufacturers": records.manufacturers,
        "04-device-types": records.device_types,
        "05-device-roles": records.device_roles,
        "06-rack-types": records.rack_types,
        "07-racks": records.racks,
        "08-devices": records.devices,
        "09-device-bays": records.device_bays,
        "10-interfaces": records.interfaces,
        "11-power-ports": records.power.power_ports,
        "12-power-outlets": records.power.power_outlets,
        "13-power-panels": records.power.panels,
        "14-power-feeds": records.power.feeds,
        "15-cable-bundles": records.bundles,
        "16-cables": records.cables,
        "17-power-cables": records.power.cables,
    }


def _csv(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    def text(value: object) -> object:
        return value if isinstance(value, int | float) else cell(value)

    yield from encode(columns, ([text(row.get(column)) for column in columns] for row in rows))


def pieces(name: str, columns: Sequence[str], rows: Iterable[Row]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """One file, or several files of `PIECE_ROWS` rows."""
    left = iter(rows)
    piece = list(islice(left, PIECE_ROWS))
    following = list(islice(left, PIECE_ROWS))
    if not following:
        yield f"{name}.csv", _csv(columns, piece)
        return
    number = 0
    while piece:
        number += 1
        yield f"{name}-{number:03d}.csv", _csv(columns, piece)
        piece, following = following, list(islice(left, PIECE_ROWS))


def library_yaml(row: Row) -> bytes:
    """A device type in the form of the community's device type library."""
    order = (
        "manufacturer", "model", "slug", "part_number", "u_height", "is_full_depth", "subdevice_role", "airflow", "weight",
        "weight_unit", "description", *COMPONENTS,
    )  # fmt: skip
    document = {key: row[key] for key in order if row.get(key) not in (None, "", [])}
    document["is_full_depth"] = row.get("is_full_depth") == "true"
    if "weight" in document:
        document["weight"] = float(str(document["weight"]))
    return b"---\n" + yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode()


def netbox_archive(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The archive as a stream: `01-sites.csv` to `17-power-cables.csv`, the device types as YAML,
    and `README.txt`. Each row of a table in SHARED is also in a separate file."""

    def files() -> Iterator[tuple[str, Iterable[bytes]]]:
        yield "README.txt", [_readme(plan)]
        records = NetboxRecords(plan)
        files_of = sources(records)
        for i, (name, rows) in enumerate(files_of.items()):
            progress(i / len(files_of), name)
            yield from pieces(name, COLUMNS[name], rows())
            if name in SHARED:
                for number, row in enumerate(rows(), 1):
                    yield f"shared/{name}-{number:03d}.csv", _csv(COLUMNS[name], [row])
        for row in records.library_types():
            folder = slug(row["manufacturer"])
            yield f"device-types/{folder}/{row['slug']}.yaml", [library_yaml(row)]

    yield from zips.stream(files())
    progress(1.0, "archive")
