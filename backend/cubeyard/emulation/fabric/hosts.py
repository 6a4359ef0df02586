"""The machines that a run is spread over, and which of its servers each has. Without settings it is
this machine alone."""

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
"""Calls to the fabric of a host by somebody who reaches it: host, method, seconds, parameters of
each, and why this process does not. Returns `result` or `error` of each."""

VNIS_A_RUN = 4096
"""VXLAN numbers that one run has for its switches."""
VNI_BLOCKS = 2**24 // VNIS_A_RUN


@dataclass(frozen=True)
class Host:
    """One of them. This machine, where no hosts are set, has no name."""

    name: str
    socket: Socket
    """Where its cubeyard-fabric listens, or the relay before it."""
    docker: str = ""
    """URL or context of its engine; empty for the one that the environment names."""
    underlay: str = ""
    share: float = 1.0
    ask: Ask | None = field(default=None, compare=False, repr=False)

    def other_build(self, report: Json) -> str:
        """The difference if its fabric, which reports this, is of another build than this program,
        and the fix; empty otherwise."""
        its, ours = report.get("version") or "unknown", binding_build()
        if its == ours:
            return ""
        return f"cubeyard-fabric is build {its}, this program {ours}: update cubeyard-fabric on host {self.name}."

    def said(self, detail: str) -> str:
        """Adds the host's name to a message; adding it again changes nothing."""
        named = f"Host {self.name}: "
        return f"{named}{detail}" if self.name and not detail.startswith(named) else detail


@dataclass(frozen=True)
class Hosts:
    """All of them, in the order of the settings."""

    owner: str
    """The owner in the labels of containers and the fabrics' lists of runs: only resources with
    this owner are ever removed."""
    every: tuple[Host, ...]
    cluster: EmulationCluster | None = None
    """Whose nodes they are, if they are a cluster's."""
    left_out: tuple[str, ...] = ()
    """Further nodes that runs do not use, because there are more than a run can have."""
    placed: FrameHosts | None = None
    """Which host has which server of a run, by the frame that begins it."""
    ask: Ask | None = field(default=None, compare=False, repr=False)

    def of_run(self, placed: FrameHosts | None) -> Hosts:
        """For a run under way: the ready hosts change meanwhile, but not where its servers are."""
        return replace(self, placed=placed)

    def asking(self, ask: Ask) -> Hosts:
        """With a second way to the fabrics."""
        return replace(self, every=tuple(replace(host, ask=ask) for host in self.every), ask=ask)

    def spread(self, network: Network) -> Spread:
        if self.placed is None:
            return Spread.of(network, self.every)
        known = {host.name: host for host in self.every}
        hosts = (known.get(name, Host(name, Absent(name), ask=self.ask)) for name in self.placed["name"])
        return Spread(tuple(hosts), dict(zip(network.servers, self.placed["of_server"], strict=True)))

    @property
    def said_of_nodes(self) -> str:
        """In words, which nodes are not used and how to choose others; empty if all are."""
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
            # A worker's name stays when its pod is replaced (StatefulSet): the next one removes
            # what this one left.
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
        # Others may use these hosts too, from a home with the same path on a machine of theirs.
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
    """A network over the hosts that have at least one of its servers."""

    hosts: tuple[Host, ...]
    host_of: dict[int, int]
    """By server, the number of its host in `hosts`."""

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
        """Ids and names of the servers of one host."""
        return {item: name for item, name in network.servers.items() if self.host_of[item] == host}

    def for_fabric(self, described: Json, owner: str, host: int) -> Json:
        """The description of a network for the fabric of one host: all of it, and the part on this
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
        """For the frame that begins a run: nothing where this machine is the only host."""
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
    """A block of VXLAN numbers by the run's id. A fabric refuses a run whose numbers another run
    has."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return (1 + int.from_bytes(digest[:4]) % (VNI_BLOCKS - 1)) * VNIS_A_RUN
