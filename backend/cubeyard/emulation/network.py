"""The network that is emulated: a plan's topology, or a slice of it, as the fabric takes it.

Ids stay the plan's own, in a slice too: every frame, event and fault speaks of the same numbers as the plan does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from cubeyard.engine import Engine
from cubeyard.kit.errors import ProblemError, field_error

Json = dict[str, Any]

FAMILIES = ("bcube", "tree")
"""Families whose servers have a protocol to forward by; a tree's need none."""
MAX_BCUBE_K = 3
MAX_BCUBE_N = 64
"""A next-hop byte has 2 bits for the level and 6 for the digit. `[bcube §7.1]`"""
MAX_SERVERS = 65_536
"""A port's address holds 16 bits of the server's id."""


@dataclass(frozen=True)
class Link:
    """Ends are (node, port)."""

    id: int
    a: tuple[int, int]
    b: tuple[int, int]
    level: int


@dataclass(frozen=True)
class Network:
    """Servers and switches by id and name, and the links between them."""

    spec: Json
    """Of the whole topology, without the plan around it."""
    servers: dict[int, str]
    switches: dict[int, str]
    links: list[Link]
    whole: bool
    """False for a slice."""
    rate_bits_per_sec: float
    mtu: int
    outside: list[str] = field(default_factory=list)
    """Names of the servers that a slice leaves out."""
    gateways: list[int] = field(default_factory=list)
    """Ids of the servers that join it to an external network. `[bcube §5.3]`"""

    @property
    def family(self) -> str:
        return self.spec["family"]

    @cached_property
    def id_of(self) -> dict[str, int]:
        return {name: one for names in (self.servers, self.switches) for one, name in names.items()}

    @cached_property
    def name_of(self) -> dict[int, str]:
        return {**self.servers, **self.switches}

    def link_name(self, link: Link) -> str:
        return f"{self.name_of[link.a[0]]}/{self.name_of[link.b[0]]}"

    @cached_property
    def header_efficiency(self) -> float:
        """The share of a link's rate that is payload: what Ethernet, BCube's header, IP and TCP leave of a full packet."""
        ethernet, bcube, ip_tcp = 14, 36 if self.family == "bcube" else 0, 52
        return (self.mtu - bcube - ip_tcp) / (self.mtu + ethernet)

    def for_fabric(self, run_id: str, seed: int, dataplane: str, settings: Json) -> Json:
        return {
            "run": run_id,
            "family": self.family,
            "spec": self.spec,
            "rate_bits_per_sec": self.rate_bits_per_sec,
            "mtu": self.mtu,
            "dataplane": dataplane if self.family != "tree" else "none",
            "seed": seed,
            "settings": settings,
            "gateways": self.gateways,
            "servers": [{"id": one, "name": name, "ip": address(one)} for one, name in self.servers.items()],
            "switches": [{"id": one, "name": name} for one, name in self.switches.items()],
            "links": [
                {
                    "id": link.id,
                    "a": list(link.a),
                    "b": list(link.b),
                    "level": link.level,
                    "rate_bits_per_sec": self.rate_bits_per_sec,
                }
                for link in self.links
            ],
        }


def address(server: int) -> str:
    """The address that applications use: 10.0.0.0/8 and the server's id, counted from 1."""
    number = server + 1
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def server_at(address: str) -> int:
    """The server of an address that `address` gave; -1 for an address outside."""
    number = int.from_bytes(bytes(int(part) for part in address.split(".")))
    return (number & 0xFFFFFF) - 1 if number >> 24 == 10 else -1


def topology_of(spec: Mapping[str, Any]) -> Json:
    """The topology within a plan spec, or the spec itself."""
    inner = spec.get("topology")
    return dict(inner) if isinstance(inner, Mapping) else dict(spec)


def build(engine: Engine, spec: Mapping[str, Any], rate_bits_per_sec: float, mtu: int, part: Json | None) -> Network:
    """The network of a plan or of a slice of it. Raises a 422 that names what cannot be emulated."""
    inner = topology_of(spec)
    _supported(inner)
    raw = engine.topology(inner)
    a, b, level = (column.tolist() for column in raw.edges())
    a_port, b_port = (column.tolist() for column in raw.ports())
    names = raw.names(0, raw.node_count)
    servers = _server_count(raw)
    links = [Link(i, (a[i], a_port[i]), (b[i], b_port[i]), level[i]) for i in range(len(a))]
    every = Network(
        inner,
        dict(enumerate(names[:servers])),
        dict(enumerate(names[servers:], servers)),
        links,
        whole=True,
        rate_bits_per_sec=rate_bits_per_sec,
        mtu=mtu,
    )
    return every if part is None else _sliced(every, part)


