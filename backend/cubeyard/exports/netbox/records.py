"""The rows of each NetBox import file.

Devices that share a rack unit (two servers, four mini-switches) are children of a chassis: one
parent device of 1 U per shared unit, named by its position (`R07-12`, after the host names'
prefix), with a bay for each slot (`A`, `B`, ...). So NetBox's rack elevation shows the unit as
occupied and a child's position stays readable. A child has no unit itself, as NetBox requires of
0-U child types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from cubeyard.exports.links import LinkFacts
from cubeyard.exports.netbox.ports import NAME_MAX_CHARACTERS, DevicePorts, Port
from cubeyard.exports.netbox.power import PowerRecords, prefixed
from cubeyard.exports.palette import LIGHT, level_colour
from cubeyard.exports.tables import PlanTables, enclosure_title, provenance, slot_letter
from cubeyard.exports.text import plain, slug
from cubeyard.plans.view import PlanView

Row = dict[str, object]

CHASSIS_MANUFACTURER = "Cubeyard"
SERVER_ROLE, CHASSIS_ROLE = "Server", "Shelf"
LABEL_MAX_CHARACTERS = 100
COMPONENTS = ("interfaces", "power-ports", "power-outlets", "device-bays")
"""The components of a device type, by the names that the community's library gives them."""
_COLOURS = {
    "black": "111111", "white": "ffffff", "grey": "9e9e9e", "gray": "9e9e9e", "red": "f44336", "orange": "ff9800",
    "yellow": "ffeb3b", "green": "4caf50", "blue": "2196f3", "purple": "9c27b0", "violet": "9c27b0", "pink": "e91e63",
    "aqua": "00bcd4", "teal": "009688", "brown": "795548", "turquoise": "00bcd4", "magenta": "e91e63", "lime": "cddc39",
}  # fmt: skip


def hex_colour(name: str, level: int) -> str:
    """The six hexadecimal digits that NetBox uses for a cable's colour name; the level's colour for
    an unknown name."""
    if re.fullmatch(r"#[0-9a-fA-F]{6}", name):
        return name[1:].lower()
    return _COLOURS.get(name.strip().lower(), level_colour(level)[1:].lower())


class TypeKey(NamedTuple):
    """The common properties of the devices of one NetBox device type."""

    part: int
    """Index of the part in the price book; -1 and -2 for a switch and a server without one."""
    height: int
    shared: bool
    """Whether the device shares its rack unit."""
    ports: int
    """Index of its list of ports."""


