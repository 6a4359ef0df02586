"""A NetBox for tests of the sync: its REST API for the models that a sync uses, in this process.

It keeps what NetBox keeps that a sync relies on: bulk calls are done whole or not at all, names are
unique where NetBox has them unique, a device gets the components of its type, a device is in one
bay and a port has one cable. It can fail on request.
"""

from __future__ import annotations

import copy
import json
import threading
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
TOKEN = "nbt_test"
UNIQUE: dict[str, tuple[tuple[str, ...], ...]] = {
    "sites": (("slug",), ("name",)), "locations": (("site", "slug"), ("site", "name")),
    "manufacturers": (("slug",), ("name",)), "device-roles": (("slug",), ("name",)),
    "device-types": (("manufacturer", "model"), ("manufacturer", "slug")),
    "rack-types": (("manufacturer", "model"), ("manufacturer", "slug")),
    "racks": (("location", "name"),), "devices": (("site", "name"),), "device-bays": (("device", "name"),),
    "interfaces": (("device", "name"),), "power-ports": (("device", "name"),), "cables": (),
    "interface-templates": (("device_type", "name"),), "power-port-templates": (("device_type", "name"),),
    "device-bay-templates": (("device_type", "name"),), "power-outlet-templates": (("device_type", "name"),),
    "power-outlets": (("device", "name"),), "power-panels": (("site", "name"),), "power-feeds": (("power_panel", "name"),),
    "cable-bundles": (("name",),),
}  # fmt: skip
ENDS = {
    "dcim.interface": "interfaces", "dcim.powerport": "power-ports", "dcim.poweroutlet": "power-outlets",
    "dcim.powerfeed": "power-feeds",
}  # fmt: skip
TEMPLATES = {
    "interface-templates": "interfaces",
    "power-port-templates": "power-ports",
    "power-outlet-templates": "power-outlets",
    "device-bay-templates": "device-bays",
}
CHOICES = (
    "status",
    "type",
    "face",
    "airflow",
    "subdevice_role",
    "length_unit",
    "weight_unit",
    "form_factor",
    "supply",
    "phase",
)
REFERENCES = (
    "site", "location", "manufacturer", "device_type", "rack_type", "role", "rack", "device", "installed_device",
    "power_port", "power_panel", "bundle",
)  # fmt: skip


class RefusedError(Exception):
    """An answer of 400."""


