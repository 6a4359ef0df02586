"""Compares what the plan wants with what a NetBox has, and makes the difference.

Each model is read, compared and written in pieces. NetBox does a piece whole or not at all; when it does not answer, whether
it did is not known, so the model is read and compared again, with smaller pieces. A dry run makes the same comparison:
whatever belongs to an object that does not exist yet would be created too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from cubeyard.exports.netbox.records import NetboxRecords, Row
from cubeyard.exports.netbox.sync import models
from cubeyard.exports.netbox.sync.client import NetboxBusyError, NetboxClient
from cubeyard.exports.netbox.sync.models import Key, Model, plain, same

Json = dict[str, Any]
PIECE = 100
MAX_TRIES = 8
"""In a row without anything new done, with longer and longer pauses: about two minutes."""
_MAX_PAUSE_SECS = 30.0
MAX_SHOWN = 20

Progress = Callable[[str, int, int], None]
"""Called with a model, how many objects are done, and of how many."""


@dataclass(slots=True)
class ModelChange:
    """What a sync does, or would do, to one model."""

    model: str
    wanted: int
    created: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    extra: int = 0
    """Objects of the plan's site that the plan does not have; they are left alone."""
    examples: list[str] = field(default_factory=list)
    """The first differences, in words."""

    def say(self, words: str) -> None:
        if len(self.examples) < MAX_SHOWN:
            self.examples.append(words)