class NetboxRecords:
    """Every import file's rows for one plan. Devices are named by host name, because NetBox splits
    references at commas."""

    def __init__(self, plan: PlanView) -> None:
        self.plan = plan
        self.tables = PlanTables(plan)
        self.facts = LinkFacts(self.tables)
        self.ports = DevicePorts(self.tables, self.facts)
        self.names = self.tables.hosts
        self.site = plain(plan.name).strip()[:100] or "Cubeyard plan"
        self.location = enclosure_title(plan.scene["enclosure"])[:100]
        """Racks belong to a location: NetBox requires unique rack names only within a location."""
        self.power = PowerRecords(self.tables, self.site, self.location)

    # -- positions

    @cached_property
    def _types(self) -> dict[TypeKey, str]:
        """Model name of each device type, in the order devices first use them."""
        tables = self.tables
        seen: dict[TypeKey, str] = {}
        for i in range(len(self.names)):
            key = self._type_keys[i]
            if key not in seen:
                sku = tables.part_sku(key.part) or (
                    "Unspecified switch" if tables.device_kind[i] else "Unspecified server"
                )
                # One part used at two heights, alone and shared, or with two kinds of ports needs a
                # type for each.
                taken = set(seen.values())
                model, count = sku[:90], 1
                while model in taken:
                    count += 1
                    model = f"{sku[:90]} ({count})"
                seen[key] = model
        return seen

    def _type_key(self, device: int) -> TypeKey:
        tables = self.tables
        part = tables.device_part[device]
        kind = -1 if tables.device_kind[device] else -2
        ports = self.ports.of(device)
        return TypeKey(
            part if part is not None and 0 <= part < len(tables.parts) else kind,
            tables.device_height[device],
            tables.device_slots[device] > 1,
            self._port_lists.setdefault(tuple(ports), len(self._port_lists)),
        )

    @cached_property
    def _port_lists(self) -> dict[tuple[Port, ...], int]:
        """A number for each list of ports that some device has."""
        return {}

    @cached_property
    def _type_keys(self) -> list[TypeKey]:
        return [self._type_key(device) for device in range(len(self.names))]

    @cached_property
    def _shelves(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Chassis by (rack, bottom unit): its height in units and its number of bays."""
        tables = self.tables
        shelves: dict[tuple[int, int], tuple[int, int]] = {}
        for i in range(len(self.names)):
            if tables.device_slots[i] > 1:
                at = (tables.device_rack[i], tables.device_unit[i])
                height, bays = shelves.get(at, (1, 1))
                shelves[at] = (max(height, tables.device_height[i]), max(bays, tables.device_slots[i]))
        return dict(sorted(shelves.items()))

    @staticmethod
    def _shelf_model(height: int, bays: int) -> str:
        return f"Shelf {height}U {bays} bays"

    def _shelf_name(self, rack: int, unit: int) -> str:
        return prefixed(self.tables, f"{self.tables.rack_names[rack]}-{unit:02d}")

    def _role(self, device: int) -> str:
        if not self.tables.device_kind[device]:
            return SERVER_ROLE
        level = self.tables.device_level[device]
        return f"Switch {self.tables.level_labels.get(level, f'level {level}')}"[:100]

    # -- the files, in import order

    def sites(self) -> Iterator[Row]:
        yield {
            "name": self.site,
            "slug": slug(self.site, "cubeyard-plan"),
            "status": "planned",
            "description": plain(self.plan.summary.get("title"))[:200],
            "comments": provenance(self.plan),
        }

    def locations(self) -> Iterator[Row]:
        yield {
            "site": self.site,
            "name": self.location,
            "slug": slug(self.location, "enclosure"),
            "status": "planned",
            "description": f"{len(self.tables.rack_names)} racks",
        }

    def manufacturers(self) -> Iterator[Row]:
        names = {CHASSIS_MANUFACTURER: None}
        names |= {self.facts.manufacturer(key.part): None for key in self._types}
        names |= {str(row["manufacturer"]): None for row in self.power.device_type()}
        for name, row_slug in zip(names, _distinct_slugs(list(names)), strict=True):
            yield {"name": name, "slug": row_slug}

    def device_types(self) -> Iterator[Row]:
        rows: list[Row] = []
        for (part, height, shared, _), model in self._types.items():
            attributes = self.facts.part_attributes(part)
            airflow = plain(attributes.get("airflow"))
            rows.append(
                {
                    "manufacturer": self.facts.manufacturer(part),
                    "model": model,
                    "u_height": 0 if shared else height,
                    "part_number": self.tables.part_sku(part)[:50],
                    "is_full_depth": "false" if shared else "true",
                    "subdevice_role": "child" if shared else "",
                    "airflow": airflow if airflow in {"front-to-rear", "rear-to-front", "passive"} else "",
                    **self._weight(part),
                    "description": self.tables.part_name(part)[:200],
                }
            )
        for height, bays in sorted(set(self._shelves.values())):
            rows.append(
                {
                    "manufacturer": CHASSIS_MANUFACTURER,
                    "model": self._shelf_model(height, bays),
                    "u_height": height,
                    "is_full_depth": "true",
                    "subdevice_role": "parent",
                    "description": f"{bays} devices side by side in {height} U",
                }
            )
        rows += self.power.device_type()
        slugs = _distinct_slugs([f"{row['manufacturer']} {row['model']}" for row in rows])
        for row, row_slug in zip(rows, slugs, strict=True):
            yield row | {"slug": row_slug}

    def device_roles(self) -> Iterator[Row]:
        colours: dict[str, str] = {}
        for i in range(len(self.names)):
            colours.setdefault(self._role(i), level_colour(self.tables.device_level[i], LIGHT)[1:].lower())
        if self._shelves:
            colours[CHASSIS_ROLE] = "9e9e9e"
        colours |= {str(row["role"]): "607d8b" for row in self.power.devices()}
        names = list(colours)
        for name, row_slug in zip(names, _distinct_slugs(names), strict=True):
            yield {"name": name, "slug": row_slug, "color": colours[name], "vm_role": "false"}

    def _rack_sizes(self) -> list[tuple[int, int, int]]:
        racks = self.plan.scene["racks"]
        return [
            (int(units), round(width * 1000), round(depth * 1000))
            for units, width, depth in zip(racks["units"], racks["width_metres"], racks["depth_metres"], strict=True)
        ]

    @staticmethod
    def _rack_model(size: tuple[int, int, int]) -> str:
        return f"Rack {size[0]}U {size[1]} x {size[2]} mm"

    def rack_types(self) -> Iterator[Row]:
        for size in dict.fromkeys(self._rack_sizes()):
            model = self._rack_model(size)
            yield {
                "manufacturer": CHASSIS_MANUFACTURER,
                "model": model,
                "slug": slug(f"{CHASSIS_MANUFACTURER} {model}"),
                "form_factor": "4-post-frame",
                "width": 19,
                "u_height": size[0],
                "starting_unit": 1,
                "desc_units": "false",
                "outer_width": size[1],
                "outer_depth": size[2],
                "outer_unit": "mm",
            }

    def racks(self) -> Iterator[Row]:
        racks = self.plan.scene["racks"]
        for i, (name, size) in enumerate(zip(self.tables.rack_names, self._rack_sizes(), strict=True)):
            yield {
                "site": self.site,
                "location": self.location,
                "name": name,
                "status": "planned",
                "rack_type": self._rack_model(size),
                "width": 19,
                "u_height": size[0],
                "desc_units": "false",
                "description": plain(racks["group_label"][i])[:200] if racks.get("group_label") else "",
                "comments": f"x {racks['x_metres'][i]:.3f} m, y {racks['y_metres'][i]:.3f} m, faces {racks['facing'][i]}",
            }

    def devices(self) -> Iterator[Row]:
        """Chassis first, then devices, so that a row-by-row import creates parents before their
        children."""
        tables = self.tables
        for (rack, unit), (height, bays) in self._shelves.items():
            yield {
                "name": self._shelf_name(rack, unit),
                "role": CHASSIS_ROLE,
                "manufacturer": CHASSIS_MANUFACTURER,
                "device_type": self._shelf_model(height, bays),
                "status": "planned",
                "site": self.site,
                "location": self.location,
                "rack": tables.rack_names[rack],
                "position": unit,
                "face": "front",
                "description": f"U{unit} of {tables.rack_names[rack]}, {bays} bays",
            }
        for i, name in enumerate(self.names):
            key = self._type_keys[i]
            shared = key.shared
            yield {
                "name": name,
                "role": self._role(i),
                "manufacturer": self.facts.manufacturer(key.part),
                "device_type": self._types[key],
                "status": "planned",
                "site": self.site,
                "location": self.location,
                "rack": tables.rack_names[tables.device_rack[i]],
                "position": "" if shared or not tables.device_unit[i] else tables.device_unit[i],
                "face": "" if shared or not tables.device_unit[i] else "front",
                "description": f"{tables.device_names[i]} at {tables.locations[i]}",
            }
        yield from self.power.devices()

    def device_bays(self) -> Iterator[Row]:
        """One bay per slot of each chassis, including empty slots, with the device in it."""
        tables = self.tables
        standing = {
            (tables.device_rack[i], tables.device_unit[i], tables.device_slot[i]): i
            for i in range(len(self.names))
            if tables.device_slots[i] > 1
        }
        for (rack, unit), (_, bays) in self._shelves.items():
            for slot in range(bays):
                device = standing.get((rack, unit, slot))
                yield {
                    "device": self._shelf_name(rack, unit),
                    "name": slot_letter(slot, bays),
                    "label": f"{self._shelf_name(rack, unit)}{slot_letter(slot, bays)}",
                    "installed_device": "" if device is None else self.names[device],
                }

    def interfaces(self) -> Iterator[Row]:
        """Every port of every device with its type; a cabled port names its cable."""
        plan, gbps = self.plan, self.facts.gbps
        levels = plan.cables["level"].tolist()
        cabled: dict[tuple[int, str], int] = {}
        for devices, ports in (
            (plan.cables["a_device"].tolist(), plan.a_port_names),
            (plan.cables["b_device"].tolist(), plan.b_port_names),
        ):
            for i, (device, port) in enumerate(zip(devices, ports, strict=True)):
                cabled[device, plain(port)[:NAME_MAX_CHARACTERS]] = i
        for device, name in enumerate(self.names):
            for port in self.ports.of(device):
                cable = cabled.get((device, port.name))
                yield {
                    "device": name,
                    "name": port.name,
                    "label": "",
                    "type": port.type,
                    "speed": "" if cable is None else round(gbps[cable] * 1e6),
                    "duplex": "" if cable is None else "full",
                    "enabled": "true",
                    "description": "" if cable is None else f"level {levels[cable]}, cable {plan.cable_name(cable)}",
                }

    def _weight(self, part: int) -> Row:
        kilograms = self.tables.parts[part].get("weight_kg") if 0 <= part < len(self.tables.parts) else None
        return {"weight": f"{kilograms:.2f}", "weight_unit": "kg"} if kilograms else {}

    def library_types(self) -> Iterator[dict[str, Any]]:
        """Device types with their components, as the community's device type library has them."""
        rows = list(self.device_types())
        lists = {number: ports for ports, number in self._port_lists.items()}
        first = {key: device for device, key in reversed(list(enumerate(self._type_keys)))}
        parts = [
            {"interfaces": [{"name": port.name, "type": port.type} for port in lists[key.ports]],
             "power-ports": self.power.supplies(first[key])}
            for key in self._types
        ]  # fmt: skip
        parts += [
            {"device-bays": [{"name": slot_letter(slot, bays)} for slot in range(bays)]}
            for _, bays in sorted(set(self._shelves.values()))
        ]
        parts += [self.power.components for _ in self.power.device_type()]
        for row, components in zip(rows, parts, strict=True):
            yield row | {kind: components.get(kind, []) for kind in COMPONENTS}

    def bundle_name(self, bundle: int) -> str:
        """A bundle's name, unique among plans: NetBox has one list of bundles for all sites."""
        return f"{self.site[:90]} {self.tables.bundle_names[bundle]}"

    def bundles(self) -> Iterator[Row]:
        racks = self.tables.rack_names
        bundles = self.plan.scene["bundles"]
        for i, (a, b, cables) in enumerate(zip(bundles["rack_a"], bundles["rack_b"], bundles["cables"], strict=True)):
            yield {"name": self.bundle_name(i), "description": f"{racks[a]} to {racks[b]}, {cables} cables"[:200]}

    def cables(self) -> Iterator[Row]:
        trunks = self.plan.cables["trunk"].tolist()
        for cable in self.tables.rows():
            # The label of the leg's end: the label at a breakout's trunk covers several cables
            # here.
            label = cable.far_label if trunks[cable.index] == 1 else cable.near_label
            yield {
                "side_a_site": self.site,
                "side_a_device": self.names[cable.a_device],
                "side_a_type": "dcim.interface",
                "side_a_name": plain(cable.a_port)[:NAME_MAX_CHARACTERS],
                "side_b_site": self.site,
                "side_b_device": self.names[cable.b_device],
                "side_b_type": "dcim.interface",
                "side_b_name": plain(cable.b_port)[:NAME_MAX_CHARACTERS],
                "type": self.facts.cable_type(cable.part),
                "status": "planned",
                "label": label[:LABEL_MAX_CHARACTERS],
                "color": hex_colour(cable.colour, cable.level),
                "length": f"{cable.stock_metres:.2f}",
                "length_unit": "m",
                "bundle": self.bundle_name(cable.bundle) if cable.bundle >= 0 else "",
                # A cable of the import format has one termination per side: a breakout becomes one
                # cable per leg, whose description names the whole.
                "description": " ".join(filter(None, (cable.name, cable.route, cable.breakout)))[:200],
            }


def _distinct_slugs(names: list[str]) -> list[str]:
    """A slug for each name; a number distinguishes names with the same slug."""
    taken: set[str] = set()
    out: list[str] = []
    for name in names:
        base = slug(name)
        candidate, count = base, 1
        while candidate in taken:
            count += 1
            candidate = f"{base[:94]}-{count}"
        taken.add(candidate)
        out.append(candidate)
    return out
