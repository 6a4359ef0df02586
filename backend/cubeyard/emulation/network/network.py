"""The emulated network: a plan's topology or a slice of it, and its description for the fabric.

A slice keeps the ids of the plan, so that frames, events and faults use the same numbers as the
plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.experiments.checks import refused_by_field
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import ProblemError, field_error

Json = dict[str, Any]

MAX_SERVERS = 65_536
"""The address of a port has 16 bits for the id of its server."""
CHIP_DATAPLANE = "serverswitch"
"""Switching chips in the kernel: of servers, or of switches if servers do not forward."""
IP_AND_UDP_BYTES = 28


@dataclass(frozen=True)
class Link:
    """A link; each end is (node, port)."""

    id: int
    a: tuple[int, int]
    b: tuple[int, int]
    level: int
    rate_ratio: float = 1.0
    """The link's rate relative to the plan's slowest link; the same ratio holds in the
    emulation."""


@dataclass(frozen=True)
class Network:
    """Servers and switches by id and name, and the links between them."""

    spec: Json
    """The spec of the whole topology, without the plan around it."""
    servers: dict[int, str]
    switches: dict[int, str]
    links: list[Link]
    whole: bool
    """Whether this is the whole topology and not a slice."""
    rate_bits_per_sec: float
    """The rate of the slowest link."""
    mtu: int
    protocol: Json
    """The protocol of the servers, from the engine's profile: `name`, `header_bytes`, `gateways`,
    `adapts`, `switches`, `routing`, `forwardings`."""
    outside: list[str] = field(default_factory=list)
    """Names of the servers that a slice leaves out."""
    gateways: list[int] = field(default_factory=list)
    """Ids of the servers that are gateways to an external network."""
    addresses: dict[int, str] = field(default_factory=dict)
    """The address of each server for applications."""
    host_names: dict[int, str] = field(default_factory=dict)
    """The host name of each server and switch, as in the plan's tables and exports."""
    digits: dict[int, list[int]] = field(default_factory=dict)
    """The address of each server and switch in the topology."""
    switch_levels: dict[int, int] = field(default_factory=dict)
    planned_bits_per_sec: float = 1e9
    """The planned rate of the slowest link."""
    user_services: list[Json] = field(default_factory=list)
    """Users' services: `{name, id, module}`, the module in hexadecimal digits."""
    program: str | None = None
    """The user's program for the servers' chips, if there is one."""
    picture: str = "tiers"
    """How a diagram arranges nodes by their digits, as the engine names it."""

    @property
    def family(self) -> str:
        return self.spec["family"]

    @cached_property
    def id_of(self) -> dict[str, int]:
        return {name: item for names in (self.servers, self.switches) for item, name in names.items()}

    @cached_property
    def name_of(self) -> dict[int, str]:
        return {**self.servers, **self.switches}

    @cached_property
    def _server_at(self) -> dict[str, str]:
        return {address: self.servers[item] for item, address in self.addresses.items()}

    def server_at(self, address: str) -> str | None:
        """The name of the server with this address; None for an address outside the network."""
        return self._server_at.get(address)

    @cached_property
    def has_several_rates(self) -> bool:
        """Whether some links are faster than others."""
        return any(link.rate_ratio > 1.0 for link in self.links)

    @cached_property
    def fastest_bits_per_sec(self) -> float:
        """The rate of the fastest link."""
        return max((self.rate_of(link) for link in self.links), default=self.rate_bits_per_sec)

    def rate_of(self, link: Link) -> float:
        """The rate of a link in each direction, in bits per second."""
        return self.rate_bits_per_sec * link.rate_ratio

    def link_name(self, link: Link) -> str:
        return f"{self.name_of[link.a[0]]}/{self.name_of[link.b[0]]}"

    def link_names(self, link: Link) -> tuple[str, str]:
        """The names of the link's two ends."""
        a, b = self.name_of[link.a[0]], self.name_of[link.b[0]]
        return f"{a}/{b}", f"{b}/{a}"

    @cached_property
    def header_efficiency(self) -> float:
        """The payload's share of a link's rate, for full packets with the headers of Ethernet, the
        protocol, IP and TCP."""
        ethernet, ip_tcp = 14, 52
        return (self.mtu - self.protocol["header_bytes"] - ip_tcp) / (self.mtu + ethernet)

    def for_fabric(
        self,
        run_id: str,
        seed: int,
        dataplane: str,
        settings: Json,
        *,
        fair_queues: bool = False,
        balance: str = "ecmp",
        congestion: Json | None = None,
        subflows: int | None = None,
    ) -> Json:
        """The description for the fabric. `dataplane` is the servers' forwarding, if they forward.
        `balance` is how routers spread flows, if switches are routers. `congestion` has the
        settings of congestion notification, if it is on. `subflows` is the maximum number of MPTCP
        subflows per connection, 0 for the default."""
        return {
            "run": run_id,
            "spec": self.spec,
            "protocol": self.protocol["name"],
            "forwarding": dataplane if self.protocol["forwardings"] else None,
            "rate_bits_per_sec": self.rate_bits_per_sec,
            "mtu": self.mtu,
            "seed": seed,
            "fair_queues": fair_queues,
            "balance": balance,
            "subflows": subflows,
            "settings": settings,
            "gateways": self.gateways,
            "services": self.user_services,
            "program": self.program,
            "congestion": congestion,
            "servers": [{"id": item, "name": name, "ip": self.addresses[item]} for item, name in self.servers.items()],
            "switches": [{"id": item, "name": name} for item, name in self.switches.items()],
            "links": [
                {
                    "id": link.id,
                    "a": list(link.a),
                    "b": list(link.b),
                    "level": link.level,
                    "rate_bits_per_sec": self.rate_of(link),
                }
                for link in self.links
            ],
        }


