"""Lists of a plan's cables as the floor would send them: as CSV, and as what LLDP sees, in both of
lldpctl's forms."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cubeyard.asbuilt.cables import PlannedCable, Port

Json = dict[str, Any]
HEADER = ("a_host_name", "a_port", "b_host_name", "b_port", "length_metres")


def csv_of(rows: Sequence[Sequence[object]], header: Sequence[str] = HEADER, delimiter: str = ",") -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows([header, *rows])
    return buffer.getvalue().encode()


def rows_of(cables: Sequence[PlannedCable]) -> list[list[str]]:
    return [[*cable.a, *cable.b, f"{cable.length_mm / 1000:g}"] for cable in cables]


def neighbour(port: str, far: Port, *, linux: bool = False) -> Json:
    """An interface as `json0` writes it. Linux gives its MAC address as the port's id."""
    reported = {"type": "mac", "value": "02:00:00:00:00:07"} if linux else {"type": "ifname", "value": far.name}
    return {
        "name": port,
        "via": "LLDP",
        "rid": "1",
        "age": "0 day, 00:01:10",
        "chassis": [
            {
                "id": [{"type": "mac", "value": "02:00:00:00:00:01"}],
                "name": [{"value": far.device}],
                "descr": [{"value": "A system of some kind"}],
                "capability": [{"type": "Bridge", "enabled": True}, {"type": "Router", "enabled": False}],
            }
        ],
        "port": [{"id": [reported], "descr": [{"value": far.name}], "ttl": [{"value": "120"}]}],
    }


def json0(interfaces: Sequence[Json]) -> Json:
    return {"lldp": [{"interface": list(interfaces)}]} if interfaces else {"lldp": [{}]}


def shortened(value: Any) -> Any:
    """A document of the form `json0` in the form `json`: a list of one is its item, an object of a
    `value` alone is that value, and an object with a `name` is put into a new one under that
    name."""
    if isinstance(value, list):
        return shortened(value[0]) if len(value) == 1 else [shortened(item) for item in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["value"]:
        return shortened(value["value"])
    inner = {key: shortened(item) for key, item in value.items()}
    name = inner.pop("name", None)
    return inner if name is None else {name: inner}


def reports(cables: Sequence[PlannedCable], *, linux: bool = False) -> dict[str, Json]:
    """The neighbours that each device sees, in the form `json0`."""
    seen: dict[str, list[Json]] = defaultdict(list)
    for cable in cables:
        for here, far in (cable.ends, cable.ends[::-1]):
            seen[here.device].append(neighbour(here.name, far, linux=linux))
    return {device: json0(interfaces) for device, interfaces in seen.items()}


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()
