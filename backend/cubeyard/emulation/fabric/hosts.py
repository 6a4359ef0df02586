"""The machines of a run, and which of its servers are on each. Without settings it is only this
machine."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from cubeyard.emulation.fabric.client import Absent, Remote, Socket
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.network.network import Network
from cubeyard.engine import binding_build
from cubeyard.frames.network import FrameHosts
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import EmulationCluster, EmulationHost, Settings

Json = dict[str, Any]
Ask = Callable[[str, str, float, list[Json], ProblemError], list[Json]]
"""Makes calls to a host's fabric through another process that reaches it. Arguments: host, method,
seconds, parameters of each call, and why this process does not reach it. Returns `result` or
`error` of each call."""

VNIS_A_RUN = 4096
"""Number of VXLAN numbers reserved for each run."""
VNI_BLOCKS = 2**24 // VNIS_A_RUN


@dataclass(frozen=True)
class Host:
    """A machine of a run. This machine has no name if no hosts are configured."""

    name: str
    socket: Socket
    """The address of its cubeyard-fabric, or of the relay before it."""
    docker: str = ""
    """URL or context of its Docker engine; empty for the one in the environment."""
    underlay: str = ""
    share: float = 1.0
    ask: Ask | None = field(default=None, compare=False, repr=False)

    def other_build(self, report: Json) -> str:
        """The error text, with the fix, if the host's fabric is of another build than this program;
        else empty. `report` is the fabric's."""
        its, ours = report.get("version") or "unknown", binding_build()
        if its == ours:
            return ""
        return f"cubeyard-fabric is build {its}, this program {ours}: update cubeyard-fabric on host {self.name}."

    def said(self, detail: str) -> str:
        """Prefixes a message with the host's name, unless it already has that prefix."""
        named = f"Host {self.name}: "
        return f"{named}{detail}" if self.name and not detail.startswith(named) else detail


@dataclass(frozen=True)
class Hosts:
    """All machines, in the order of the settings."""

    owner: str
    """The owner in the labels of containers and the fabrics' lists of runs: only resources with
    this owner are ever removed."""
    every: tuple[Host, ...]
    cluster: EmulationCluster | None = None
    """The cluster, if the machines are its nodes."""
    left_out: tuple[str, ...] = ()
    """Nodes beyond the maximum number of hosts in a run, which are not used."""
    placed: FrameHosts | None = None
    """The placement of a live run's servers, from the frame that begins the run."""
    ask: Ask | None = field(default=None, compare=False, repr=False)

    def of_run(self, placed: FrameHosts | None) -> Hosts:
        """The hosts of a live run. The list of ready hosts may change during the run, but its
        servers stay on their hosts."""
        return replace(self, placed=placed)

    def asking(self, ask: Ask) -> Hosts:
        """The same hosts, with another path for calls to fabrics that this process does not
        reach."""
        return replace(self, every=tuple(replace(host, ask=ask) for host in self.every), ask=ask)

    def spread(self, network: Network) -> Spread:
        if self.placed is None:
            return Spread.of(network, self.every)
        known = {host.name: host for host in self.every}
        hosts = (known.get(name, Host(name, Absent(name), ask=self.ask)) for name in self.placed["name"])
        return Spread(tuple(hosts), dict(zip(network.servers, self.placed["of_server"], strict=True)))

    @property
    def said_of_nodes(self) -> str:
        """Which nodes are not used, and how to choose others; empty if all are used."""
        if not self.left_out:
            return ""
        used, every = len(self.every), len(self.every) + len(self.left_out)
        return (
            f"Runs use {used} of {every} nodes, {self.every[0].name} to {self.every[-1].name} by name; {self.left_out[0]} and what "
            "follows are left out. The chart's emulation.nodeSelector chooses which have a fabric."
        )

    @classmethod
    def of(cls, settings: Settings, place: Place) -> Hosts:
        """Raises ClusterGoneError or ClusterRefusedError if the configured cluster does not return
        its nodes."""
        if settings.cluster is not None:
            from cubeyard.emulation.cluster.nodes import fabric_nodes

            cluster = settings.cluster
            nodes, left_out = fabric_nodes(cluster)
            # A worker keeps its name when its pod is replaced (StatefulSet), so the new pod removes
            # leftovers of the old one.
            return cls(
                f"{place.name}-{socket.gethostname()}",
                tuple(
                    Host(node.name, Remote(node.address, cluster.port, cluster.keys), underlay=node.underlay)
                    for node in nodes
                ),
                cluster,
                left_out,
            )
        if not settings.hosts:
            return cls(place.name, (Host("", place.socket),))
        # Other machines may use these hosts too, with a home of the same path.
        owner = f"{place.name}-{socket.gethostname()}"
        result = (Host(host.name, _place(host), host.docker, str(host.underlay), host.share) for host in settings.hosts)
        return cls(owner, tuple(result))


def _place(host: EmulationHost) -> Path | Remote:
    if host.relay is None:
        return Path(host.fabric)
    assert host.keys is not None, "the settings ask for both"
    return Remote(*host.relay, host.keys)


@dataclass(frozen=True)
class Spread:
    """A network spread over hosts, each of which has at least one server."""

    hosts: tuple[Host, ...]
    host_of: dict[int, int]
    """By server: index of its host in `hosts`."""

    @classmethod
    def of(cls, network: Network, hosts: Sequence[Host]) -> Spread:
        parts = divided(len(network.servers), [host.share for host in hosts])
        used = [(host, part) for host, part in zip(hosts, parts, strict=True) if part]
        servers = sorted(network.servers)
        return cls(
            tuple(host for host, _ in used),
            {servers[i]: number for number, (_, part) in enumerate(used) for i in part},
        )

    @property
    def several(self) -> bool:
        return len(self.hosts) > 1

    def servers(self, network: Network, host: int) -> dict[int, str]:
        """Ids and names of a host's servers."""
        return {item: name for item, name in network.servers.items() if self.host_of[item] == host}

    def for_fabric(self, described: Json, owner: str, host: int) -> Json:
        """The description for the fabric of one host: the whole network, and which part is on this
        host."""
        document = {**described, "owner": owner}
        if not self.several:
            return document
        return {
            **document,
            "servers": [{**server, "host": self.host_of[server["id"]]} for server in described["servers"]],
            "hosts": {
                "here": host,
                "underlays": [item.underlay for item in self.hosts],
                "first_vni": first_vni(described["run"]),
            },
        }

    def document(self, network: Network) -> Json:
        """The placement for the frame that begins a run; nothing if this machine is the only
        host."""
        if not any(host.name for host in self.hosts):
            return {}
        hosts: FrameHosts = {
            "name": [host.name for host in self.hosts],
            "of_server": [self.host_of[server] for server in network.servers],
        }
        return {"hosts": hosts}


def divided(servers: int, shares: Sequence[float]) -> list[range]:
    """Divides servers 0 to n-1 into ranges in proportion to the shares, rounded to whole servers.
    [ours]

    Servers with adjacent addresses share their low-level switches, so few switches span hosts.
    """
    total, before, ends = sum(shares), 0.0, [0]
    for share in shares[:-1]:
        before += share
        ends.append(round(servers * before / total))
    ends.append(servers)
    return [range(start, end) for start, end in pairwise(ends)]


def first_vni(run_id: str) -> int:
    """First number of a run's block of VXLAN numbers, derived from the run's id. A fabric refuses a
    run whose numbers are in use."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return (1 + int.from_bytes(digest[:4]) % (VNI_BLOCKS - 1)) * VNIS_A_RUN