def topology_of(spec: Mapping[str, Any]) -> Json:
    """The topology within a plan spec, or the spec itself."""
    inner = spec.get("topology")
    return dict(inner) if isinstance(inner, Mapping) else dict(spec)


def build(
    engine: Engine,
    spec: Mapping[str, Any],
    rate_bits_per_sec: float,
    mtu: int,
    part: Json | None,
    dataplane: str = "kernel",
) -> Network:
    """The network of a plan or of a slice of it. If servers do not forward, `dataplane` chooses the
    kind of switches. Raises a 422 that names the part that cannot be emulated."""
    inner = topology_of(spec)
    profile = _profile(engine, inner)
    described = _described(engine, _with_prefix(inner, spec), part)
    servers, switches = described["servers"], described["switches"]
    return Network(
        inner,
        {server["id"]: server["name"] for server in servers},
        {switch["id"]: switch["name"] for switch in switches},
        [
            Link(link["id"], tuple(link["a"]), tuple(link["b"]), link["level"], link["rate_ratio"])
            for link in described["links"]
        ],
        whole=described["whole"],
        rate_bits_per_sec=rate_bits_per_sec,
        mtu=mtu,
        protocol=_protocol(profile, engine.hosts, dataplane),
        outside=described["outside"],
        addresses={server["id"]: server["address"] for server in servers},
        host_names={server["id"]: server["host"] for server in (*servers, *switches)},
        digits={server["id"]: server["digits"] for server in (*servers, *switches)},
        switch_levels={switch["id"]: switch["level"] for switch in switches},
        planned_bits_per_sec=described["slowest_bits_per_sec"],
        picture=described["picture"],
    )


def _with_prefix(topology: Json, spec: Mapping[str, Any]) -> Json:
    """The topology, with the plan's prefix for host names if its site has one."""
    site = spec.get("site")
    prefix = site.get("host_prefix") if isinstance(site, Mapping) else None
    return topology if prefix is None else {"topology": topology, "site": {"host_prefix": prefix}}


def _described(engine: Engine, spec: Json, part: Json | None) -> Json:
    """The engine's description. Its findings are raised as errors of the request's fields."""
    if part is not None:
        part = {"within": part["within"], "k": part["k"]} if part.get("within") else {"servers": part["servers"]}
    try:
        return engine.emulation_network(spec, part)
    except PlanRejectedError as error:
        in_slice = any(str(finding["where"]).startswith("slice") for finding in error.findings)
        with refused_by_field("body.emulation" if in_slice else "body.plan"):
            raise