def with_gateways(network: Network, names: list[str]) -> Network:
    """The network with some of its servers as gateways. Raises a 422 that names the one that cannot be."""
    if names and network.family != "bcube":
        raise field_error(
            "body.emulation.gateways",
            names,
            f"Servers of a {network.family} forward nothing, so none of them can be a gateway.",
            hint="Leave gateways out, or take a BCube.",
        )
    ids = [_server(network, f"body.emulation.gateways.{i}", name) for i, name in enumerate(names)]
    for i, name in enumerate(names):
        if ids[i] in ids[:i]:
            raise field_error(f"body.emulation.gateways.{i}", name, f"{name} is named twice.", hint="Name it once.")
    return replace(network, gateways=ids)


def outside_namespace(run_id: str) -> str:
    """Name of the namespace that stands for the external network, as `ip netns` shows it."""
    return f"cy-{run_id[:8]}-out"


OUTSIDE_ADDRESS = "198.18.0.1"
"""Of a network kept for tests of networks. `[RFC 2544]`"""


def _server_count(raw: Any) -> int:
    import orjson

    return int(orjson.loads(raw.counts_json())["servers"])


def _supported(spec: Json) -> None:
    family = spec.get("family")
    if family not in FAMILIES:
        raise field_error(
            "body.plan.family",
            family,
            f"Servers of a {family} cannot be emulated: there is no forwarding for them.",
            limit=" or ".join(FAMILIES),
            hint='Take engine "flow", or a BCube.',
        )
    if family == "bcube":
        for letter, limit in (("k", MAX_BCUBE_K), ("n", MAX_BCUBE_N)):
            value = spec.get(letter)
            if isinstance(value, int) and value > limit:
                raise field_error(
                    f"body.plan.{letter}",
                    value,
                    f"{letter} = {value} does not fit a next hop's byte: 2 bits of level and 6 of digit.",
                    limit=f"at most {limit}",
                    hint="A real header carries up to four levels of up to 64-port switches.",
                )


def _sliced(every: Network, part: Json) -> Network:
    chosen = _around(every, part["within"], part["k"]) if part.get("within") else _named(every, part["servers"])
    if len(chosen) < 2:
        raise field_error(
            "body.emulation.slice",
            part,
            "A slice needs at least two servers.",
            hint="Name more servers, or a larger k.",
        )
    ends: dict[int, int] = {}
    for link in every.links:
        for near, far in ((link.a[0], link.b[0]), (link.b[0], link.a[0])):
            if near in chosen and far in every.switches:
                ends[far] = ends.get(far, 0) + 1
    # A switch that only one of the servers is at carries nothing.
    nodes = chosen | {switch for switch, count in ends.items() if count > 1}
    return Network(
        every.spec,
        {one: name for one, name in every.servers.items() if one in chosen},
        {one: name for one, name in every.switches.items() if one in nodes},
        [link for link in every.links if link.a[0] in nodes and link.b[0] in nodes],
        whole=len(chosen) == len(every.servers),
        rate_bits_per_sec=every.rate_bits_per_sec,
        mtu=every.mtu,
        outside=[name for one, name in every.servers.items() if one not in chosen],
    )


def _named(every: Network, names: list[str]) -> set[int]:
    return {_server(every, f"body.emulation.slice.servers.{i}", name) for i, name in enumerate(names)}


def _server(every: Network, where: str, name: str) -> int:
    one = every.id_of.get(name)
    if one is None or one not in every.servers:
        known = list(every.servers.values())
        raise field_error(
            where, name, f"There is no server {name} in this plan.", hint=f"They are called {known[0]} to {known[-1]}."
        )
    return one


def _around(every: Network, name: str, k: int) -> set[int]:
    """The servers that share all digits above the lowest k+1 with this one. `[bcube §3.1]`"""
    if every.family != "bcube":
        raise ProblemError(
            422, "invalid", "body.emulation.slice.within: only a BCube has smaller BCubes within; name servers."
        )
    centre = _server(every, "body.emulation.slice.within", name)
    if k >= every.spec["k"]:
        return set(every.servers)
    # Ids count the addresses in order, so a smaller BCube is a run of ids; in a partial one some may be missing.
    size = every.spec["n"] ** (k + 1)
    first = centre // size * size
    return {one for one in every.servers if first <= one < first + size}
