"""Decides which nodes are servers and which are switches, and by which rule. [ours]

In this order: the user's patterns; an attribute of the file (role, type, kind, function …); words
in the name; the default of the format (containerlab's kind linux is a server); the number of links.
A node that matches no rule becomes a switch and is listed as unclear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, Literal

from cubeyard.topologies.network import Network, Node

MAX_TIER = 15
Role = Literal["server", "switch"]
Rule = Literal["pattern", "attribute", "name", "format", "links", "unclear"]
RULES: dict[Rule, str] = {
    "pattern": "by your patterns",
    "attribute": "by an attribute in the file (role, type, kind, function)",
    "name": "by words in the name (leaf, spine, tor, web, gpu and the like)",
    "format": "by the file's format (containerlab: kind linux without a router's image is a server, the rest are switches)",
    "links": "by its links: one link is a server, several links with a single-link neighbour a switch",
    "unclear": "unclear, taken for switches",
}
KEYS = ("role", "device_role", "kind", "function", "type", "node_type", "device_type", "group")
_SERVERS = frozenset(
    (
        "server",
        "servers",
        "srv",
        "host",
        "hosts",
        "compute",
        "gpu",
        "dgx",
        "hgx",
        "hypervisor",
        "worker",
        "client",
        "storage",
        "web",
        "db",
        "app",
        "vm",
        "pc",
        "endpoint",
        "computer",
        "machine",
        "workstation",
    )
)
_SWITCHES = frozenset(
    (
        "switch",
        "switches",
        "sw",
        "leaf",
        "leaves",
        "spine",
        "spines",
        "superspine",
        "tor",
        "eor",
        "core",
        "agg",
        "aggr",
        "aggregation",
        "dist",
        "distribution",
        "access",
        "edge",
        "border",
        "router",
        "routers",
        "rtr",
        "fabric",
        "bridge",
        "hub",
        "gateway",
    )
)
_WORD = re.compile(r"[a-z]+")
_OWN_NAME = re.compile(r"(?:.*-)?([hs])[0-9]+(?:-[0-9]+)*")
_MININET = re.compile(r"([hs])[0-9]+")


@dataclass(frozen=True, slots=True)
class Decision:
    role: Role
    rule: Rule


def decide(network: Network, servers: Sequence[str], switches: Sequence[str]) -> dict[str, Decision]:
    """The role of every node, by its name in the file. Patterns are shell patterns, `web*`, and of
    both kinds a switch's counts.

    Linear in nodes and links, times the number of patterns.
    """
    chosen = _Patterns(servers), _Patterns(switches)
    numbered = _numbered(network)
    neighbours: dict[str, set[str]] = {name: set() for name in network.nodes}
    degree = dict.fromkeys(network.nodes, 0)
    for edge in network.edges:
        if edge.a != edge.b:
            neighbours[edge.a].add(edge.b)
            neighbours[edge.b].add(edge.a)
            degree[edge.a] += 1
            degree[edge.b] += 1
    result: dict[str, Decision] = {}
    for name, node in network.nodes.items():
        patterned = _by_pattern(name, node, *chosen)
        if patterned is not None:
            result[name] = Decision(patterned, "pattern")
        elif (role := _by_attribute(node.attributes)) is not None:
            result[name] = Decision(role, "attribute")
        elif (role := _by_name(name, node, numbered)) is not None:
            result[name] = Decision(role, "name")
        elif node.default_role:
            result[name] = Decision(node.default_role, "format")
        elif degree[name] <= 1:
            result[name] = Decision("server", "links")
        elif any(degree[neighbour] == 1 for neighbour in neighbours[name]):
            result[name] = Decision("switch", "links")
        else:
            result[name] = Decision("switch", "unclear")
    return result


def tier(attributes: Mapping[str, Any]) -> int | None:
    """The tier of a switch as a number in the file; 0 is next to the servers."""
    for key in ("tier", "level", "layer"):
        words = str(attributes.get(key, "")).strip()
        if words.isdecimal() and len(words) <= 2 and int(words) <= MAX_TIER:
            return int(words)
    function = str(attributes.get("function", ""))
    matched = re.fullmatch(r"switch-l([0-9]{1,2})", function)  # our export for Graphviz
    return int(matched[1]) if matched and int(matched[1]) <= MAX_TIER else None


class _Patterns:
    def __init__(self, patterns: Sequence[str]) -> None:
        self._all = [re.compile(translate(pattern), re.IGNORECASE) for pattern in patterns]

    def take(self, name: str, node: Node) -> bool:
        return any(item.match(name) or (node.label and item.match(node.label)) for item in self._all)


def _by_pattern(name: str, node: Node, servers: _Patterns, switches: _Patterns) -> Role | None:
    return "switch" if switches.take(name, node) else "server" if servers.take(name, node) else None


def _by_attribute(attributes: Mapping[str, Any]) -> Role | None:
    for key in KEYS:
        role = _of_words(str(attributes.get(key, ""))[:200])
        if role is not None:
            return role
    return None


def _of_words(words: str) -> Role | None:
    """The role that a text indicates; None if it has words of both kinds."""
    matches = set(_WORD.findall(words.casefold()))
    kinds: set[Role] = set()
    if matches & _SERVERS:
        kinds.add("server")
    if matches & _SWITCHES:
        kinds.add("switch")
    return kinds.pop() if len(kinds) == 1 else None


def _numbered(network: Network) -> re.Pattern[str] | None:
    """Names of a letter and a number determine roles if all names have that form: those of our
    exports, and Mininet's h1 and s1."""
    if network.own:
        return _OWN_NAME
    return _MININET if network.nodes and all(map(_MININET.fullmatch, network.nodes)) else None


def _by_name(name: str, node: Node, numbered: re.Pattern[str] | None) -> Role | None:
    if numbered is not None and (result := numbered.fullmatch(name)):
        return "server" if result[1] == "h" else "switch"
    return _of_words(name) or _of_words(node.label[:200])