def with_gateways(network: Network, names: list[str]) -> Network:
    """The network with some of its servers as gateways. Raises a 422 that names a server that
    cannot be one."""
    if names and not network.protocol["gateways"]:
        raise field_error(
            "body.emulation.gateways",
            names,
            f"Servers of a {network.family} forward nothing, so none of them can be a gateway.",
            hint="Leave gateways out, or choose a family whose servers forward packets.",
        )
    ids = [_server(network, f"body.emulation.gateways.{i}", name) for i, name in enumerate(names)]
    for i, name in enumerate(names):
        if ids[i] in ids[:i]:
            raise field_error(f"body.emulation.gateways.{i}", name, f"{name} is named twice.", hint="Name it once.")
    return replace(network, gateways=ids)


def check_settings(network: Network, settings: Mapping[str, float]) -> None:
    """Raises a 422 that names a setting that is unknown to the servers' protocol, or whose value is
    not allowed.

    Servers without a protocol have no settings: given settings have no effect, so that an
    experiment can be repeated with any topology.
    """
    known = {item["name"]: item for item in network.protocol["settings"]}
    for name, value in settings.items() if known else ():
        where, setting = f"body.emulation.timers.{name}", known.get(name)
        if setting is None:
            names = ", ".join(known)
            message = f"{network.protocol['title']} has no setting {name}."
            raise field_error(where, value, message, limit=f"one of {names}", hint="Leave it out.")
        least, most, whole = setting["minimum"], setting["maximum"], setting["type"] == "integer"
        if not least <= value <= most or (whole and value != int(value)):
            limit = f"{'a whole number, ' if whole else ''}{least:g} to {most:g}"
            message = f"{setting['title']} is {value:g}, but must be {limit}."
            raise field_error(where, value, message, limit=limit, hint=f"The default is {setting['default']:g}.")


def check_dataplane(network: Network, dataplane: str, hosts: int = 1) -> None:
    """Raises a 422 for a forwarding that the servers' protocol does not support, or not on several
    hosts. No check if servers do not forward."""
    known = network.protocol["forwardings"]
    names = [forwarding["name"] for forwarding in known if hosts <= 1 or not forwarding["one_host"]]
    if dataplane not in names and dataplane in (forwarding["name"] for forwarding in known):
        raise field_error(
            "body.emulation.dataplane",
            dataplane,
            f"All servers with this forwarding are on one host, but CUBEYARD_HOSTS names {hosts}.",
            limit=", ".join(names),
            hint="Choose one of these, or leave CUBEYARD_HOSTS out.",
        )
    if names and dataplane not in names:
        raise field_error(
            "body.emulation.dataplane",
            dataplane,
            f"{network.protocol['title']} has no such forwarding.",
            limit=", ".join(names),
            hint="Choose one of these, or a plan of another family.",
        )


def in_user_space(network: Network, dataplane: str) -> bool:
    """Whether the nodes of servers forward their packets."""
    return any(
        forwarding["name"] == dataplane and forwarding["in_user_space"]
        for forwarding in network.protocol["forwardings"]
    )


def check_balance(network: Network, balance: str) -> None:
    """Raises a 422 for a balance that the network does not support."""
    if balance != "ecmp" and network.protocol["switches"] != "routers":
        raise field_error(
            "body.emulation.balance",
            balance,
            f"Switches of this {network.family} are {network.protocol['switches']}, which spread no flows by a balance.",
            limit="ecmp",
            hint="Leave balance out, or choose a fat-tree, a tree or Subways.",
        )
    names = [item["name"] for item in network.protocol["balances"]]
    if names and balance not in names:
        raise field_error(
            "body.emulation.balance",
            balance,
            "A loop of this network has no ToRs besides a rack's own, so that there is no detour."
            if "lb" in names
            else "Servers of this network have one ToR each, so that controllers have nothing to choose.",
            limit=", ".join(names),
            hint="Choose Subways of type 1 or 2 with loops of more ToRs than ports of a server, or another balance."
            if "lb" in names
            else "Choose Subways of type 1 or 2 with several ports a server, or another balance.",
        )


