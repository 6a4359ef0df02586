"""GraphML and GEXF, from XML that defusedxml has checked: no DTD, no entities, nothing from the
network.

Elements and attributes count by their local names: programs write GraphML without its name space,
and GEXF in that of every version. Attributes are text; those of a type that no network needs, as
graph-tool's vectors, are text that nothing reads. Nested graphs are read, open or closed as yEd
folds them; a node that only holds others has no link and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from cubeyard.reading.header import key
from cubeyard.reading.problems import BadFileError, refused
from cubeyard.reading.text import is_utf8
from cubeyard.topologies.network import MAX_LINKS, MAX_NESTING, MAX_NODES, OWN, Edge, Network, Node

_MOST_ELEMENTS = 40 * (MAX_NODES + MAX_LINKS)
_LINE = "line#"
"""The attribute in which an element's line is noted; no attribute of XML has such a name."""
_LABELS = (
    "label", "name", "sharedname", "displayname", "title", "hostname", "nodename", "nodelabel", "vertexname", "vertexlabel", "devicename", "sysname",
    "systemname", "device", "host", "caption", "fullname", "longname", "igraphname", "nxname", "vname", "labelv", "text",
)  # fmt: skip
"""Names of attributes that hold a node's name for people, in lower case without spaces and
punctuation: those of yEd, Gephi, igraph, Cytoscape and others."""


def read(data: bytes, format: Literal["graphml", "gexf"]) -> Network:
    """Raises `BadFileError` by line."""
    root = _parsed(data)
    if root.tag != format:
        raise refused(
            "line 1", f"The document is <{root.tag}>, not <{format}>.", "Choose the format that the file has."
        )
    graphs = [child for child in root if child.tag == "graph"]
    if not graphs:
        raise refused(f"element {format}", "It has no <graph>.", "Export the graph again.")
    if len(graphs) > 1:
        line = _line(graphs[1])
        raise refused(f"line {line}", f"The file has {len(graphs)} graphs.", "Put one graph into a file.", line=line)
    return (_Graphml if format == "graphml" else _Gexf)(root, graphs[0]).network


def _parsed(data: bytes) -> Element:
    builder = _Builder()
    parser = DefusedXMLParser(target=builder, forbid_dtd=True)
    builder.position = parser.parser
    try:
        parser.feed(data)
        return parser.close()
    except DefusedXmlException:
        line = parser.parser.CurrentLineNumber
        message = "The document has a DTD or entities, which are not read."
        raise refused(f"line {line}", message, "Remove <!DOCTYPE …> and the entities.", line=line) from None
    except ParseError as error:
        line, column = error.position
        words = str(error).partition(":")[0]
        if not is_utf8(data) and b"encoding" not in data[:200]:
            message = "It is XML without a declared encoding, and no UTF-8 text."
            hint = 'Save it as UTF-8, or declare its encoding: <?xml version="1.0" encoding="windows-1252"?>'
            raise refused(f"line {line}", message, hint, line=line) from None
        raise refused(f"line {line}, column {column + 1}", f"It is not XML: {words}.", line=line) from None
    except BadFileError:
        raise
    except (LookupError, ValueError) as error:
        raise refused("line 1", f"The encoding cannot be read: {error}.", "Save the file as UTF-8.", line=1) from None


class _Builder(TreeBuilder):
    """Builds the tree by local names with a line at each element, and refuses too deep and too
    large ones."""

    position: Any

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._elements = 0
        self._counts = {"node": 0, "edge": 0}

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self._depth += 1
        self._elements += 1
        line = self.position.CurrentLineNumber
        local = _local(tag)
        if self._depth > MAX_NESTING:
            message = f"Elements are nested more than {MAX_NESTING} deep."
            raise refused(f"line {line}", message, "Write the graph without nested graphs.", line=line)
        if local in self._counts:
            self._counts[local] += 1
        for many, most, what in (
            (self._counts["node"], MAX_NODES, "nodes"),
            (self._counts["edge"], 2 * MAX_LINKS, "edges"),
            (self._elements, _MOST_ELEMENTS, "elements"),
        ):
            if many > most:
                message = f"The file has more than {most:,} {what}, the most that can be read."
                raise refused(f"line {line}", message, "Import a part of the network.", line=line)
        return super().start(local, {_local(name): value for name, value in attrs.items()} | {_LINE: str(line)})

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(_local(tag))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _line(element: Element) -> int:
    return int(element.get(_LINE, "1"))


