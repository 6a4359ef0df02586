"""containerlab's topology files (`*.clab.yml`): `topology.nodes` and `topology.links`.

Kind, group and labels of a node are inherited as in containerlab: from the node, its group, its
kind or the defaults. A node of kind `linux` (or another plain container) is a server unless labels,
group, name, image, files or settings indicate a router (such as FRR and BIRD); other kinds are
switches. A duplicate key is an error, as in containerlab. Links to the host, to a management
network and into tunnels are left out. YAML tags are ignored; the number of values is limited, so
that nested aliases cannot expand without end. Names are read as text: `00` and `no` stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from cubeyard.reading.problems import refused
from cubeyard.reading.text import strict
from cubeyard.topologies.network import MAX_NESTING, OWN, Edge, Network, Node

SERVER_KINDS = frozenset(("linux", "ext-container", "generic_vm", "k8s-kind", "podman"))
ROUTERS = frozenset(
    ("frr", "frrouting", "bird", "bird2", "bird3", "quagga", "vyos", "gobgp", "openbgpd", "cumulus", "sonic", "freertr", "holo", "rustybgp",
     "openvswitch", "ovs", "vpp", "mikrotik", "routeros", "opnsense", "pfsense", "router", "switch", "zebra", "crpd", "srlinux", "ceos", "cvx", "cx",
     "xrd", "bmv2", "stratum", "openr", "bgp", "ospf")
)  # fmt: skip
"""Words in the image of a container that routes or switches."""
_ROUTES = re.compile(
    r"/etc/(?:frr|bird|quagga|gobgp|openvswitch|sonic)|\b(?:vtysh|birdc?|gobgpd|zebra|ovs-vsctl|brctl)\b|type bridge|forward(?:ing)?\s*[=: ]\s*1"
)
"""Files, programs and settings of a container that forwards."""
_SETTINGS = ("binds", "exec", "sysctls", "cmd", "startup-config")
ROLE_LABELS = ("role", "type", "function", "device_role", "tier", "level", "layer")
_MOST_VALUES = 2_000_000
_MOST_ALIASES = 1_000
_HINT = "Send a file of containerlab: topology with nodes and links."
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LEFT_OUT = "a link to the host, a management network or a tunnel"


def read(data: bytes) -> Network:
    """Raises `BadListError` by line."""
    text = strict(data)
    document = _document(text)
    topology = _mapping(document, "the document").get("topology")
    if topology is None:
        raise refused("line 1", "There is no topology.", _HINT, line=1)
    return _Lab(_mapping(document, "the document"), _mapping(topology, "topology"), OWN.search(text[:2_000])).network


def _document(text: str) -> yaml.Node:
    """The only document of a file, composed but not constructed: names stay as they are written."""
    depth = values = aliases = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            values += 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            line = event.start_mark.line + 1
            if depth > MAX_NESTING:
                message = f"Values are nested more than {MAX_NESTING} deep."
                raise refused(f"line {line}", message, "Containerlab needs 6 levels.", line=line)
            if values > _MOST_VALUES or aliases > _MOST_ALIASES:
                most = f"{_MOST_VALUES:,} values and {_MOST_ALIASES:,} aliases"
                raise refused(f"line {line}", f"The file has more than {most}.", "Import a part of it.", line=line)
        result = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = f"It is not YAML: {error.problem or error.context}."
        raise refused(f"line {line}, column {column}", message, line=line) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise refused("file", f"It is not YAML: {str(error)[:200]}.") from None
    if result is None:
        raise refused("line 1", "There is no topology.", _HINT, line=1)
    return result


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _wrong(node: yaml.Node, message: str, hint: str = _HINT) -> NoReturn:
    value = node.value[:40] if isinstance(node, yaml.ScalarNode) else None
    raise refused(f"line {_line(node)}", message, hint, line=_line(node), value=value)


def _mapping(node: yaml.Node | None, what: str, depth: int = 0) -> dict[str, yaml.Node]:
    """The values of a mapping by key, including merged ones (`<<`); empty for no value."""
    if node is None or (isinstance(node, yaml.ScalarNode) and node.value in ("", "~", "null")):
        return {}
    if not isinstance(node, yaml.MappingNode):
        _wrong(node, f"{what[:1].upper()}{what[1:]} must be a mapping.")
    own: dict[str, yaml.Node] = {}
    merged: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            _wrong(key, "A key must be text.")
        if key.value == "<<" and key.tag == "tag:yaml.org,2002:merge":
            if depth == MAX_NESTING:
                _wrong(value, "Merged mappings are nested too deeply.")
            for item in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                merged = {**_mapping(item, what, depth + 1), **merged}
        elif key.value in own:
            _wrong(
                key,
                f"{key.value[:40]!r} occurs twice in {what}.",
                "Remove one of the two: containerlab refuses both.",
            )
        else:
            own[key.value] = value
    return {**merged, **own}


def _words(node: yaml.Node | None) -> str:
    return node.value.strip() if isinstance(node, yaml.ScalarNode) else ""


def _all_words(node: yaml.Node | None) -> str:
    """Texts of a list, and `key=value` of a mapping."""
    if isinstance(node, yaml.SequenceNode):
        return "\n".join(map(_words, node.value))
    if isinstance(node, yaml.MappingNode):
        return "\n".join(f"{_words(key)}={_words(value)}" for key, value in node.value)
    return _words(node)


class _Lab:
    def __init__(self, document: dict[str, yaml.Node], topology: dict[str, yaml.Node], own: object) -> None:
        self.network = Network("containerlab", _words(document.get("name"))[:120], own=own is not None)
        self._defaults = _mapping(topology.get("defaults"), "defaults")
        self._kinds = self._inherited(topology, "kinds")
        self._groups = self._inherited(topology, "groups")
        nodes = _mapping(topology.get("nodes"), "nodes")
        if not nodes:
            _wrong(topology.get("nodes") or next(iter(document.values())), "The lab has no nodes.")
        for name, node in nodes.items():
            self._node(name, node)
        links = topology.get("links")
        if links is not None and not isinstance(links, yaml.SequenceNode):
            _wrong(links, "Links must be a list.")
        for number, link in enumerate(links.value if links is not None else []):
            self._link(number, link)

    def _inherited(self, topology: dict[str, yaml.Node], what: str) -> dict[str, dict[str, yaml.Node]]:
        return {name: _mapping(node, name) for name, node in _mapping(topology.get(what), what).items()}

    def _node(self, name: str, node: yaml.Node) -> None:
        own = _mapping(node, f"node {name[:40]}")
        group = _words(own.get("group")) or _words(self._defaults.get("group"))
        from_group = self._groups.get(group, {})
        kind = _words(own.get("kind")) or _words(from_group.get("kind")) or _words(self._defaults.get("kind"))
        levels = (self._defaults, self._kinds.get(kind, {}), from_group, own)
        labels = {
            key.casefold(): _words(value)
            for level in levels
            for key, value in _mapping(level.get("labels"), "labels").items()
        }
        attributes = {key: labels[key] for key in ROLE_LABELS if key in labels}
        if group:
            attributes["group"] = group
        if self.network.own:
            # In our own labs every node is of kind linux, and switches have a level.
            attributes["role"] = "switch" if "level" in labels else "server"
        image = next((words for level in reversed(levels) if (words := _words(level.get("image")))), "")
        words = re.split(r"[^a-z0-9]+", image.casefold())
        routes = any(word in ROUTERS or word.startswith("frr") or word.endswith("frr") for word in words)
        routes |= any(_ROUTES.search(_all_words(level.get(key))) for level in levels for key in _SETTINGS)
        server = (kind in SERVER_KINDS or not kind) and not routes
        if not server and not routes:
            attributes["kind"] = kind
            attributes.setdefault("role", "switch")
        self.network.add_node(
            name, Node(attributes, f"line {_line(node)}", default_role="server" if server else "switch"), _line(node)
        )

    def _link(self, number: int, link: yaml.Node) -> None:
        where = f"links[{number}]"
        given = _mapping(link, where)
        line = _line(link)
        ends = given.get("endpoints")
        if ends is None and _words(given.get("type")) not in ("", "veth"):
            self.network.leave_out(_LEFT_OUT, f"line {line}")
            return
        if not isinstance(ends, yaml.SequenceNode) or len(ends.value) != 2:
            _wrong(ends or link, f"{where} must have two endpoints.", 'Write endpoints: ["leaf1:eth1", "web1:eth1"].')
        (a, a_port), (b, b_port) = self._ends(ends.value)
        known = self.network.nodes
        if a not in known or b not in known:
            name = a if a not in known else b
            if name in ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"):
                self.network.leave_out(_LEFT_OUT, f"line {line}")
                return
            _wrong(ends, f"{where} names the node {name[:40]!r}, which the lab does not have.", "Add it to nodes.")
        labels = {
            key.casefold(): _words(value)
            for member in ("vars", "labels")
            for key, value in _mapping(given.get(member), f"{where}.{member}").items()
        }
        self.network.add_edge(Edge(a, b, a_port, b_port, labels, f"line {line}"), line)

    def _ends(self, ends: list[yaml.Node]) -> Iterator[tuple[str, str]]:
        for end in ends:
            if isinstance(end, yaml.ScalarNode):
                node, _, port = end.value.partition(":")
            else:
                parts = _mapping(end, "an endpoint")
                node, port = _words(parts.get("node")), _words(parts.get("interface"))
            if not node.strip():
                _wrong(end, "An endpoint must name a node.", "Write it as leaf1:eth1.")
            yield node.strip(), port.strip()
