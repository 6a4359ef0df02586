"""The models that a sync creates, in order: API path, the key that identifies an object, and the
fields that the plan owns."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Key = Hashable


@dataclass(frozen=True, slots=True)
class Model:
    """One kind of object. Keys and fields have the API's names, with references as ids."""

    title: str
    path: str
    key: Callable[[Json], Key]
    """Computes the key that identifies an object, from a wanted object or a response that `plain`
    converted."""
    owned: tuple[str, ...] = ()
    """Fields that are updated if they differ; empty for shared objects."""


def plain(found: Json) -> Json:
    """Converts an object of a response into the form of a request: references as ids, choices as
    their values."""
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return value.get("id", value.get("value"))
    return value


def same(wanted: object, found: object) -> bool:
    """Whether a field has the wanted value: NetBox returns decimals as text or float, and a missing
    value as null or empty text."""
    if wanted in (None, "") or found in (None, ""):
        return wanted in (None, "") and found in (None, "")
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        try:
            return abs(float(str(found)) - wanted) < 1e-6
        except ValueError:
            return False
    return wanted == found


def _fields(*names: str) -> Callable[[Json], Key]:
    return lambda item: tuple(item.get(name) for name in names)


def cable_ends(one: Json) -> Key:
    """The ends of a cable, in either direction: (kind of object, id) of each end."""
    ends = (*one["a_terminations"], *one["b_terminations"])
    return frozenset((end["object_type"], end["object_id"]) for end in ends)


SITES = Model("sites", "/api/dcim/sites/", _fields("slug"))
LOCATIONS = Model("locations", "/api/dcim/locations/", _fields("site", "slug"))
MANUFACTURERS = Model("manufacturers", "/api/dcim/manufacturers/", _fields("slug"))
DEVICE_TYPES = Model("device types", "/api/dcim/device-types/", _fields("manufacturer", "model"))
INTERFACE_TEMPLATES = Model("interface templates", "/api/dcim/interface-templates/", _fields("device_type", "name"))
POWER_PORT_TEMPLATES = Model("power port templates", "/api/dcim/power-port-templates/", _fields("device_type", "name"))
BAY_TEMPLATES = Model("device bay templates", "/api/dcim/device-bay-templates/", _fields("device_type", "name"))
DEVICE_ROLES = Model("device roles", "/api/dcim/device-roles/", _fields("slug"))
RACK_TYPES = Model("rack types", "/api/dcim/rack-types/", _fields("manufacturer", "model"))
RACKS = Model("racks", "/api/dcim/racks/", _fields("location", "name"), ("description",))
DEVICES = Model(
    "devices", "/api/dcim/devices/", _fields("name"),
    ("role", "device_type", "location", "rack", "position", "face", "description"),
)  # fmt: skip
DEVICE_BAYS = Model("device bays", "/api/dcim/device-bays/", _fields("device", "name"), ("installed_device",))
INTERFACES = Model("interfaces", "/api/dcim/interfaces/", _fields("device", "name"), ("type",))
POWER_PORTS = Model("power ports", "/api/dcim/power-ports/", _fields("device", "name"), ("maximum_draw",))
POWER_OUTLET_TEMPLATES = Model(
    "power outlet templates", "/api/dcim/power-outlet-templates/", _fields("device_type", "name")
)
POWER_OUTLETS = Model("power outlets", "/api/dcim/power-outlets/", _fields("device", "name"))
POWER_PANELS = Model("power panels", "/api/dcim/power-panels/", _fields("site", "name"))
POWER_FEEDS = Model(
    "power feeds", "/api/dcim/power-feeds/", _fields("power_panel", "name"), ("rack", "phase", "voltage", "amperage")
)
CABLE_BUNDLES = Model("cable bundles", "/api/dcim/cable-bundles/", _fields("name"), ("description",))
CABLES = Model(
    "cables",
    "/api/dcim/cables/",
    cable_ends,
    ("type", "bundle", "label", "color", "length", "length_unit", "description"),
)
