"""GraphML and GEXF, read by NetworkX from XML that defusedxml has checked: no DTD, no entities, nothing from the network.

NetworkX forgets where an element stood, which end of an edge was named first, and GraphML's ports. They are noted while the XML is
parsed, and every edge is read as a directed one, so that its ends stay in the order of the file.
"""

from __future__ import annotations

import io
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, tostring

import networkx as nx
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser
from networkx.readwrite.gexf import GEXFReader
from networkx.readwrite.graphml import GraphMLReader

from cubeyard.asbuilt.readers.listing import BadListError
from cubeyard.topologies.network import MAX_LINKS, MAX_NESTING, MAX_NODES, OWN, Edge, Network, Node, refused

_FAILURES = (nx.NetworkXException, ValueError, TypeError, KeyError, AttributeError, RuntimeError, IndexError)
"""What NetworkX's readers raise for a document that is XML but no graph."""
_MOST_ELEMENTS = 40 * (MAX_NODES + MAX_LINKS)


@dataclass(slots=True)
class _Written:
    """An edge as the file writes it."""

    line: int
    a_port: str
    b_port: str


@dataclass
class _Notes:
    """What is noted while the XML is parsed."""

    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[tuple[str, str], deque[_Written]] = field(default_factory=lambda: defaultdict(deque))
    edge_count: int = 0
    directed: bool = False


def read(data: bytes, format: Literal["graphml", "gexf"]) -> Network:
    """Raises `BadListError` by line."""
    root, notes = _parsed(data)
    tag = _local(root.tag)
    if tag != format:
        raise refused("line 1", f"The document is <{tag}>, not <{format}>.", "Choose the format that the file has.")
    try:
        graph = _graphml(root) if format == "graphml" else _gexf(root)
    except BadListError:
        raise
    except _FAILURES as error:
        words = str(error) or type(error).__name__
        raise refused(f"element {tag}", f"It cannot be read as a graph: {words[:200]}.") from None
    return _network(graph, notes, format)


def _parsed(data: bytes) -> tuple[Element, _Notes]:
    notes = _Notes()
    builder = _Builder(notes)
    parser = DefusedXMLParser(target=builder, forbid_dtd=True)
    builder.position = parser.parser
    try:
        parser.feed(data)
        return parser.close(), notes
    except DefusedXmlException:
        line = parser.parser.CurrentLineNumber
        message = "The document has a DTD or entities, which are not read."
        raise refused(f"line {line}", message, "Remove <!DOCTYPE …> and the entities.", line=line) from None
    except ParseError as error:
        line, column = error.position
        words = str(error).partition(":")[0]
        raise refused(f"line {line}, column {column + 1}", f"It is not XML: {words}.", line=line) from None
    except BadListError:
        raise
    except (LookupError, ValueError) as error:
        raise refused("line 1", f"The encoding cannot be read: {error}.", "Save the file as UTF-8.", line=1) from None


class _Builder(TreeBuilder):
    """Builds the tree, refuses too deep and too large ones, and notes nodes and edges."""

    position: Any

    def __init__(self, notes: _Notes) -> None:
        super().__init__()
        self._notes = notes
        self._depth = self._elements = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self._depth += 1
        self._elements += 1
        line = self.position.CurrentLineNumber
        notes, local = self._notes, _local(tag)
        if self._depth > MAX_NESTING:
            message = f"Elements are nested more than {MAX_NESTING} deep."
            raise refused(f"line {line}", message, "Write the graph without nested graphs.", line=line)
        if local == "node":
            notes.nodes.setdefault(attrs.get("id", ""), line)
        elif local == "edge":
            notes.edge_count += 1
            ports = (attrs.get("sourceport", ""), attrs.get("targetport", ""))
            notes.edges[attrs.get("source", ""), attrs.get("target", "")].append(_Written(line, *ports))
            kind = attrs.pop("directed", attrs.pop("type", "") if "type" in attrs else "")
            notes.directed |= kind in ("true", "directed", "mutual")
        elif local == "graph":
            given = attrs.get("edgedefault", attrs.get("defaultedgetype"))
            notes.directed |= given == "directed"
            attrs |= {"edgedefault": "directed", "defaultedgetype": "directed"}
        for many, most, what in (
            (len(notes.nodes), MAX_NODES, "nodes"),
            (notes.edge_count, 2 * MAX_LINKS, "edges"),
            (self._elements, _MOST_ELEMENTS, "elements"),
        ):
            if many > most:
                message = f"The file has more than {most:,} {what}, the most that can be read."
                raise refused(f"line {line}", message, "Import a part of the network.", line=line)
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _graphml(root: Element) -> nx.MultiDiGraph:
    reader = GraphMLReader(force_multigraph=True)
    keys, defaults = reader.find_graphml_keys(root)
    graph = root.find(f"{{{reader.NS_GRAPHML}}}graph")
    if graph is None:
        raise refused("element graphml", "It has no <graph> of GraphML's name space.", "Export the graph again.")
    return reader.make_graph(graph, keys, defaults)


def _gexf(root: Element) -> nx.MultiDiGraph:
    return GEXFReader(node_type=str)(io.BytesIO(tostring(root)))


def _network(graph: nx.MultiDiGraph, notes: _Notes, format: Literal["graphml", "gexf"]) -> Network:
    network = Network(format, str(graph.graph.get("name") or "")[:120], directed=notes.directed)
    network.own = OWN.search(str(graph.graph.get("provenance") or "")) is not None
    for name, given in graph.nodes(data=True):
        line = notes.nodes.get(str(name))
        if line is None:
            ends = next(edge for pair, edge in notes.edges.items() if str(name) in pair)
            message = f"The edge names a node {str(name)[:40]!r} that the file does not have."
            raise refused(f"line {ends[0].line}", message, "Add the node, or correct its id.", line=ends[0].line)
        attributes = _lower(given)
        label = attributes.get("label")
        node = Node(attributes, f"line {line}", "" if label is None else str(label).strip())
        network.add_node(str(name), node, line)
    for a, b, given in graph.edges(data=True):
        attributes = _lower(given)
        written = notes.edges[str(a), str(b)].popleft()
        a_port = written.a_port or str(attributes.get("a_port") or "")
        b_port = written.b_port or str(attributes.get("b_port") or "")
        network.add_edge(Edge(str(a), str(b), a_port, b_port, attributes, f"line {written.line}"), written.line)
    if any(notes.edges.values()):
        line = next(edges[0].line for edges in notes.edges.values() if edges)
        raise refused(f"line {line}", "Two edges have one id.", "Give each edge an id of its own.", line=line)
    return network


def _lower(attributes: dict[str, Any]) -> dict[str, Any]:
    return {str(name).casefold(): value for name, value in attributes.items()}
