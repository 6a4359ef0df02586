"""A plan: racks, cables, costs, power, findings, its certificate, its pictures and every export."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Json
from cubeyard.exports import FORMATS, ExportOptionError, check_for, file_name, render, write_file
from cubeyard.exports.drawing import floor_file
from cubeyard.exports.options import check
from cubeyard.exports.tables import PlanTables
from cubeyard.kit.errors import Finding
from cubeyard.kit.money import money
from cubeyard.notebook.errors import explained, mistake
from cubeyard.notebook.picture import Picture, facts
from cubeyard.notebook.plain import plain
from cubeyard.notebook.progress import Told, line
from cubeyard.notebook.session import engine
from cubeyard.notebook.table import Table
from cubeyard.notebook.topology import Topology, graph_of, read_document
from cubeyard.plans.building import build
from cubeyard.plans.documents.summary import Certificate, Cost, Counts, Power, Summary
from cubeyard.plans.site_limits import limit_words
from cubeyard.plans.spec import on_paper
from cubeyard.plans.view import PlanView

if TYPE_CHECKING:
    from typing import Unpack

    import networkx as nx

    from cubeyard.notebook.answers import Prediction, Simulation
    from cubeyard.notebook.constructors import PredictOptions


def plan(
    what: Topology | Plan | Mapping[str, Any] | str | Path,
    catalog: str | Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    **fields: Any,
) -> Plan:
    """The plan of a topology, a spec, or a JSON file with a spec or an exported plan.

    `catalog` is a builtin price book of `catalogs()`, a JSON file with one, or its document;
    `fields` are further fields of the plan spec, such as `site={"enclosure": "container-20ft"}`.
    Takes milliseconds for thousands of servers. If the plan is impossible, raises `CubeyardError`
    with the field, its limit and the fix.
    """
    spec = {**spec_of(what), **plain(fields)}
    if catalog is None and isinstance(what, Plan):
        catalog = what.catalog
    return Plan(spec, catalog, name)


class Plan:
    """A computed plan. Make one with `plan(...)` or `Topology.plan(...)`.

    Numbers, tables and files equal those of the page, the command line and the API: `summary` is
    the output of `cubeyard plan --json`. Row `i` of `cables()` is link `i` of the topology.
    """

    def __init__(self, spec: Json, catalog: str | Mapping[str, Any] | None = None, name: str | None = None) -> None:
        self._spec, self.catalog, self._name = spec, catalog, name
        with explained():
            self._built: BuiltPlan = build(engine(), spec, catalog)

    @property
    def name(self) -> str:
        """The given name, or else the engine's title."""
        return self._name or self.title

    @property
    def title(self) -> str:
        return str(self._built.summary["title"])

    @property
    def plan_hash(self) -> str:
        """SHA-256 of spec and price book; equal plans have equal hashes everywhere."""
        return self._built.plan_hash

    @property
    def spec(self) -> Json:
        """The plan spec with every default filled in; `plan(spec)` returns an equal plan."""
        return copy.deepcopy(self._built.summary["spec"])

    @property
    def given(self) -> Json:
        """The given plan spec, without defaults."""
        return copy.deepcopy(self._spec)

    @property
    def document(self) -> Json:
        """The summary as JSON: the output of `cubeyard plan --json`."""
        return copy.deepcopy(self._built.summary)

    @cached_property
    def summary(self) -> Summary:
        """Every number of the plan, typed. Amounts are in `summary.currency`, powers in watts,
        lengths in metres."""
        return Summary.model_validate(self._built.summary)

    @property
    def counts(self) -> Counts:
        """Servers, switches, links, cables, racks, and switches and cables by level."""
        return self.summary.counts

    @property
    def cost(self) -> Cost:
        """Cost by category, in `summary.currency`. `at_least` is true if some part has no price."""
        return self.summary.cost_usd

    @property
    def power(self) -> Power:
        """Power in watts. `at_least` is true if the power of some part is unknown."""
        return self.summary.power_watts

    @property
    def certificate(self) -> Certificate:
        """The wiring certificate: its checks, and whether all passed."""
        return self.summary.certificate

    @property
    def findings(self) -> list[Finding]:
        """The engine's findings about the plan; `repaired(finding)` applies the fix of a
        finding."""
        return list(self.summary.findings)

    @cached_property
    def topology(self) -> Topology:
        return Topology(self._built.summary["spec"])

    def changed(self, **fields: Any) -> Plan:
        """The plan with these fields of the spec merged in: `changed(site={"paper": "letter"})`.
        None removes a field."""
        return Plan(merged(self._spec, fields), self.catalog, self._name)

    def repaired(self, finding: Finding) -> Plan:
        """The plan with a finding's fix applied. Raises `CubeyardError` for a finding without a
        fix."""
        if not isinstance(finding.fix, Mapping):
            raise mistake("finding", finding.code, f"{finding.code} has no fix", hint=finding.hint or None)
        return self.changed(**finding.fix)

    def cables(self) -> Table:
        """Every cable with rack, unit, host name and port at both ends, with the columns of the CSV
        export and `gbps`. O(cables)."""
        tables = PlanTables(self.view)
        bundles = [*tables.bundle_names, ""]  # index -1 ("stays in its rack") is the last item
        breakouts = self.view.has_breakouts
        rows = [
            {
                "cable": cable.name, "label_near": cable.near_label, "label_far": cable.far_label, "level": cable.level,
                **_end(tables, "a", cable.a_device, cable.a_port), **_end(tables, "b", cable.b_device, cable.b_port),
                "route": cable.route, "bundle": bundles[cable.bundle], "length_metres": cable.length_metres,
                "stock_metres": cable.stock_metres, "part_sku": tables.part_sku(cable.part),
                "part_name": tables.part_name(cable.part), "colour": cable.colour, "gbps": gbps,
                **({"breakout": cable.breakout} if breakouts else {}),
            }
            for cable, gbps in zip(tables.rows(), self.view.gbps.tolist(), strict=True)
        ]  # fmt: skip
        return Table.of_rows(f"Cables of {self.name}", list(rows[0]) if rows else [], rows)

    def racks(self) -> Table:
        """The racks: name, position (metres from a corner of the enclosure), units, devices,
        `power_watts`, `weight_kg`."""
        return Table(f"Racks of {self.name}", self._built.scene["racks"])

    def devices(self) -> Table:
        """The devices, servers first: names, `kind`, `level` (-1 for a server), rack, unit, slot
        and part."""
        tables, scene = PlanTables(self.view), self._built.scene["devices"]
        columns = {
            "name": scene["name"],
            "host_name": scene["host"],
            "kind": ["switch" if kind else "server" for kind in scene["kind"]],
            "level": scene["level"],
            "rack": [tables.rack_names[rack] for rack in scene["rack"]],
            "unit": scene["unit"],
            "slot": tables.letters,
            "height_units": scene["height_units"],
            "ports": scene["port_count"],
            "part_sku": [tables.part_sku(part) for part in scene["part"]],
        }
        return Table(f"Devices of {self.name}", columns)

    def bill_of_materials(self) -> Table:
        """The bill of materials, one row per line with quantity, spares, price in
        `summary.currency`, and the price's source."""
        lines = self._built.bom["lines"]
        return Table.of_rows(f"Bill of materials of {self.name}", list(lines[0]) if lines else [], lines)

    def to_networkx(self, *, multigraph: bool = False) -> nx.Graph:
        """The graph for NetworkX: nodes by the paper's name with the columns of `devices()`, edges
        with those of `cables()` and both ends as `a` and `b`. Parallel cables are one edge with
        their number in `links`, unless `multigraph` is set."""
        cables, devices = self.cables().to_dict(), self.devices()
        names = dict(zip(devices["host_name"], devices["name"], strict=True))
        ends = {end: [names[host] for host in cables.pop(f"{end}_host_name")] for end in ("a", "b")}
        return graph_of(devices, Table("Cables", {**ends, **cables}), multigraph=multigraph)

    def export(
        self, format: str, path: str | Path | None = None, *, progress: bool | Told | None = None, **options: Any
    ) -> Path:
        """Writes the plan in a format of `formats()` and returns the file's path.

        `path` is a file or a folder, by default the current folder; in a folder, the file gets the
        same name as on the page. `options` are those of the format, such as `paper="letter"` for
        the PDF. The file appears only when it is complete: a failure or an interruption leaves no
        file.
        """
        told_options, view = self._options(format, options)
        target = Path(path) if path is not None else Path()
        if target.is_dir():
            target /= file_name(format, view)
        with line(f"Writing {target.name}", progress) as reported:
            try:
                write_file(format, view, target, lambda share, _doing: reported(share), told_options)
            except OSError as error:
                raise mistake("path", str(target), f"{target} cannot be written: {error.strerror or error}") from None
        return target

    def exported(self, format: str, **options: Any) -> bytes:
        """The content of the exported file."""
        told_options, view = self._options(format, options)
        return b"".join(render(format, view, None, told_options))

    @cached_property
    def drawing(self) -> Picture:
        """Floor plan and elevations to scale: the SVG export."""
        return Picture(self.exported("svg").decode(), f"Floor plan and elevations of {self.name}")

    @cached_property
    def floor(self) -> Picture:
        """The floor plan alone."""
        return Picture(floor_file(self.view), f"Floor plan of {self.name}")

    def predict(
        self, workload: str | Mapping[str, Any] = "all-to-all", **question: Unpack[PredictOptions]
    ) -> Prediction:
        """The predicted throughput: see `cubeyard.notebook.predict`."""
        from cubeyard.notebook.answers import predict

        return predict(self, workload, **question)

    def simulate(self, workload: str | Mapping[str, Any] = "permutation", **question: Any) -> Simulation:
        """Simulates a workload packet by packet: see `cubeyard.notebook.simulate`."""
        from cubeyard.notebook.answers import simulate

        return simulate(self, workload, **question)

    @cached_property
    def view(self) -> PlanView:
        """The plan in columns, for exports."""
        return PlanView.of(self._built, self._name)

    def _options(self, format: str, options: Mapping[str, Any]) -> tuple[Any, PlanView]:
        """The checked options, and the plan for the paper in them."""
        if format not in FORMATS:
            raise mistake("format", format, f"There is no format {format}", limit=f"one of {', '.join(FORMATS)}")
        view, paper = self.view, options.get("paper")
        try:
            checked = check(format, FORMATS[format].options, options)
            if paper is not None and (spec := on_paper(self._spec, paper)) is not self._spec:
                view = Plan(spec, self.catalog, self._name).view
            check_for(format, view, checked)
        except ExportOptionError as error:
            raise mistake(
                error.name, error.value, error.message, limit=error.limit or None, hint=error.hint or None
            ) from None
        return checked, view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.plan_hash == other.plan_hash

    def __hash__(self) -> int:
        return hash(self.plan_hash)

    def __reduce__(self) -> tuple[type[Plan], tuple[Json, str | Mapping[str, Any] | None, str | None]]:
        return Plan, (self._spec, self.catalog, self._name)  # by its spec: other processes compute it again

    def __repr__(self) -> str:
        counts = self._built.summary["counts"]
        sizes = f"{counts['servers']:,} servers, {counts['cables']:,} cables, {counts['racks']:,} racks"
        return f"<Plan {self.name}: {sizes}, {self._total()}, hash {self.plan_hash[:12]}>"

    def _total(self) -> str:
        cost = self._built.summary["cost_usd"]
        return ("at least " if cost["at_least"] else "") + money(cost["total"], self._built.summary["currency"])

    def _repr_html_(self) -> str:
        document = self._built.summary
        counts, cost, power, checks = (document[name] for name in ("counts", "cost_usd", "power_watts", "certificate"))
        passed = sum(check["passed"] for check in checks["checks"])
        lengths = f"{document['cable_metres']:,.1f} m, longest {document['longest_cable_metres']:,.1f} m"
        rows = [
            ("Servers", f"{counts['servers']:,}", ""),
            ("Switches", f"{counts['switches']:,}", ""),
            ("Cables", f"{counts['cables']:,}", lengths),
            ("Racks", f"{counts['racks']:,}", ""),
            ("Cost", self._total(), f"network {money(cost['network'], document['currency'])}"),
            ("Power", f"{power['total'] / 1000:,.2f} kW", f"switches {power['switches'] / 1000:,.2f} kW"),
            *((words.title, words.value, words.limit) for words in map(limit_words, document["site_limits"])),
            ("Wiring certificate", f"{passed} of {len(checks['checks'])}", "checks pass"),
            *(
                (finding["severity"].capitalize(), finding["where"], finding["message"])
                for finding in document["findings"]
            ),
        ]
        return facts(f"{self.name}  plan {self.plan_hash[:12]}", rows) + self.floor.html()