def check_transport(network: Network, settings: Emulation) -> None:
    """Raises a 422 for MPTCP in a network, or with settings, without a second path; and for
    datagrams that are longer than a packet."""
    most = network.mtu - network.protocol["header_bytes"] - IP_AND_UDP_BYTES
    if settings.datagram_bytes is not None and settings.datagram_bytes > most:
        message = f"A packet of {network.mtu} bytes has no room for it."
        limit = f"at most {most}"
        raise field_error("body.emulation.datagram_bytes", settings.datagram_bytes, message, limit=limit)
    if settings.protocol != "mptcp":
        return
    if network.protocol["switches"] != "routers":
        raise field_error(
            "body.emulation.protocol",
            settings.protocol,
            f"Flows of a {network.family} take one path at a time, which its protocol or its switches choose.",
            limit="tcp or udp",
            hint="Take tcp, or Subways, a fat-tree or another network of routers.",
        )
    # A network without loops has one link less than nodes, and a single path between any two nodes.
    if len(network.links) < len(network.servers) + len(network.switches):
        raise field_error(
            "body.emulation.protocol",
            settings.protocol,
            "There is one path between any two servers of this network, so that all subflows would share it.",
            limit="a network with several paths",
            hint="Take tcp, or Subways, a fat-tree or another network with several paths.",
        )
    if settings.balance not in ("ecmp", "wcmp"):
        raise field_error(
            "body.emulation.balance",
            settings.balance,
            "MPTCP spreads each connection itself, and controllers would move its subflows.",
            limit="ecmp or wcmp with mptcp",
            hint="Leave balance out, or take tcp.",
        )
    if settings.delivery != "unicast":
        raise field_error(
            "body.emulation.delivery",
            settings.delivery,
            "Data that is passed on goes over one link at a time.",
            limit="unicast with mptcp",
            hint="Take unicast, or tcp.",
        )


def outside_namespace(run_id: str) -> str:
    """Name of the namespace that represents the external network, as shown by `ip netns`."""
    return f"cy-{run_id[:8]}-out"


OUTSIDE_ADDRESS = "198.18.0.1"
"""An address of the network reserved for benchmarks. `[RFC 2544]`"""


def _profile(engine: Engine, spec: Json) -> Json:
    """The emulation profile of the topology. Raises a 422 that names the field if it cannot be
    emulated."""
    try:
        profile = engine.emulation_profile(spec)
    except PlanRejectedError:
        with refused_by_field("body.plan"):
            raise
    refusal = profile["refusal"]
    if refusal is not None:
        raise field_error(
            f"body.plan.{refusal['field']}",
            refusal["value"],
            # The engine's sentence ends with the hint, which is returned in a separate field.
            str(refusal["message"]).removesuffix(str(refusal["hint"])).rstrip(),
            limit=refusal["limit"],
            hint=refusal["hint"],
        )
    return profile


def _protocol(profile: Json, hosts: int, dataplane: str) -> Json:
    """The protocol of the servers: the family's default or, on several hosts, the first whose
    switches can be split over hosts. A dataplane of switches selects the protocol of these
    switches.

    Raises a 422 if there is none: a router or chip cannot be split.
    """
    protocols: list[Json] = profile["protocols"]
    if not protocols[0]["forwardings"]:
        of_switches = next((protocol for protocol in protocols if protocol["switch_dataplane"] == dataplane), None)
        if of_switches is not None and hosts <= 1:
            return of_switches
        if of_switches is not None or (dataplane == CHIP_DATAPLANE and profile["no_chips"] is not None):
            raise _no_chips(profile, hosts, dataplane)
    result = next((protocol for protocol in protocols if hosts <= 1 or protocol["switches"] == "bridges"), None)
    if result is None:
        raise field_error(
            "body.plan.family",
            profile["family"],
            f"The routers of a {profile['family']} run on one host, but CUBEYARD_HOSTS names {hosts}.",
            limit="one host",
            hint="Leave CUBEYARD_HOSTS out, or choose a family whose switches are bridges.",
        )
    return result


def _no_chips(profile: Json, hosts: int, dataplane: str) -> ProblemError:
    why = profile["no_chips"]
    return field_error(
        "body.emulation.dataplane",
        dataplane,
        why["message"]
        if why is not None
        else f"Switches that are chips run on one host, but CUBEYARD_HOSTS names {hosts}.",
        limit="kernel",
        hint=f"{why['hint'] if why is not None else 'Leave CUBEYARD_HOSTS out.'} Or choose the dataplane kernel.",
    )


def _server(every: Network, where: str, name: str) -> int:
    item = every.id_of.get(name)
    if item is None or item not in every.servers:
        known = list(every.servers.values())
        raise field_error(
            where, name, f"There is no server {name} in this plan.", hint=f"They are called {known[0]} to {known[-1]}."
        )
    return item
