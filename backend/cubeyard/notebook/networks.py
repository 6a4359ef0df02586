"""Networks of other programs as topologies: files, and NetworkX graphs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from cubeyard.notebook.errors import explained, mistake
from cubeyard.reading.cables.netbox_json import is_netbox
from cubeyard.reading.problems import BadFileError, problem
from cubeyard.topologies.importing import ImportOptions, check, import_topology, of_network
from cubeyard.topologies.network import Edge, Format, Network, Node
from cubeyard.topologies.rates import Unit
from cubeyard.topologies.schemas import ImportedTopology

if TYPE_CHECKING:
    import networkx as nx

_OPTIONS = ("format", "servers", "switches", "link_gbps", "rate_unit")


def read_network(path: str | Path, **options: Any) -> ImportedTopology:
    """Reads a network file of another program: its `spec`, and reports of what was read, assumed
    and left out.

    `options` are as in `Topology.from_file`. Raises `CubeyardError` with the line or element of
    each error.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise mistake("path", str(path), f"{path} cannot be read: {error.strerror or error}") from None
    with explained():
        return import_topology(data, Path(path).name, _chosen(options))


def of_graph(graph: nx.Graph, **options: Any) -> ImportedTopology:
    """The same for a NetworkX graph."""
    chosen = _chosen(options)
    with explained():
        check(chosen)
        try:
            return of_network(_network(graph), chosen)
        except BadFileError as error:
            raise problem(error) from None


def _network(graph: nx.Graph) -> Network:
    network = Network("graphml", str(graph.graph.get("name") or ""), directed=graph.is_directed())
    for name, attributes in graph.nodes(data=True):
        given = {str(key).casefold(): value for key, value in attributes.items()}
        network.add_node(str(name), Node(given, f"node {name}", str(given.get("label") or given.get("name") or "")))
    for a, b, attributes in graph.edges(data=True):
        given = {str(key).casefold(): value for key, value in attributes.items()}
        a_port, b_port = (str(given.get(f"{side}_port", "")) for side in "ab")
        if given.get("a") == b:  # `to_networkx` writes the ends of each edge
            a_port, b_port = b_port, a_port
        # `to_networkx` writes the number of parallel links in an edge.
        links = given.get("links", 1)
        count = links if isinstance(links, int) and links > 0 else 1
        if count > 1:
            a_port = b_port = ""
        for _ in range(count):
            network.add_edge(Edge(str(a), str(b), a_port, b_port, given, f"edge {a} to {b}"))
    return network


def is_spec(path: str | Path) -> bool:
    """Whether a file is JSON with a spec or an exported plan, judged by its name and its
    beginning."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(4_096)
    except OSError:
        return True  # the reader of specs reports the error
    if Path(path).suffix.casefold() == ".json":
        return b'"lldp' not in head and not is_netbox(head)
    return head.lstrip()[:1] == b"{" and any(key in head for key in (b'"family"', b'"topology"', b'"spec"'))


def _chosen(options: dict[str, Any]) -> ImportOptions:
    if unknown := next((name for name in options if name not in _OPTIONS), None):
        raise mistake(unknown, options[unknown], "There is no such option", limit=f"one of {', '.join(_OPTIONS)}")
    for name, values in (("format", get_args(Format)), ("rate_unit", get_args(Unit))):
        if options.get(name) not in (None, *values):
            raise mistake(name, options[name], "There is no such value", limit=f"one of {', '.join(values)}")
    return ImportOptions(
        options.get("format"),
        _patterns(options.get("servers")),
        _patterns(options.get("switches")),
        options.get("link_gbps"),
        options.get("rate_unit"),
    )


def _patterns(given: str | Iterable[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())