def sync(
    records: NetboxRecords,
    client: NetboxClient,
    *,
    dry_run: bool = False,
    piece: int = PIECE,
    progress: Progress | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[ModelChange]:
    """Make the plan in the NetBox, one model after the other; yields what was done to each.

    Raises `NetboxError` where NetBox refuses an object or does not answer; what was done until then stays, and a repeated
    sync goes on from there.
    """
    yield from _Sync(records, client, dry_run, piece, progress, pause).run()


class _Sync:
    def __init__(
        self,
        records: NetboxRecords,
        client: NetboxClient,
        dry_run: bool,
        piece: int,
        progress: Progress | None,
        pause: Callable[[float], None],
    ) -> None:
        self._records, self._client = records, client
        self._dry_run, self._piece, self._progress, self._pause = dry_run, piece, progress, pause
        self._made_up = 0

    # -- the models, in order ----------------------------------------------------------------------------------------

    def run(self) -> Iterator[ModelChange]:
        records = self._records
        found, change = self._named(models.SITES, list(records.sites()), "name")
        yield change
        site = found[records.site]
        rows = [{**row, "site": site} for row in records.locations()]
        found, change = self._named(models.LOCATIONS, rows, "name", {"site_id": site})
        yield change
        location = found[records.location]
        makers, change = self._named(models.MANUFACTURERS, list(records.manufacturers()), "name")
        yield change
        roles, change = self._named(models.DEVICE_ROLES, list(records.device_roles()), "name")
        yield change
        types: dict[tuple[str, str], int] = {}
        yield from self._types(makers, types)
        rows = [{**row, "manufacturer": makers["Cubeyard"]} for row in records.rack_types()]
        rack_types, change = self._named(models.RACK_TYPES, rows, "model", {"manufacturer_id": makers["Cubeyard"]})
        yield change
        rows = [
            {**_only(row, "name", "status", "description", "comments"), "site": site, "location": location,
             "rack_type": rack_types[str(row["rack_type"])]}
            for row in records.racks()
        ]  # fmt: skip
        racks, change = self._named(models.RACKS, rows, "name", {"site_id": site, "location_id": location})
        yield change
        wanted = [
            {
                **_only(row, "name", "status", "description"), "site": site, "location": location,
                "role": roles[str(row["role"])], "device_type": types[str(row["manufacturer"]), str(row["device_type"])],
                "rack": racks[str(row["rack"])], "position": row["position"] or None, "face": row["face"] or None,
            }
            for row in records.devices()
        ]  # fmt: skip
        devices, change = self._named(models.DEVICES, wanted, "name", {"site_id": site}, before=self._lift)
        yield change
        yield from self._components(site, location, racks, devices)

    def _types(self, makers: Mapping[str, int], types: dict[tuple[str, str], int]) -> Iterator[ModelChange]:
        """Device types, and the components of those that are new: devices then have theirs at once."""
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
        found, change = self._each(models.DEVICE_TYPES, rows, query)
        yield change
        names = {number: name for name, number in makers.items()}
        for one in found.values():
            types[names[one["manufacturer"]], str(one["model"])] = one["id"]
        inlets: dict[Key, Json] = {}
        for model, kind in (
            (models.INTERFACE_TEMPLATES, "interfaces"),
            (models.POWER_PORT_TEMPLATES, "power-ports"),
            (models.POWER_OUTLET_TEMPLATES, "power-outlets"),
            (models.BAY_TEMPLATES, "device-bays"),
        ):
            # A type that devices have already is shared: what it lacks, its devices get one by one.
            templates = [
                {"device_type": one["id"], **_fed(component, inlets, one["id"])}
                for row in library
                if not (one := found[makers[str(row["manufacturer"])], row["model"]]).get("device_count")
                for component in row[kind]
            ]
            made, change = self._each(
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
        _, change = self._each(models.DEVICE_BAYS, wanted, at_site, before=self._empty)
        yield change
        wanted = [
            {"device": devices[str(row["device"])], "name": row["name"], "type": row["type"]}
            for row in records.interfaces()
        ]
        interfaces, change = self._each(models.INTERFACES, wanted, at_site)
        yield change
        wanted = [{**row, "device": devices[str(row["device"])]} for row in records.power.power_ports()]
        inlets, change = self._each(models.POWER_PORTS, wanted, at_site)
        yield change
        wanted = [
            _fed({**row, "device": device}, inlets, device)
            for row in records.power.power_outlets()
            for device in [devices[str(row["device"])]]
        ]
        outlets, change = self._each(models.POWER_OUTLETS, wanted, at_site)
        yield change
        rows = [{**row, "site": site, "location": location} for row in records.power.panels()]
        panels, change = self._named(models.POWER_PANELS, rows, "name", at_site)
        yield change
        wanted = [
            {**{name: value for name, value in row.items() if name not in ("site", "location")},
             "power_panel": panels[str(row["power_panel"])], "rack": racks[str(row["rack"])]}
            for row in records.power.feeds()
        ]  # fmt: skip
        feeds, change = self._each(models.POWER_FEEDS, wanted, at_site)
        yield change
        bundles: dict[str, int] = {}
        if self._offers("cable-bundles"):
            bundles, change = self._named(models.CABLE_BUNDLES, list(records.bundles()), "name")
            yield change
        ends = {"interface": interfaces, "powerport": inlets, "poweroutlet": outlets, "powerfeed": feeds}

        def end(row: Row, side: str) -> list[Json]:
            kind = str(row[f"side_{side}_type"])
            device, panel = row[f"side_{side}_device"], str(row.get(f"side_{side}_power_panel") or "")
            owner = devices[str(device)] if device else panels[panel]
            found = ends[kind.removeprefix("dcim.")][owner, row[f"side_{side}_name"]]
            return [{"object_type": kind, "object_id": found["id"]}]

        cables = [
            {
                "a_terminations": end(row, "a"), "b_terminations": end(row, "b"),
                **_only(row, "type", "status", "label", "color", "length_unit", "description"),
                **({"length": float(str(row["length"]))} if row.get("length") else {}),
                **({"bundle": bundles[str(row["bundle"])]} if bundles and row.get("bundle") else {}),
            }
            for row in chain(records.cables(), records.power.cables())
        ]  # fmt: skip
        _, change = self._each(models.CABLES, cables, at_site, before=self._unplug)
        yield change

    def _offers(self, model: str) -> bool:
        """Whether this NetBox has a model: cable bundles are new in 4.6."""
        tries = 0
        while True:
            try:
                return model in self._client.call("GET", "/api/dcim/")
            except NetboxBusyError:
                tries += 1
                if tries >= MAX_TRIES:
                    raise
                self._pause(min(2.0**tries / 2, _MAX_PAUSE_SECS))

    # -- what stands in the way of changes ----------------------------------------------------------------------------

    def _lift(self, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> None:
        """Takes devices that move out of their units first: two that change places would collide."""
        moving = [
            one["id"]
            for key, one in found.items()
            if key in wanted
            and one.get("position")
            and not all(same(wanted[key].get(name), one.get(name)) for name in ("rack", "position", "device_type"))
        ]
        _ = change
        self._in_pieces(
            moving, lambda ids: self._client.change(models.DEVICES.path, [{"id": i, "position": None} for i in ids])
        )

    def _empty(self, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> None:
        """Empties bays whose device moves, since a device is in one bay only."""
        leaving = [
            one["id"]
            for key, one in found.items()
            if key in wanted
            and one.get("installed_device")
            and one["installed_device"] != wanted[key]["installed_device"]
        ]
        _ = change
        path = models.DEVICE_BAYS.path
        self._in_pieces(
            leaving, lambda ids: self._client.change(path, [{"id": i, "installed_device": None} for i in ids])
        )

    def _unplug(self, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> None:
        """Deletes cables that end at a port of the plan but join it to another one."""
        ports = {port for key in wanted for port in _ports(key)}
        wrong = {key: one for key, one in found.items() if key not in wanted and ports & _ports(key)}
        for one in wrong.values():
            change.say(f"delete cable {one.get('label') or one['id']}: it joins other ports than the plan's")
        change.deleted += len(wrong)
        self._in_pieces([one["id"] for one in wrong.values()], lambda ids: self._client.delete(models.CABLES.path, ids))
        for key in wrong:
            found.pop(key)

    def _in_pieces(self, ids: Sequence[int], write: Callable[[Sequence[int]], None]) -> None:
        if not self._dry_run:
            for start in range(0, len(ids), self._piece):
                write(ids[start : start + self._piece])

    # -- one model ---------------------------------------------------------------------------------------------------

    def _named(
        self, model: Model, rows: list[Row], name: str, query: Json | None = None, before: _Before | None = None
    ) -> tuple[dict[str, int], ModelChange]:
        """As `_each`, with the ids by the wanted objects' own names."""
        found, change = self._each(model, rows, query, before)
        return {str(row[name]): found[model.key(row)]["id"] for row in rows}, change

    def _each(
        self, model: Model, rows: Sequence[Json], query: Json | None = None, before: _Before | None = None
    ) -> tuple[dict[Key, Json], ModelChange]:
        """Make every one of `rows`; gives the objects by key, with made-up negative ids in a dry run."""
        wanted = {model.key(row): _sent(row) for row in rows}
        change = ModelChange(model.title, len(wanted))
        tries, piece = 0, self._piece
        while True:
            done = change.created + change.changed + change.deleted
            try:
                found = self._read(model, wanted, query)
                if before is not None:
                    before(wanted, found, change)
                self._write(model, wanted, found, change, piece)
                return found, change
            except NetboxBusyError:
                tries = 0 if change.created + change.changed + change.deleted > done else tries + 1
                if tries >= MAX_TRIES:
                    raise
                piece = max(1, piece // 2)
                self._pause(min(2.0**tries / 2, _MAX_PAUSE_SECS))

    def _read(self, model: Model, wanted: Mapping[Key, Json], query: Json | None) -> dict[Key, Json]:
        """The objects that there are, by key; nothing for those of a site, type or maker that a dry run only made up."""
        asked = dict(query or {})
        for name, value in asked.items():
            known = [one for one in value if one > 0] if isinstance(value, list) else value
            if known == [] or (isinstance(known, int) and known < 0):
                return {}
            asked[name] = known
        if not wanted and not asked:
            return {}
        return {model.key(one): one for one in map(plain, self._client.all(model.path, asked))}

    def _write(
        self, model: Model, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange, piece: int
    ) -> None:
        missing = [key for key in wanted if key not in found]
        differing = _differing(model, wanted, found, change)
        change.unchanged = len(wanted) - len(missing) - len(differing) - change.created - change.changed
        change.extra = sum(1 for key in found if key not in wanted) if model in _WHOLE_SITE else 0
        for start in range(0, len(differing), piece):
            part = differing[start : start + piece]
            if not self._dry_run:
                self._client.change(model.path, part)
            change.changed += len(part)
        for start in range(0, len(missing), piece):
            keys = missing[start : start + piece]
            if self._dry_run:
                made = [self._imagined(wanted[key]) for key in keys]
            else:
                made = [plain(one) for one in self._client.create(model.path, [wanted[key] for key in keys])]
            for key, one in zip(keys, made, strict=True):
                found[key] = one
                change.say(f"create {_title(wanted[key], one)}")
            change.created += len(keys)
            if self._progress is not None:
                self._progress(model.title, start + len(keys), len(missing))

    def _imagined(self, wanted: Json) -> Json:
        self._made_up -= 1
        return {**wanted, "id": self._made_up}


def _differing(model: Model, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> list[Json]:
    """What the plan owns of objects and is otherwise there: the id and the fields to set."""
    out: list[Json] = []
    for key, one in wanted.items() if model.owned else ():
        there = found.get(key)
        if there is None:
            continue
        fields = {name: one[name] for name in model.owned if name in one and not same(one[name], there.get(name))}
        if fields:
            out.append({"id": there["id"], **fields})
            before = {name: there.get(name) for name in fields}
            # What was empty is filled: only what replaces something is a difference to read.
            if any(value not in (None, "") for value in before.values()):
                change.say(f"change {_title(one, there)}: {before} becomes {fields}")
    return out


_Before = Callable[[dict[Key, Json], dict[Key, Json], ModelChange], None]
_WHOLE_SITE = (models.RACKS, models.DEVICES)


def _only(row: Mapping[str, Any], *names: str) -> Json:
    return {name: row[name] for name in names if row.get(name) not in (None, "")}


def _sent(row: Mapping[str, Any]) -> Json:
    """A record as the API takes it: texts of CSV files as what they mean."""
    words = {"true": True, "false": False}
    return {name: words.get(value, value) if isinstance(value, str) else value for name, value in row.items()}


def _fed(component: Json, inlets: Mapping[Key, Json], owner: int) -> Json:
    """A component with the id of the inlet that feeds it in the place of its name; only outlets name one."""
    name = component.get("power_port")
    return component if name is None else {**component, "power_port": inlets[owner, name]["id"]}


def _ports(key: Key) -> frozenset[tuple[str, int]]:
    return key if isinstance(key, frozenset) else frozenset()


def _title(wanted: Json, found: Json) -> str:
    return str(wanted.get("name") or wanted.get("model") or wanted.get("label") or found["id"])
