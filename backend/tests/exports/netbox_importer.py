"""Reads NetBox import files like NetBox 4 and raises the same errors.

Follows the bulk import forms and the models' validation: required columns, unknown columns,
choices, references to objects imported before, slugs, name lengths, one device per rack position
and face, child devices only in bays of their own rack, one cable per interface. Like NetBox, it
splits the device column of a cable at commas.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

Row = dict[str, str]

SLUG = re.compile(r"[-a-zA-Z0-9_]+")
COLOUR = re.compile(r"[0-9a-f]{6}")

REQUIRED: dict[str, set[str]] = {
    "sites": {"name", "slug", "status"},
    "locations": {"site", "name", "slug", "status"},
    "manufacturers": {"name", "slug"},
    "device-types": {"manufacturer", "model", "slug", "u_height"},
    "device-roles": {"name", "slug", "color"},
    "rack-types": {"manufacturer", "model", "slug", "form_factor", "width", "u_height"},
    "racks": {"site", "name", "status"},
    "devices": {"role", "manufacturer", "device_type", "status", "site"},
    "device-bays": {"device", "name"},
    "interfaces": {"device", "name", "type"},
    "power-ports": {"device", "name"},
    "power-outlets": {"device", "name"},
    "power-panels": {"site", "name"},
    "power-feeds": {
        "site",
        "power_panel",
        "name",
        "status",
        "type",
        "supply",
        "phase",
        "voltage",
        "amperage",
        "max_utilization",
    },
    "cable-bundles": {"name"},
    "cables": {"side_a_type", "side_a_name", "side_b_type", "side_b_name"},
    "power-cables": {"side_a_type", "side_a_name", "side_b_type", "side_b_name"},
}
ALLOWED: dict[str, set[str]] = {
    "sites": {"name", "slug", "status", "region", "group", "tenant", "facility", "description", "comments", "tags"},
    "locations": {"site", "parent", "name", "slug", "status", "tenant", "facility", "description", "comments", "tags"},
    "manufacturers": {"name", "slug", "description", "tags"},
    "device-types": {
        "manufacturer", "model", "slug", "u_height", "part_number", "is_full_depth", "subdevice_role", "airflow", "weight",
        "weight_unit", "description", "comments", "tags",
    },
    "device-roles": {"name", "slug", "color", "vm_role", "description", "tags"},
    "rack-types": {
        "manufacturer", "model", "slug", "form_factor", "width", "u_height", "starting_unit", "desc_units", "outer_width",
        "outer_height", "outer_depth", "outer_unit", "mounting_depth", "weight", "max_weight", "weight_unit", "description",
        "comments", "tags",
    },
    "racks": {
        "site", "name", "status", "location", "facility_id", "role", "rack_type", "form_factor", "width", "u_height",
        "desc_units", "outer_width", "outer_height", "outer_depth", "outer_unit", "weight", "max_weight", "weight_unit",
        "description", "comments", "tags",
    },
    "devices": {
        "name", "role", "manufacturer", "device_type", "status", "site", "location", "rack", "position", "face", "airflow",
        "parent", "device_bay", "description", "comments", "tags",
    },
    "device-bays": {"device", "name", "label", "installed_device", "description", "tags"},
    "interfaces": {"device", "name", "type", "label", "speed", "duplex", "enabled", "description", "tags"},
    "power-ports": {
        "device", "name", "label", "type", "mark_connected", "maximum_draw", "allocated_draw", "description", "tags",
    },
    "power-outlets": {
        "device", "name", "label", "type", "color", "mark_connected", "power_port", "feed_leg", "description", "tags",
    },
    "power-panels": {"site", "location", "name", "description", "comments", "tags"},
    "power-feeds": {
        "site", "power_panel", "location", "rack", "name", "status", "type", "mark_connected", "supply", "phase", "voltage",
        "amperage", "max_utilization", "tenant", "description", "comments", "tags",
    },
    "cable-bundles": {"name", "description", "comments", "tags"},
    "cables": {
        "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "side_a_site",
        "side_b_site", "side_a_power_panel", "side_b_power_panel", "type", "status", "label", "color", "length", "length_unit",
        "description", "comments", "tags", "profile", "tenant", "bundle",
    },
}  # fmt: skip
ALLOWED["power-cables"] = ALLOWED["cables"]
ORDER = list(REQUIRED)
STATUS = {"planned", "staging", "active", "decommissioning", "retired", "reserved", "available", "offline", "staged"}
INTERFACE_TYPES = {
    "100base-tx", "1000base-t", "2.5gbase-t", "5gbase-t", "10gbase-t", "1000base-x-sfp", "10gbase-x-sfpp", "25gbase-x-sfp28",
    "40gbase-x-qsfpp", "50gbase-x-sfp56", "100gbase-x-qsfp28", "200gbase-x-qsfp56", "400gbase-x-qsfpdd", "800gbase-x-qsfpdd",
    "other", "virtual", "lag",
}  # fmt: skip
CABLE_TYPES = {
    "cat3", "cat5", "cat5e", "cat6", "cat6a", "cat7", "cat8", "dac-active", "dac-passive", "coaxial", "mmf", "mmf-om3",
    "mmf-om4", "mmf-om5", "smf", "smf-os1", "smf-os2", "aoc", "power",
}  # fmt: skip


class ImportRefusedError(Exception):
    """NetBox would refuse this row."""


@dataclass
class Netbox:
    """The objects imported so far."""

    sites: dict[str, Row] = field(default_factory=dict)
    locations: dict[tuple[str, str], Row] = field(default_factory=dict)
    manufacturers: dict[str, Row] = field(default_factory=dict)
    device_types: dict[tuple[str, str], Row] = field(default_factory=dict)
    device_roles: dict[str, Row] = field(default_factory=dict)
    rack_types: dict[str, Row] = field(default_factory=dict)
    racks: dict[str, Row] = field(default_factory=dict)
    devices: dict[str, Row] = field(default_factory=dict)
    device_bays: dict[tuple[str, str], Row] = field(default_factory=dict)
    interfaces: dict[tuple[str, str], Row] = field(default_factory=dict)
    power_ports: dict[tuple[str, str], Row] = field(default_factory=dict)
    power_outlets: dict[tuple[str, str], Row] = field(default_factory=dict)
    power_panels: dict[tuple[str, str], Row] = field(default_factory=dict)
    power_feeds: dict[tuple[str, str], Row] = field(default_factory=dict)
    cable_bundles: dict[str, Row] = field(default_factory=dict)
    cables: list[Row] = field(default_factory=list)
    power_cables: list[Row] = field(default_factory=list)
    _slugs: set[tuple[str, str]] = field(default_factory=set)
    _spaces: set[tuple[str, int, str]] = field(default_factory=set)
    _installed: set[str] = field(default_factory=set)
    _ends: set[tuple[str, str, str]] = field(default_factory=set)

    def load(self, model: str, data: bytes) -> int:
        """Import one file; returns its row count."""
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
        columns = set(reader.fieldnames or ())
        _want(REQUIRED[model] <= columns, f"{model}: columns {REQUIRED[model] - columns} are missing")
        _want(columns <= ALLOWED[model], f"{model}: columns {columns - ALLOWED[model]} are not known")
        importer: Any = getattr(self, "_" + model.replace("-", "_"))
        count = 0
        for row in reader:
            for column in REQUIRED[model]:
                _want(bool(row[column]), f"{model}: {column} is empty in {row}")
            try:
                importer(row)
            except KeyError as error:
                raise ImportRefusedError(f"{model}: object not found: {error} in {row}") from error
            count += 1
        return count

    def _slug(self, model: str, row: Row) -> None:
        slug = row["slug"]
        _want(bool(SLUG.fullmatch(slug)) and len(slug) <= 100, f"{model}: bad slug {slug!r}")
        _want((model, slug) not in self._slugs, f"{model}: slug {slug!r} is taken")
        self._slugs.add((model, slug))

    def _sites(self, row: Row) -> None:
        self._slug("site", row)
        _want(row["status"] in STATUS, "site status")
        _want(len(row["name"]) <= 100 and len(row.get("description", "")) <= 200, "site name")
        self.sites[row["name"]] = row

    def _locations(self, row: Row) -> None:
        _ = self.sites[row["site"]]
        key = (row["site"], row["name"])
        _want(key not in self.locations and len(row["name"]) <= 100, f"location {key}")
        _want(bool(SLUG.fullmatch(row["slug"])) and row["status"] in STATUS, "location slug or status")
        self.locations[key] = row

    def _manufacturers(self, row: Row) -> None:
        self._slug("manufacturer", row)
        _want(row["name"] not in self.manufacturers, "manufacturer name is taken")
        _want(len(row["name"]) <= 100, "manufacturer name")
        self.manufacturers[row["name"]] = row

    def _device_types(self, row: Row) -> None:
        self._slug("device type", row)
        _ = self.manufacturers[row["manufacturer"]]
        key = (row["manufacturer"], row["model"])
        _want(key not in self.device_types and len(row["model"]) <= 100, f"device type {key}")
        height = _decimal(row["u_height"], 4, 1)
        _want(height % Decimal("0.5") == 0, "u_height goes by halves")
        role = row.get("subdevice_role", "")
        _want(role in {"", "parent", "child"}, "subdevice_role")
        _want(role != "child" or height == 0, "a child device type must be 0U")
        _want(len(row.get("part_number", "")) <= 50 and len(row.get("description", "")) <= 200, "lengths")
        _want(row.get("airflow", "") in {"", "front-to-rear", "rear-to-front", "passive", "left-to-right"}, "airflow")
        self.device_types[key] = row

    def _device_roles(self, row: Row) -> None:
        self._slug("role", row)
        _want(bool(COLOUR.fullmatch(row["color"])), f"colour {row['color']!r}")
        _want(row["name"] not in self.device_roles and len(row["name"]) <= 100, "role name")
        self.device_roles[row["name"]] = row

    def _rack_types(self, row: Row) -> None:
        self._slug("rack type", row)
        _ = self.manufacturers[row["manufacturer"]]
        forms = {"2-post-frame", "4-post-frame", "4-post-cabinet", "wall-frame", "wall-cabinet"}
        _want(row["form_factor"] in forms, "form factor")
        _want(row["width"] in {"10", "19", "21", "23"}, "rail width")
        _want(1 <= int(row["u_height"]) <= 100, "rack height")
        _want(not row.get("outer_width") or bool(row.get("outer_unit")), "outer unit")
        self.rack_types[row["model"]] = row

    def _racks(self, row: Row) -> None:
        _ = self.sites[row["site"]], self.locations[row["site"], row["location"]]
        _want(row["name"] not in self.racks and len(row["name"]) <= 100, "rack name")
        _want(row["status"] in STATUS, "rack status")
        if row.get("rack_type"):
            row = row | {"u_height": self.rack_types[row["rack_type"]]["u_height"]}
        self.racks[row["name"]] = row

    def _devices(self, row: Row) -> None:
        _ = self.sites[row["site"]], self.device_roles[row["role"]]
        kind = self.device_types[row["manufacturer"], row["device_type"]]
        name = row["name"]
        _want(0 < len(name) <= 64, f"device name {name!r}")
        _want(
            name.lower() not in {taken.lower() for taken in (name,) if taken in self.devices}, f"device {name} exists"
        )
        _want(row["status"] in STATUS, "device status")
        _ = self.locations[row["site"], row["location"]]
        _want(row["rack"] == "" or self.racks[row["rack"]]["location"] == row["location"], "the rack is elsewhere")
        rack, position, face = row.get("rack"), row.get("position"), row.get("face")
        _want(bool(rack) or not (position or face), "a position needs a rack")
        _want(not position or bool(face), "a position needs a face")
        _want(not face or face in {"front", "rear"}, "face")
        child = kind.get("subdevice_role") == "child"
        _want(not (child and (position or face)), "a child device has no position of its own")
        _want(not (position and Decimal(kind["u_height"]) == 0), "a 0U device cannot stand at a position")
        if rack:
            self._stand(name, self.racks[rack], kind, position, face)
        self.devices[name] = row

    def _stand(self, name: str, rack: Row, kind: Row, position: str | None, face: str | None) -> None:
        if not position:
            return
        height = int(Decimal(kind["u_height"]))
        faces = ("front", "rear") if kind.get("is_full_depth", "true") == "true" else (face or "front",)
        for unit in range(int(position), int(position) + height):
            _want(1 <= unit <= int(rack["u_height"]), f"{name}: unit {unit} is outside {rack['name']}")
            for side in faces:
                space = (rack["name"], unit, side)
                _want(space not in self._spaces, f"{name}: {space} is already occupied")
                self._spaces.add(space)

    def _device_bays(self, row: Row) -> None:
        parent = self.devices[row["device"]]
        kind = self.device_types[parent["manufacturer"], parent["device_type"]]
        _want(kind.get("subdevice_role") == "parent", f"{row['device']} has no bays")
        key = (row["device"], row["name"])
        _want(key not in self.device_bays, f"bay {key} exists")
        if installed := row.get("installed_device"):
            child = self.devices[installed]
            child_kind = self.device_types[child["manufacturer"], child["device_type"]]
            _want(child_kind.get("subdevice_role") == "child", f"{installed} is no child device")
            _want(
                child["rack"] == parent["rack"] and child["site"] == parent["site"], f"{installed} is in another rack"
            )
            _want(installed not in self._installed, f"{installed} is in two bays")
            self._installed.add(installed)
        self.device_bays[key] = row

    def _interfaces(self, row: Row) -> None:
        _ = self.devices[row["device"]]
        key = (row["device"], row["name"])
        _want(key not in self.interfaces and 0 < len(row["name"]) <= 64, f"interface {key}")
        _want(row["type"] in INTERFACE_TYPES, f"interface type {row['type']!r}")
        _want(not row.get("speed") or int(row["speed"]) >= 0, "speed is in kb/s")
        _want(row.get("duplex", "") in {"", "half", "full", "auto"}, "duplex")
        self.interfaces[key] = row

    def _power_ports(self, row: Row) -> None:
        _ = self.devices[row["device"]]
        key = (row["device"], row["name"])
        _want(key not in self.power_ports and 0 < len(row["name"]) <= 64, f"power port {key}")
        types = {"", "iec-60320-c14", "iec-60320-c20", "iec-60309-p-n-e-6h", "iec-60309-3p-n-e-6h"}
        _want(row["type"] in types, f"power port type {row['type']!r}")
        _want(row["maximum_draw"] == "" or 1 <= int(row["maximum_draw"]) <= 32767, "maximum draw")
        self.power_ports[key] = row

    def _power_outlets(self, row: Row) -> None:
        _ = self.devices[row["device"]]
        key = (row["device"], row["name"])
        _want(key not in self.power_outlets and 0 < len(row["name"]) <= 64, f"power outlet {key}")
        _want(row["type"] in {"", "iec-60320-c13", "iec-60320-c19"}, f"power outlet type {row['type']!r}")
        if row.get("power_port"):
            _ = self.power_ports[row["device"], row["power_port"]]
        self.power_outlets[key] = row

    def _power_panels(self, row: Row) -> None:
        _ = self.sites[row["site"]]
        if row.get("location"):
            _ = self.locations[row["site"], row["location"]]
        key = (row["site"], row["name"])
        _want(key not in self.power_panels and len(row["name"]) <= 100, f"power panel {key}")
        self.power_panels[key] = row

    def _power_feeds(self, row: Row) -> None:
        _ = self.power_panels[row["site"], row["power_panel"]]
        key = (row["power_panel"], row["name"])
        _want(key not in self.power_feeds and len(row["name"]) <= 100, f"power feed {key}")
        _want(
            row.get("rack", "") == "" or self.racks[row["rack"]]["site"] == row["site"], "the rack is at another site"
        )
        _want(row["status"] in {"offline", "active", "planned", "failed"}, "power feed status")
        _want(row["type"] in {"primary", "redundant"} and row["supply"] in {"ac", "dc"}, "power feed type or supply")
        _want(row["phase"] in {"single-phase", "three-phase"}, "power feed phase")
        _want(0 < int(row["voltage"]) <= 32767 and 1 <= int(row["amperage"]) <= 32767, "power feed voltage or amperage")
        _want(1 <= int(row["max_utilization"]) <= 100, "power feed utilization")
        self.power_feeds[key] = row

    def _cable_bundles(self, row: Row) -> None:
        _want(row["name"] not in self.cable_bundles and len(row["name"]) <= 100, f"cable bundle {row['name']}")
        _want(len(row.get("description", "")) <= 200, "cable bundle description")
        self.cable_bundles[row["name"]] = row

    def _end(self, row: Row, side: str) -> tuple[str, str, str]:
        """(type, parent, name) of one end, which exists and has no cable yet."""
        kind, name = row[f"side_{side}_type"], row[f"side_{side}_name"]
        result = {
            "dcim.interface": self.interfaces, "dcim.powerport": self.power_ports, "dcim.poweroutlet": self.power_outlets,
            "dcim.powerfeed": self.power_feeds,
        }  # fmt: skip
        _want(kind in result, f"termination type {kind}")
        parent = row[f"side_{side}_power_panel" if kind == "dcim.powerfeed" else f"side_{side}_device"]
        _want("," not in parent and "," not in name, f"Object not found: {parent.split(',')[0]}")
        site = row[f"side_{side}_site"]
        if kind == "dcim.powerfeed":
            _ = self.power_panels[site, parent]
        else:
            _want(self.devices[parent]["site"] == site, "the device is at another site")
        _ = result[kind][parent, name]
        _want((kind, parent, name) not in self._ends, f"{parent} {name} already has a cable")
        self._ends.add((kind, parent, name))
        return kind, parent, name

    def _cables(self, row: Row) -> None:
        kinds = {self._end(row, side)[0] for side in "ab"}
        joins = ({"dcim.interface"}, {"dcim.powerport", "dcim.poweroutlet"}, {"dcim.powerport", "dcim.powerfeed"})
        _want(kinds in joins, f"incompatible termination types: {kinds}")
        _want(row.get("type", "") in CABLE_TYPES | {""}, f"cable type {row.get('type')!r}")
        _want(row.get("status", "connected") in {"connected", "planned", "decommissioning"}, "cable status")
        _want(len(row.get("label", "")) <= 100, "cable label")
        _want(not row.get("color") or bool(COLOUR.fullmatch(row["color"])), "cable colour")
        if row.get("bundle"):
            _ = self.cable_bundles[row["bundle"]]
        if row.get("length"):
            _decimal(row["length"], 8, 2)
            _want(row.get("length_unit") in {"km", "m", "cm", "mi", "ft", "in"}, "length unit")
        (self.cables if kinds == {"dcim.interface"} else self.power_cables).append(row)

    _power_cables = _cables


def _want(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ImportRefusedError(otherwise)


def _decimal(text: str, digits: int, places: int) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ImportRefusedError(f"{text!r} is not a number") from error
    _, shown, exponent = value.as_tuple()
    _want(
        isinstance(exponent, int) and -exponent <= places and len(shown) <= digits,
        f"{text!r}: {digits} digits, {places} decimals",
    )
    return value