class NetboxServer:
    """Serves `self.tables` on a free port of the loopback address while it is a context."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, Json]] = {name: {} for name in UNIQUE}
        self.writes = 0
        self.requests = 0
        self.fails: Callable[[int, str], str | None] = lambda number, method: None  # noqa: ARG005
        """Called for each request with its number: `refuse` returns 503, `lose` carries it out
        without a response, `late` gives no response and carries it out at the next write
        request."""
        self.largest: dict[str, int] = {}
        """The most objects that one request has made, by table."""
        self._late: list[tuple[str, str, Any]] = []
        self._next = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _do(self) -> None:
                with outer._lock:
                    outer.handle(self)

            do_GET = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815 - the names that http.server calls

            def log_message(self, format: str, *args: object) -> None:
                _ = format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def state(self) -> dict[str, list[Json]]:
        """Everything but ids and their order: objects by the names that they go by."""
        names = {
            number: item.get("name") or item.get("model")
            for table in self.tables.values()
            for number, item in table.items()
        }
        hosts = {
            n: (names[item.get("device") or item["power_panel"]], item["name"])
            for table in ENDS.values()
            for n, item in self.tables[table].items()
        }

        def named(one: Json) -> Json:
            shown = {
                key: names.get(value, value) if key in REFERENCES else value
                for key, value in one.items()
                if key != "id"
            }
            for side in ("a_terminations", "b_terminations"):
                if side in one:
                    shown[side] = [hosts[end["object_id"]] for end in one[side]]
            return shown

        return {
            table: sorted((named(row) for row in rows.values()), key=lambda item: json.dumps(item, sort_keys=True))
            for table, rows in self.tables.items()
        }

    # -- one request
    # -------------------------------------------------------------------------------------------------

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        self.requests += 1
        length = int(request.headers.get("content-length") or 0)
        body = json.loads(request.rfile.read(length)) if length else None
        failure = self.fails(self.requests, request.command)
        if failure == "refuse":
            self._answer(request, 503, {"detail": "busy"})
            return
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            self._answer(request, 403, {"detail": "Invalid token"})
            return
        parts = urlsplit(request.path)
        table = parts.path.strip("/").split("/")[-1]
        if request.command != "GET":
            late, self._late = self._late, []
            for method, where, content in late:
                self._act(method, where, {}, content)
            if failure == "late":
                self._late.append((request.command, table, body))
                request.close_connection = True
                return
        before = copy.deepcopy(self.tables)
        try:
            status, answer = self._act(request.command, table, parse_qs(parts.query), body)
        except RefusedError as error:
            self.tables = before
            status, answer = 400, {"detail": str(error)}
        if failure == "lose":
            request.close_connection = True
            return
        self._answer(request, status, answer)

    @staticmethod
    def _answer(request: BaseHTTPRequestHandler, status: int, answer: object) -> None:
        data = b"" if status == 204 else json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _act(self, method: str, table: str, query: dict[str, list[str]], body: Any) -> tuple[int, object]:
        if method == "GET":
            return 200, dict.fromkeys(self.tables, "") if table == "dcim" else self._list(table, query)
        self.writes += 1
        if method == "POST":
            self.largest[table] = max(self.largest.get(table, 0), len(body))
            return 201, [self._shown(table, self._create(table, item)) for item in body]
        for item in body:
            if method == "DELETE":
                del self.tables[table][item["id"]]
            else:
                self.tables[table][item["id"]].update(item)
                self._check(table, item["id"])
        return (204, None) if method == "DELETE" else (200, [])

    def _list(self, table: str, query: dict[str, list[str]]) -> Json:
        rows = list(self.tables[table].values())
        for name, values in query.items():
            if name in ("limit", "offset", "ordering"):
                continue
            wanted = {int(value) for value in values}
            rows = [row for row in rows if self._belongs(table, row, name.removesuffix("_id")) & wanted]
        limit, offset = int(query["limit"][0]), int(query["offset"][0])
        page = [self._shown(table, row) for row in rows[offset : offset + limit]]
        return {"count": len(rows), "results": page}

    def _belongs(self, table: str, one: Json, name: str) -> set[int]:
        """The ids that a filter such as `site_id` compares."""
        if table == "cables":
            ends = [*one["a_terminations"], *one["b_terminations"]]
            return {self._site_of(self.tables[ENDS[end["object_type"]]][end["object_id"]]) for end in ends}
        if name == "site" and ("device" in one or "power_panel" in one):
            return {self._site_of(one)}
        return {one[name]}

    def _site_of(self, component: Json) -> int:
        if "power_panel" in component:
            return self.tables["power-panels"][component["power_panel"]]["site"]
        return self.tables["devices"][component["device"]]["site"]

    def _create(self, table: str, fields: Json) -> Json:
        self._next += 1
        item = {**fields, "id": self._next}
        self.tables[table][item["id"]] = item
        self._check(table, item["id"])
        if table == "devices":
            for template, component in TEMPLATES.items():
                for made in list(self.tables[template].values()):
                    if made["device_type"] == item["device_type"]:
                        own = {key: value for key, value in made.items() if key not in ("id", "device_type")}
                        if "power_port" in own:
                            inlet = self.tables["power-port-templates"][own["power_port"]]["name"]
                            own["power_port"] = next(
                                n
                                for n, port in self.tables["power-ports"].items()
                                if (port["device"], port["name"]) == (item["id"], inlet)
                            )
                        self._create(component, {**own, "device": item["id"]})
        return item

    def _check(self, table: str, number: int) -> None:
        item = self.tables[table][number]
        others = [row for other, row in self.tables[table].items() if other != number]
        for columns in UNIQUE[table]:
            key = [item.get(column) for column in columns]
            if any([row.get(column) for column in columns] == key for row in others):
                raise RefusedError(f"{table}: {columns} {key} exists")
        places = {"devices": ("rack", "position"), "device-bays": ("installed_device",)}.get(table)
        if places and item.get(places[-1]) and any(all(row.get(at) == item[at] for at in places) for row in others):
            raise RefusedError(f"{item['name']}: {places[-1]} is taken")
        if table == "cables":
            ends = _ends(item)
            if any(number not in self.tables[ENDS[kind]] for kind, number in ends):
                raise RefusedError("no such port")
            if any(ends & _ends(row) for row in others):
                raise RefusedError("a port already has a cable")

    def _shown(self, table: str, one: Json) -> Json:
        """As NetBox answers: references and choices as objects, decimals as floats."""
        out: Json = {}
        for name, value in one.items():
            if value is None:
                out[name] = None
            elif name in REFERENCES:
                out[name] = {"id": value, "display": "..."}
            elif name in CHOICES:
                out[name] = {"value": value, "label": str(value)}
            else:
                out[name] = float(value) if name in ("position", "length", "u_height") else value
        if table == "device-types":
            out["device_count"] = sum(row["device_type"] == one["id"] for row in self.tables["devices"].values())
        return out


def _ends(cable: Json) -> set[tuple[str, int]]:
    return {
        (end["object_type"], end["object_id"]) for side in ("a_terminations", "b_terminations") for end in cable[side]
    }


def counts(server: NetboxServer) -> dict[str, int]:
    out: dict[str, int] = defaultdict(int)
    for table, rows in server.tables.items():
        out[table] = len(rows)
    return out
