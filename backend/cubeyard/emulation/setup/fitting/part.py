"""A part of a custom network: its busiest rack, the surrounding racks, and the switches between
them. [ours]

A rack is a switch with servers. The part is connected if the network around the busiest rack is,
has at least two switches if the network does, and keeps names, tiers, rates and ports.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

MAX_BETWEEN = 32
"""Maximum number of switches without servers in the part, in addition to the switches that connect
it."""


@dataclass(frozen=True)
class Part:
    """A part as a separate topology."""

    topology: Json
    rack: str
    """The name of the busiest rack."""
    servers: int
    switches: int


def part_around_busiest(topology: Json, most: int) -> Part | None:
    """A part with at most `most` servers; None if no switch has servers."""
    network = _Read(topology)
    racks = [switch for switch in network.switches if network.servers_of[switch]]
    if not racks or most < 2:
        return None
    busiest = max(racks, key=lambda switch: len(network.servers_of[switch]))
    above = network.tree_from(busiest)
    near = [switch for switch in above if network.servers_of[switch]]
    servers = _servers(network, near, most)
    kept = [switch for switch in near if servers.get(switch)]
    switches = dict.fromkeys(on_path for switch in kept for on_path in _path(above, switch))
    if len(switches) < 2:
        switches |= dict.fromkeys(list(above)[:2])
    network.add_between(switches, list(above))
    names = {item for few in servers.values() for item in few} | set(switches)
    part = {
        **topology,
        "nodes": [node for node in topology["nodes"] if node["name"] in names],
        "links": [link for link in topology["links"] if link["a"] in names and link["b"] in names],
    }
    return Part(part, busiest, len(names) - len(switches), len(switches))


def _servers(network: _Read, near: list[str], most: int) -> dict[str, list[str]]:
    """The chosen servers of each rack. The busiest rack leaves half of the number to others, so
    that packets cross switches."""
    result: dict[str, list[str]] = {}
    left, taken = most, set[str]()
    for place, switch in enumerate(near):
        own = [item for item in network.servers_of[switch] if item not in taken]
        limit = left if place or len(near) == 1 else max(1, left // 2)
        result[switch] = own[:limit]
        taken |= set(result[switch])
        left -= len(result[switch])
        if left == 0:
            break
    return result


def _path(above: dict[str, str | None], switch: str) -> list[str]:
    path: list[str] = []
    at: str | None = switch
    while at is not None:
        path.append(at)
        at = above[at]
    return path


class _Read:
    """A custom network with names, in the order of its lists."""

    def __init__(self, topology: Json) -> None:
        self.switches = [node["name"] for node in topology["nodes"] if node["role"] == "switch"]
        is_switch = set(self.switches)
        self.servers_of: dict[str, list[str]] = {switch: [] for switch in self.switches}
        self._near: dict[str, dict[str, None]] = {switch: {} for switch in self.switches}
        for link in topology["links"]:
            for near, far in ((link["a"], link["b"]), (link["b"], link["a"])):
                if near not in is_switch:
                    continue
                if far in is_switch:
                    self._near[near][far] = None
                elif far not in self.servers_of[near]:
                    self.servers_of[near].append(far)

    def tree_from(self, switch: str) -> dict[str, str | None]:
        """All connected switches in the order of hops, each with the previous switch on its
        path."""
        above: dict[str, str | None] = {switch: None}
        queue = deque([switch])
        while queue:
            at = queue.popleft()
            for near in self._near[at]:
                if near not in above:
                    above[near] = at
                    queue.append(near)
        return above

    def add_between(self, switches: dict[str, None], near: list[str]) -> None:
        """Adds switches that join at least two of the chosen ones: alternative paths for the same
        packets."""
        between = [item for item in near if item not in switches and not self.servers_of[item]]
        joining = [item for item in between if sum(other in switches for other in self._near[item]) >= 2]
        switches |= dict.fromkeys(joining[:MAX_BETWEEN])