class _Reader:
    """Common base of both formats: nodes by their ids, then edges between them."""

    def __init__(self, format: Literal["graphml", "gexf"]) -> None:
        self.network = Network(format)
        self._edges: list[tuple[Element, dict[str, str]]] = []

    def add_node(self, element: Element, attributes: dict[str, str], label: str) -> None:
        line, name = _line(element), element.get("id", "")
        if name in self.network.nodes:
            raise refused(
                f"line {line}", f"The node {name[:40]!r} occurs twice.", "Give each node another id.", line=line
            )
        known = {key(title): words for title, words in attributes.items()}
        words = next((words for name in _LABELS if (words := known.get(name, "").strip())), label.strip())
        self.network.add_node(name, Node(attributes, f"line {line}", words), line)

    def add_edges(self, edges: Iterable[tuple[Element, dict[str, str]]]) -> None:
        for element, attributes in edges:
            line = _line(element)
            a, b = element.get("source", ""), element.get("target", "")
            for name in (a, b):
                if name not in self.network.nodes:
                    message = f"The edge names a node {name[:40]!r} that the file does not have."
                    raise refused(f"line {line}", message, "Add the node, or correct its id.", line=line)
            ports = (
                element.get("sourceport") or attributes.get("a_port", ""),
                element.get("targetport") or attributes.get("b_port", ""),
            )
            self.network.directed |= (element.get("directed") or element.get("type")) in ("true", "directed", "mutual")
            self.network.add_edge(Edge(a, b, *ports, attributes, f"line {line}"), line)


class _Graphml(_Reader):
    def __init__(self, root: Element, graph: Element) -> None:
        super().__init__("graphml")
        self._keys: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}, "graph": {}}
        for entry in root.iter("key"):
            name = (entry.get("attr.name") or entry.get("id", "")).casefold()
            self._keys[entry.get("id", "")] = name
            default = entry.find("default")
            for domain, known in self._defaults.items():
                if default is not None and default.text and entry.get("for", "all") in (domain, "all"):
                    known[name] = default.text
        about = self._data(graph, "graph")
        network = self.network
        network.name = about.get("name", "")[:120]
        network.own = OWN.search(about.get("provenance", "")) is not None
        edges: list[Element] = []
        self._walk(graph, edges)
        self.add_edges(
            (edge, {"label": "\n".join(_drawn(edge, "EdgeLabel")), **self._data(edge, "edge")}) for edge in edges
        )

    def _walk(self, graph: Element, edges: list[Element]) -> None:
        self.network.directed |= graph.get("edgedefault") == "directed"
        for element in graph:
            if element.tag == "node":
                drawn = next((label for label in _drawn(element, "NodeLabel")), "")
                self.add_node(element, self._data(element, "node"), drawn)
                for inner in element:
                    if inner.tag == "graph":
                        self._walk(inner, edges)
            elif element.tag == "edge":
                edges.append(element)
            elif element.tag == "hyperedge":
                self.network.leave_out("a hyperedge", f"line {_line(element)}")

    def _data(self, element: Element, domain: str) -> dict[str, str]:
        """Attributes by name, without yEd's graphics."""
        given = {
            self._keys.get(data.get("key", ""), data.get("key", "").casefold()): data.text or ""
            for data in element
            if data.tag == "data" and len(data) == 0
        }
        return {**self._defaults[domain], **given}


def _drawn(element: Element, tag: str) -> Iterator[str]:
    """The texts that yEd draws at a node or an edge itself, not at those inside it."""
    for data in element:
        if data.tag == "data":
            for label in data.iter(tag):
                if words := "".join(label.itertext()).strip():
                    yield words


class _Gexf(_Reader):
    def __init__(self, _root: Element, graph: Element) -> None:
        super().__init__("gexf")
        network = self.network
        network.directed = graph.get("defaultedgetype") in ("directed", "mutual")
        titles: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        for attributes in graph.iter("attributes"):
            domain = attributes.get("class", "node")
            for attribute in attributes:
                title = (attribute.get("title") or attribute.get("id", "")).casefold()
                titles.setdefault(domain, {})[attribute.get("id", "")] = title
                default = attribute.find("default")
                if default is not None and default.text:
                    defaults.setdefault(domain, {})[title] = default.text
        for node in graph.iter("node"):
            given = {**defaults["node"], **_values(node, titles["node"])}
            self.add_node(node, given, node.get("label", ""))
            if label := node.get("label", "").strip():
                network.nodes[node.get("id", "")].label = label
        self.add_edges((edge, {**defaults["edge"], **_values(edge, titles["edge"])}) for edge in graph.iter("edge"))


def _values(element: Element, titles: Mapping[str, str]) -> dict[str, str]:
    result = {
        name.casefold(): value
        for name, value in element.attrib.items()
        if name not in ("id", "source", "target", "type", "kind", "pid", "start", "end", _LINE)
    }
    for values in element:
        if values.tag == "attvalues":
            for value in values:
                name = value.get("for") or value.get("id", "")
                result[titles.get(name, name.casefold())] = value.get("value", "")
    return result
