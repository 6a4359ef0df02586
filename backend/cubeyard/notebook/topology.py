"""A topology of any size: its nodes, links, certificate and closed forms, and methods for plans and
experiments on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from cubeyard.engine import Json
from cubeyard.kit.json_text import loads
from cubeyard.notebook.constructors import Constructors
from cubeyard.notebook.errors import MissingPackageError, explained, mistake
from cubeyard.notebook.picture import facts
from cubeyard.notebook.plain import plain
from cubeyard.notebook.session import engine, family_documents
from cubeyard.notebook.table import Table
from cubeyard.plans.documents.summary import Certificate, StructureMetrics

if TYPE_CHECKING:
    from typing import Unpack

    import networkx as nx

    from cubeyard.notebook.answers import Prediction, Simulation
    from cubeyard.notebook.constructors import PredictOptions
    from cubeyard.notebook.plans import Plan


class _Families(Constructors):
    """Adds a constructor to `Topology` for each family of the engine:
    `Topology.bcube(n=8, k=3)`."""

    if not TYPE_CHECKING:

        def __getattr__(self, family: str) -> Callable[..., Topology]:
            if family.startswith("_") or family not in family_documents():
                raise AttributeError(f"There is no family {family}. There are: {', '.join(family_documents())}.")
            return _constructor(family)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *family_documents()]


class Topology(metaclass=_Families):
    """A topology: `Topology.bcube(n=8, k=3)`, `Topology("dcell", n=4, k=1)` or
    `Topology(document)`.

    There is a constructor for each family of `families()`; its parameters are named as in the
    paper, and its `help()` lists them with their limits. Servers are nodes 0 to `servers` - 1,
    switches follow. For invalid parameters, raises `CubeyardError` with the field, its limit and
    the fix. O(links).
    """

    def __init__(self, family: str | Mapping[str, Any], **parameters: Any) -> None:
        if isinstance(family, str):
            given = {name: value for name, value in parameters.items() if value is not None}
            self._spec: Json = {"family": family, **plain(given)}
        else:
            if parameters:
                raise mistake(next(iter(parameters)), "", "A document has its parameters inside. Leave this out")
            self._spec = topology_of(plain(family))
        with explained():
            self._raw = engine().topology(self._spec)
        self._counts: Json = orjson.loads(self._raw.counts_json())

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Topology:
        """The topology of a file: JSON with a spec or an exported plan, or a network file of
        another program.

        For a network (GraphML, GEXF, DOT, CSV, containerlab, NetBox, LLDP), `options` are `format`,
        `servers` and `switches` (patterns of names, such as `["web*"]`), `link_gbps` and
        `rate_unit`. `read_network` reports what was read, assumed and left out. Raises
        `CubeyardError` with the line or element.
        """
        from cubeyard.notebook.networks import is_spec, read_network

        if not options and is_spec(path):
            return cls(read_document(path))
        return cls(read_network(path, **options).spec)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, **options: Any) -> Topology:
        """The topology of a NetworkX graph: its nodes and edges, with attributes such as `role` and
        `gbps`.

        `options` are as in `from_file`. In a directed graph, two opposite edges are one link.
        O(nodes and edges).
        """
        from cubeyard.notebook.networks import of_graph

        return cls(of_graph(graph, **options).spec)

    @property
    def spec(self) -> Json:
        """The topology's document, as used by the command line and the API."""
        return json.loads(json.dumps(self._spec))

    @property
    def family(self) -> str:
        return str(self._spec["family"])

    @property
    def title(self) -> str:
        """The usual notation, such as `BCube(8,3)`."""
        return str(self._counts["title"])

    @property
    def servers(self) -> int:
        return int(self._counts["servers"])

    @property
    def switches(self) -> int:
        return int(self._counts["switches"])

    @property
    def links(self) -> int:
        return int(self._counts["links"])

    @cached_property
    def certificate(self) -> Certificate:
        """The wiring certificate: rules of the paper, each derived from addresses and checked on
        every link."""
        return Certificate.model_validate_json(self._raw.certificate_json())

    @cached_property
    def metrics(self) -> StructureMetrics:
        """Diameter, bisection and more from closed forms, each with its source."""
        return StructureMetrics.model_validate_json(self._raw.metrics_json())

    @property
    def names(self) -> list[str]:
        """The names of the nodes in the paper's notation, servers first: `0132`, `<3,001>`. Faults
        and paths use these names."""
        return self._raw.names(0, self._raw.node_count)

    def nodes(self) -> Table:
        """The nodes: `name`, `kind` (`server` or `switch`), `level` (-1 for a server) and `role`,
        one row each."""
        levels, roles = [-1] * self.servers, [""] * self.servers
        for tier in self._counts["tiers"]:
            levels += [tier["level"]] * tier["count"]
            roles += [tier["role"]] * tier["count"]
        kinds = ["server"] * self.servers + ["switch"] * self.switches
        return Table("Nodes", {"name": self.names, "kind": kinds, "level": levels, "role": roles})

    def edges(self) -> Table:
        """The links: names of both ends, their ports (counted from 0) and the `level`; row `i` is
        link and cable `i`."""
        names = self.names
        a, b, level = self._raw.edges()
        a_port, b_port = self._raw.ports()
        ends = {"a": [names[i] for i in a.tolist()], "b": [names[i] for i in b.tolist()]}
        ports = {"a_port": a_port.tolist(), "b_port": b_port.tolist()}
        return Table("Links", {**ends, **ports, "level": level.tolist()})

    def to_networkx(self, *, multigraph: bool = False) -> nx.Graph:
        """The NetworkX graph; nodes are names with `kind`, `level` and `role`.

        Edges have `index` (of the first link), `level`, `a`, `a_port`, `b`, `b_port` and `links`,
        the number of parallel links; with `multigraph` each link is a separate edge. Raises
        `MissingPackageError` without networkx. O(links).
        """
        return graph_of(self.nodes(), self.edges(), multigraph=multigraph)

    def plan(self, catalog: str | Mapping[str, Any] | None = None, *, name: str | None = None, **fields: Any) -> Plan:
        """The plan of this topology: see `cubeyard.notebook.plan`."""
        from cubeyard.notebook.plans import plan

        return plan(self, catalog, name=name, **fields)

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and self._spec == other._spec

    def __reduce__(self) -> tuple[type[Topology], tuple[Json]]:
        return Topology, (self._spec,)  # by its spec: other processes compute it again

    def __hash__(self) -> int:
        return hash(json.dumps(self._spec, sort_keys=True))

    def __repr__(self) -> str:
        counts = f"{self.servers:,} servers, {self.switches:,} switches, {self.links:,} links"
        return f"<Topology {self.title}: {counts}>"

    def _repr_html_(self) -> str:
        metrics, certificate = self.metrics, self.certificate
        passed = sum(check.passed for check in certificate.checks)
        rows = [
            ("Servers", f"{self.servers:,}", ""),
            ("Switches", f"{self.switches:,}", ""),
            ("Links", f"{self.links:,}", ""),
            ("Diameter", f"{metrics.diameter.value or 0:g}", metrics.diameter.unit),
            ("Disjoint paths", f"{metrics.disjoint_paths.value or 0:g}", ""),
            ("Wiring certificate", f"{passed} of {len(certificate.checks)}", "checks pass"),
        ]
        return facts(self.title, rows)


