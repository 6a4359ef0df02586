"""Calls as type checkers see them: constructors of `Topology`, and options of `predict`. A test
compares them with the engine's families and the function."""

# ruff: noqa: E741 - names of papers; the constructors belong to a metaclass

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsFloat, SupportsIndex, TypedDict

    from cubeyard.notebook.progress import Told
    from cubeyard.notebook.question import Failures, Seeds
    from cubeyard.notebook.topology import Topology

    class PredictOptions(TypedDict, total=False):
        failures: Failures | None
        routing: str | None
        seeds: Seeds
        link_gbps: float | None
        max_min: bool | None
        flow_gigabits: float | None
        link_load: bool
        progress: bool | Told | None

    class Constructors(type):
        def bcube(cls, n: SupportsIndex, k: SupportsIndex, servers: SupportsIndex | None = None) -> Topology: ...
        def dcell(
            cls,
            n: SupportsIndex,
            k: SupportsIndex,
            servers: SupportsIndex | None = None,
            growth: str | SupportsIndex | None = None,
        ) -> Topology: ...
        def torus3d(cls, x: SupportsIndex, y: SupportsIndex, z: SupportsIndex) -> Topology: ...
        def subways(
            cls,
            type: str | SupportsIndex,
            p: SupportsIndex,
            q: SupportsIndex,
            l: SupportsIndex,
            c: SupportsIndex | None = None,
            clusters: SupportsIndex | None = None,
            loops_per_cluster: SupportsIndex | None = None,
            aggs_per_cluster: SupportsIndex | None = None,
            cores: SupportsIndex | None = None,
            tor_oversubscription: SupportsFloat | None = None,
            agg_oversubscription: SupportsFloat | None = None,
            server_gbps: SupportsFloat | None = None,
            cluster_gbps: Sequence[Any] | None = None,
            uplink_gbps: SupportsFloat | None = None,
        ) -> Topology: ...
        def fat_tree(
            cls, ports: SupportsIndex, layers: SupportsIndex | None = None, servers: SupportsIndex | None = None
        ) -> Topology: ...
        def tree(
            cls, edge_ports: SupportsIndex, root_ports: SupportsIndex | None = None, *, servers: SupportsIndex
        ) -> Topology: ...
        def leaf_spine(
            cls,
            leaves: SupportsIndex,
            spines: SupportsIndex,
            servers_per_leaf: SupportsIndex,
            uplinks_per_spine: SupportsIndex | None = None,
            server_gbps: SupportsFloat | None = None,
            uplink_gbps: SupportsFloat | None = None,
            super_spines: SupportsIndex | None = None,
            pods: SupportsIndex | None = None,
            uplinks_per_super_spine: SupportsIndex | None = None,
            spine_uplink_gbps: SupportsFloat | None = None,
        ) -> Topology: ...
        def torus2d(cls, x: SupportsIndex, y: SupportsIndex) -> Topology: ...
        def jellyfish(
            cls,
            switches: SupportsIndex,
            ports: SupportsIndex,
            servers_per_switch: SupportsIndex,
            servers: SupportsIndex | None = None,
            seed: SupportsIndex | None = None,
            link_gbps: SupportsFloat | None = None,
        ) -> Topology: ...
        def dragonfly(
            cls,
            a: SupportsIndex,
            p: SupportsIndex,
            h: SupportsIndex,
            groups: SupportsIndex | None = None,
            link_gbps: SupportsFloat | None = None,
        ) -> Topology: ...
        def custom(
            cls, nodes: Sequence[Any], links: Sequence[Any], link_gbps: SupportsFloat | None = None
        ) -> Topology: ...
else:
    Constructors = type
