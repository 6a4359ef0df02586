"""The result of a reader: nodes and links, with the names of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from cubeyard.reading.problems import refused

Format = Literal["graphml", "gexf", "dot", "csv", "containerlab", "netbox", "lldp"]
TITLES: dict[Format, str] = {
    "graphml": "GraphML",
    "gexf": "GEXF",
    "dot": "Graphviz DOT",
    "csv": "Edge list (CSV, XLSX)",
    "containerlab": "containerlab (YAML)",
    "netbox": "NetBox cables",
    "lldp": "LLDP (lldpctl)",
}

_MARKUP = re.compile(r"<br\s*/?>|\\[nlr]|[\r\n]+", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,200}>")
MAX_BYTES = 32 * 1024 * 1024
MAX_NODES = 16_384
MAX_LINKS = 32_768
"""As many nodes and links as the family `custom` takes."""
MAX_NESTING = 64
"""Elements of XML, levels of YAML or JSON, and subgraphs of DOT inside each other."""
MAX_NAME_CHARACTERS = 200
OWN = re.compile(r"plan [0-9a-f]{12} \u00b7 engine ")
"""The line of provenance in our own exports."""


@dataclass(slots=True)
class Node:
    attributes: Mapping[str, Any]
    """Attributes from the file, by name in lower case."""
    where: str
    """`line 12`, or the element where the format has no lines."""
    label: str = ""
    """A display name, if the file has one in addition to the id."""
    default_role: Literal["", "server", "switch"] = ""
    """The role if neither an attribute nor the name determines it: containerlab's kind `linux` is a
    server."""


@dataclass(slots=True)
class Edge:
    a: str
    b: str
    a_port: str = ""
    b_port: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""


@dataclass
class Network:
    """The content of a file. The methods enforce the limits, so that no reader exhausts the
    memory."""

    format: Format
    name: str = ""
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    directed: bool = False
    """Whether the file's links have a direction: one there and one back are then one link."""
    own: bool = False
    """Whether it is an export of Cubeyard's, whose host names begin with h for servers and s for
    switches."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Why something is no part of the network, and where it stands."""
    spellings: list[list[str]] = field(default_factory=list)
    """Names of one device, the one that counts first."""
    alike: list[tuple[str, str]] = field(default_factory=list)
    """Names that look like one device's, and are two by their links."""

    def add_node(self, name: str, node: Node, line: int | None = None) -> None:
        self._named(name, node.where, line)
        self.nodes[name] = node
        if len(self.nodes) > MAX_NODES:
            _too_many(node.where, "nodes", MAX_NODES, line)

    def add_edge(self, edge: Edge, line: int | None = None) -> None:
        """Nodes that were not named before are added."""
        for name in (edge.a, edge.b):
            if name not in self.nodes:
                self.add_node(name, Node({}, edge.where), line)
        self.edges.append(edge)
        if len(self.edges) > MAX_LINKS:
            _too_many(edge.where, "links", MAX_LINKS, line)

    def leave_out(self, why: str, where: str) -> None:
        self.left_out.setdefault(why, []).append(where)

    def _named(self, name: str, where: str, line: int | None) -> None:
        if not name.strip():
            raise refused(where, "A node has an empty name.", "Give every node a name.", line=line)
        if len(name) > MAX_NAME_CHARACTERS:
            limit = f"at most {MAX_NAME_CHARACTERS} characters"
            message = f"A node's name has {len(name):,} characters; it must have {limit}."
            raise refused(where, message, "Shorten it.", line=line, value=name[:40])


def lines(label: str) -> list[str]:
    """The lines of a label without markup: HTML and the escapes of DOT."""
    return [words for piece in _MARKUP.split(label) if (words := " ".join(_TAG.sub(" ", piece).split()))]


def _too_many(where: str, what: str, most: int, line: int | None) -> NoReturn:
    message = f"The file has more than {most:,} {what}, the most that can be read."
    raise refused(where, message, "Import a part of the network.", line=line)