def graph_of(nodes: Table, edges: Table, *, multigraph: bool) -> nx.Graph:
    """A NetworkX graph from a table with `name` and a table with `a` and `b`; the other columns
    become attributes."""
    try:
        import networkx as nx
    except ImportError:
        raise MissingPackageError("networkx") from None
    graph: nx.Graph = nx.MultiGraph() if multigraph else nx.Graph()
    for node in nodes:
        graph.add_node(node.pop("name"), **node)
    for index, edge in enumerate(edges):
        a, b = edge["a"], edge["b"]
        if not multigraph and graph.has_edge(a, b):
            graph[a][b]["links"] += 1
        else:
            graph.add_edge(a, b, index=index, links=1, **edge)
    return graph


def read_document(path: str | Path) -> Json:
    """Reads a JSON object from a file. Raises `CubeyardError` for anything else."""
    try:
        result = loads(Path(path).read_bytes())
    except OSError as error:
        raise mistake("path", str(path), f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise mistake("path", str(path), f"{path} is not JSON: {error}") from None
    if not isinstance(result, dict):
        raise mistake("path", str(path), f"{path} holds no JSON object", hint="Give a topology's or a plan's spec.")
    return result


def topology_of(document: Json) -> Json:
    """The topology in a topology spec, a plan spec or an exported plan."""
    if isinstance(document.get("spec"), dict):
        document = document["spec"]
    if isinstance(document.get("topology"), dict):
        document = document["topology"]
    return document


def _constructor(family: str) -> Callable[..., Topology]:
    """Makes a constructor for a family, with the signature and the texts of the engine's
    description."""
    described = family_documents()[family]
    names = [parameter["name"] for parameter in described["parameters"]]

    def make(*values: Any, **parameters: Any) -> Topology:
        if len(values) > len(names):
            raise mistake(family, values, f"{len(values)} parameters were given", limit=f"at most {len(names)}")
        given = dict(zip(names, values, strict=False))
        if twice := given.keys() & parameters.keys():
            raise mistake(min(twice), parameters[min(twice)], "It is given twice", hint="Give it once.")
        return Topology(family, **given, **parameters)

    make.__name__ = make.__qualname__ = family
    make.__doc__ = "\n".join(
        [f"{described['title']}. {described['summary']}", "", *map(_described, described["parameters"])]
    )
    listed = sorted(described["parameters"], key=lambda parameter: not parameter["required"])
    if [parameter["name"] for parameter in listed] == names:  # defaults come last
        shown = [
            Parameter(
                parameter["name"],
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if parameter["required"] else parameter["default"],
            )
            for parameter in listed
        ]
        make.__signature__ = Signature(shown)
    return make


def _described(parameter: Json) -> str:
    low, high = parameter.get("min"), parameter.get("max")
    limits = f" ({low} to {high})" if low is not None and high is not None else ""
    needed = "" if parameter["required"] else " Optional."
    return f"{parameter['name']}: {parameter['title']}{limits}. {parameter['doc']}{needed}"
