"""A computed plan: what the engine gives for a spec, and its documents."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import numpy as np

Json = dict[str, Any]

CABLE_COLUMNS = (
    "a_device",
    "a_port",
    "b_device",
    "b_port",
    "level",
    "route",
    "length_mm",
    "stock_mm",
    "part",
    "colour",
    "bundle",
    "lead",
    "leg",
    "trunk",
)


class BuiltPlan:
    """A computed plan: the engine's object, its documents as the bytes that the API sends, and the
    same parsed on demand."""

    def __init__(self, raw: Any, book: Mapping[str, Any]) -> None:
        self.raw = raw
        self._book = book
        self.plan_hash: str = raw.plan_hash
        self.summary_json: bytes = as_bytes(raw.summary_json())
        self._lock = threading.Lock()

    @cached_property
    def scene_json(self) -> bytes:
        return as_bytes(self.raw.scene_json())

    @cached_property
    def bom_json(self) -> bytes:
        return as_bytes(self.raw.bom_json())

    @cached_property
    def summary(self) -> Json:
        return orjson.loads(self.summary_json)

    @cached_property
    def scene(self) -> Json:
        return orjson.loads(self.scene_json)

    @cached_property
    def bom(self) -> Json:
        return orjson.loads(self.bom_json)

    @property
    def link_count(self) -> int:
        return int(self.summary["counts"]["links"])

    @property
    def cable_count(self) -> int:
        """Rows of the cable columns: one a link. A breakout cable has one for each of its legs."""
        return self.link_count

    def cables(self, start: int = 0, stop: int | None = None) -> dict[str, np.ndarray]:
        """The cable columns from `start` up to `stop`, each a numpy array."""
        stop = self.cable_count if stop is None else min(stop, self.cable_count)
        start = min(start, stop)
        return self.raw.cables(start, stop)

    @cached_property
    def all_cables(self) -> dict[str, np.ndarray]:
        return self.cables()

    def labels(self, start: int, stop: int) -> tuple[list[str], list[str]]:
        """Near and far labels of the cables from `start` up to `stop`."""
        return self.raw.labels(start, stop)

    def cable_port_names(self, start: int, stop: int) -> tuple[list[str], list[str]]:
        """Port names at the `a` and the `b` ends of those cables."""
        return self.raw.cable_port_names(start, stop)

    @cached_property
    def parts(self) -> list[Json]:
        """The parts that `part` columns index, each as its price book has it."""
        return orjson.loads(self.raw.parts_json())

    @cached_property
    def pdu(self) -> Json | None:
        """The book's PDU: its first one, as the bill of materials takes it. None where the book has
        none."""
        return next((part for part in self._book["parts"] if part["kind"] == "pdu"), None)

    def cable_gbps(self, start: int, stop: int) -> np.ndarray:
        """The rate of those cables in Gb/s."""
        return self.raw.cable_gbps(start, stop)

    @property
    def addresses(self) -> np.ndarray:
        """The IPv4 address of each device, as a number."""
        return self.raw.addresses()

    @property
    def networks(self) -> Json:
        """The networks of those addresses:
        `{servers, switches, gateways: {network: address}, dns, domain}`; a network without devices
        is None."""
        return orjson.loads(self.raw.networks_json())

    def host_routes(self) -> Json:
        """Static routes that let any two servers talk, for labs: `{bridges, routes}`.

        `routes` has, for each node, `[first, last, [[link, via], ...]]`: how it reaches the servers
        `first` to `last`. With `bridges` the switches are bridges and have no routes. O(servers^2)
        for networks in which servers relay.
        """
        return orjson.loads(self.raw.host_routes_json())

    def device_json(self, name: str) -> bytes | None:
        """A device with every port and what it is joined to; None if no device has that name."""
        text = self.raw.device_json(name)
        return None if text is None else as_bytes(text)

    def rack_json(self, name: str) -> bytes | None:
        """A rack with its devices and every cable end in it; None if no rack has that name."""
        text = self.raw.rack_json(name)
        return None if text is None else as_bytes(text)

    @cached_property
    def cable_tables(self) -> Json:
        """What the `route`, `colour` and `part` columns of cables index."""
        return orjson.loads(self.raw.cable_tables_json())

    @cached_property
    def cables_json(self) -> bytes:
        """Every cable, as the API sends it."""
        return self.cables_json_slice(0, self.cable_count)

    def cables_json_slice(self, start: int, stop: int) -> bytes:
        import numpy as np

        columns = self.cables(start, stop)
        body = {
            "count": self.cable_count,
            "offset": start,
            "columns": {name: np.ascontiguousarray(columns[name]) for name in CABLE_COLUMNS},
            **self.cable_tables,
        }
        return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def as_bytes(text: str | bytes) -> bytes:
    """What the binding gives: a text becomes UTF-8."""
    return text.encode() if isinstance(text, str) else bytes(text)