def formats() -> Table:
    """The export formats: `name`, `extension`, `title`, `group`, `description`, `options`,
    `checked`, one row each."""
    names = ("name", "extension", "title", "group", "description", "options", "checked")
    rows = [{name: getattr(item, name) for name in names} for item in FORMATS.values()]
    return Table.of_rows("Export formats", names, [{**row, "options": ", ".join(row["options"])} for row in rows])


def spec_of(what: Topology | Plan | Mapping[str, Any] | str | Path) -> Json:
    """Converts any argument that can be planned to a plan spec."""
    if isinstance(what, Plan):
        return what.given
    if isinstance(what, Topology):
        return {"topology": what.spec}
    document = read_document(what) if isinstance(what, str | Path) else plain(what)
    if isinstance(document.get("spec"), dict) and "topology" not in document:
        document = document["spec"]
    return {"topology": document} if "family" in document else document


def merged(document: Any, patch: Any) -> Any:
    """Applies a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _end(tables: PlanTables, end: str, device: int, port: str) -> Json:
    return {
        f"{end}_rack": tables.rack_names[tables.device_rack[device]],
        f"{end}_unit": tables.device_unit[device],
        f"{end}_slot": tables.letters[device],
        f"{end}_host_name": tables.hosts[device],
        f"{end}_port": port,
    }
