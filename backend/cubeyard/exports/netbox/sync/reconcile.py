"""The plan's objects for NetBox, model by model, so that references point to existing objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from cubeyard.exports.netbox.records import NetboxRecords, Row
from cubeyard.exports.netbox.sync import models
from cubeyard.exports.netbox.sync.client import NetboxClient
from cubeyard.exports.netbox.sync.models import Key, same
from cubeyard.exports.netbox.sync.writer import PIECE, ModelChange, Progress, Writer

Json = dict[str, Any]


def sync(
    records: NetboxRecords,
    client: NetboxClient,
    *,
    dry_run: bool = False,
    piece: int = PIECE,
    progress: Progress | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[ModelChange]:
    """Creates the plan in the NetBox, one model after the other; yields the changes of each.

    Raises `NetboxError` if NetBox refuses an object or does not respond; earlier changes remain,
    and a repeated sync resumes from there.
    """
    yield from _Sync(records, Writer(client, dry_run, piece, progress, pause)).run()


class _Sync:
    def __init__(self, records: NetboxRecords, to: Writer) -> None:
        self._records, self._to, self._client = records, to, to.client

    # -- the models, in order

    def run(self) -> Iterator[ModelChange]:
        records = self._records
        result, change = self._to.named(models.SITES, list(records.sites()), "name")
        yield change
        site = result[records.site]
        rows = [{**row, "site": site} for row in records.locations()]
        result, change = self._to.named(models.LOCATIONS, rows, "name", {"site_id": site})
        yield change
        location = result[records.location]
        makers, change = self._to.named(models.MANUFACTURERS, list(records.manufacturers()), "name")
        yield change
        roles, change = self._to.named(models.DEVICE_ROLES, list(records.device_roles()), "name")
        yield change
        types: dict[tuple[str, str], int] = {}
        yield from self._types(makers, types)
        rows = [{**row, "manufacturer": makers["Cubeyard"]} for row in records.rack_types()]
        rack_types, change = self._to.named(models.RACK_TYPES, rows, "model", {"manufacturer_id": makers["Cubeyard"]})
        yield change
        rows = [
            {**_only(row, "name", "status", "description", "comments"), "site": site, "location": location,
             "rack_type": rack_types[str(row["rack_type"])]}
            for row in records.racks()
        ]  # fmt: skip
        racks, change = self._to.named(models.RACKS, rows, "name", {"site_id": site, "location_id": location})
        yield change
        wanted = [
            {
                **_only(row, "name", "status", "description"), "site": site, "location": location,
                "role": roles[str(row["role"])], "device_type": types[str(row["manufacturer"]), str(row["device_type"])],
                "rack": racks[str(row["rack"])], "position": row["position"] or None, "face": row["face"] or None,
            }
            for row in records.devices()
        ]  # fmt: skip
        devices, change = self._to.named(models.DEVICES, wanted, "name", {"site_id": site}, before=self._lift)
        yield change
        yield from self._components(site, location, racks, devices)

    def _types(self, makers: Mapping[str, int], types: dict[tuple[str, str], int]) -> Iterator[ModelChange]:
        """Device types, and the components of new types, so that NetBox creates them with each new
        device."""
        library = list(self._records.library_types())
        rows = [
            {
                **_only(row, "model", "slug", "part_number", "airflow", "subdevice_role", "description", "weight_unit"),
                "manufacturer": makers[str(row["manufacturer"])], "u_height": row["u_height"],
                "is_full_depth": row["is_full_depth"] == "true",
                **({"weight": float(str(row["weight"]))} if row.get("weight") else {}),
            }
            for row in library
        ]  # fmt: skip
        query = {"manufacturer_id": sorted(set(makers.values()))}
        result, change = self._to.each(models.DEVICE_TYPES, rows, query)
        yield change
        names = {number: name for name, number in makers.items()}
        for item in result.values():
            types[names[item["manufacturer"]], str(item["model"])] = item["id"]
        inlets: dict[Key, Json] = {}
        for model, kind in (
            (models.INTERFACE_TEMPLATES, "interfaces"),
            (models.POWER_PORT_TEMPLATES, "power-ports"),
            (models.POWER_OUTLET_TEMPLATES, "power-outlets"),
            (models.BAY_TEMPLATES, "device-bays"),
        ):
            # A type that existed before is shared and not changed: its devices get missing
            # components one by one.
            templates = [
                {"device_type": item["id"], **_fed(component, inlets, item["id"])}
                for row in library
                if not (item := result[makers[str(row["manufacturer"])], row["model"]]).get("device_count")
                for component in row[kind]
            ]
            made, change = self._to.each(
                model, templates, {"device_type_id": sorted({row["device_type"] for row in templates})}
            )
            if model is models.POWER_PORT_TEMPLATES:
                inlets = made
            yield change

    def _components(
        self, site: int, location: int, racks: Mapping[str, int], devices: Mapping[str, int]
    ) -> Iterator[ModelChange]:
        records, at_site = self._records, {"site_id": site}
        wanted = [
            {
                "device": devices[str(row["device"])], "name": row["name"],
                "installed_device": devices[str(row["installed_device"])] if row["installed_device"] else None,
            }
            for row in records.device_bays()
        ]  # fmt: skip
        _, change = self._to.each(models.DEVICE_BAYS, wanted, at_site, before=self._empty)
        yield change
        wanted = [
            {"device": devices[str(row["device"])], "name": row["name"], "type": row["type"]}
            for row in records.interfaces()
        ]
        interfaces, change = self._to.each(models.INTERFACES, wanted, at_site)
        yield change
        wanted = [{**row, "device": devices[str(row["device"])]} for row in records.power.power_ports()]
        inlets, change = self._to.each(models.POWER_PORTS, wanted, at_site)
        yield change
        wanted = [
            _fed({**row, "device": device}, inlets, device)
            for row in records.power.power_outlets()
            for device in [devices[str(row["device"])]]
        ]
        outlets, change = self._to.each(models.POWER_OUTLETS, wanted, at_site)
        yield change
        rows = [{**row, "site": site, "location": location} for row in records.power.panels()]
        panels, change = self._to.named(models.POWER_PANELS, rows, "name", at_site)
        yield change
        wanted = [
            {**{name: value for name, value in row.items() if name not in ("site", "location")},
             "power_panel": panels[str(row["power_panel"])], "rack": racks[str(row["rack"])]}
            for row in records.power.feeds()
        ]  # fmt: skip
        feeds, change = self._to.each(models.POWER_FEEDS, wanted, at_site)
        yield change
        bundles: dict[str, int] = {}
        if self._offers("cable-bundles"):
            bundles, change = self._to.named(models.CABLE_BUNDLES, list(records.bundles()), "name")
            yield change
        ends = {"interface": interfaces, "powerport": inlets, "poweroutlet": outlets, "powerfeed": feeds}

        def end(row: Row, side: str) -> list[Json]:
            kind = str(row[f"side_{side}_type"])
            device, panel = row[f"side_{side}_device"], str(row.get(f"side_{side}_power_panel") or "")
            owner = devices[str(device)] if device else panels[panel]
            result = ends[kind.removeprefix("dcim.")][owner, row[f"side_{side}_name"]]
            return [{"object_type": kind, "object_id": result["id"]}]

        cables = [
            {
                "a_terminations": end(row, "a"), "b_terminations": end(row, "b"),
                **_only(row, "type", "status", "label", "color", "length_unit", "description"),
                **({"length": float(str(row["length"]))} if row.get("length") else {}),
                **({"bundle": bundles[str(row["bundle"])]} if bundles and row.get("bundle") else {}),
            }
            for row in chain(records.cables(), records.power.cables())
        ]  # fmt: skip
        _, change = self._to.each(models.CABLES, cables, at_site, before=self._unplug)
        yield change

    def _offers(self, model: str) -> bool:
        """Whether this NetBox has a model; for example, cable bundles are new in 4.6."""
        return model in self._to.answer("/api/dcim/")

    # -- conflicts with changes

    def _lift(self, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> None:
        """Removes moving devices from their units first: two devices that swap positions would
        collide."""
        moving = [
            item["id"]
            for key, item in found.items()
            if key in wanted
            and item.get("position")
            and not all(same(wanted[key].get(name), item.get(name)) for name in ("rack", "position", "device_type"))
        ]
        _ = change
        self._to.in_pieces(
            moving, lambda ids: self._client.change(models.DEVICES.path, [{"id": i, "position": None} for i in ids])
        )

    def _empty(self, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> None:
        """Empties bays whose device moves, since a device can be in only one bay."""
        leaving = [
            item["id"]
            for key, item in found.items()
            if key in wanted
            and item.get("installed_device")
            and item["installed_device"] != wanted[key]["installed_device"]
        ]
        _ = change
        path = models.DEVICE_BAYS.path
        self._to.in_pieces(
            leaving, lambda ids: self._client.change(path, [{"id": i, "installed_device": None} for i in ids])
        )

    def _unplug(self, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> None:
        """Deletes cables between a port of the plan and a port that the plan does not connect it
        to."""
        ports = {port for key in wanted for port in _ports(key)}
        wrong = {key: item for key, item in found.items() if key not in wanted and ports & _ports(key)}
        for item in wrong.values():
            change.say(f"delete cable {item.get('label') or item['id']}: it joins other ports than the plan's")

        change.doomed = [item["id"] for item in wrong.values()]

        def delete(ids: Sequence[int]) -> None:
            self._client.delete(models.CABLES.path, ids)
            change.deleted += len(ids)

        self._to.in_pieces(change.doomed, delete)
        if self._to.dry_run:
            change.deleted += len(wrong)
        for key in wrong:
            found.pop(key)


def _only(row: Mapping[str, Any], *names: str) -> Json:
    return {name: row[name] for name in names if row.get(name) not in (None, "")}


def _fed(component: Json, inlets: Mapping[Key, Json], owner: int) -> Json:
    """A component with the id of the inlet that feeds it instead of the inlet's name; only outlets
    have one."""
    name = component.get("power_port")
    return component if name is None else {**component, "power_port": inlets[owner, name]["id"]}


def _ports(key: Key) -> frozenset[tuple[str, int]]:
    return key if isinstance(key, frozenset) else frozenset()
