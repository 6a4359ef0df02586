"""The location of each device, for programs that manage machines: Ansible, Slurm and Kubernetes.

All three use host names, so the name on a cable's label is also the name in the records of jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cubeyard.exports.formats import Progress
from cubeyard.exports.hostlist import hostlist
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.exports.text import plain, slug, yaml
from cubeyard.plans.view import PlanView

_DEVICES_PER_PIECE = 2_000
_NOT_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")


def _group(name: str) -> str:
    """A valid Ansible group name: letters, digits and underscores."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").lower() or "group"


def ansible_inventory(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """An Ansible inventory in YAML: groups `servers`, `switches`, one per level of switches and one
    per rack.

    Each device has its location, part and address as variables (`rack`, `unit`, `slot`,
    `paper_name`, `part`, `address`). Ansible connects to the address, which is that of the hosts
    file and of the leases; without the variable `ansible_host`, to the name.
    """
    tables = PlanTables(plan)
    yield f"# {provenance(plan)}\nall:\n  vars:\n    ansible_host: '{{{{ address }}}}'\n  hosts:\n".encode()
    for start in range(0, len(tables.hosts), _DEVICES_PER_PIECE):
        pieces = [
            f"    {yaml(tables.hosts[i])}:\n"
            f"      rack: {yaml(tables.rack_names[tables.device_rack[i]])}\n      unit: {tables.device_unit[i]}\n"
            f"      slot: {yaml(tables.letters[i])}\n      paper_name: {yaml(tables.device_names[i])}\n"
            f"      part: {yaml(tables.part_sku(tables.device_part[i]))}\n      address: {yaml(str(tables.addresses[i]))}\n"
            for i in range(start, min(start + _DEVICES_PER_PIECE, len(tables.hosts)))
        ]
        yield "".join(pieces).encode()
        progress(0.7 * start / len(tables.hosts), "devices")
    yield b"  children:\n"
    for group, members in _groups(tables).items():
        lines = [f"    {group}:\n      hosts:\n"]
        lines += [f"        {yaml(tables.hosts[i])}:\n" for i in members]
        yield "".join(lines).encode()
    progress(1.0, "groups")


def _groups(tables: PlanTables) -> dict[str, list[int]]:
    """The devices of each Ansible group that is not empty."""
    groups: dict[str, list[int]] = {"servers": [], "switches": []}
    for i, kind in enumerate(tables.device_kind):
        groups["switches" if kind else "servers"].append(i)
        if kind:
            groups.setdefault(f"switches_level_{tables.device_level[i]}", []).append(i)
    for i, rack in enumerate(tables.device_rack):
        groups.setdefault(f"rack_{_group(tables.rack_names[rack])}", []).append(i)
    return {name: members for name, members in groups.items() if members}


def slurm_topology(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Slurm's `topology.conf` for the plugin topology/tree: the servers of each first-level switch,
    and one switch above them.

    The plugin supports trees only. The file shows which servers are neighbours: servers on the same
    switch of the lowest level or, without switches, in the same rack.
    """
    tables = PlanTables(plan)
    leaves = _neighbours(tables)
    yield (
        f"# {provenance(plan)}\n# For TopologyPlugin=topology/tree: neighbours share a switch of the lowest level"
        f"{'' if any(tables.device_kind) else ' (here: a rack, as the network has no switches)'}.\n"
    ).encode()
    lines = [
        f"SwitchName={name} Nodes={hostlist(tables.hosts[i] for i in members)}\n" for name, members in leaves.items()
    ]
    yield "".join(lines).encode()
    progress(0.9, "switches")
    if len(leaves) > 1:
        yield f"SwitchName=all Switches={hostlist(leaves)}\n".encode()
    progress(1.0, "switches")


def _neighbours(tables: PlanTables) -> dict[str, list[int]]:
    """Servers by their switch of the lowest level, or by rack; each server once."""
    groups: dict[str, list[int]] = {}
    placed: set[int] = set()
    columns = tables.plan.cables
    ends = zip(columns["a_device"].tolist(), columns["b_device"].tolist(), columns["level"].tolist(), strict=True)
    for a, b, _ in sorted(ends, key=lambda cable: cable[2]):
        server, switch = (b, a) if tables.device_kind[a] else (a, b)
        if tables.device_kind[switch] and not tables.device_kind[server] and server not in placed:
            placed.add(server)
            groups.setdefault(tables.hosts[switch], []).append(server)
    for i, kind in enumerate(tables.device_kind):
        if not kind and i not in placed:
            groups.setdefault(slug(tables.rack_names[tables.device_rack[i]], "rack"), []).append(i)
    return groups


def kubernetes_labels(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """Topology labels of each server as Kubernetes nodes, for
    `kubectl apply --server-side --force-conflicts -f`.

    `topology.kubernetes.io/zone` is the container or row, `topology.kubernetes.io/rack` the rack,
    `cubeyard/switch` the first switch: topology spread constraints and affinities can use any of
    them.
    """
    tables = PlanTables(plan)
    racks = plan.scene["racks"]
    switch_of = {server: name for name, members in _neighbours(tables).items() for server in members}
    yield f"# {provenance(plan)}\n".encode()
    servers = [i for i, kind in enumerate(tables.device_kind) if not kind]
    for start in range(0, len(servers), _DEVICES_PER_PIECE):
        pieces: list[str] = []
        for i in servers[start : start + _DEVICES_PER_PIECE]:
            rack = tables.device_rack[i]
            zone = f"container-{racks['container'][rack]}-row-{racks['row'][rack]}"
            pieces.append(
                f"---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {yaml(tables.hosts[i])}\n  labels:\n"
                f"    topology.kubernetes.io/zone: {yaml(zone)}\n"
                f"    topology.kubernetes.io/rack: {yaml(_label(tables.rack_names[rack]))}\n"
                f"    cubeyard/switch: {yaml(switch_of[i])}\n"
            )
        yield "".join(pieces).encode()
        progress((start + len(pieces)) / len(servers), "servers")


def _label(text: str) -> str:
    """Text as the value of a Kubernetes label: at most 63 characters, alphanumeric at both ends."""
    return _NOT_LABEL.sub("-", plain(text))[:63].strip("-_.") or "rack"
